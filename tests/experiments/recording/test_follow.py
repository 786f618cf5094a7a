"""Tracking of a plan: moving joints reach their targets, other joints rest, and
every sample is recorded.
"""

from dataclasses import replace

import numpy as np
import pytest

from stribeck.drivers.arm import Command, JointSample, Resolution
from stribeck.drivers.errors import DriverError, LimitExceeded
from stribeck.drivers.simulation.simulated_arm import SimulatedArm
from stribeck.drivers.supervisor import Supervisor
from stribeck.experiments.plans.motion_profile import robot_time
from stribeck.experiments.plans.plan import Harmonics, Segment
from stribeck.experiments.recording.follow import TRIAL, follow
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.log.run import TO_START


class Notebook:
    """Stand-in for the run writer that stores its arguments."""

    def __init__(self):
        self.samples, self.q_cmd, self.dq_cmd, self.segment, self.events = [], [], [], [], []

    def sample(self, sample, q_cmd, dq_cmd, segment):
        self.samples.append(sample)
        self.q_cmd.append(q_cmd.copy())
        self.dq_cmd.append(dq_cmd.copy())
        self.segment.append(segment)

    def start(self, segment):
        self.events.append(("started", segment.id))

    def finish(self, segment):
        self.events.append(("finished", segment.id))

    def signal(self, key):
        return np.array([getattr(sample, key) for sample in self.samples])


class Integrator:
    """An arm of two joints with exact motion except for a drift; its clock may skip ticks."""

    names, rate, modes = ("turn", "lift"), 100.0, frozenset({"velocity"})
    resolution = Resolution(np.zeros(2), np.zeros(2), np.zeros(2))

    def __init__(self, limits, drift=(0.0, 0.0), ticks=lambda k: 1):
        self.limits, self.drift, self.ticks = limits, np.array(drift), ticks
        self.q, self.k, self.t, self.commands = np.zeros(2), 0, 0.0, []

    def step(self, command):
        dt = self.ticks(self.k) / self.rate
        self.k += 1
        self.t += dt
        self.q = self.q + (command.velocity + self.drift) * dt
        self.commands.append(command.velocity.copy())
        return JointSample(
            self.t,
            self.q,
            command.velocity + self.drift,
            np.zeros(2),
            np.full(2, self.t),
            None,
            np.zeros(2, dtype=np.int64),
        )


@pytest.fixture
def arm_file(make_arm):
    return make_arm()


@pytest.mark.parametrize("cycle", [15, 40, 80, 130])
def test_commands_do_not_jump_after_a_pause_of_the_computer(arm_file, make_plan, cycle):
    """During the pause drives keep their last velocity, so the arm leaves the planned motion."""
    arm = Integrator(
        arm_file.limits(load_mechanism(arm_file)), ticks=lambda k: 19 if k == cycle else 1
    )
    plan = make_plan(arm_file, speeds=(0.8,))
    follow(arm, plan)
    change = np.abs(np.diff(arm.commands, axis=0, prepend=0.0)) * arm.rate
    assert (change <= 2.0 * arm.limits.acceleration + 1e-9).all()
    assert change[:cycle].max() > 0.5 * arm.limits.acceleration.min() or cycle == 15
    np.testing.assert_allclose(arm.q, plan.segments[-1].target, atol=2e-3)


def test_commands_stay_within_the_share_on_the_first_path(arm_file, make_plan):
    """Even if the position moves in the wrong direction and the tracker tries to correct it."""

    class Backwards(Integrator):
        def step(self, command):
            sample = super().step(command)
            if self.k > 400:
                raise DriverError("enough")
            return replace(sample, q=-sample.q)

    arm, plan = Backwards(arm_file.limits(load_mechanism(arm_file))), make_plan(arm_file)
    with pytest.raises(DriverError, match="enough"):
        follow(arm, replace(plan, start=(0.5, 0.5)), share=0.1)
    told = np.abs(arm.commands).max(axis=0)
    assert (told > 0.099 * arm.limits.velocity).any()
    assert (told <= 0.1 * arm.limits.velocity * (1.0 + 1e-9)).all()


