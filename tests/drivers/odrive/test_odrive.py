"""ODrive axes: checks and settings before power, motion, and faults that end motion.

A `Probe` reads the emulated axes by frames of its own.
"""

import struct
from types import SimpleNamespace

import can
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stribeck.drivers.arm import Command
from stribeck.drivers.connect import connect
from stribeck.drivers.emulators.body import RESET, SILENT
from stribeck.drivers.emulators.odrive import TEST
from stribeck.drivers.errors import DriverError
from stribeck.drivers.odrive.odrive_link import OdriveAxis
from stribeck.drivers.supervisor import Supervisor
from stribeck.drivers.wire.polled.polled_axis import Frame
from stribeck.drivers.wire.polled.polled_link import PolledLink
from stribeck.ident.errors import InputError
from tests.drivers.virtual import program_of
from tests.drivers.wires import ENDPOINTS, PACE, PAIR, merged, steps, until_it_fails, with_port

WATCHDOG, TOLD = "axis0.config.enable_watchdog", "axis0.controller.input_vel"
MOST = "axis0.controller.config.vel_limit"
IDLE, CLOSED_LOOP = 1, 8


class Probe:
    """Reads and commands axes without the driver."""

    def __init__(self, bench):
        self.bus, self.clock = bench.bus.join(), bench.clock

    def send(self, node, command, data):
        self.bus.send(
            can.Message(arbitration_id=node << 5 | command, data=data, is_extended_id=False)
        )

    def answer(self, identifier, matches=lambda _: True):
        end = self.clock.now() + 1.0
        while self.clock.now() < end:
            reply = self.bus.recv(0.1)
            if (
                reply is not None
                and reply.arbitration_id == identifier
                and not reply.is_remote_frame
                and matches(reply.data)
            ):
                return bytes(reply.data)
        raise TimeoutError

    def drain(self):
        while self.bus.recv(0) is not None:
            pass

    def ask(self, node, command):
        self.drain()
        self.bus.send(
            can.Message(
                arbitration_id=node << 5 | command, is_remote_frame=True, is_extended_id=False
            )
        )
        return self.answer(node << 5 | command)

    def read(self, node, name, form="<f"):
        self.drain()
        number = struct.pack("<H", ENDPOINTS[name])
        self.send(node, 0x04, b"\0" + number + bytes(5))
        return struct.unpack_from(
            form, self.answer(node << 5 | 0x05, lambda data: data[1:3] == number), 4
        )[0]

    def write(self, node, name, data):
        self.send(
            node, 0x04, b"\1" + struct.pack("<H", ENDPOINTS[name]) + b"\0" + data.ljust(4, b"\0")
        )
        self.clock.sleep(0.02)

    def state(self, node):
        """Error word and axis state, by the next heartbeat."""
        self.drain()
        return struct.unpack_from("<IB", self.answer(node << 5 | 0x01))

    def position(self, node):
        return struct.unpack_from("<f", self.ask(node, 0x09))[0]

    def suffer(self, node, what):
        self.send(node, 0x04, b"\1" + struct.pack("<HBI", TEST, 0, what))
        self.clock.sleep(0.02)


@pytest.fixture(scope="module")
def pair(bench):
    """Emulated axes; tests leave them without faults and power."""
    return bench("odrive")


@pytest.fixture
def probe(pair):
    return Probe(pair)


