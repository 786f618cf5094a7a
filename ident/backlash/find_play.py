"""Whether the samples of a joint show play, and how much: the claim and its refusals."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from stribeck.ident.arrays import Array
from stribeck.ident.backlash.gear_search import GearSearch, crossings
from stribeck.ident.backlash.joint_backlash import LINK, TORQUE, JointBacklash
from stribeck.ident.backlash.link_fit import LinkFit
from stribeck.ident.backlash.link_rows import COMPLIANCE, FRICTION, WIDTH, LinkRows
from stribeck.ident.backlash.play_data import PlayData
from stribeck.ident.errors import FitError
from stribeck.ident.fit.choice.signed_ranks import excess_ranks
from stribeck.ident.laws.parameter import Parameter, verdict
from stribeck.ident.memory.states.memories import relaxed

# standard errors by which play must predict left-out blocks better than none,
_CLAIM = 2.6
_BETTER = 0.9  # and largest ratio of the errors,
_MUCH_BETTER = 0.7  # or a ratio so small that ranks do not matter
_CLAIM_LINK, _BETTER_LINK = 1.5, 0.8  # the same with the position of the link
_CROSSINGS = 4  # fewest crossings of the gap
_SAMPLES = 5  # fewest samples in a crossing, without the position of the link
_SLOW = 0.8  # periods of the cut-off that a crossing takes if the torque shows its shape
# error of the play, relative, by what the equations leave out, with link and without,
_MODEL, _MODEL_TORQUE = 0.02, 0.08
# and error of the wind-up by the link's friction, which with the link is told
# from the play by torque
_WOUND = 0.4
_STEPS = 2.0  # smallest play in steps of the encoder
_WIDEST = 0.5  # largest half width of the play's interval over the play
_PRESSED = 0.99  # part of the samples on one flank from which gravity holds it


@dataclass(frozen=True)
class FoundPlay:
    """Play of a joint.

    Attributes
    ----------
    joint : JointBacklash
    data : PlayData
        The samples.
    torque, gap : ndarray, shape (N,)
        Torque of the link behind the fitted gear, and motor minus link, measured or behind this
        gear [N·m or N, rad or m].
    """

    joint: JointBacklash
    data: PlayData
    torque: Array
    gap: Array


def find_play(
    data: PlayData, coulomb: float | None = None, stiffness: float | None = None
) -> FoundPlay:
    """Return the play of a joint.

    Parameters
    ----------
    data : PlayData
    coulomb : float, optional
        Dry friction of motor and link together [N·m or N]; by default that of a
        rigid joint, from the torque.
    stiffness : float, optional
        Known stiffness between motor and link [N·m/rad or N/m].

    Raises
    ------
    FitError
        If the samples show no play, or cannot show it: one flank stays in contact, crossings are
        too few or too short, or play is below the resolution of the encoder.
    """
    data = data.thinned()
    friction = dry_friction(data) if coulomb is None else coulomb
    _check_flanks(data, friction, "all friction")
    return (
        _from_link(data, friction, stiffness)
        if data.measures_link
        else _from_torque(data, friction, stiffness)
    )


def dry_friction(data: PlayData) -> float:
    """Return the dry friction of a joint that is taken as rigid [N·m or N]."""
    velocity, gain = data.motion
    state = data.filtered(relaxed(data.path, 2.0 * data.resolution)[0])
    columns = np.column_stack([state, data.load, gain, velocity, np.ones(len(gain))])[data.used]
    scale = np.sqrt(np.mean(columns**2, axis=0)) + 1e-300
    return float(
        abs(np.linalg.lstsq(columns / scale, data.torque[data.used], rcond=1e-8)[0][0] / scale[0])
    )


def _from_link(data: PlayData, friction: float, stiffness: float | None) -> FoundPlay:
    """Return the play that motor minus link shows."""
    rows = LinkRows(data, friction)
    fit = LinkFit(rows, stiffness)
    offset, play, compliance, rubs, _ = fit.loose.values
    _check_flanks(data, float(fit.tight.values[FRICTION]), "the link's friction")
    unit = _units(data)[0]
    with_play, without = fit.held_out(fit.loose), fit.held_out(fit.tight)
    error, other = float(np.sqrt(with_play.mean())), float(np.sqrt(without.mean()))
    _check_choice(
        error / other < _BETTER_LINK and excess_ranks(with_play, without) > _CLAIM_LINK,
        error,
        other,
        play,
        unit,
    )
    crossed = passes(data.fast_difference - offset, play)
    samples = _check_crossings(crossed, data.each, 1)
    _check_resolution(data, play)
    if play > float(np.ptp(data.fast_difference)):
        raise FitError(
            f"a play of {play:.3g} {unit} is not determined: motor and link differ by "
            f"{np.ptp(data.fast_difference):.3g} {unit} at most; record more reversals"
        )
    # else stiffness does not tell whose friction it is
    slow = samples / data.each * data.dt * data.cutoff > _SLOW
    wound = compliance * max(2.0 * rubs, friction)
    if play < wound and not (slow and stiffness):
        raise FitError(
            _wound(
                play,
                wound,
                "half the joint's friction" if friction > 2.0 * rubs else "the link's friction",
                unit,
            )
        )
    intervals, free = fit.intervals()
    half = np.zeros(5)
    half[list(free)] = intervals.half_width()[: len(free)]
    half = np.hypot(half, fit.spread())
    half[WIDTH] = np.sqrt(
        half[WIDTH] ** 2 + (_MODEL * play) ** 2 + (_WOUND * 2.0 * compliance * rubs) ** 2
    )
    halves = half[WIDTH], half[COMPLIANCE] / compliance**2, half[FRICTION]
    told = _parameters(data, (play, 1.0 / compliance, rubs), halves, stiffness, np.inf)
    joint = JointBacklash(*told, LINK, len(crossed), samples, error, other)
    return FoundPlay(
        joint,
        data,
        rows.transmitted(fit.loose.values)[data.used, 0],
        data.difference[data.used] - offset,
    )


def _from_torque(data: PlayData, friction: float, stiffness: float | None) -> FoundPlay:
    """Return the play that the torque of the motor shows."""
    search = GearSearch(data, friction, stiffness)
    found, none = search.search()
    play, unit = float(found.values[0]), _units(data)[0]
    ratio = found.rmse / none.rmse
    _check_choice(
        ratio < _MUCH_BETTER or (ratio < _BETTER and found.ahead_of(none) > _CLAIM),
        found.rmse,
        none.rmse,
        play,
        unit,
    )
    passage = search.passage(found)
    crossed = crossings(passage, data.used)
    samples = _check_crossings(crossed, data.each, _SAMPLES)
    _check_resolution(data, play)
    if play < (wound := friction / float(found.values[1])):
        raise FitError(_wound(play, wound, "the joint's friction", unit))
    intervals, free = search.intervals(found)
    half = np.zeros(4)
    half[list(free)] = intervals.half_width()[: len(free)]
    half[0] = np.hypot(half[0], _MODEL_TORQUE * play)
    told = _parameters(data, found.values[:3], half[:3], stiffness, search.stiffest)
    joint = JointBacklash(*told, TORQUE, len(crossed), samples, found.rmse, none.rmse)
    used = data.used
    return FoundPlay(
        joint,
        data,
        data.filtered(passage.torque[:, 0])[used],
        data.filtered(passage.gap[:, 0])[used],
    )


def passes(deflection: Array, play: float) -> np.ndarray:
    """Return the number of samples of each passage from one half of a gap's flanks
    to the other, shape (X,).
    """
    side = np.where(np.abs(deflection) > 0.45 * play, np.sign(deflection), 0.0)
    at = np.flatnonzero(side)
    turns = np.flatnonzero(side[at][1:] != side[at][:-1])
    return np.asarray(at[turns + 1] - at[turns], dtype=int)


def _check_flanks(data: PlayData, friction: float, whose: str) -> None:
    """Refuse a motion in which the load presses one flank all the time,
    in spite of this friction.
    """
    used = data.used
    load = (data.load + data.filtered(data.inertia) * data.link_motion[1])[used]
    for side in (1.0, -1.0):
        if np.mean(side * load > friction) > _PRESSED:
            low, high = np.quantile(load, (0.001, 0.999))
            unit = _units(data)[1]
            raise FitError(
                f"gravity keeps one flank in contact: the load of the link is {low:.3g} to "
                f"{high:.3g} {unit}, beyond {whose} of {friction:.2g} {unit}; record it where the "
                "load is smaller or changes its direction"
            )


def _check_choice(better: bool, error: float, other: float, play: float, unit: str) -> None:
    if not better:
        raise FitError(
            "wind-up and friction alone predict left-out blocks as well as play does (error "
            f"{other:.3g} without, {error:.3g} with a play of {play:.2g} {unit})"
        )


def _check_crossings(crossed: np.ndarray, each: int, least: int) -> float:
    """Return the median number of recorded samples in a crossing; `each` are one sample here."""
    if len(crossed) < _CROSSINGS:
        raise FitError(
            f"the motor crosses the gap {len(crossed)} times; at least {_CROSSINGS} crossings are "
            "needed. Record more reversals"
        )
    samples = each * float(np.median(crossed))
    if samples < least:
        raise FitError(
            f"a crossing of the gap takes {samples:g} samples in the median; at least {least} are "
            "needed. Reverse more slowly, or log at a higher rate"
        )
    return samples


def _check_resolution(data: PlayData, play: float) -> None:
    if play < _STEPS * data.step:
        unit = _units(data)[0]
        raise FitError(
            f"a play of {play:.2g} {unit} is below {_STEPS:g} steps of the encoder, "
            f"{_STEPS * data.step:.2g} {unit}; use a finer encoder"
        )


def _wound(play: float, wound: float, whose: str, unit: str) -> str:
    return (
        f"a play of {play:.2g} {unit} is below the wind-up by {whose}, {wound:.2g} {unit}, and is "
        "not told from it; a "
        "stiffness stated in the arm file, or slower motion, may tell them apart"
    )


def _units(data: PlayData) -> tuple[str, str]:
    return ("m", "N") if data.prismatic else ("rad", "N·m")


def _parameters(
    data: PlayData,
    values: Sequence[float] | Array,
    halves: Sequence[float] | Array,
    stiffness: float | None,
    stiffest: float,
) -> tuple[Parameter, Parameter, Parameter]:
    """Return play, stiffness and friction of the link with 95 % intervals of these half widths.

    An encoder step shifts each flank by up to half a step.

    Raises
    ------
    FitError
        If the interval of the play is too wide.
    """
    angle, torque = _units(data)
    made = []
    for k, (own, half, unit) in enumerate(
        zip(values, halves, (angle, f"{torque}/{angle}", torque), strict=True)
    ):
        value, half = float(own), float(np.hypot(half, data.step if k == 0 else 0.0))
        low, high = max(0.0, value - half), value + half
        if k == 1 and stiffness is not None:
            made.append(
                Parameter(value, None, None, None, unit, "at bound", "stated in the arm file")
            )
        elif k == 1 and value >= 0.98 * stiffest:
            made.append(
                Parameter(
                    value,
                    half / 2.0,
                    low,
                    None,
                    unit,
                    "at bound",
                    "stiffer than the sampling rate shows",
                )
            )
        else:
            made.append(Parameter(value, half / 2.0, low, high, unit, verdict(value, low, high)))
    play = made[0]
    assert play.value is not None
    assert play.half_width is not None
    if play.half_width > _WIDEST * play.value:
        raise FitError(
            f"play = {play.value:.3g} ± {play.half_width:.2g} {angle} is not determined; record "
            "more reversals"
        )
    return made[0], made[1], made[2]