def tried(limits, plan, start=None):
    """Motion of a plan: positions, commands over limits, segments, events."""
    arm, notes = Integrator(limits), Notebook()
    arm.q = np.array(plan.start if start is None else start, dtype=float)
    follow(arm, plan, notes, share=0.1)
    np.testing.assert_allclose(arm.q, plan.segments[-1].target, atol=2e-3)
    return (
        notes.signal("q"),
        np.abs(arm.commands) / limits.velocity,
        np.array(notes.segment),
        notes.events,
    )


def assert_slow_first(q, told, least):
    """Assert that commands exceed the share only after a joint has moved far
    enough from its first position.
    """
    for joint in (0, 1):
        fast = told[:, joint] > 0.101
        first = int(np.argmax(fast)) if fast.any() else len(fast)
        assert np.ptp(q[: first + 1, joint]) > 0.97 * least[joint]


@pytest.mark.parametrize(
    ("stands", "least"),
    [
        # 0.08 to the start, then 0.07
        ((0.0, 0.0), (TRIAL, TRIAL)),
        ((0.08, 0.0), (0.1, TRIAL)),
        ((0.5, 0.5), (0.5, 0.5)),
    ],
)
def test_no_joint_moves_fast_before_it_has_moved_slowly(arm_file, limits, make_plan, stands, least):
    """The judge is the distance that each joint had moved when its command
    first exceeded the share.
    """
    plans = [make_plan(arm_file, joint, speeds=(0.8, 0.4), way=0.6) for joint in (0, 1)]
    segments = [
        replace(segment, id=k) for k, segment in enumerate((*plans[0].segments, *plans[1].segments))
    ]
    plan = replace(
        plans[0], start=(0.0, 0.0), segments=tuple(replace(s, mirror_of=None) for s in segments)
    )
    q, told, _, events = tried(limits, plan, stands)
    assert_slow_first(q, told, least)
    assert [number for _, number in events if number >= 0] == [
        k for k in range(len(segments)) for _ in range(2)
    ]


def test_a_short_motion_in_a_fast_segment_is_first_driven_slowly(limits, arm_file, make_plan):
    plan = replace(
        make_plan(arm_file),
        start=(0.0, 0.0),
        segments=(
            Segment(0, "sweep", (0.12, 0.06), 0, "turn", 1.0),
            Segment(1, "move", (0.5, 0.5), 0),
        ),
    )
    q, told, _, _ = tried(limits, plan)
    assert_slow_first(q, told, (0.12, 0.06))
    plan = replace(
        plan, segments=(Segment(0, "move", (1.0, 0.05), 0), Segment(1, "move", (0.5, 0.5), 0))
    )
    q, told, _, _ = tried(limits, plan)
    assert_slow_first(q, told, (TRIAL, TRIAL))  # 0.05 of this distance in a slow segment


@pytest.mark.parametrize("left", [0.15, 0.02, 0.004, 0.0005])
def test_the_first_motion_is_gentle_even_if_it_is_short(limits, arm_file, make_plan, left):
    """A short remaining distance limits the speed, but not the acceleration at the turn."""
    plan = replace(
        make_plan(arm_file), start=(0.0, 0.0), segments=(Segment(0, "move", (1.0, 0.0), 0),)
    )
    arm, notes = Integrator(limits), Notebook()
    arm.q = np.array([TRIAL - left, 0.0]) * -1.0  # motion to the start counts
    follow(arm, plan, notes, share=0.1)
    slow = np.array(notes.segment) == -1
    told = np.array(notes.dq_cmd)[slow]
    hardest = np.abs(np.diff(told, axis=0)).max(axis=0) * arm.rate
    assert (hardest <= 0.2 * limits.acceleration).all()


