"""The contract of every arm: one test class, run on every backend. A new driver adds a
function and a line in BACKENDS.
"""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from stribeck.drivers.arm import Arm, Command
from stribeck.drivers.connect import connect
from stribeck.drivers.errors import ArmStopped, DriverError
from stribeck.drivers.replay import ALL_SIGNALS, ReplayArm
from stribeck.drivers.simulation.simulated_arm import SimulatedArm
from stribeck.drivers.supervisor import Supervisor
from stribeck.experiments.recording.run_writer import RunWriter
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.log.run import load_run
from tests.drivers.virtual import benches

MOTION = 60  # cycles of the motion that every backend can carry out


def motion(k: int, rate: float) -> np.ndarray:
    """Gentle velocities of both joints; starts and ends at rest."""
    swing = np.sin(np.pi * np.clip(k / MOTION, 0.0, 1.0)) ** 2
    return np.array([0.4, -0.25]) * swing * min(1.0, rate / 100.0)


def simulated(arm, tmp_path, emulated):
    return SimulatedArm(arm)


def elastic(arm, tmp_path, emulated):
    return SimulatedArm(
        replace(arm, simulation={**arm.simulation, "stiffness": 2000.0, "stiffness_damping": 5.0})
    )


def supervised(arm, tmp_path, emulated):
    return Supervisor(SimulatedArm(arm))


def replayed(arm, tmp_path, emulated):
    """A recording of the motion."""
    source = SimulatedArm(arm)
    writer = RunWriter(
        tmp_path / "recording", arm, load_mechanism(arm), "contract", source.rate, source.resolution
    )
    with writer, source:
        source.enable()
        for k in range(MOTION):
            velocity = motion(k, source.rate)
            writer.sample(source.step(Command(velocity)), np.zeros(2), velocity, -1)
    return ReplayArm(load_run(tmp_path / "recording", ALL_SIGNALS))


def canopen(arm, tmp_path, emulated):
    return connect(emulated("canopen").arm)


def dynamixel(arm, tmp_path, emulated):
    return connect(emulated("dynamixel").arm)


def damiao(arm, tmp_path, emulated):
    return connect(emulated("damiao").arm)


def odrive(arm, tmp_path, emulated):
    return connect(emulated("odrive").arm)


def cubemars(arm, tmp_path, emulated):
    return connect(emulated("cubemars").arm)


BACKENDS = {
    "simulated": simulated,
    "elastic": elastic,
    "supervised": supervised,
    "replay": replayed,
    "canopen": canopen,
    "dynamixel": dynamixel,
    "damiao": damiao,
    "odrive": odrive,
    "cubemars": cubemars,
}
# cycles: a motor that holds by stiffness sinks a little when its brake opens
SETTLING = {"cubemars": 80}
WIRED = {"canopen", "dynamixel", "damiao", "odrive", "cubemars"}


def way(samples, dq):
    """Distances by which velocities, (N, n), move the joints over the samples' own times."""
    t = np.array([sample.t for sample in samples])
    return ((dq[1:] + dq[:-1]) / 2.0 * np.diff(t)[:, None]).sum(axis=0)


class Session:
    """An arm and its progress in the motion."""

    def __init__(self, arm: Arm) -> None:
        self.arm, self.n, self.k = arm, len(arm.names), 0

    def steps(self, count):
        samples = []
        for _ in range(count):
            samples.append(self.arm.step(Command(motion(self.k, self.arm.rate))))
            self.k += 1
        return samples


@pytest.fixture(scope="module", params=BACKENDS)
def backend(request):
    """All tests of one backend share its emulated drives."""
    return request.param


@pytest.fixture(scope="module")
def emulated(make_arm):
    """Emulated drives of a protocol."""
    with benches(make_arm) as start:
        yield cache(start)


@pytest.fixture(scope="module")
def arm_file(make_arm):
    return make_arm()


