"""Damiao motors: checks and settings before power, motion, and faults that end motion.

A `Probe` reads the emulated motors by frames of its own.
"""

import struct

import can
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stribeck.drivers.arm import Command
from stribeck.drivers.connect import connect
from stribeck.drivers.emulators.body import RESET, SILENT
from stribeck.drivers.emulators.damiao import TEST
from stribeck.drivers.errors import ArmStopped, DriverError
from stribeck.drivers.mit.damiao import DamiaoAxis
from stribeck.drivers.supervisor import Supervisor
from stribeck.drivers.wire.polled.polled_axis import Frame
from stribeck.ident.errors import InputError
from tests.drivers.virtual import program_of, virtual_drives
from tests.drivers.wires import PACE, PAIR, REST, merged, steps, until_it_fails, with_port

TIMEOUT, MODE, VELOCITY_MODE = 9, 10, 3


class Probe:
    """Reads and commands motors without the driver."""

    def __init__(self, bench):
        self.bus, self.clock = bench.bus.join(), bench.clock

    def send(self, identifier, data):
        self.bus.send(can.Message(arbitration_id=identifier, data=data, is_extended_id=False))

    def ask(self, motor, request, answer):
        while self.bus.recv(0) is not None:
            pass
        self.send(0x7FF, request)
        end = self.clock.now() + 1.0
        while self.clock.now() < end:
            reply = self.bus.recv(0.1)
            if reply is not None and reply.arbitration_id == 0x10 + motor and answer(reply.data):
                return bytes(reply.data)
        raise TimeoutError

    def read(self, motor, register, form="<f"):
        reply = self.ask(
            motor,
            bytes([motor, 0, 0x33, register, 0, 0, 0, 0]),
            lambda data: data[2:4] == bytes([0x33, register]),
        )
        return struct.unpack_from(form, reply, 4)[0]

    def write(self, motor, register, value, form="<I"):
        self.send(0x7FF, bytes([motor, 0, 0x55, register]) + struct.pack(form, value))
        self.clock.sleep(0.02)

    def state(self, motor):
        """Status and position in counts."""
        data = self.ask(
            motor,
            bytes([motor, 0, 0xCC, 0, 0, 0, 0, 0]),
            lambda data: data[0] & 0xF == motor and data[1] > 0,
        )
        return data[0] >> 4, data[1] << 8 | data[2]

    def moves(self, motor, seconds=0.1):
        """Counts by which the motor moves in this time."""
        first = self.state(motor)[1]
        self.clock.sleep(seconds)
        return self.state(motor)[1] - first


@pytest.fixture(scope="module")
def pair(bench):
    """Emulated motors; tests leave them without faults and power."""
    return bench("damiao")


@pytest.fixture
def probe(pair):
    return Probe(pair)


def beside(pair, make_arm, **drive):
    """Another arm file for the running motors, in which "turn" has these keys."""
    table = merged(with_port(PAIR["damiao"], pair.arm.driver.model_extra["bus"]["port"]), {})
    table["joints"] = {
        **table["joints"],
        "turn": {"stop": "brake", "drive": {"id": 1, "reply": 0x11, **drive}},
    }
    return make_arm(table)