def test_slow_segments_have_no_trial(limits, arm_file, make_plan):
    slow = make_plan(arm_file, speeds=(0.1,), way=0.5)
    plan = replace(slow, start=tuple(slow.segments[0].target), segments=slow.segments[1:])
    assert tried(limits, plan)[3].count(("started", -1)) == 1


@pytest.mark.parametrize("swings", [(1, 7), (3, 5)])
@pytest.mark.slow
def test_the_trial_of_a_swing_follows_its_curve(limits, arm_file, make_plan, swings):
    target, speed = np.array([0.5, 0.4]), 0.7
    plan = replace(
        make_plan(arm_file),
        start=(0.0, 0.0),
        segments=(Segment(0, "swing", tuple(target), 0, "lift", speed, swings=swings),),
    )
    q, told, segment, _ = tried(limits, plan)
    assert_slow_first(q, told, (TRIAL, TRIAL))
    phase = np.linspace(0.0, np.pi, 4000)[:, None] * np.array(swings)
    curve = target * (0.5 - 0.5 * np.cos(phase))
    assert np.ptp(q[segment == -1], axis=0).max() > TRIAL
    assert max(np.abs(curve - place).max(axis=1).min() for place in q[segment == -1]) < 2e-3


def test_a_simulated_arm_has_no_trial(arm_file, limits, make_plan):
    notes = Notebook()
    follow(Integrator(limits), replace(make_plan(arm_file), start=(0.0, 0.0)), notes)
    assert notes.events.count(("started", -1)) == 1


@pytest.fixture
def limits(arm_file):
    return arm_file.limits(load_mechanism(arm_file))


def followed(arm_file, plan):
    """Drive a plan with the simulated arm and return its samples."""
    arm, notes = Supervisor(SimulatedArm(arm_file)), Notebook()
    with arm:
        arm.enable()
        follow(arm, plan, notes)
    return notes


@pytest.mark.slow
def test_the_arm_reaches_every_target(arm_file, make_plan):
    plan = make_plan(arm_file, speeds=(0.8, 0.2))
    notes = followed(arm_file, plan)
    q, segment = notes.signal("q"), np.array(notes.segment)
    for part in plan.segments:
        np.testing.assert_allclose(q[segment == part.id][-1], part.target, atol=2e-3)


@pytest.mark.parametrize("joint", [0, 1])
@pytest.mark.slow
def test_held_joints_stay_within_a_small_band(arm_file, make_plan, joint):
    """Despite gravity and inertia of the moving joint."""
    plan = make_plan(arm_file, joint, speeds=(1.2, 0.3), way=0.9)
    notes = followed(arm_file, plan)
    moving = np.array(notes.segment) > 0
    assert np.ptp(notes.signal("q")[moving], axis=0)[1 - joint] < 5e-3
    assert np.ptp(notes.signal("q")[moving], axis=0)[joint] > 0.85