class TestArm:
    @pytest.fixture
    def session(self, backend, arm_file, tmp_path, emulated):
        return Session(BACKENDS[backend](arm_file, tmp_path, emulated))

    @pytest.fixture
    def takes_torques(self, session):
        if "torque" not in session.arm.modes:
            pytest.skip("takes no torques")

    @pytest.fixture
    def own_time(self, backend):
        if backend in WIRED:
            pytest.skip("its time goes on whatever is done")

    @pytest.fixture
    def enabled(self, session):
        with session.arm:
            session.arm.enable()
            yield session

    def test_is_an_arm(self, session):
        assert isinstance(session.arm, Arm)

    def test_states_names_rate_and_modes(self, session):
        arm = session.arm
        assert arm.names == ("turn", "lift")
        assert arm.rate == 200.0
        assert arm.modes <= {"velocity", "torque"}

    def test_limits_are_those_of_the_arm_file(self, backend, session):
        limits = session.arm.limits
        assert limits.position.tolist() == [[-2.5, 2.5], [-1.5, 1.5]]
        # largest torques of its servos
        torque = [12.0, 24.0] if backend == "dynamixel" else [60.0, 40.0]
        for key, values in {
            "velocity": [2.0, 1.5],
            "acceleration": [8.0, 8.0],
            "torque": torque,
            "temperature": [70.0, 70.0],
        }.items():
            assert getattr(limits, key).tolist() == values

    def test_resolution_has_a_step_per_joint(self, session):
        for key in ("velocity_step", "position_step", "torque_step"):
            steps = getattr(session.arm.resolution, key)
            assert steps.shape == (session.n,)
            assert (steps >= 0.0).all()

    def test_entering_gives_the_arm_and_leaving_ends_motion(self, session):
        with session.arm as entered:
            assert entered is session.arm
            entered.enable()
            session.steps(3)
        with pytest.raises(ArmStopped):
            session.steps(1)

    def test_leaving_by_an_error_stops_and_passes_it_on(self, session):
        def break_off():
            with session.arm:
                session.arm.enable()
                session.steps(3)
                _ = 1 / 0

        with pytest.raises(ZeroDivisionError):
            break_off()
        with pytest.raises(ArmStopped):
            session.steps(1)

    def test_entering_alone_does_not_enable(self, session):
        with session.arm, pytest.raises(ArmStopped, match="enable"):
            session.steps(1)

    def test_stop_before_enable_is_harmless(self, session):
        with session.arm:
            session.arm.stop("a test")
            session.arm.enable()
            session.steps(1)

    def test_a_sample_has_a_value_per_joint(self, enabled):
        (sample,) = enabled.steps(1)
        assert isinstance(sample.t, float)
        for key in ("q", "dq", "tau", "t_joint"):
            values = getattr(sample, key)
            assert values.shape == (enabled.n,)
            assert values.dtype == np.float64
            assert np.isfinite(values).all()
        assert sample.status.shape == (enabled.n,)
        assert np.issubdtype(sample.status.dtype, np.integer)
        for optional in (sample.temperature, sample.raw):
            assert optional is None or optional.shape == (enabled.n,)

    def test_time_advances_by_a_period_per_step(self, enabled):
        t = np.array([sample.t for sample in enabled.steps(MOTION)])
        np.testing.assert_allclose(np.diff(t), 1.0 / enabled.arm.rate, rtol=1e-6)

    def test_values_were_received_recently(self, enabled, backend):
        for sample in enabled.steps(10):
            # replies come after the request
            if backend in WIRED:
                assert (sample.t_joint > sample.t).all()
                assert (sample.t_joint < sample.t + 1.0 / enabled.arm.rate).all()
            else:
                assert (sample.t_joint <= sample.t).all()
                assert (sample.t_joint > sample.t - 1.0 / enabled.arm.rate).all()

    def test_the_joints_follow_the_commands(self, enabled):
        samples = enabled.steps(MOTION)
        wanted = np.array([motion(k, enabled.arm.rate) for k in range(MOTION)])
        off = np.abs(samples[-1].q - samples[0].q - way(samples, wanted))
        assert (off <= 0.05 * np.abs(way(samples, wanted))).all()

    def test_velocity_is_the_rate_of_position(self, enabled, backend):
        samples = enabled.steps(MOTION)
        t, q, dq = (
            np.array([getattr(sample, key) for sample in samples]) for key in ("t", "q", "dq")
        )
        # a drive reads its position when the frame reaches it, not at `t`
        if backend in WIRED:
            off = np.abs(q[-1] - q[0] - way(samples, dq))
            assert (off <= 0.05 * np.abs(way(samples, dq))).all()
        else:
            np.testing.assert_allclose(
                np.diff(q, axis=0) / np.diff(t)[:, None], (dq[1:] + dq[:-1]) / 2.0, atol=0.01
            )

    def test_a_sample_is_not_changed_by_later_steps(self, enabled):
        (first,) = enabled.steps(1)
        kept = {key: getattr(first, key).copy() for key in ("q", "dq", "tau", "t_joint")}
        enabled.steps(30)
        for key, values in kept.items():
            np.testing.assert_array_equal(getattr(first, key), values)

    def test_the_command_is_not_changed(self, enabled):
        velocity = motion(0, enabled.arm.rate)
        before = velocity.copy()
        enabled.arm.step(Command(velocity))
        np.testing.assert_array_equal(velocity, before)

    def test_stop_is_final_until_the_next_enable(self, enabled):
        enabled.steps(10)
        enabled.arm.stop("the first reason")
        enabled.arm.stop("a second reason")
        for _ in range(3):
            with pytest.raises(ArmStopped, match="the first reason"):
                enabled.arm.step(Command(np.zeros(enabled.n)))
        enabled.arm.enable()
        assert len(enabled.steps(3)) == 3

    def test_a_refused_step_takes_no_time(self, own_time, enabled):
        t = enabled.steps(10)[-1].t
        enabled.arm.stop("a test")
        with pytest.raises(ArmStopped):
            enabled.arm.step(Command(np.zeros(enabled.n)))
        enabled.arm.enable()
        assert enabled.steps(1)[0].t == pytest.approx(t + 1.0 / enabled.arm.rate)

    def test_joints_are_at_rest_after_a_stop(self, enabled, backend):
        if not enabled.arm.modes:
            pytest.skip("a recording cannot be stopped on its way")
        enabled.steps(MOTION // 2)
        enabled.arm.stop("a test")
        enabled.arm.enable()
        for _ in range(SETTLING.get(backend, 0)):
            enabled.arm.step(Command(np.zeros(enabled.n)))
        first, last = (enabled.arm.step(Command(np.zeros(enabled.n))) for _ in range(2))
        np.testing.assert_allclose([first.dq, last.dq], 0.0, atol=1e-3)
        np.testing.assert_allclose(last.q, first.q, atol=1e-5)

    @pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
    def test_a_command_that_is_no_number_is_refused_and_stops(self, enabled, value):
        enabled.steps(5)
        velocity = motion(enabled.k, enabled.arm.rate)
        velocity[1] = value
        with pytest.raises(DriverError, match="lift"):
            enabled.arm.step(Command(velocity))
        with pytest.raises(ArmStopped):
            enabled.steps(1)

    @pytest.mark.parametrize(
        ("torque", "mode"),
        [
            (np.array([0.0, np.nan]), ("velocity", "torque")),
            (None, ("velocity", "torque")),
            (np.zeros(1), ("velocity", "torque")),
            (np.zeros(2), ("velocity", "position")),
        ],
        ids=["nan", "no torque given", "a torque missing", "unknown mode"],
    )
    def test_an_impossible_mode_is_refused_and_stops(self, takes_torques, enabled, torque, mode):
        enabled.steps(5)
        with pytest.raises(DriverError, match="lift"):
            enabled.arm.step(Command(np.zeros(2), torque, mode))
        with pytest.raises(ArmStopped):
            enabled.steps(1)

    @pytest.mark.parametrize("count", [1, 3])
    def test_a_command_for_another_number_of_joints_is_refused(self, enabled, count):
        with pytest.raises(DriverError, match="2 joints"):
            enabled.arm.step(Command(np.zeros(count)))
        with pytest.raises(ArmStopped):
            enabled.steps(1)
