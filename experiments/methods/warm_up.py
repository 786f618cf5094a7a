"""Warm-up: brisk round trips of the whole arm around home, until friction settles."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from stribeck.drivers.arm import JointSample
from stribeck.experiments.methods.whole_arm import WHOLE_ARM, sweep
from stribeck.experiments.plans.check_plan import checked
from stribeck.experiments.plans.constant_speed_options import Trip
from stribeck.experiments.plans.free_way import free_way
from stribeck.experiments.plans.motion_profile import with_robot_time
from stribeck.experiments.plans.order import Writer
from stribeck.experiments.plans.plan import Plan, Segment
from stribeck.experiments.plans.speeds_and_postures import Design
from stribeck.experiments.recording.follow import ENOUGH
from stribeck.ident.arm.arm_file import ArmFile
from stribeck.ident.arrays import Array
from stribeck.ident.log.run import WARM_UP, Run, arm_sha256, load_run
from stribeck.ident.log.strokes import REST_TOLERANCE

METHOD = "warm-up"
LIMIT = 900.0  # longest warm-up [s]
# friction has settled if it changes by no more than this part in every joint
CHANGE = 0.01
OVER = 120.0  # within this time [s]
_LEVEL = 0.1  # level of the speeds: 0 is the fastest, 1 the slowest
_LEAST = 6  # smallest number of round trips that show a change
_AT_SPEED = 0.8  # part of its highest speed from which a joint's torque counts


def plan_warm_up(
    arm: ArmFile, joints: tuple[str, ...] | None = None, seed: int = 0, limit: float = LIMIT
) -> Plan:
    """Make a plan of round trips that lasts for `limit` seconds, checked against all limits.

    Other parameters and errors as in `one_joint_at_a_time.plan_constant_speed`.
    """
    design = Design.of(arm, joints, WHOLE_ARM)
    home, writer = arm.home(design.mechanism), Writer(design.mechanism.names)
    way, speeds = sweep(design, design.at_level(_LEVEL))
    way = free_way(design, home, way, np.random.default_rng(seed))
    writer.move(home, 0)
    writer.round_trip(
        Trip(0, way, design.active[0], float(speeds[design.active[0]])), 0, reference=True
    )
    plan = Plan(
        arm.name,
        arm_sha256(arm),
        METHOD,
        seed,
        design.mechanism.names,
        tuple(home.tolist()),
        tuple(writer.segments),
        purpose=WARM_UP,
    )
    there, back = plan.segments[1:]
    trip = with_robot_time(replace(plan, segments=(there, back)), design.limits).robot_time
    trips = [
        replace(
            segment, id=2 * k + segment.id, mirror_of=None if segment is there else 2 * k + there.id
        )
        for k in range(max(1, int(limit // trip)))
        for segment in (there, back)
    ]
    plan = replace(plan, segments=(plan.segments[0], *trips))
    return with_robot_time(checked(plan, arm, design.mechanism), design.limits)


class Settling:
    """Judge of when a warm-up may end, called with the samples of each segment.

    Friction of a round trip is the mean torque in the direction of motion, over both strokes. All
    other torque is the same in every round trip.
    """

    def __init__(self) -> None:
        self._there = np.empty(0)
        self._trips: list[tuple[float, Array]] = []

    def __call__(self, segment: Segment, samples: Sequence[JointSample]) -> str:
        """Return why the warm-up may end after this segment; empty if it must go on."""
        if segment.speed is None:
            return ""
        along = _along(samples)
        if segment.mirror_of is None:
            self._there = along
            return ""
        self._trips.append((samples[-1].t, (self._there + along) / 2.0))
        return self._settled()

    def _settled(self) -> str:
        last = [trip for trip in self._trips if trip[0] > self._trips[-1][0] - OVER]
        if len(last) < _LEAST or len(last) == len(self._trips):
            return ""
        t, friction = (np.array(column) for column in zip(*last, strict=True))
        change = float(np.nanmax(_changes(t, friction)))
        return (
            f"friction changes by no more than {100.0 * change:.1f} % in {OVER / 60.0:g} min"
            if change <= CHANGE
            else ""
        )


def _along(samples: Sequence[JointSample]) -> Array:
    """Mean torque of every moving joint in its direction of motion, near its highest speed,
    shape (n,); nan for others.
    """
    q, dq, tau = (
        np.array([getattr(sample, key) for sample in samples]) for key in ("q", "dq", "tau")
    )
    way = q[-1] - q[0]
    moves = dq * np.sign(way) > _AT_SPEED * np.max(np.abs(dq), axis=0)
    mean = np.sum(np.where(moves, tau * np.sign(way), 0.0), axis=0) / np.maximum(
        moves.sum(axis=0), 1
    )
    return np.where(np.abs(way) > REST_TOLERANCE, mean, np.nan)


def _changes(t: Array, friction: Array) -> Array:
    """Relative change of friction over `OVER` plus standard error, from a line through
    the round trips, shape (n,).
    """
    since = t - t.mean()
    slope = since @ friction / (since @ since)
    rest = friction - friction.mean(axis=0) - since[:, None] * slope
    error = np.sqrt(np.sum(rest**2, axis=0) / (len(t) - 2) / (since @ since))
    return np.asarray((np.abs(slope) + error) * OVER / np.abs(friction.mean(axis=0)))


def ended(run: Run) -> str:
    """Sentence with duration of a warm-up, why it ended, and temperatures of the drives."""
    unsettled = (
        "friction had not settled"
        if run.duration > OVER
        else "too short to tell whether friction had settled; the test needs more than "
        f"{OVER / 60.0:g} min"
    )
    reason = next(
        (event["reason"] for event in run.events if event.get("event") == ENOUGH), unsettled
    )
    said = f"{run.duration / 60.0:.1f} min; {reason}"
    temperature = run.signals.get("temperature")
    if temperature is None or not np.isfinite(temperature[[0, -1]]).any():
        return said
    before, after = temperature[0], temperature[-1]
    return f"{said}; drives from {np.nanmin(before):.0f} to {np.nanmax(after):.0f} °C"


def run_notes(runs: Iterable[Run]) -> dict[str, str]:
    """Facts about the warm-ups of the runs' campaigns for the report: heading -> sentence."""
    campaigns = {run.path.parent for run in runs if run.path.parent.name == "runs"}
    beside = sorted(folder for campaign in campaigns for folder in campaign.glob(f"*_{WARM_UP}*"))
    return {WARM_UP: " – ".join(ended(load_run(folder)) for folder in beside)} if beside else {}