class TestSettings:
    def test_modes_limits_and_watchdog_are_in_the_endpoints(self, pair, probe):
        with connect(pair.arm) as arm:
            assert probe.read(1, "axis0.controller.config.control_mode", "<B") == 2
            assert probe.read(1, "axis0.controller.config.input_mode", "<B") == 1
            assert probe.read(1, "axis0.controller.config.vel_limit") == pytest.approx(
                2.0 * 100.0 / (2.0 * np.pi)
            )
            # 60 N·m behind a gear of 100
            assert probe.read(1, "axis0.config.torque_soft_max") == pytest.approx(0.6)
            assert probe.read(2, "axis0.config.torque_soft_min") == pytest.approx(-0.4)
            assert probe.read(1, "axis0.config.watchdog_timeout") == 0.5
            # off while there is no power
            assert not probe.read(1, WATCHDOG, "<?")
            arm.enable()
            steps(arm, 3)
            assert probe.read(1, WATCHDOG, "<?")
        assert not probe.read(1, WATCHDOG, "<?")

    def test_resolution_is_that_of_the_encoder_and_of_float32(self, pair):
        resolution = connect(pair.arm).resolution
        np.testing.assert_allclose(resolution.position_step, 2.0 * np.pi / 16384 / 100.0)
        assert (resolution.torque_step < 1e-5).all()  # float32

    def test_another_firmware_is_refused(self, pair, make_arm):
        table = with_port(PAIR["odrive"], pair.arm.driver.model_extra["bus"]["port"])
        arm = make_arm(merged(table, {"driver": {"firmware": "0.6.9"}}))
        with (
            pytest.raises(DriverError, match=r"turn has firmware 0.6.10; the arm file's .* 0.6.9"),
            connect(arm),
        ):
            pass

    def test_a_missing_gear_ratio_is_named(self, make_arm):
        with pytest.raises(
            InputError,
            match=r"joints.turn.gear_ratio is missing: this drive counts motor revolutions",
        ):
            connect(
                make_arm(
                    merged(with_port(PAIR["odrive"], 1), {"joints": {"turn": {"gear_ratio": None}}})
                )
            )

    def test_two_endpoints_with_one_number_are_refused(self, make_arm):
        """With one number, the wrong flag would be written and read back correctly."""
        table = with_port(PAIR["odrive"], 1)
        same = {
            "axis0.config.enable_watchdog": table["driver"]["endpoints"][
                "axis0.controller.config.absolute_setpoints"
            ]
        }
        with pytest.raises(
            InputError,
            match=r"enable_watchdog and axis0.controller.config.absolute_setpoints have the same",
        ):
            connect(make_arm(merged(table, {"driver": {"endpoints": same}})))

    def test_an_endpoint_without_answer_is_named(self, pair, make_arm):
        table = with_port(PAIR["odrive"], pair.arm.driver.model_extra["bus"]["port"])
        arm = make_arm(
            merged(table, {"driver": {"endpoints": {"axis0.controller.config.vel_limit": 999}}})
        )
        with (
            pytest.raises(
                DriverError,
                match=r"turn does not answer when asked for endpoint 999, which driver.endpoints "
                r"states "
                "for axis0.controller.config.vel_limit",
            ),
            connect(arm),
        ):
            pass

    def test_another_firmware_is_refused_before_a_reset_too(self, pair, probe, make_arm):
        """The endpoints of other firmware have other numbers."""
        table = with_port(PAIR["odrive"], pair.arm.driver.model_extra["bus"]["port"])
        probe.suffer(1, 1 << 14)
        try:
            with pytest.raises(DriverError, match=r"turn has firmware 0.6.10"):
                connect(make_arm(merged(table, {"driver": {"firmware": "0.6.9"}}))).reset()
            assert probe.state(1) == (1 << 14, IDLE)
        finally:
            connect(pair.arm).reset()

    def test_a_lost_setting_is_sent_again(self, pair, monkeypatch):
        """A write gets no acknowledgement."""
        send, lost = PolledLink.send, []

        def losing(link, frame):
            told = frame.identifier & 0x1F == 0x0B or (
                frame.identifier & 0x1F == 0x04 and frame.data[0] == 1
            )
            if told and frame not in lost:
                lost.append(frame)
            else:
                send(link, frame)

        with monkeypatch.context() as patch:
            patch.setattr(PolledLink, "send", losing)
            with connect(pair.arm):
                pass
        assert len(lost) > 10

    def test_armed_axes_get_frames_while_another_axis_is_asked(self, bench, monkeypatch):
        """Otherwise the watchdog of the first axis trips while an answer
        of the second is awaited.
        """
        drives, take, deaf = bench("odrive", {"driver": {"watchdog": 0.1}}), OdriveAxis.take, []

        def lose_answers(axis, frame):
            if (
                axis.joint.name != "lift"
                or frame.identifier & 0x1F != 0x05
                or not deaf
                or drives.clock.now() > deaf[0] + 0.18
            ):
                take(axis, frame)

        monkeypatch.setattr(OdriveAxis, "take", lose_answers)
        with connect(drives.arm) as arm:
            deaf.append(drives.clock.now())
            arm.enable()
            assert drives.clock.now() > deaf[0] + 0.15
            steps(arm, 3)
        drives.end()

    def test_positions_relative_to_power_up_are_refused_unless_the_arm_file_allows_them(
        self, pair, probe, make_arm
    ):
        name, table = (
            "axis0.controller.config.absolute_setpoints",
            with_port(PAIR["odrive"], pair.arm.driver.model_extra["bus"]["port"]),
        )
        probe.write(1, name, b"\0")
        try:
            with (
                pytest.raises(
                    DriverError, match="turn counts positions from its place at power-up"
                ),
                connect(pair.arm),
            ):
                pass
            with connect(make_arm(merged(table, {"driver": {"relative_positions": True}}))):
                pass
        finally:
            probe.write(1, name, b"\1")

    @pytest.mark.parametrize(
        ("changes", "words"),
        [
            ({"driver": {"firmware": "0.5.6"}}, r"driver.firmware.*0.6.0 or later is needed"),
            ({"driver": {"firmware": "newest"}}, r"driver.firmware.*0.6.0 or later is needed"),
            (
                {"driver": {"endpoints": {"axis0.config.gpio": 1}}},
                r"driver.endpoints.*axis0.config.gpio: not needed",
            ),
            (
                {"driver": {"bit_rate": 250e3}},
                r"200 Hz would take \d+ % of the bus; at most 70 % is safe",
            ),
            (
                {"joints": {"lift": {"drive": {"node": 1}}}},
                r"joints.lift.drive.node = 1 is already used by turn",
            ),
            (
                {"joints": {"lift": {"drive": {"encoder_counts": 0}}}},
                r"joints.lift.drive.encoder_counts = 0",
            ),
        ],
    )
    def test_keys_are_checked_before_any_drive_is_asked(self, make_arm, changes, words):
        with pytest.raises(InputError, match=words):
            connect(make_arm(merged(with_port(PAIR["odrive"], 1), changes)))