class TestSettings:
    def test_mode_ramps_speed_and_watchdog_are_in_the_registers(self, pair, probe):
        with connect(pair.arm) as arm:
            for motor, speed in ((1, 2.0), (2, 1.5)):
                assert probe.read(motor, 10, "<I") == 3  # velocity mode
                # twice the joint's 8 rad/s²
                assert probe.read(motor, 4) == 16.0
                assert probe.read(motor, 5) == -16.0
                assert probe.read(motor, 6) == speed
                # off while there is no power
                assert probe.read(motor, TIMEOUT, "<I") == 0
            arm.enable()
            steps(arm, 3)
            assert probe.read(1, TIMEOUT, "<I") == 10000  # 0.5 s of 50 µs
        assert [axis.corrupt for axis in arm.axes] == [0, 0]

    def test_resolution_is_one_step_of_the_fields(self, pair):
        resolution = connect(pair.arm).resolution
        np.testing.assert_allclose(resolution.torque_step, [400.0 / 4095, 108.0 / 4095])
        np.testing.assert_allclose(resolution.position_step, 25.0 / 65535)
        assert (resolution.velocity_step < 1e-6).all()  # float32

    @pytest.mark.parametrize(
        ("drive", "words"),
        [
            (
                {"motor": "DM10010"},
                r"turn has a velocity range of 25 rad/s \(registers 21-23: 12.5, 25, 200\); the "
                r"arm file "
                "states 20",
            ),
            ({"ranges": [12.566, 25.0, 200.0]}, r"turn has a position range of 12.5 rad"),
            (
                {"ranges": [12.5, 25.0, 100.0]},
                r"turn has a torque range of 200 N·m.*Every torque would be wrong",
            ),
            ({"id": 9, "reply": 0x19, "motor": "DM10010L"}, r"drive of turn does not answer"),
        ],
    )
    def test_a_motor_that_differs_from_the_arm_file_is_refused(self, pair, make_arm, drive, words):
        with pytest.raises(DriverError, match=words), connect(beside(pair, make_arm, **drive)):
            pass

    @pytest.mark.parametrize(
        ("drive", "words"),
        [
            ({"motor": "DM4310X"}, r"motor 'DM4310X' is not known; state ranges, or one of DM3507"),
            ({"motor": "AK70-10"}, r"motor 'AK70-10' is not known; state ranges, or one of DM3507"),
            ({"ranges": [1.0, 1.0, 1.0]}, r"exactly one of motor and ranges is needed"),
            (
                {"motor": "DM4340"},
                r"joints.turn.torque: the limit is 60 N·m at the motor's shaft, but the motor's "
                r"torque range "
                "ends at 28 N·m",
            ),
            (
                {"gear": 6.0},
                r"joints.turn.position: the limit is 15 rad at the motor's shaft, but the motor's "
                r"position range "
                "ends at 12.4 rad",
            ),
            (
                {"id": 2},
                r"joints.lift.drive: its id would use the CAN identifier 0x2, which is taken by "
                r"id of turn",
            ),
            ({"reply": 0x202}, r"identifier 0x202"),
            ({"id": 16}, r"joints.turn.drive.id = 16"),
            ({"node": 1}, r"joints.turn.drive.node: unknown key 'node'"),
        ],
    )
    def test_keys_are_checked_before_any_drive_is_asked(self, make_arm, drive, words):
        with pytest.raises(InputError, match=words):
            connect(
                make_arm(
                    merged(with_port(PAIR["damiao"], 1), {"joints": {"turn": {"drive": drive}}})
                )
            )

    def test_a_bus_that_cannot_carry_the_rate_is_refused(self, make_arm):
        arm = make_arm(merged(with_port(PAIR["damiao"], 1), {"driver": {"bit_rate": 125000.0}}))
        with pytest.raises(InputError, match=r"200 Hz would take 86 % of the bus"):
            connect(arm)


class TestMotion:
    def test_both_joints_keep_the_rate(self, pair):
        with Supervisor(connect(pair.arm)) as guard:
            guard.enable()
            swing = 0.4 * np.sin(2.0 * np.pi * np.arange(240) / 240.0)
            samples = [guard.step(Command(np.array([1.0, -0.5]) * value)) for value in swing]
            assert guard.arm.tally.missed.tolist() == [0, 0]
        np.testing.assert_allclose(np.diff([sample.t for sample in samples]), 0.005, rtol=1e-6)
        assert np.ptp([sample.q[0] for sample in samples]) > 0.1

    def test_velocity_is_finer_than_the_steps_of_its_field(self, pair):
        """The field has steps of 12 and 22 mrad/s."""
        with connect(pair.arm) as arm:
            arm.enable()
            slow = np.array([0.02, -0.03])
            steps(arm, 60, slow)
            found = np.mean([sample.dq for sample in steps(arm, 60, slow)], axis=0)
            np.testing.assert_allclose(found, slow, atol=1.5e-3)

    def test_directions_zeros_and_gears_are_those_of_the_model(self, bench):
        """The emulator reads them from the same keys; the probe reads the motor's own counts."""
        drives = bench(
            "damiao",
            {"joints": {"turn": {"direction": -1, "zero_offset": 0.5, "drive": {"gear": 2.0}}}},
        )
        with connect(drives.arm) as arm:
            arm.enable()
            first, last = steps(arm, 1)[0], steps(arm, 60, np.array([0.3, 0.0]))[-1]
            assert first.q[0] == pytest.approx(0.0, abs=0.01)
            assert last.q[0] - first.q[0] == pytest.approx(0.3 * (last.t - first.t), rel=0.1)
            # friction, positive with velocity
            assert last.tau[0] > 2.0
            shaft = Probe(drives).state(1)[1] * 25.0 / 65535 - 12.5
            assert shaft == pytest.approx((0.5 - last.q[0]) * 2.0, abs=0.02)
        drives.end()


class TestStaleVelocity:
    """Another program sent the motor a velocity while it had no power."""

    def test_the_driver_never_lets_it_move(self, pair, probe):
        with connect(pair.arm) as arm:
            before = arm.look(5)[-1].q
            probe.send(0x201, struct.pack("<f4x", 1.0))
            probe.clock.sleep(0.02)
            arm.enable()
            np.testing.assert_allclose(
                [sample.q for sample in steps(arm, 20)], np.tile(before, (20, 1)), atol=4e-4
            )

    def test_without_the_driver_the_joint_moves(self, pair, probe):
        """Otherwise the test above would prove nothing."""
        with connect(pair.arm):
            probe.send(0x201, struct.pack("<f4x", 0.5))
            probe.send(0x001, b"\xff" * 7 + b"\xfc")
            assert probe.moves(1) > 50
            probe.send(0x001, b"\xff" * 7 + b"\xfd")
            probe.clock.sleep(0.02)


