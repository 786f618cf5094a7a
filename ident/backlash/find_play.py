"""Whether the samples of a joint show play, and how much: the claim and its refusals."""

from dataclasses import dataclass

import numpy as np

from stribeck.ident.arrays import Array
from stribeck.ident.backlash.gear_search import Gear, GearSearch, crossings
from stribeck.ident.backlash.joint_backlash import LINK, TORQUE, JointBacklash
from stribeck.ident.backlash.play_data import PlayData
from stribeck.ident.errors import FitError
from stribeck.ident.laws.parameter import Parameter, verdict
from stribeck.ident.memory.states.memories import relaxed

_CLAIM = 2.6            # standard errors by which play must predict left-out blocks better than none,
_BETTER = 0.9           # and largest ratio of the errors,
_MUCH_BETTER = 0.7      # or a ratio so small that ranks do not matter
_CROSSINGS = 4          # fewest crossings of the gap
_SAMPLES = 5            # fewest samples in a crossing
_STEPS = 2.0            # smallest play in steps of the motor's encoder
_PRESSED = 0.99         # part of the samples on one flank from which gravity holds it


@dataclass(frozen=True)
class FoundPlay:
    """Play of a joint.

    Attributes
    ----------
    joint : JointBacklash
    data : PlayData
        The samples.
    torque, gap : ndarray, shape (N,)
        Torque of the link, and motor minus link, behind the fitted gear [N·m or N, rad or m].
    """

    joint: JointBacklash
    data: PlayData
    torque: Array
    gap: Array


def find_play(data: PlayData, coulomb: float | None = None, stiffness: float | None = None) -> FoundPlay:
    """Return the play of a joint.

    Parameters
    ----------
    data : PlayData
    coulomb : float, optional
        Dry friction of motor and link together [N·m or N]; by default that of a rigid joint, from the torque.
    stiffness : float, optional
        Known stiffness between motor and link [N·m/rad or N/m].

    Raises
    ------
    FitError
        If the samples show no play, or cannot show it: one flank stays in contact, crossings are too few or too short, or play is
        below the resolution of the encoder.
    """
    friction = dry_friction(data) if coulomb is None else coulomb
    _check_flanks(data, friction)
    search = GearSearch(data, friction, stiffness)
    found, none = search.search()
    play, unit = float(found.values[0]), ("m", "N") if data.prismatic else ("rad", "N·m")
    ratio = found.rmse / none.rmse
    if not (ratio < _MUCH_BETTER or (ratio < _BETTER and found.ahead_of(none) > _CLAIM)):
        raise FitError(f"wind-up and friction alone predict left-out blocks as well as play does (error {none.rmse:.3g} without, "
                       f"{found.rmse:.3g} with a play of {play:.2g} {unit[0]})")
    passage = search.passage(found)
    crossed = crossings(passage, data.used)
    if len(crossed) < _CROSSINGS:
        raise FitError(f"the motor crosses the gap {len(crossed)} times; at least {_CROSSINGS} crossings are needed. Record more "
                       "reversals")
    samples = float(np.median(crossed))
    if samples < _SAMPLES:
        raise FitError(f"a crossing of the gap takes {samples:g} samples in the median; at least {_SAMPLES} are needed. Reverse "
                       "more slowly, or log at a higher rate")
    if play < _STEPS * data.step:
        raise FitError(f"a play of {play:.2g} {unit[0]} is below {_STEPS:g} steps of the encoder, {_STEPS * data.step:.2g} "
                       f"{unit[0]}; use a finer encoder")
    if play < (wound := friction / float(found.values[1])):
        raise FitError(f"a play of {play:.2g} {unit[0]} is below the wind-up by the joint's friction, {wound:.2g} {unit[0]}, and "
                       "is not told from it; a stiffness stated in the arm file, or slower motion, may tell them apart")
    told = _parameters(search, found, unit, data.step)
    if told[0].verdict == "unidentifiable":
        raise FitError(f"play = {play:.3g} ± {told[0].half_width:.2g} {unit[0]} is not determined; record more reversals")
    joint = JointBacklash(*told, LINK if data.measures_link else TORQUE, len(crossed), samples, found.rmse, none.rmse)
    used = data.used
    return FoundPlay(joint, data, data.filtered(passage.torque[:, 0])[used], data.filtered(passage.gap[:, 0])[used])


def dry_friction(data: PlayData) -> float:
    """Return the dry friction of a joint that is taken as rigid [N·m or N]."""
    velocity, gain = data.motion
    state = data.filtered(relaxed(data.path, 2.0 * data.resolution)[0])
    columns = np.column_stack([state, data.load, gain, velocity, np.ones(len(gain))])[data.used]
    scale = np.sqrt(np.mean(columns**2, axis=0)) + 1e-300
    return float(abs(np.linalg.lstsq(columns / scale, data.torque[data.used], rcond=1e-8)[0][0] / scale[0]))


def _check_flanks(data: PlayData, friction: float) -> None:
    """Refuse a motion in which the load presses one flank all the time, whatever part of the friction is the link's."""
    used = data.used
    load = (data.load + data.filtered(data.inertia) * data.motion[1])[used]
    for side in (1.0, -1.0):
        if np.mean(side * load > friction) > _PRESSED:
            low, high = np.quantile(load, (0.001, 0.999))
            unit = "N" if data.prismatic else "N·m"
            raise FitError(f"gravity keeps one flank in contact: the load of the link is {low:.3g} to {high:.3g} {unit}, beyond "
                           f"all friction of {friction:.2g} {unit}; record it where the load is smaller or changes its direction")


def _parameters(search: GearSearch, found: Gear, unit: tuple[str, str], step: float) -> tuple[Parameter, Parameter, Parameter]:
    """Return play, stiffness and friction of the link with 95 % intervals.

    An encoder step shifts each flank by up to half a step.
    """
    intervals, free = search.intervals(found)
    units = unit[0], f"{unit[1]}/{unit[0]}", unit[1]
    made = []
    for k, own in enumerate(units):
        value = float(found.values[k])
        if k not in free:
            made.append(Parameter(value, None, None, None, own, "at bound", "stated in the arm file"))
            continue
        at = free.index(k)
        shift = step if k == 0 else 0.0
        error = float(np.hypot(intervals.std_error[at], shift / np.sqrt(12.0)))
        half = float(np.hypot(intervals.half_width()[at], shift))
        low, high = max(0.0, value - half), value + half
        if k == 1 and value >= 0.98 * search.stiffest:
            made.append(Parameter(value, error, low, None, own, "at bound", "stiffer than the sampling rate shows"))
        else:
            made.append(Parameter(value, error, low, high, own, verdict(value, low, high)))
    return made[0], made[1], made[2]
