"""Presliding: small round trips of one joint at a time about several places, from below to
above the presliding distance.

Friction after a reversal builds up over the presliding distance h. In every place each joint makes

1. long round trips at a few constant speeds, which show sliding friction;
2. a wave with small reversals inside a large round trip, so that loops lie inside a loop;
3. slow round trips as cosines, from the largest half amplitude to the smallest: each lies inside
   the last pass of the one before;
4. quick round trips, from the smallest to the largest: their speeds show
   damping before the joint slides.

Each motion begins where the one before ends. The period T of a slow round trip of half amplitude a
leaves 20 samples in the first distance h = a_0, the smallest half amplitude, after a reversal:

    h = a (1 - cos(2 pi t / T)),  t = 20 / rate
"""

from dataclasses import dataclass

import numpy as np

from stribeck.drivers.arm import Resolution
from stribeck.experiments.errors import PlanError
from stribeck.experiments.methods.one_joint_at_a_time import one_joint_trip, one_joint_ways
from stribeck.experiments.plans.check_plan import checked
from stribeck.experiments.plans.clear.clearance import may_move_together
from stribeck.experiments.plans.constant_speed_options import ConstantSpeed
from stribeck.experiments.plans.make_room import places_with_room
from stribeck.experiments.plans.motion_profile import with_robot_time
from stribeck.experiments.plans.order import Writer
from stribeck.experiments.plans.plan import Harmonics, Plan
from stribeck.experiments.plans.speeds_and_postures import Design
from stribeck.ident.arm.arm_file import ArmFile
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.arrays import Array
from stribeck.ident.errors import InputError
from stribeck.ident.log.run import PRESLIDING, arm_sha256
from stribeck.ident.model.mechanism import Mechanism

METHOD = "small round trips, one joint at a time"
PLACES = 3
# smallest and largest half amplitude by default
AMPLITUDES = {"rad": (3e-4, 3e-2), "m": (3e-5, 3e-3)}
LEAST = 4  # smallest number of half amplitudes that show where presliding ends
STEPS = 8  # smallest half amplitude in steps of the position reading
_COUNT = 6  # number of half amplitudes by default
_VELOCITY_STEPS = 4  # smallest highest speed of a round trip in steps of the velocity set-point
_SAMPLES = 20  # samples in the first a_0 after a reversal
_PASSES = 5  # passes of a small motion: two and a half round trips
_SLOW, _QUICK = 1.0, 0.3  # s; shortest periods of slow and quick round trips
_QUICK_SAMPLES = 40  # smallest number of samples in a quick round trip
_GENTLE = 0.1  # highest acceleration of quick round trips, as a fraction of the limit
# levels of the speeds of long round trips: 0 is the fastest, 1 the slowest
_LEVELS = (0.0, 0.4, 0.8)
# harmonic, and its part of the half amplitude, of the reversals inside a wave
_INNER, _PART = 5, 0.25
_WAVES = 2  # periods of the wave


@dataclass(frozen=True)
class SmallTrips:
    """Options of the experiment.

    Attributes
    ----------
    amplitudes : tuple of float, optional
        Half amplitudes of the small round trips [rad or m]; default: `AMPLITUDES`,
        evenly spaced in the logarithm.
    places : int
        Number of postures.
    """

    amplitudes: tuple[float, ...] | None = None
    places: int = PLACES


def plan_presliding(
    arm: ArmFile,
    joints: tuple[str, ...] | None = None,
    seed: int = 0,
    options: SmallTrips | None = None,
    resolution: Resolution | None = None,
) -> Plan:
    """Make the plan for some or all joints, checked against all limits.

    Parameters
    ----------
    arm, joints, seed
        As in `one_joint_at_a_time.plan_constant_speed`. Real hardware whose collisions cannot
        be checked stays at home.
    options : SmallTrips, optional
        Half amplitudes and number of places.
    resolution : Resolution, optional
        Steps of the drives; default: negligible.

    Raises
    ------
    PlanError, InputError
        As in `one_joint_at_a_time.plan_constant_speed`, and if the resolution of a drive leaves
        fewer than `LEAST` half amplitudes.
    """
    options = options or SmallTrips()
    steps = resolution or Resolution(*np.zeros((3, len(load_mechanism(arm).names))))
    if options.places < 1:
        raise InputError(f"--places {options.places}: at least 1 place is needed")
    design = Design.of(arm, joints, ConstantSpeed(postures=options.places), steps.velocity_step)
    found = places_with_room(
        design, lambda slower, candidates, asked, _: one_joint_ways(slower, candidates, asked), seed
    )
    design, home, writer = found.design, found.postures[0], Writer(design.mechanism.names)
    count = (
        options.places if may_move_together(arm, design.mechanism) or design.mechanism.n == 1 else 1
    )
    room = np.abs(found.ways[1:]).min(axis=0) / 2.0
    series = {j: _amplitudes(design, j, float(room[j]), options, steps) for j in design.active}
    for number in range(1, count + 1):
        writer.move(home, 0)
        writer.move(found.postures[number], number)
        for j in design.active:
            _move_one_joint(writer, design, found.ways, number, j, series[j])
    writer.move(home, 0)
    plan = Plan(
        arm.name,
        arm_sha256(arm),
        METHOD,
        seed,
        design.mechanism.names,
        tuple(home.tolist()),
        tuple(writer.segments),
        purpose=PRESLIDING,
        lowered=found.lowered,
    )
    return with_robot_time(checked(plan, arm, design.mechanism), design.limits)