class TestMotion:
    def test_both_joints_keep_the_rate(self, pair):
        with Supervisor(connect(pair.arm)) as guard:
            guard.enable()
            swing = 0.4 * np.sin(2.0 * np.pi * np.arange(240) / 240.0)
            samples = [guard.step(Command(np.array([1.0, -0.5]) * value)) for value in swing]
            assert guard.arm.tally.missed.tolist() == [0, 0]
        np.testing.assert_allclose(np.diff([sample.t for sample in samples]), 0.005, rtol=1e-6)
        assert np.ptp([sample.q[0] for sample in samples]) > 0.1
        assert samples[-1].temperature.tolist() == [35.0, 35.0]

    def test_directions_and_zeros_are_those_of_the_model(self, bench):
        """The emulator reads them from the same keys; the probe reads the axis' own revolutions."""
        drives = bench("odrive", {"joints": {"turn": {"direction": -1, "zero_offset": 0.5}}})
        with connect(drives.arm) as arm:
            arm.enable()
            first, last = steps(arm, 1)[0], steps(arm, 60, np.array([0.3, 0.0]))[-1]
            assert first.q[0] == pytest.approx(0.0, abs=0.01)
            assert last.q[0] - first.q[0] == pytest.approx(0.3 * (last.t - first.t), rel=0.1)
            # friction, positive with velocity
            assert last.tau[0] > 2.0
            assert Probe(drives).position(1) == pytest.approx(
                (0.5 - last.q[0]) * 100.0 / (2.0 * np.pi), abs=0.2
            )
        drives.end()