class TestFaults:
    def test_a_fault_stops_all_joints_and_only_a_reset_clears_it(self, pair, probe):
        arm = connect(pair.arm)
        with arm:
            arm.enable()
            steps(arm, 20, PACE)
            probe.write(1, TEST, 10)
            with pytest.raises(DriverError, match="turn stopped by itself: overcurrent"):
                until_it_fails(arm)
        assert probe.state(2)[0] == 0  # braked
        with (
            pytest.raises(DriverError, match=r"overcurrent.*stribeck check --reset"),
            connect(pair.arm),
        ):
            pass
        connect(pair.arm).reset()
        assert probe.state(1)[0] == 0  # without power
        with connect(pair.arm) as arm:
            arm.enable()
            steps(arm, 3)

    def test_a_motor_that_was_reset_is_not_powered_again(self, pair, probe):
        with connect(pair.arm) as arm:
            arm.enable()
            steps(arm, 20, PACE)
            probe.write(1, TEST, RESET)
            with pytest.raises(
                DriverError, match=r"turn stopped by itself: disabled|turn has not replied"
            ):
                until_it_fails(arm)
            with pytest.raises(ArmStopped):
                arm.step(Command(REST))
        assert probe.state(1)[0] == 0

    def test_a_motor_that_is_reset_just_before_power_on_is_not_moved(
        self, pair, probe, monkeypatch
    ):
        """If the motor starts in velocity mode, it gets power without watchdog and limits."""
        ask = DamiaoAxis.power_on

        def reset_and_ask(axis):
            if axis.joint.name == "turn":
                for register, value in ((TEST, RESET), (MODE, VELOCITY_MODE)):
                    yield Frame(0x7FF, bytes([1, 0, 0x55, register]) + struct.pack("<I", value))
            yield from ask(axis)

        monkeypatch.setattr(DamiaoAxis, "power_on", reset_and_ask)
        words = r"turn was reset after it had been set up \(setting \d+: set to .*, reads "
        with connect(pair.arm) as arm, pytest.raises(DriverError, match=words):
            arm.enable()
        assert probe.state(1)[0] == 0

    def test_a_motor_that_another_program_powers_is_not_touched(self, pair, probe):
        with connect(pair.arm):
            pass
        probe.write(1, TIMEOUT, 40000)
        probe.send(0x201, bytes(8))
        probe.send(0x001, b"\xff" * 7 + b"\xfc")
        probe.clock.sleep(0.02)
        with (
            pytest.raises(DriverError, match="turn is powered and follows another program"),
            connect(pair.arm),
        ):
            pass
        probe.send(0x001, b"\xff" * 7 + b"\xfd")
        probe.clock.sleep(0.02)
        assert probe.state(1)[0] == 0


@pytest.mark.slow
class TestCreep:
    """A joint creeps although its velocity loop has set-point zero."""

    @staticmethod
    def creeping(speed):
        def spoil(node):
            follow = node._follow

            def creep():
                follow()
                if node.status == 1 and node.velocity == 0.0:
                    node.drive.target = speed

            node._follow = creep

        return spoil

    @pytest.mark.parametrize("speed", [0.0, 0.012])
    def test_a_creeping_joint_counts_as_held(self, make_arm, speed):
        """Otherwise its watchdog would let it fall, although drive and bus work."""
        arm = make_arm(merged(with_port(PAIR["damiao"], 1), {"joints": {"turn": {"stop": "hold"}}}))
        with virtual_drives(arm, self.creeping(speed)) as driver, driver:
            driver.enable()
            steps(driver, 20, PACE)
            driver.stop("enough")
            assert [axis.power for axis in driver.axes] == ["held", "off"]

    def test_a_turning_joint_does_not_count_as_held(self, make_arm):
        arm = make_arm(merged(with_port(PAIR["damiao"], 1), {"joints": {"turn": {"stop": "hold"}}}))
        with virtual_drives(arm, self.creeping(0.1)) as driver, driver:
            driver.enable()
            with pytest.raises(
                DriverError, match=r"drive of turn is 'on' after 1\.\d+ s, not 'held'"
            ):
                driver.stop("enough")