def planned_amplitudes(plan: Plan) -> dict[str, list[float]]:
    """Return the half amplitudes of each joint's small round trips in a plan, in
    ascending order [rad or m].
    """
    found: dict[str, set[float]] = {}
    for start, segment in plan.legs():
        if segment.kind == "swing" and segment.joint:
            j = plan.names.index(segment.joint)
            found.setdefault(segment.joint, set()).add(
                float(f"{abs(segment.target[j] - start[j]) / 2.0:.6g}")
            )
    return {name: sorted(halves) for name, halves in found.items()}


def left_out(plan: Plan, mechanism: Mechanism, options: SmallTrips | None = None) -> list[str]:
    """Return a sentence for each joint whose small round trips lack some of
    the wanted half amplitudes.
    """
    sentences = []
    for name, planned in planned_amplitudes(plan).items():
        unit = mechanism.position_unit(mechanism.names.index(name))
        wanted = _wanted(unit, options or SmallTrips())
        missing = [f"{a:.3g}" for a in wanted if not np.isclose(a, planned, 1e-4, 0.0).any()]
        if missing:
            sentences.append(
                f"{name}: no round trips of {', '.join(missing)} {unit}: too small for the "
                "resolution of its drive, or too large for its strokes"
            )
    return sentences


def _wanted(unit: str, options: SmallTrips) -> list[float]:
    """Return the half amplitudes that the options ask for, in ascending order."""
    return sorted(options.amplitudes or np.geomspace(*AMPLITUDES[unit], _COUNT).tolist())


def _amplitudes(
    design: Design, j: int, room: float, options: SmallTrips, resolution: Resolution
) -> list[float]:
    """Return the half amplitudes of a joint that its drive can resolve and its room
    allows, in ascending order.
    """
    name, unit = design.mechanism.names[j], design.mechanism.position_unit(j)
    wanted = _wanted(unit, options)
    position, velocity = float(resolution.position_step[j]), float(resolution.velocity_step[j])
    seen, followed = STEPS * position, _VELOCITY_STEPS * velocity * _SLOW / (2.0 * np.pi)
    fits = [a for a in wanted if a <= room]
    kept = [a for a in fits if a >= max(seen, followed)]
    if len(kept) >= LEAST:
        return kept
    begin = (
        f"{design.arm.path}: joint {name}: {len(kept)} of {len(wanted)} half amplitudes from "
        f"{wanted[0]:.3g} to {wanted[-1]:.3g} {unit} remain, {LEAST} are needed"
    )
    if len(fits) < LEAST:
        raise PlanError(
            f"{begin}; the strokes of {name} have room for {room:.3g} {unit}. State more or "
            "smaller --amplitudes"
        )
    longer = f"or state larger --amplitudes, if {name} slides only after a longer distance"
    if seen >= followed:
        raise PlanError(
            f"{begin}: its position reading has steps of {position:.3g} {unit}, and a half "
            f"amplitude needs {STEPS} of them, {seen:.3g} {unit}. These amplitudes need a "
            f"resolution of {fits[-LEAST] / STEPS:.3g} {unit} or finer; use a finer encoder, "
            f"{longer}"
        )
    raise PlanError(
        f"{begin}: its velocity set-points have steps of {velocity:.3g} {unit}/s, too coarse for "
        f"round trips below {followed:.3g} {unit}. These amplitudes need steps of "
        f"{velocity * fits[-LEAST] / followed:.3g} {unit}/s or finer; use a finer drive, {longer}"
    )


def _move_one_joint(
    writer: Writer, design: Design, ways: Array, number: int, j: int, amplitudes: list[float]
) -> None:
    """Append the motions of one joint in one place."""
    rate, limit, way = (
        design.arm.driver.rate,
        float(design.limits.acceleration[j]),
        float(np.sign(ways[number, j])),
    )
    for speed in design.at_level(np.array(_LEVELS))[:, j]:
        writer.round_trip(one_joint_trip(design, ways, number, j, float(speed)), number)
    slow = {a: _period(a, amplitudes[0], rate) for a in amplitudes}
    writer.wave(
        _loops_in_a_loop(way * amplitudes[-2], slow[amplitudes[-2]], j, design.mechanism.n), number
    )
    for a in reversed(amplitudes):
        writer.swing(j, way * 2.0 * a, 2.0 * np.pi * a / slow[a], _PASSES, number)
        way = -way
    for a in amplitudes:
        quick = max(_QUICK, _QUICK_SAMPLES / rate, 2.0 * np.pi * np.sqrt(a / (_GENTLE * limit)))
        writer.swing(j, way * 2.0 * a, 2.0 * np.pi * a / min(quick, slow[a]), _PASSES, number)
        way = -way


def _period(amplitude: float, smallest: float, rate: float) -> float:
    """Period of a slow round trip [s], see the module."""
    return float(max(_SLOW, 2.0 * np.pi * _SAMPLES / rate / np.arccos(1.0 - smallest / amplitude)))


def _loops_in_a_loop(amplitude: float, period: float, j: int, n: int) -> Harmonics:
    """Motion of joint j from 0 to twice the signed amplitude and back, with reversals on the way.

    Its sharpest reversals are as sharp as those of a cosine of this amplitude and period.
    """
    cosines = np.zeros((n, _INNER))
    cosines[j, 0], cosines[j, -1] = -(1.0 - _PART) * amplitude, -_PART * amplitude
    sharper = np.sqrt(1.0 - _PART + _PART * _INNER**2)
    rows = tuple(map(tuple, cosines.tolist()))
    return Harmonics(
        float(f"{sharper * period:.6g}"),
        _WAVES,
        tuple(map(tuple, np.zeros_like(cosines).tolist())),
        rows,
    )