class TestStaleVelocity:
    """Another program sent the axis a velocity while it had no power."""

    def test_the_driver_never_lets_it_move(self, pair, probe):
        with connect(pair.arm) as arm:
            before = arm.look(5)[-1].q
            probe.send(1, 0x0D, struct.pack("<ff", 20.0, 0.0))
            assert probe.read(1, TOLD) == 20.0
            arm.enable()
            np.testing.assert_allclose(
                [sample.q for sample in steps(arm, 20)], np.tile(before, (20, 1)), atol=1e-4
            )

    def test_without_the_driver_the_joint_moves(self, pair, probe):
        """Otherwise the test above would prove nothing."""
        with connect(pair.arm):
            before = probe.position(1)
            probe.send(1, 0x0D, struct.pack("<ff", 5.0, 0.0))
            probe.send(1, 0x07, struct.pack("<I4x", CLOSED_LOOP))
            probe.clock.sleep(0.1)
            assert probe.position(1) > before + 0.2
            probe.send(1, 0x07, struct.pack("<I4x", IDLE))
            probe.clock.sleep(0.02)


class TestFaults:
    def test_an_e_stop_stops_all_joints_and_only_a_reset_clears_it(self, pair, probe):
        arm = connect(pair.arm)
        with arm:
            arm.enable()
            steps(arm, 20, PACE)
            probe.send(1, 0x02, b"")
            with pytest.raises(DriverError, match="turn stopped by itself: e-stop requested"):
                until_it_fails(arm)
        assert probe.state(2) == (0, IDLE)  # braked
        with pytest.raises(DriverError, match=r"e-stop.*stribeck check --reset"), connect(pair.arm):
            pass
        connect(pair.arm).reset()
        assert probe.state(1) == (0, IDLE)  # without power
        with connect(pair.arm) as arm:
            arm.enable()
            steps(arm, 3)

    def test_a_past_error_keeps_the_axis_disarmed_and_can_be_cleared(self, pair, probe):
        """A current error ends when power goes off; the disarm reason stays."""
        probe.suffer(1, 1 << 10)
        assert struct.unpack("<II", probe.ask(1, 0x03)) == (0, 1 << 10)
        with (
            pytest.raises(DriverError, match=r"turn has a fault: bus overcurrent.*--reset"),
            connect(pair.arm),
        ):
            pass
        connect(pair.arm).reset()
        assert probe.state(1) == (0, IDLE)

    def test_when_one_axis_gets_no_power_the_watchdogs_of_the_others_do_not_trip(self, pair, probe):
        """The watchdog of an ODrive runs without power too."""
        arm = connect(pair.arm)
        with arm:
            probe.suffer(2, 1 << 14)
            with pytest.raises(DriverError, match="lift has a fault: inverter temperature"):
                arm.enable()
            assert not probe.read(1, WATCHDOG, "<?")
        probe.clock.sleep(0.6)
        assert probe.state(1) == (0, IDLE)
        arm.reset()
        assert probe.state(2) == (0, IDLE)

    def test_an_axis_that_was_rebooted_is_not_powered_again(self, pair, probe):
        with connect(pair.arm) as arm:
            arm.enable()
            steps(arm, 20, PACE)
            probe.suffer(1, RESET)
            with pytest.raises(DriverError, match="turn stopped by itself: idle"):
                until_it_fails(arm)
        assert probe.state(1) == (0, IDLE)

    def test_an_axis_that_is_rebooted_just_before_power_on_is_not_moved(
        self, pair, probe, monkeypatch
    ):
        """The axis gets power without watchdog and limits."""
        ask = OdriveAxis.power_on

        def reboot_and_ask(axis):
            if axis.joint.name == "turn":
                yield Frame(1 << 5 | 0x04, b"\1" + struct.pack("<HBI", TEST, 0, RESET))
            yield from ask(axis)

        monkeypatch.setattr(OdriveAxis, "power_on", reboot_and_ask)
        words = r"turn was reset after it had been set up \(setting axis0[.\w]+: set to "
        with connect(pair.arm) as arm, pytest.raises(DriverError, match=words):
            arm.enable()
        assert probe.state(1) == (0, IDLE)

    def test_an_emulated_axis_above_its_speed_limit_disarms_itself(self, pair, probe):
        """Otherwise the emulator would tolerate speeds at which a real
        axis switches its power off.
        """
        arm = connect(pair.arm)
        with arm:
            arm.enable()
            steps(arm, 100, PACE)
            probe.send(1, 0x04, struct.pack("<BHBf", 1, ENDPOINTS[MOST], 0, 1e-3))
            with pytest.raises(DriverError, match="velocity limit"):
                until_it_fails(arm)
        connect(pair.arm).reset()

    def test_an_axis_that_falls_silent_is_not_reported_as_missing_heartbeats(self, bench):
        drives = bench("odrive")
        axis = connect(drives.arm).axes[0]
        with drives.bus.join() as bus:
            axis.link.open(bus)
            Probe(drives).suffer(1, SILENT)
            with pytest.raises(DriverError, match="turn does not answer"):
                axis._state()

    def test_an_axis_that_follows_another_program_is_not_touched(self, pair, probe):
        with connect(pair.arm):
            pass
        probe.send(1, 0x0D, struct.pack("<ff", 0.1, 0.0))
        probe.send(1, 0x07, struct.pack("<I4x", CLOSED_LOOP))
        probe.clock.sleep(0.02)
        with (
            pytest.raises(DriverError, match="turn is powered and follows another program"),
            connect(pair.arm),
        ):
            pass
        probe.send(1, 0x07, struct.pack("<I4x", IDLE))
        probe.clock.sleep(0.02)


