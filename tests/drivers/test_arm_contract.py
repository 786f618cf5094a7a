"""The contract of every arm: one test class, run on every backend. A new driver adds a
function and a line in BACKENDS.
"""

from copy import deepcopy
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from stribeck.drivers.arm import Arm, Command, command_fault
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


def simulated(arm, folder, emulated):
    return SimulatedArm(arm)


def elastic(arm, folder, emulated):
    return SimulatedArm(
        replace(arm, simulation={**arm.simulation, "stiffness": 2000.0, "stiffness_damping": 5.0})
    )


def supervised(arm, folder, emulated):
    return Supervisor(SimulatedArm(arm))


def replayed(arm, folder, emulated):
    """A recording of the motion, which is made once."""
    if not (folder / "recording").exists():
        source = SimulatedArm(arm)
        writer = RunWriter(
            folder / "recording",
            arm,
            load_mechanism(arm),
            "contract",
            source.rate,
            source.resolution,
        )
        with writer, source:
            source.enable()
            for k in range(MOTION):
                velocity = motion(k, source.rate)
                writer.sample(source.step(Command(velocity)), np.zeros(2), velocity, -1)
    return ReplayArm(load_run(folder / "recording", ALL_SIGNALS))


def canopen(arm, folder, emulated):
    return connect(emulated("canopen").arm)


def dynamixel(arm, folder, emulated):
    return connect(emulated("dynamixel").arm)


def damiao(arm, folder, emulated):
    return connect(emulated("damiao").arm)


def odrive(arm, folder, emulated):
    return connect(emulated("odrive").arm)


def cubemars(arm, folder, emulated):
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


SLOW = {"damiao", "odrive", "cubemars"}


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else []) for name in BACKENDS
    ],
)
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


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("contract")


REFUSED = {  # commands that no arm of two joints carries out, and words of the refusal
    "velocity is no number": (Command(np.array([0.1, np.nan])), "lift"),
    "velocity is infinite": (Command(np.array([0.1, -np.inf])), "lift"),
    "one velocity": (Command(np.zeros(1)), "2 joints"),
    "three velocities": (Command(np.zeros(3)), "2 joints"),
}
REFUSED_MODES = {
    "torque is no number": (np.array([0.0, np.nan]), ("velocity", "torque")),
    "no torque": (None, ("velocity", "torque")),
    "one torque": (np.zeros(1), ("velocity", "torque")),
    "unknown mode": (np.zeros(2), ("velocity", "position")),
    "one mode": (np.zeros(2), ("velocity",)),
}


@pytest.mark.parametrize("fault", REFUSED)
def test_an_impossible_command_has_a_reason(fault):
    command, words = REFUSED[fault]
    assert words in command_fault(command, ("turn", "lift"), frozenset())


@pytest.mark.parametrize("fault", REFUSED_MODES)
def test_an_impossible_mode_has_a_reason(fault):
    torque, mode = REFUSED_MODES[fault]
    command = Command(np.zeros(2), torque, mode)
    assert "lift" in command_fault(command, ("turn", "lift"), frozenset({"velocity", "torque"}))


def test_possible_commands_have_no_reason():
    names, modes = ("turn", "lift"), frozenset({"velocity", "torque"})
    assert command_fault(Command(np.zeros(2)), names, frozenset()) is None
    mixed = Command(np.zeros(2), np.array([np.nan, 1.0]), ("velocity", "torque"))
    assert command_fault(mixed, names, modes) is None