class TestLeader:
    """A motor of another program without a timeout: only its motion shows
    that it follows that program.
    """

    @pytest.mark.parametrize(("speed", "follows"), [(0.2, True), (0.0, False)])
    def test_a_motor_that_turns_follows_another_program(self, make_arm, speed, follows):
        def spoil(node):
            node.registers[MODE] = VELOCITY_MODE
            node.status, node.velocity = 1, speed
            node._follow()

        with virtual_drives(make_arm(with_port(PAIR["damiao"], 1)), spoil) as driver:
            if follows:
                with (
                    pytest.raises(DriverError, match="turn is powered and follows another program"),
                    driver,
                ):
                    pass
            else:
                with driver:
                    assert driver.look(3)


class TestHost:
    """The joints after the program that moves them hangs or is interrupted; "lift" has no brake."""

    @pytest.fixture
    def host(self, bench):
        drives = bench(
            "damiao", {"driver": {"watchdog": 0.15}, "joints": {"lift": {"stop": "hold"}}}
        )
        with program_of(drives) as program:
            yield program, Probe(drives), drives

    def test_a_killed_or_hung_program_leaves_no_joint_under_power(self, host):
        program, probe, _ = host
        program.pause()
        before = probe.state(2)[1]
        probe.clock.sleep(0.15 + 0.1)
        assert [probe.state(motor)[0] for motor in (1, 2)] == [0xD, 0xD]  # communication lost
        # held by its brake, within a count
        assert abs(probe.moves(1)) <= 1
        probe.clock.sleep(0.3)
        # falls by 0.1 rad, as docs/safety.md says
        assert probe.state(2)[1] > before + 250
        program.proceed()
        probe.clock.sleep(0.1)
        assert program.said.startswith("DriverError")
        # and no program powered them again
        assert [probe.state(motor)[0] for motor in (1, 2)] == [0xD, 0xD]

    def test_an_interrupted_program_brakes_and_holds_and_the_next_can_connect(self, host):
        program, probe, drives = host
        program.interrupt()
        assert program.said == "KeyboardInterrupt: "
        # longer than the watchdog
        probe.clock.sleep(0.3)
        # brake; held by its motor, without a program
        assert [probe.state(motor)[0] for motor in (1, 2)] == [0, 1]
        assert abs(probe.moves(2)) <= 1
        assert probe.read(2, TIMEOUT, "<I") == 0
        with connect(drives.arm) as arm:
            before = arm.look(5)[-1]
            arm.enable()
            np.testing.assert_allclose(steps(arm, 10)[-1].q, before.q, atol=8e-4)
            assert probe.read(2, TIMEOUT, "<I") == 3000
            probe.write(1, TEST, SILENT)
            with pytest.raises(DriverError, match="turn has not replied for"):
                until_it_fails(arm)
        assert probe.state(2)[0] == 1  # held


@pytest.mark.slow
def test_a_flooded_bus_is_reported_and_the_motors_stop(make_arm, monkeypatch):
    """Another member floods the bus; our frames still arrive."""
    nodes = []
    with virtual_drives(make_arm(with_port(PAIR["damiao"], 1)), nodes.append) as arm, arm:
        arm.enable()
        steps(arm, 40, PACE)
        assert abs(nodes[0].drive.dq) > 0.2

        def flooded(patience):
            arm.link.clock.sleep(1e-4)  # a frame of eight bytes at 1 Mbit/s takes as long
            return can.Message(arbitration_id=0x6F0, is_extended_id=False)

        monkeypatch.setattr(arm.link._bus, "recv", flooded)
        with pytest.raises(
            DriverError,
            match="the CAN bus delivers frames faster than they can be read; check the other "
            "devices on the bus",
        ):
            arm.step(Command(PACE))
        arm.link.clock.sleep(0.01)  # time for the drives to read all frames
        assert nodes[0].drive.power == "off"
        assert abs(nodes[0].drive.dq) < 0.01


@pytest.fixture(scope="module")
def axis(make_arm):
    return connect(make_arm(with_port(PAIR["damiao"], 1))).axes[0]


def test_the_watchdog_is_written_in_steps_of_50_microseconds(axis, monkeypatch):
    written = []
    monkeypatch.setattr(axis, "write", lambda register, value, what: written.append(value))
    monkeypatch.setattr(axis.link, "send", lambda frame: None)
    for on in (True, False):
        axis.watch(on)
    assert written == [round(20_000 * axis.keys.watchdog), 0]


@given(
    identifier=st.sampled_from([0x11, 0x12, 0x001, 0x7FF]),
    data=st.binary(max_size=8),
    due=st.booleans(),
)
def test_the_reader_survives_any_frame_on_the_bus(axis, identifier, data, due):
    axis.due = due
    axis.take(Frame(identifier, data))
    assert axis.power in ("off", "on", "held", "fault")
    assert axis.trouble is None or isinstance(axis.trouble, str)
    assert len(list(axis.frames())) in (1, 2)