class TestHost:
    """The joints after the program that moves them is killed or
    interrupted; "lift" has no brake.
    """

    @pytest.fixture
    def host(self, bench):
        drives = bench(
            "odrive", {"driver": {"watchdog": 0.15}, "joints": {"lift": {"stop": "hold"}}}
        )
        with program_of(drives) as program:
            yield program, Probe(drives), drives

    def test_a_killed_program_leaves_no_joint_under_power(self, host):
        program, probe, _ = host
        program.pause()
        before = probe.position(2)
        probe.clock.sleep(0.15 + 0.1)
        # watchdog expired
        assert [probe.state(node) for node in (1, 2)] == [(1 << 24, IDLE)] * 2
        probe.clock.sleep(0.3)
        # falls, as docs/safety.md says
        assert probe.position(2) > before + 1.0

    def test_an_interrupted_program_brakes_and_holds_and_the_next_can_connect(self, host):
        program, probe, drives = host
        program.interrupt()
        assert program.said == "KeyboardInterrupt: "
        before = probe.position(2)
        # longer than the watchdog
        probe.clock.sleep(0.3)
        # brake; held by its drive
        assert [probe.state(node) for node in (1, 2)] == [(0, IDLE), (0, CLOSED_LOOP)]
        assert probe.position(2) == pytest.approx(before, abs=1e-2)
        with connect(drives.arm) as arm:
            before = arm.look(5)[-1]
            arm.enable()
            np.testing.assert_allclose(steps(arm, 10)[-1].q, before.q, atol=2e-4)
        assert probe.state(2) == (0, CLOSED_LOOP)  # held again


def test_noisy_velocities_do_not_keep_a_joint_from_being_held(bench):
    """Sensors may report tens of mrad/s for a joint at rest; only its position counts."""
    drives = bench(
        "odrive", {"simulation": {"velocity_noise": 0.02}, "joints": {"lift": {"stop": "hold"}}}
    )
    with connect(drives.arm) as arm:
        arm.enable()
        steps(arm, 20, PACE)
        arm.stop("enough")
        assert [axis.power for axis in arm.axes] == ["off", "held"]
    drives.end()


def test_error_frames_are_counted(make_arm):
    link = connect(make_arm(with_port(PAIR["odrive"], 1))).link
    link._bus = SimpleNamespace(recv=lambda _: can.Message(is_error_frame=True))
    link._take(0.0)
    assert link.error_frames == 1


@pytest.fixture(scope="module")
def axis(make_arm):
    return connect(make_arm(with_port(PAIR["odrive"], 1))).axes[0]


@given(command=st.integers(0, 31), data=st.binary(max_size=8), due=st.booleans())
def test_the_reader_survives_any_frame_on_the_bus(axis, command, data, due):
    axis.due = due
    axis.take(Frame(1 << 5 | command, data))
    assert axis.power in ("off", "on", "held", "fault")
    assert isinstance(axis.trouble, str)
    assert list(axis.frames())


def test_a_velocity_beyond_the_frame_is_refused(axis):
    with pytest.raises(DriverError, match=r"cannot take a set-point of 1e\+40 rad/s"):
        axis.command("velocity", 1e40)