@pytest.mark.slow
def test_a_stroke_runs_at_its_speed(arm_file, make_plan):
    notes = followed(arm_file, make_plan(arm_file, speeds=(0.4,), way=0.6))
    dq, segment = notes.signal("dq")[:, 0], np.array(notes.segment)
    for number, speed in ((1, 0.4), (2, -0.4)):
        stroke = dq[segment == number]
        middle = stroke[len(stroke) // 3 : len(stroke) // 2]
        np.testing.assert_allclose(middle, speed, rtol=0.01)


@pytest.mark.slow
def test_the_way_back_is_the_same_motion_backwards(arm_file, make_plan):
    notes = followed(arm_file, make_plan(arm_file, speeds=(0.4,), way=0.6))
    q, segment = notes.signal("q"), np.array(notes.segment)
    there, back = (q[segment == number] for number in (1, 2))
    assert there[:, 0].max() == pytest.approx(back[:, 0].max(), abs=2e-3)
    assert there[:, 0].min() == pytest.approx(back[:, 0].min(), abs=2e-3)


def test_the_tracker_holds_a_drive_that_drifts(arm_file, limits, make_plan):
    """Without position feedback a drift of 0.02 rad/s would move the held joint
    by 0.2 rad in ten seconds.
    """
    arm, notes = Integrator(limits, drift=(0.0, 0.02)), Notebook()
    follow(arm, make_plan(arm_file, speeds=(0.1,), way=0.5), notes)
    q = notes.signal("q")[np.array(notes.segment) > 0]
    assert arm.t > 10.0
    assert np.abs(q[:, 1] - 0.3).max() < 0.02 / 8.0 + 1e-3


@pytest.mark.parametrize("way", [1.0, -1.0])
def test_commands_keep_the_velocity_limits(arm_file, limits, make_plan, way):
    """Even if the tracker lags behind."""
    slow = replace(limits, velocity=np.array([0.5, 0.4]))
    arm = Integrator(slow, drift=(-0.6 * way, 0.5 * way))
    follow(arm, make_plan(arm_file, speeds=(0.45,)))
    assert (np.abs(arm.commands) <= slow.velocity).all()
    # the tracker is at its limit
    assert (np.max(way * np.array(arm.commands) * [1.0, -1.0], axis=0) == slow.velocity).all()


def test_a_run_takes_the_predicted_robot_time(arm_file, limits, make_plan):
    plan = replace(make_plan(arm_file, speeds=(0.4, 0.1)), start=(0.0, 0.0))
    arm = Integrator(limits)
    follow(arm, plan)
    assert arm.t == pytest.approx(robot_time(plan, limits), abs=0.2 + 0.03 * len(plan.segments))


def test_missed_ticks_do_not_slow_the_motion_down(arm_file, limits, make_plan):
    """Set-points depend on the arm's time, not on the number of cycles."""
    plan = make_plan(arm_file, speeds=(0.4, 0.1))
    punctual, late = Integrator(limits), Integrator(limits, ticks=lambda k: 3 if k % 10 == 5 else 1)
    notes = Notebook()
    follow(punctual, plan)
    follow(late, plan, notes)
    assert late.t == pytest.approx(punctual.t, abs=0.05 * len(plan.segments))
    np.testing.assert_allclose(late.q, plan.segments[-1].target, atol=2e-3)
    stroke = np.array(notes.segment) == 1
    speed = np.polyfit(notes.signal("t")[stroke][20:60], notes.signal("q")[stroke, 0][20:60], 1)[0]
    assert speed == pytest.approx(0.4, rel=0.02)


@pytest.mark.slow
def test_the_arm_first_moves_to_the_start_of_the_plan(make_arm, make_plan):
    arm_file = make_arm({"workspace": {"home": [-0.6, 0.5]}})
    notes = followed(arm_file, make_plan(arm_file))
    arriving = notes.signal("q")[np.array(notes.segment) == -1]
    np.testing.assert_allclose(arriving[0], [-0.6, 0.5], atol=1e-3)
    np.testing.assert_allclose(arriving[-1], [0.0, 0.0], atol=2e-3)
    # without a jump
    np.testing.assert_allclose(notes.q_cmd[len(arriving)], [0.0, 0.0], atol=2e-3)


@pytest.mark.slow
def test_set_points_never_jump(arm_file, make_plan):
    notes = followed(arm_file, make_plan(arm_file, speeds=(0.8, 0.2)))
    # half of 2 rad/s over a period
    assert np.abs(np.diff(notes.q_cmd[1:], axis=0)).max() <= 1.01 * 0.5 * 2.0 / 200.0


def test_every_sample_is_recorded_with_its_command(arm_file, limits, make_plan):
    arm, notes = Integrator(limits), Notebook()
    follow(arm, make_plan(arm_file), notes)
    np.testing.assert_array_equal(notes.dq_cmd, arm.commands)
    assert len(notes.samples) == arm.k
    # -1 until the plan begins, then one after the other
    assert notes.segment == sorted(notes.segment)
    assert set(notes.segment) == {-1, 0, 1, 2}


def test_starts_and_ends_of_segments_are_recorded(arm_file, limits, make_plan):
    notes = Notebook()
    follow(Integrator(limits), make_plan(arm_file), notes)
    assert notes.events[2:] == [(word, k) for k in range(3) for word in ("started", "finished")]


def test_watch_is_called_ten_times_per_second(arm_file, limits, make_plan):
    told = []
    arm, plan = Integrator(limits), make_plan(arm_file)
    follow(arm, plan, watch=lambda segment, sample, done: told.append((segment.id, sample.t, done)))
    ids, t, done = np.array(told).T
    assert set(ids) == {-1, 0, 1, 2}
    np.testing.assert_allclose(np.diff(t), 0.1)
    np.testing.assert_allclose(done, t, atol=0.05)
    assert done[-1] == pytest.approx(arm.t, abs=0.11)


def test_an_exceeded_limit_raises_and_earlier_samples_are_kept(arm_file, limits, make_plan):
    """Friction of the turning joint is 4.6 N·m at 0.8 rad/s."""
    guarded = Guarded(SimulatedArm(arm_file), replace(limits, torque=np.array([4.5, 40.0])))
    arm, notes = Supervisor(guarded), Notebook()
    arm.enable()
    with pytest.raises(LimitExceeded, match="torque of turn"):
        follow(arm, make_plan(arm_file, speeds=(0.8,), posture=(0.0, 0.0)), notes)
    assert notes.segment[-1] == 1
    assert (np.abs(notes.signal("tau")[:, 0]) <= 4.5).all()


class Guarded:
    """An arm with tighter limits than those of its drive."""

    def __init__(self, arm, limits):
        self._arm, self.limits = arm, limits

    def __getattr__(self, name):
        return getattr(self._arm, name)


def test_a_first_sample_at_rest_gives_the_position(arm_file, limits, make_plan):
    arm = Integrator(limits)
    arm.q = np.array([0.4, -0.3])
    follow(arm, make_plan(arm_file))
    np.testing.assert_array_equal(arm.commands[0], [0.0, 0.0])


def test_the_command_is_a_velocity(arm_file, limits, make_plan):
    """Arms without torque mode can follow a plan."""

    class Strict(Integrator):
        def step(self, command: Command):
            assert command.torque is None
            assert command.mode is None
            return super().step(command)

    follow(Strict(limits), make_plan(arm_file))


def test_a_wave_is_tracked_after_a_slow_trial_of_its_beginning(make_arm, make_plan):
    arm_file = make_arm()
    limits = arm_file.limits(load_mechanism(arm_file))
    swing = Harmonics(4.0, 1, ((0.4, -0.2), (0.2, -0.1)), ((0.0, 0.0), (0.0, 0.0)))
    segments = (Segment(0, "move", (0.0, 0.0), 0), Segment(1, "wave", (0.0, 0.0), 1, wave=swing))
    plan, notes = replace(make_plan(arm_file), start=(0.0, 0.0), segments=segments), Notebook()
    arm = Integrator(limits, drift=(1e-3, 0.0))
    follow(arm, plan, notes, share=0.1)
    segment, q_cmd, dq_cmd = np.array(notes.segment), np.array(notes.q_cmd), np.array(notes.dq_cmd)
    on = segment == 1
    t = np.arange(1, np.count_nonzero(on) + 1)[:, None] / arm.rate
    inside = np.minimum(t, 4.0)
    expected = np.array([0.4, 0.2]) * np.sin(0.5 * np.pi * inside) - np.array([0.2, 0.1]) * np.sin(
        np.pi * inside
    )
    np.testing.assert_allclose(q_cmd[on], expected, atol=1e-12)
    np.testing.assert_allclose(notes.signal("q")[on], q_cmd[on], atol=0.02)
    np.testing.assert_allclose(arm.q, 0.0, atol=2e-3)
    tried = segment == TO_START
    assert (np.abs(dq_cmd[tried]) <= 0.101 * limits.velocity).all()
    assert (
        np.abs(q_cmd[tried]).max(axis=0) >= np.minimum(TRIAL, np.abs(expected).max(axis=0)) - 0.01
    ).all()