class TestArm:
    @pytest.fixture
    def session(self, backend, arm_file, folder, emulated):
        return Session(BACKENDS[backend](arm_file, folder, emulated))

    @pytest.fixture
    def own_time(self, backend):
        if backend in WIRED:
            pytest.skip("its time goes on whatever is done")

    @pytest.fixture
    def enabled(self, session):
        with session.arm:
            session.arm.enable()
            yield session

    def test_states_names_rate_modes_limits_and_resolution(self, backend, session):
        arm = session.arm
        assert isinstance(arm, Arm)
        assert arm.names == ("turn", "lift")
        assert arm.rate == 200.0
        assert arm.modes <= {"velocity", "torque"}
        assert arm.limits.position.tolist() == [[-2.5, 2.5], [-1.5, 1.5]]
        # largest torques of its servos
        torque = [12.0, 24.0] if backend == "dynamixel" else [60.0, 40.0]
        for key, values in {
            "velocity": [2.0, 1.5],
            "acceleration": [8.0, 8.0],
            "torque": torque,
            "temperature": [70.0, 70.0],
        }.items():
            assert getattr(arm.limits, key).tolist() == values
        for key in ("velocity_step", "position_step", "torque_step"):
            steps = getattr(arm.resolution, key)
            assert steps.shape == (2,)
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

    def test_entering_alone_does_not_enable_and_a_stop_before_is_harmless(self, session):
        with session.arm:
            with pytest.raises(ArmStopped, match="enable"):
                session.steps(1)
            session.arm.stop("a test")
            session.arm.enable()
            session.steps(1)

    def test_stop_is_final_until_the_next_enable(self, enabled, backend):
        """Joints that were moving are at rest afterwards."""
        arm = enabled.arm
        enabled.steps(MOTION // 2)
        arm.stop("the first reason")
        arm.stop("a second reason")
        for _ in range(3):
            with pytest.raises(ArmStopped, match="the first reason"):
                arm.step(Command(np.zeros(enabled.n)))
        arm.enable()
        if not arm.modes:  # a recording goes on where it was
            assert len(enabled.steps(3)) == 3
            return
        for _ in range(SETTLING.get(backend, 0)):
            arm.step(Command(np.zeros(enabled.n)))
        first, last = (arm.step(Command(np.zeros(enabled.n))) for _ in range(2))
        np.testing.assert_allclose([first.dq, last.dq], 0.0, atol=1e-3)
        np.testing.assert_allclose(last.q, first.q, atol=1e-5)

    def test_a_refused_step_takes_no_time(self, own_time, enabled):
        t = enabled.steps(10)[-1].t
        enabled.arm.stop("a test")
        with pytest.raises(ArmStopped):
            enabled.arm.step(Command(np.zeros(enabled.n)))
        enabled.arm.enable()
        assert enabled.steps(1)[0].t == pytest.approx(t + 1.0 / enabled.arm.rate)

    def test_a_command_that_is_no_number_is_refused_and_stops(self, enabled):
        enabled.steps(5)
        velocity = motion(enabled.k, enabled.arm.rate)
        velocity[1] = np.nan
        with pytest.raises(DriverError, match="lift"):
            enabled.arm.step(Command(velocity))
        with pytest.raises(ArmStopped):
            enabled.steps(1)

    def test_a_command_for_another_number_of_joints_is_refused_and_stops(self, enabled):
        with pytest.raises(DriverError, match="2 joints"):
            enabled.arm.step(Command(np.zeros(1)))
        with pytest.raises(ArmStopped):
            enabled.steps(1)

    def test_an_impossible_mode_is_refused_and_stops(self, session):
        if "torque" not in session.arm.modes:
            pytest.skip("takes no torques")
        torque, mode = REFUSED_MODES["torque is no number"]
        with session.arm:
            session.arm.enable()
            session.steps(5)
            with pytest.raises(DriverError, match="lift"):
                session.arm.step(Command(np.zeros(2), torque, mode))
            with pytest.raises(ArmStopped):
                session.steps(1)


@pytest.fixture(scope="module")
def motion_of(backend, arm_file, folder, emulated):
    """Rate and samples; no step changes its command or an earlier sample."""
    session = Session(BACKENDS[backend](arm_file, folder, emulated))
    samples, kept = [], []
    with session.arm as arm:
        arm.enable()
        for k in range(MOTION):
            velocity = motion(k, arm.rate)
            samples.append(arm.step(Command(velocity)))
            np.testing.assert_array_equal(velocity, motion(k, arm.rate))
            kept.append(deepcopy(samples[-1]))
    for sample, copy in zip(samples, kept, strict=True):
        for key in ("q", "dq", "tau", "t_joint"):
            np.testing.assert_array_equal(getattr(sample, key), getattr(copy, key))
    return arm.rate, samples


class TestMotion:
    """Samples of one motion of each backend."""

    def test_a_sample_has_a_value_per_joint(self, motion_of):
        for sample in motion_of[1]:
            assert isinstance(sample.t, float)
            for key in ("q", "dq", "tau", "t_joint"):
                values = getattr(sample, key)
                assert values.shape == (2,)
                assert values.dtype == np.float64
                assert np.isfinite(values).all()
            assert sample.status.shape == (2,)
            assert np.issubdtype(sample.status.dtype, np.integer)
            for optional in (sample.temperature, sample.raw):
                assert optional is None or optional.shape == (2,)

    def test_time_advances_by_a_period_per_step(self, motion_of):
        rate, samples = motion_of
        t = np.array([sample.t for sample in samples])
        np.testing.assert_allclose(np.diff(t), 1.0 / rate, rtol=1e-6)

    def test_values_were_received_recently(self, motion_of, backend):
        rate, samples = motion_of
        for sample in samples:
            # replies come after the request
            if backend in WIRED:
                assert (sample.t_joint > sample.t).all()
                assert (sample.t_joint < sample.t + 1.0 / rate).all()
            else:
                assert (sample.t_joint <= sample.t).all()
                assert (sample.t_joint > sample.t - 1.0 / rate).all()

    def test_the_joints_follow_the_commands(self, motion_of):
        rate, samples = motion_of
        wanted = np.array([motion(k, rate) for k in range(MOTION)])
        off = np.abs(samples[-1].q - samples[0].q - way(samples, wanted))
        assert (off <= 0.05 * np.abs(way(samples, wanted))).all()

    def test_velocity_is_the_rate_of_position(self, motion_of, backend):
        _, samples = motion_of
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
