"""Strokes and round trips in synthetic logs of a crane; this file computes
its gravity and friction.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
import pytest

from stribeck.ident.arm.arm_file import ArmFile
from stribeck.ident.arm.arm_tables import DriverTable, JointTable, Tool, Workspace
from stribeck.ident.log.reduction.position_bins import bins_of
from stribeck.ident.log.reduction.round_trips import Reduction, reduce_run
from stribeck.ident.log.run import Run
from stribeck.ident.log.strokes import find_strokes
from stribeck.ident.model.mechanism import Mechanism

RATE, G = 250.0, 9.81
NAMES = ("turn", "lift", "slide")  # a mast about z, a boom about y, a trolley along the boom
DRY, VISCOUS = np.array([5.0, 6.0, 40.0]), np.array([3.0, 4.0, 25.0])
INERTIA = np.array([2.0, 1.5, 3.0])  # at the drives, during ramps
SPEEDS = (0.01, 0.05, 0.2, 0.5)


def crane() -> Mechanism:
    """Mast 2 kg, boom 4 kg at 0.3 m, trolley 1 kg from 0.5 m on; the boom is level at
    zero and down when positive.
    """
    return Mechanism(
        "crane",
        NAMES,
        (-1, 0, 1),
        prismatic=np.array([False, False, True]),
        axis=np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]),
        origin=np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 0.5], [0.5, 0.0, 0.0]]),
        mass=np.array([2.0, 4.0, 1.0]),
        com=np.array([[0.0, 0.0, 0.2], [0.3, 0.0, 0.0], [0.0, 0.0, 0.0]]),
        inertia=np.array([0.01 * np.eye(3)] * 3),
        gravity=np.array([0.0, 0.0, -G]),
        position=np.tile([-np.inf, np.inf], (3, 1)),
        bearings=(None,) * 3,
    )


def gravity(q: np.ndarray) -> np.ndarray:
    """Gravity torque of turn and lift [N·m] and force of slide [N], derived by hand."""
    lift = -(4.0 * 0.3 + 1.0 * (0.5 + q[:, 2])) * G * np.cos(q[:, 1])
    return np.column_stack([np.zeros(len(q)), lift, -1.0 * G * np.sin(q[:, 1])])


def friction(joint: np.ndarray | int, speed: np.ndarray | float) -> np.ndarray:
    return DRY[joint] * np.sign(speed) + VISCOUS[joint] * speed


def test_bins_have_enough_samples_and_whole_revolutions() -> None:
    """Along nine motor revolutions, 12 samples give three bins, and 2 samples give one bin."""
    turn = 2.0 * np.pi / 100.0
    assert bins_of(9.5 * turn, turn, 500.0) == (5, pytest.approx(5.0 * turn))
    assert bins_of(9.5 * turn, turn, 12.0) == (3, pytest.approx(9.0 * turn))
    assert bins_of(9.5 * turn, turn, 2.0) == (1, pytest.approx(9.0 * turn))
    assert bins_of(0.5, 0.0, 8.0) == (2, 0.5)


class Log:
    """Builder of a log at 250 Hz from successive motions."""

    def __init__(self) -> None:
        self.q, self.dq, self.ddq = ([np.zeros((1, 3))] for _ in range(3))
        self.segment, self.count = [np.array([-1])], 0

    def rest(self, seconds: float, segment: int = -1) -> Self:
        k = round(seconds * RATE)
        return self._add(np.zeros((k, 3)), np.zeros((k, 3)), segment)

    def move(
        self, segment: int | None = None, acceleration: float = 2.0, **targets: tuple[float, float]
    ) -> Self:
        """Move joints simultaneously to their targets at their speeds, each
        with a trapezoidal speed.
        """
        ends = {
            NAMES.index(name): (target - self.q[-1][-1, NAMES.index(name)], speed)
            for name, (target, speed) in targets.items()
        }
        profiles = {}
        for j, (way, speed) in ends.items():
            cruise = max(0.0, abs(way) / speed - speed / acceleration)
            profile = trapezoid(min(speed, np.sqrt(abs(way) * acceleration)), acceleration, cruise)
            # reaches the target in a whole number of samples
            profiles[j] = profile * way * RATE / profile.sum()
        longest = max(len(profile) for profile in profiles.values())
        dq = np.zeros((longest, 3))
        for j, profile in profiles.items():
            dq[: len(profile), j] = profile
        return self._add(dq, np.gradient(dq, 1.0 / RATE, axis=0), self._next(segment))

    def stages(
        self, name: str, speeds: tuple[float, ...], way: float, segment: int | None = None
    ) -> Self:
        """Move one joint at several speeds without stopping, over the distance `way` at each;
        backwards if `way` is negative.
        """
        pieces, last = [], 0.0
        for speed in (*speeds, 0.0):
            ramp = np.linspace(last, speed, max(2, round(abs(speed - last) / 2.0 * RATE)))
            pieces += [ramp, np.full(round(abs(way) / speed * RATE), speed) if speed else []]
            last = speed
        dq = np.zeros((sum(map(len, pieces)), 3))
        dq[:, NAMES.index(name)] = np.sign(way) * np.concatenate(pieces)
        return self._add(dq, np.gradient(dq, 1.0 / RATE, axis=0), self._next(segment))

    def trip(self, name: str, low: float, high: float, speed: float) -> Self:
        return self.move(**{name: (high, speed)}).rest(0.15).move(**{name: (low, speed)}).rest(0.15)

    def back(self) -> Self:
        """Add a rest, the last motion with reversed time, and a rest."""
        there = self.dq[-1]
        return (
            self.rest(0.2)
            ._add(-there[::-1], np.gradient(-there[::-1], 1.0 / RATE, axis=0), self._next(None))
            .rest(0.2)
        )

    def _next(self, segment: int | None) -> int:
        segment = self.count if segment is None else segment
        self.count = max(self.count, segment + 1)
        return segment

    def _add(self, dq: np.ndarray, ddq: np.ndarray, segment: int) -> Self:
        self.q.append(self.q[-1][-1] + np.cumsum(dq, axis=0) / RATE)
        self.dq.append(dq)
        self.ddq.append(ddq)
        self.segment.append(np.full(len(dq), segment))
        return self

    @property
    def velocity(self) -> np.ndarray:
        return np.concatenate(self.dq)

    def run(
        self,
        encoder: float = 1e-5,
        jitter: float = 0.0,
        noise: float = 0.05,
        gear: float = 100.0,
        segments: bool = True,
        plan: list[dict[str, Any]] | None = None,
        temperature: float | None = None,
        extra: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None,
    ) -> Run:
        """The run that a recorder would write: noisy torques, positions in encoder steps."""
        rng = np.random.default_rng(0)
        q, dq, ddq, segment = map(np.concatenate, (self.q, self.dq, self.ddq, self.segment))
        tau = (
            gravity(q)
            + friction(np.arange(3), dq)
            + INERTIA * ddq
            + noise * rng.standard_normal(q.shape)
        )
        if extra is not None:
            tau = tau + extra(q, dq)
        seen = q + jitter * rng.standard_normal(q.shape)
        signals = {"q": np.round(seen / encoder) * encoder if encoder else seen, "tau": tau}
        if temperature is not None:
            signals["temperature"] = np.full_like(q, temperature)
        joints = {name: JointTable(gear_ratio=gear) for name in NAMES}
        arm = ArmFile(
            Path("crane.toml"),
            "crane",
            Path("crane.urdf"),
            (0.0, 0.0, -G),
            "motor current",
            Tool(),
            Workspace(),
            DriverTable(),
            joints,
            {},
        )
        record = {} if plan is None else {"plan": {"segments": plan}}
        return Run(
            Path("crane"),
            record,
            arm,
            (),
            NAMES,
            np.arange(len(q)) / RATE,
            segment if segments else np.zeros(len(q), dtype=int),
            signals,
        )


def trapezoid(speed: float, acceleration: float, cruise: float) -> np.ndarray:
    ramp = np.arange(1, max(2, round(speed / acceleration * RATE))) / RATE * acceleration
    return np.concatenate((ramp, np.full(max(1, round(cruise * RATE)), speed), ramp[::-1], [0.0]))


def sweep() -> Log:
    """A round trip of each joint at each speed."""
    log = Log()
    for name, far in (("turn", 0.9), ("lift", 0.9), ("slide", 0.6)):
        for speed in SPEEDS:
            log.trip(name, 0.0, far if speed > 0.02 else far / 6.0, speed)
    return log


def round_trips(reduction: Reduction) -> pd.DataFrame:
    """Table with one row for each round trip, and its true friction."""
    points = reduction.points
    trips = (
        points.groupby(["joint", "segment"], sort=False)
        .agg(speed=("speed", "mean"), odd=("odd", "mean"), n=("n", "sum"), spread=("speed", np.ptp))
        .reset_index()
    )
    joint = np.array([NAMES.index(name) for name in trips["joint"]], dtype=int)
    return trips.assign(friction=friction(joint, trips["speed"].to_numpy(dtype=float)))


def assert_complete(reduction: Reduction, wanted: list[tuple[str, float]]) -> None:
    """Check that there is one round trip for each driven joint and speed, with this
    speed and the true friction.
    """
    trips = round_trips(reduction)
    assert [(row.joint, pytest.approx(row.speed, rel=0.01)) for row in trips.itertuples()] == wanted
    np.testing.assert_allclose(trips["odd"], trips["friction"], rtol=0.005)


WHOLE_SWEEP = [(name, speed) for name in NAMES for speed in SPEEDS]


# the numbers


def test_every_round_trip_is_found_with_its_speed_and_friction() -> None:
    reduction = reduce_run(sweep().run(), crane())
    assert_complete(reduction, WHOLE_SWEEP)
    assert reduction.left_out == ()


@pytest.mark.parametrize("encoder", [1e-6, 1e-4, 2.0 * np.pi / 4096.0])
def test_encoder_steps_lose_no_strokes(encoder: float) -> None:
    """22, 16 and 12 bits per turn; common servos have 12 bits."""
    assert_complete(reduce_run(sweep().run(encoder=encoder), crane()), WHOLE_SWEEP)


def test_short_strokes_of_a_servo_are_found() -> None:
    """Strokes of a second, with 60 to 150 encoder steps, read up to 6 ms late: the time of a cell
    is uncertain by about 5 %.
    """
    step, log, speeds = 2.0 * np.pi / 4096.0, Log(), np.linspace(0.09, 0.23, 30)
    for speed in speeds:
        log.trip("turn", 0.0, float(speed), float(speed))
    run = log.run(encoder=0.0)
    read = run.t - np.random.default_rng(0).uniform(0.0, 6e-3, len(run.t))
    q = (
        np.round(np.column_stack([np.interp(read, run.t, x) for x in run.signals["q"].T]) / step)
        * step
    )
    strokes = [stroke for stroke in find_strokes(run.t, q, run.segment) if stroke.joint == 0]
    assert len(strokes) > 55  # of 60; the tolerance for finer cells would find 53
    driven = [speeds[stroke.segment // 2] for stroke in strokes]
    np.testing.assert_allclose([stroke.speed for stroke in strokes], driven, rtol=0.03)


@pytest.mark.slow
@pytest.mark.parametrize("jitter", [1e-6, 1e-5, 5e-5, 2e-4])
def test_position_noise_loses_no_strokes(jitter: float) -> None:
    run = sweep().run(encoder=0.0, jitter=jitter)
    reduction = reduce_run(run, crane())
    assert_complete(reduction, WHOLE_SWEEP)
    assert reduction.left_out == ()
    # no stroke is split
    assert len(find_strokes(run.t, run.signals["q"], run.segment)) == 2 * len(WHOLE_SWEEP)


@pytest.mark.parametrize("gear", [100.0, 1.0])
def test_a_log_without_segments_gives_the_same_points(gear: float) -> None:
    """Imported logs are one long stream in which one joint moves after the other."""
    assert_complete(reduce_run(sweep().run(segments=False, gear=gear), crane()), WHOLE_SWEEP)


def test_gravity_goes_to_the_even_part_and_matches_the_model() -> None:
    points = reduce_run(sweep().run(), crane()).points
    for row in points.itertuples():
        posture = np.zeros((1, 3))
        posture[0, NAMES.index(row.joint)] = row.position
        expected = gravity(posture)[0, NAMES.index(row.joint)]
        assert row.gravity == pytest.approx(expected, rel=2e-3, abs=1e-6)  # mean over the bin
        assert row.even == pytest.approx(expected, abs=0.06)
    lift = points[points["joint"] == "lift"]
    assert np.ptp(lift["even"]) > 3.0


def test_loads_at_the_points_agree_with_hand_calculations() -> None:
    points = reduce_run(sweep().run(), crane()).points
    lever = (1.2 + 0.5) * G
    turn, lift, slide = (points[points["joint"] == name] for name in NAMES)
    np.testing.assert_allclose(turn["axial"], 7.0 * G, rtol=1e-9)
    slow = turn["speed"] < 0.1
    np.testing.assert_allclose(turn["bending"][slow], lever, rtol=1e-3)
    np.testing.assert_allclose(turn["torque"], 0.0, atol=1e-9)
    # except for bin width
    np.testing.assert_allclose(lift["torque"], lever * np.cos(lift["position"]), rtol=1e-3)
    outwards = (1.2 + 0.5) * lift["speed"] ** 2
    down = 5.0 * G + outwards * np.sin(lift["position"])
    np.testing.assert_allclose(
        lift["radial"], np.hypot(down, outwards * np.cos(lift["position"])), rtol=1e-3
    )
    np.testing.assert_allclose(slide["radial"], G, rtol=1e-9)
    np.testing.assert_allclose(
        lift["gravity_rate"], lever * np.sin(lift["position"]) * lift["speed"], rtol=1e-3
    )
    assert points["normal"].isna().all(), "no bearing is stated"


def test_load_coefficient_on_long_strokes_with_a_change_of_sign_of_the_torque() -> None:
    """The magnitude of the torque has a kink at zero, so its mean over a bin differs
    from its value at the centre.
    """
    log = Log()
    for speed in (0.05, 0.1, 0.2, 0.5):
        log.trip("lift", 0.0, 2.6, speed)

    def grown(q: np.ndarray, dq: np.ndarray) -> np.ndarray:
        return np.array([0.0, 0.1, 0.0]) * np.abs(gravity(q)) * np.sign(dq)

    points = reduce_run(log.run(extra=grown, noise=0.0), crane()).points
    columns = np.column_stack((np.ones(len(points)), points["speed"], points["torque"]))
    found, *_ = np.linalg.lstsq(columns, points["odd"].to_numpy(), rcond=None)
    np.testing.assert_allclose(found, [DRY[1], VISCOUS[1], 0.1], rtol=2e-3)


def test_strokes_exclude_ramps_and_include_most_other_samples() -> None:
    log = sweep()
    run, velocity = log.run(), log.velocity
    every = find_strokes(run.t, run.signals["q"], run.segment)
    for joint in range(3):
        strokes = [stroke for stroke in every if stroke.joint == joint]
        assert len(strokes) == 2 * len(SPEEDS)
        for stroke in strokes:
            inside = velocity[stroke.rows, joint] * stroke.direction
            driven = velocity[run.segment == stroke.segment, joint] * stroke.direction
            steady = np.isclose(driven, driven.max())
            np.testing.assert_allclose(inside, driven.max(), rtol=0.03)
            assert stroke.speed == pytest.approx(driven.max(), rel=0.005)
            assert len(inside) > 0.7 * steady.sum()
            x = run.signals["q"][stroke.rows, joint]
            assert (stroke.low, stroke.high) == pytest.approx((x.min(), x.max()), abs=2e-3)


def test_a_torque_offset_does_not_change_friction() -> None:
    log = Log().trip("lift", 0.0, 0.9, 0.1)
    points = reduce_run(log.run(extra=lambda q, dq: np.array([0.0, 1.7, 0.0])), crane()).points
    np.testing.assert_allclose(points["odd"], friction(1, 0.1), rtol=0.005)
    np.testing.assert_allclose(points["even"] - points["gravity"], 1.7, atol=0.06)


def test_gear_ripple_averages_out_over_whole_motor_revolutions() -> None:
    """0.6 N·m with one period per motor revolution (a tenth of friction) averages out
    if the gear ratio is known.
    """
    log = Log()
    for speed in (0.02, 0.1, 0.4):
        log.trip("lift", 0.0, 0.9, speed)

    def ripple(q: np.ndarray, dq: np.ndarray) -> np.ndarray:
        return 0.6 * np.sin(100.0 * q + 0.3) * np.sign(dq)

    points = reduce_run(log.run(extra=ripple), crane()).points
    np.testing.assert_allclose(points["odd"], friction(1, points["speed"].to_numpy()), rtol=0.003)
    assert points.groupby("segment").size().min() >= 3


def test_scatter_and_counts_describe_the_samples() -> None:
    log = Log().trip("lift", 0.0, 0.9, 0.05)
    run = log.run(noise=0.2, gear=1.0)
    points = reduce_run(run, crane()).points
    np.testing.assert_allclose(points["std"], 0.2, rtol=0.1)
    assert points["n"].sum() > 0.8 * len(run.t)
    assert points["t"].between(run.t[0], run.t[-1]).all()


def test_posture_reference_and_temperature_of_the_points() -> None:
    plan = [
        {"id": 0, "kind": "stroke", "joint": "lift", "posture": 3, "reference": True},
        {"id": 1, "kind": "stroke", "joint": "lift", "posture": 3, "reference": True},
    ]
    points = reduce_run(
        Log().trip("lift", 0.0, 0.9, 0.1).run(plan=plan, temperature=31.5), crane()
    ).points
    assert set(points["posture"]) == {3}
    assert points["reference"].all()
    np.testing.assert_allclose(points["temperature"], 31.5)
    bare = reduce_run(Log().trip("lift", 0.0, 0.9, 0.1).run(), crane()).points
    assert bare["temperature"].isna().all()
    assert not bare["reference"].any()


# definition of a round trip


@pytest.mark.parametrize("segments", [True, False])
def test_each_staged_speed_is_a_round_trip(segments: bool) -> None:
    """Three speeds without stopping, and back, are three round trips."""
    log = (
        Log().stages("lift", (0.05, 0.1, 0.2), 0.3).rest(0.2).stages("lift", (0.2, 0.1, 0.05), -0.3)
    )
    trips = round_trips(reduce_run(log.run(segments=segments), crane()))
    assert sorted(trips["speed"]) == pytest.approx([0.05, 0.1, 0.2], rel=0.01)
    np.testing.assert_allclose(trips["odd"], trips["friction"], rtol=0.005)


def test_repeated_round_trips_are_separate() -> None:
    log = Log()
    for _ in range(3):
        log.trip("lift", 0.0, 0.9, 0.1)
    for segments in (True, False):
        assert len(round_trips(reduce_run(log.run(segments=segments), crane()))) == 3


def test_strokes_in_one_direction_are_excluded_with_a_reason() -> None:
    log = Log()
    for k, speed in enumerate((0.05, 0.1, 0.2)):
        log.move(turn=(0.3 * (k + 1), speed)).rest(0.2)
    reduction = reduce_run(log.run(), crane())
    assert reduction.points.empty
    assert {(joint, segment) for joint, segment, _ in reduction.left_out} == {
        ("turn", 0),
        ("turn", 1),
        ("turn", 2),
    }
    assert all("no return stroke" in reason for _, _, reason in reduction.left_out)


def test_a_stroke_without_constant_speed_is_excluded_with_a_reason() -> None:
    """A stroke of 0.02 rad at a planned 1 rad/s only consists of ramps."""
    plan = [{"id": k, "kind": "stroke", "joint": "turn"} for k in range(2)]
    reduction = reduce_run(Log().trip("turn", 0.0, 0.02, 1.0).run(plan=plan), crane())
    assert reduction.points.empty
    assert {(joint, segment) for joint, segment, _ in reduction.left_out} == {
        ("turn", 0),
        ("turn", 1),
    }


@pytest.mark.parametrize(
    "noise",
    [{"encoder": 1e-5}, {"encoder": 1e-4, "jitter": 1e-4}, {"encoder": 0.0, "jitter": 1e-4}],
)
def test_a_resting_joint_has_no_points(noise: dict[str, float]) -> None:
    log = Log().trip("lift", 0.0, 0.9, 0.05).trip("lift", 0.0, 0.9, 0.1).rest(30.0)
    assert set(reduce_run(log.run(**noise), crane()).points["joint"]) == {"lift"}


@pytest.mark.parametrize("ratio", [1.0, 0.1])
def test_joints_that_move_simultaneously_give_the_friction_of_each_joint(ratio: float) -> None:
    """Coupling torques are equal in both directions."""
    log = Log()
    for speed in (0.1, 0.2, 0.4):
        log.move(
            turn=(0.8, speed), lift=(ratio * 0.8, ratio * speed), slide=(0.4, 0.5 * speed)
        ).back()

    def coupled(q: np.ndarray, dq: np.ndarray) -> np.ndarray:
        return np.column_stack(
            [8.0 * dq[:, 0] * dq[:, 1], 5.0 * dq[:, 0] ** 2, -20.0 * dq[:, 0] * dq[:, 1]]
        )

    trips = round_trips(reduce_run(log.run(extra=coupled), crane()))
    assert sorted(zip(trips["joint"], trips["segment"], strict=True)) == [
        (name, k) for name in sorted(NAMES) for k in (0, 2, 4)
    ]
    np.testing.assert_allclose(trips["odd"], trips["friction"], rtol=0.005)


def test_a_short_constant_speed_in_a_ramp_is_not_a_stroke() -> None:
    """As for a joint that oscillates behind its gear during acceleration; the torque of
    the drive is mostly inertia.
    """

    def ramp(first: float, last: float) -> np.ndarray:
        return np.linspace(first, last, 40)

    rising = np.concatenate((ramp(0.0, 0.3), np.full(25, 0.3), ramp(0.3, 0.6)))
    speed = np.concatenate((rising, np.full(300, 0.6), rising[::-1]))
    log = Log()
    for _ in range(2):
        for dq in (speed, -speed):
            column = np.column_stack([0.0 * dq, dq, 0.0 * dq])
            log._add(column, np.gradient(column, 1.0 / RATE, axis=0), log._next(None)).rest(0.2)
    trips = round_trips(reduce_run(log.run(), crane()))
    np.testing.assert_allclose(trips["speed"], 0.6, rtol=0.01)


def test_a_planned_stroke_pairs_only_with_its_planned_partner() -> None:
    """Two round trips at one speed: a wrong pair would be equally close."""
    log = Log().trip("lift", 0.0, 0.9, 0.1).trip("lift", 0.0, 0.9, 0.1)
    plan = [
        {
            "id": k,
            "kind": "stroke",
            "joint": "lift",
            "speed": 0.1,
            "target": [0.0, 0.9 * (k % 2 == 0), 0.0],
            **({"mirror_of": k - 3} if k == 3 else {}),
        }
        for k in range(4)
    ]
    reduction = reduce_run(log.run(plan=plan), crane())
    assert set(reduction.points["segment"]) == {0}
    assert {segment for _, segment, _ in reduction.left_out} == {1, 2}


def test_a_return_with_another_joint_elsewhere_is_not_paired() -> None:
    """The lift returns through the same positions, but the slide has other positions."""
    log = Log().move(lift=(0.8, 0.2), slide=(0.4, 0.1)).rest(0.2).move(slide=(0.2, 0.1)).rest(0.2)
    log.move(lift=(0.0, 0.2), slide=(0.0, 0.05)).rest(0.2)
    reduction = reduce_run(log.run(), crane())
    assert reduction.points.empty
    assert {"lift", "slide"} == {joint for joint, *_ in reduction.left_out}


def test_different_lags_of_joints_are_corrected_with_the_model() -> None:
    """The boom lags by 8 ms, the trolley does not: at equal boom positions, the trolley
    is at different positions.
    """
    log = Log()
    for speed in (0.2, 0.4):
        log.move(lift=(0.8, speed), slide=(0.6, 0.75 * speed)).back()
    log.q = [
        q - 0.008 * dq * np.array([0.0, 1.0, 0.0]) for q, dq in zip(log.q, log.dq, strict=True)
    ]
    trips = round_trips(reduce_run(log.run(noise=0.0), crane()))
    lift = trips[trips["joint"] == "lift"]
    assert len(lift) == 2
    np.testing.assert_allclose(lift["odd"], lift["friction"], rtol=1e-3)


def test_a_return_at_another_speed_is_not_paired() -> None:
    """The return is 12 % slower, so a half difference would not belong to one speed."""
    log = Log().move(lift=(0.9, 0.1)).rest(0.2).move(lift=(0.0, 0.088))
    reduction = reduce_run(log.run(), crane())
    assert reduction.points.empty
    assert len(reduction.left_out) == 2


def test_a_return_in_another_posture_is_not_paired() -> None:
    """The trolley has moved, so gravity differs between both strokes."""
    log = (
        Log().move(lift=(0.9, 0.1)).rest(0.2).move(slide=(0.3, 0.5)).rest(0.2).move(lift=(0.0, 0.1))
    )
    assert "lift" not in set(reduce_run(log.run(), crane()).points["joint"])


def test_strokes_at_different_positions_pair_only_with_equal_gravity() -> None:
    """A mast about the vertical may return at other positions; a boom may not."""
    mast = (
        Log().move(turn=(1.0, 0.1)).rest(0.2).move(turn=(3.0, 0.8)).rest(0.2).move(turn=(2.0, 0.1))
    )
    (trip,) = round_trips(reduce_run(mast.run(), crane())).itertuples()
    assert trip.odd == pytest.approx(friction(0, 0.1), rel=0.005)
    boom = (
        Log().move(lift=(0.5, 0.1)).rest(0.2).move(lift=(1.3, 0.8)).rest(0.2).move(lift=(0.8, 0.1))
    )
    assert reduce_run(boom.run(), crane()).points.empty


def test_a_stop_during_a_stroke_is_excluded() -> None:
    """Friction at rest, as in stick-slip or a pause, is not sliding friction."""
    log = (
        Log()
        .move(segment=0, lift=(0.4, 0.1))
        .rest(1.0, 0)
        .move(segment=0, lift=(0.9, 0.1))
        .rest(0.2)
    )
    log.move(segment=1, lift=(0.0, 0.1))
    points = reduce_run(log.run(), crane()).points
    assert len(points) > 0
    np.testing.assert_allclose(points["odd"], friction(1, 0.1), rtol=0.005)
    np.testing.assert_allclose(points["speed"], 0.1, rtol=0.005)


def test_lost_samples_and_jitter_change_nothing() -> None:
    log = Log()
    for speed in (0.05, 0.1, 0.2):
        log.trip("lift", 0.0, 0.9, speed)
    run, rng = log.run(), np.random.default_rng(1)
    keep = rng.random(len(run.t)) > 0.05
    keep[1000:1100] = False
    lossy = replace(
        run,
        t=run.t[keep],
        segment=run.segment[keep],
        signals={name: signal[keep] for name, signal in run.signals.items()},
    )
    late = replace(run, t=run.t + rng.uniform(0.0, 0.002, len(run.t)))
    for log_ in (lossy, late):
        assert_complete(reduce_run(log_, crane()), [("lift", 0.05), ("lift", 0.1), ("lift", 0.2)])


def test_a_log_at_rest_gives_an_empty_table_with_columns() -> None:
    reduction = reduce_run(Log().rest(5.0).run(), crane())
    assert reduction.points.empty
    assert {
        "joint",
        "segment",
        "speed",
        "odd",
        "even",
        "gravity",
        "normal",
        "n",
        "std",
        "t",
    } <= set(reduction.points)


def test_reduction_does_not_change_the_log() -> None:
    run = Log().trip("lift", 0.0, 0.9, 0.1).run()
    before = {name: signal.copy() for name, signal in run.signals.items()}
    reduce_run(run, crane())
    for name, signal in run.signals.items():
        np.testing.assert_array_equal(signal, before[name])


def test_motions_between_round_trips_are_not_reported_as_excluded() -> None:
    """Motions to the first round trip, between round trips and home, in a log without a plan."""
    log = Log().rest(1.0).move(turn=(0.4, 0.3), lift=(0.3, 0.3)).rest(0.5)
    log.move(lift=(0.9, 0.1)).back().rest(0.5)
    log.move(lift=(0.1, 0.3), turn=(0.1, 0.4)).rest(0.5).move(
        turn=(0.9, 0.5), slide=(0.3, 0.2)
    ).rest(0.5)
    log.move(slide=(0.9, 0.2)).back().rest(0.5).move(
        turn=(0.0, 0.5), lift=(0.0, 0.1), slide=(0.0, 0.3)
    ).rest(1.0)
    for segments in (True, False):
        reduction = reduce_run(log.run(segments=segments), crane())
        assert set(reduction.points["joint"]) == {"lift", "slide"}
        assert reduction.left_out == ()


@pytest.mark.parametrize("place", [0, 1, 2])
def test_an_incomplete_round_trip_between_others_is_reported(place: int) -> None:
    """The return has another speed, or the log ends before the return."""
    log = Log()
    for k in range(3):
        log.move(lift=(0.9, 0.1)).rest(0.5)
        if k < 2 or place < 2:
            log.move(lift=(0.0, 0.1 if k != place else 0.088)).rest(0.5)
    assert {joint for joint, *_ in reduce_run(log.run(segments=False), crane()).left_out} == {
        "lift"
    }
