"""One CiA 402 drive: its motion, the faults that end motion, and the frames that make a reading."""

import struct

import can
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stribeck.drivers.arm import Command
from stribeck.drivers.connect import connect
from stribeck.drivers.emulators.body import RESET
from stribeck.drivers.errors import ArmStopped, DriverError
from tests.drivers.canopen.canopen_probe import TEST_OBJECT
from tests.drivers.virtual import virtual_drives
from tests.drivers.wires import PACE, PAIR, REST, steps, until_it_fails, with_port


class TestMotion:
    def test_profile_velocity_moves_as_well(self, own):
        drives, _ = own(driver={"profile": "pv"})
        with connect(drives.arm) as arm:
            arm.enable()
            assert steps(arm, 100, PACE)[-1].dq == pytest.approx(PACE, abs=0.01)

    def test_one_joint_follows_torque_while_the_other_follows_velocity(self, pair, probe):
        with connect(pair.arm) as arm:
            arm.enable()
            for _ in range(40):
                sample = arm.step(
                    Command(np.array([0.0, 0.1]), np.array([2.4, 0.0]), ("torque", "velocity"))
                )
            assert sample.tau[0] == pytest.approx(2.4, abs=0.06)
            # the joint sticks below 4.5 N·m
            assert sample.dq == pytest.approx([0.0, 0.1], abs=0.01)
            for _ in range(40):
                sample = arm.step(
                    Command(np.array([0.0, 0.0]), np.array([6.0, 0.0]), ("torque", "velocity"))
                )
            assert sample.dq[0] > 0.05  # and breaks loose above
            assert probe.read(1, 0x6061, 0, "<b") == 10
            arm.stop("enough")
            arm.enable()
            assert abs(steps(arm, 5)[-1].dq[0]) < 0.01

    def test_directions_and_zeros_are_those_of_the_model(self, own):
        """The drive turns the other way. The emulator reads this from the same keys; the probe
        reads the drive's counts.
        """
        drives, probe = own(joints={"turn": {"direction": -1, "zero_offset": 0.5}})
        with connect(drives.arm) as arm:
            arm.enable()
            first, last = steps(arm, 1)[0], steps(arm, 60, np.array([0.3, 0.0]))[-1]
            assert first.q[0] == pytest.approx(0.0, abs=0.01)
            assert last.q[0] > first.q[0] + 0.03
            assert probe.read(1, 0x606C) < 0
            assert probe.read(1, 0x6064) == pytest.approx(
                (0.5 - last.q[0]) * 100.0 * 65536 / (2.0 * np.pi), rel=0.1
            )


class TestStaleVelocity:
    """Another program left a velocity in the drive, as its target or as an offset."""

    STALE = 20000  # counts/s: 0.02 rad/s at the joint

    @pytest.mark.parametrize(
        ("index", "form", "value"),
        [(0x60FF, "<i", 50 * STALE), (0x60B1, "<i", 50 * STALE), (0x60B2, "<h", 300)],
    )
    def test_the_driver_never_lets_it_move(self, pair, probe, index, form, value):
        with connect(pair.arm) as arm:
            before = arm.look(5)[-1].q
            probe.write(1, index, value, form)
            assert probe.read(1, index, 0, form) == value
            arm.enable()
            assert probe.read(1, index, 0, form) == 0
            samples = steps(arm, 20)
            np.testing.assert_allclose(
                [sample.q for sample in samples], np.tile(before, (20, 1)), atol=2e-4
            )

    @pytest.mark.parametrize("index", [0x60FF, 0x60B1])
    def test_without_the_driver_the_joint_moves(self, own, index):
        """Otherwise the test above would prove nothing."""
        _, probe = own()
        before = probe.read(1, 0x6064)
        probe.write(1, 0x6060, 9, "<b")
        probe.write(1, index, 50 * self.STALE)
        for word in (0x06, 0x07, 0x0F):
            probe.write(1, 0x6040, word, "<H")
        probe.clock.sleep(0.2)
        assert abs(probe.read(1, 0x6064) - before) > self.STALE


class TestFaults:
    def test_a_drive_fault_stops_all_joints_and_only_a_reset_clears_it(self, pair, probe):
        arm = connect(pair.arm)
        with arm:
            arm.enable()
            steps(arm, 20, PACE)
            probe.write(1, TEST_OBJECT, 0x2310, "<H")
            with pytest.raises(
                DriverError,
                match=r"drive of turn stopped by itself: fault, error 0x2310 \(overcurrent\)",
            ):
                until_it_fails(arm)
            assert abs(probe.read(2, 0x606C)) < 100
            assert probe.state(2) == 0x40  # braked
            with pytest.raises(DriverError, match="fault"):
                arm.enable()
            assert probe.state(1) & 0x4F == 0x08
        with pytest.raises(DriverError, match="stribeck check --reset"), connect(pair.arm):
            pass
        arm = connect(pair.arm)
        arm.reset()
        assert probe.state(1) == 0x40  # without power
        assert probe.read(1, 0x60FF) == 0
        with arm:
            arm.enable()
            steps(arm, 5)

    def test_a_reset_does_not_change_a_held_joint(self, own):
        drives, probe = own(joints={"lift": {"stop": "hold"}})
        with connect(drives.arm) as arm:
            arm.enable()
            steps(arm, 5)
            probe.write(1, TEST_OBJECT, 0x2310, "<H")
            with pytest.raises(DriverError, match=r"overcurrent\); the arm was stopped"):
                until_it_fails(arm, REST)
        assert (probe.state(1) & 0x4F, probe.state(2)) == (0x08, 0x07)  # faulty; held
        before = probe.read(2, 0x6064)
        connect(drives.arm).reset()
        assert (probe.state(1), probe.state(2)) == (0x40, 0x07)
        assert abs(probe.read(2, 0x6064) - before) < 50

    def test_a_node_that_was_reset_is_not_powered_again(self, own):
        drives, probe = own()
        with connect(drives.arm) as arm:
            arm.enable()
            steps(arm, 20, PACE)
            probe.write(1, TEST_OBJECT, RESET, "<H")
            with pytest.raises(DriverError, match=r"turn.*(was reset|has not replied)"):
                until_it_fails(arm)
            with pytest.raises(DriverError):
                arm.enable()

    @pytest.mark.parametrize("stop", ["brake", "hold"])
    def test_a_drive_that_leaves_operational_is_stopped(self, own, stop):
        """Another master or a vendor's tool did it: the drive hears heartbeats, so its watchdog is
        quiet, but no set-points.
        """
        drives, probe = own(driver={"watchdog": 0.5}, joints={"turn": {"stop": stop}})
        with connect(drives.arm) as arm:
            arm.enable()
            steps(arm, 20, PACE)
            before = probe.read(1, 0x6064)
            probe.bus.send(can.Message(arbitration_id=0, data=b"\x80\x01", is_extended_id=False))
            with pytest.raises(DriverError, match="turn has not replied for"):
                until_it_fails(arm)
            assert probe.state(1) == (0x40 if stop == "brake" else 0x07)
            ran = abs(probe.read(1, 0x6064) - before) / (100.0 * 65536 / (2.0 * np.pi))
            assert ran < PACE[0] * 0.4
        assert probe.state(2) == 0x40

    def test_a_drive_that_lost_power_by_itself_is_not_powered_again(self, pair, probe):
        """Another master or a key switch may do this."""
        with connect(pair.arm) as arm:
            arm.enable()
            steps(arm, 10)
            probe.write(1, 0x6040, 0x02, "<H")
            with pytest.raises(
                DriverError, match=r"turn stopped by itself: (quick stop|switch on disabled)"
            ):
                until_it_fails(arm, REST)
            with pytest.raises(ArmStopped):
                arm.step(Command(REST))


@pytest.mark.parametrize(
    ("stuck", "words"),
    [
        (10, r"reports mode 10 \(0x6061\) \d+ ms after the command for mode 9"),
        (9, r"reports mode 9 \(0x6061\) \d+ ms after the command for mode 10"),
    ],
)
def test_a_drive_that_does_not_change_its_mode_is_stopped_without_torque(make_arm, stuck, words):
    """Otherwise a joint that broke loose would keep the torque that broke it loose instead of
    stopping, and vice versa.
    """
    nodes = []

    def spoil(node):
        set_ = node._set
        nodes.append(node)
        node._set = lambda found, data: (
            None if found == (0x6060, 0) and node.values[found] == stuck else set_(found, data)
        )

    torque = Command(REST, np.array([2.4, 0.0]), ("torque", "velocity"))

    def go_on(driver, command):
        for _ in range(100):
            driver.step(command)

    with virtual_drives(make_arm(with_port(PAIR["canopen"], 1)), spoil) as driver, driver:
        driver.enable()
        steps(driver, 5)
        driver.step(torque)
        with pytest.raises(DriverError, match=words):
            go_on(driver, torque if stuck == 9 else Command(REST))
        assert nodes[0].values[0x6071, 0] == 0


class TestGreeting:
    """A node that does not answer."""

    def silent(self, make_arm, talks):
        heard = []

        def spoil(node):
            transmit, receive = node._transmit, node.receive
            node._transmit = lambda identifier, data: (
                None if identifier == 0x580 + node.id else transmit(identifier, data)
            )
            node.receive = lambda identifier, data: (
                heard.append((identifier, data)),
                receive(identifier, data),
            )
            if talks:
                node.nmt = 5
                node.values[0x1017, 0] = 50

        arm = make_arm(with_port(PAIR["canopen"], 1))
        with (
            virtual_drives(arm, spoil) as driver,
            pytest.raises(DriverError, match=r"turn \(node 1\) does not answer"),
            driver,
        ):
            pass
        return (0, b"\x80\x01") in heard

    def test_a_silent_node_is_set_to_pre_operational(self, make_arm):
        assert self.silent(make_arm, talks=False)

    def test_a_node_that_follows_another_program_receives_nothing(self, make_arm):
        assert not self.silent(make_arm, talks=True)


def test_a_drive_that_misses_the_start_frame_is_started_again(make_arm):
    def deaf_once(node):
        nmt, heard = node._nmt, []

        def late(command):
            heard.append(command)
            if command != 1 or heard.count(1) > 3:
                nmt(command)

        node._nmt = late

    with virtual_drives(make_arm(with_port(PAIR["canopen"], 1)), deaf_once) as driver, driver:
        driver.enable()
        steps(driver, 5)


def test_tpdos_of_different_cycles_are_never_joined_in_a_reading(axis):
    """First the frame with the velocity is lost, then the frame with the position: readings
    must not stay a cycle late.
    """
    axis.expect()
    axis.on_state(0x181, bytearray(struct.pack("<Hih", 0x27, 1000, 5)), 0.0)
    before = axis.replies
    axis.expect()
    axis.on_velocity(0x281, bytearray(struct.pack("<ib", 70, 9)), 0.0)
    assert axis.replies == before
    axis.expect()
    axis.on_velocity(0x281, bytearray(struct.pack("<ib", 80, 9)), 0.0)
    axis.on_state(0x181, bytearray(struct.pack("<Hih", 0x27, 1100, 5)), 0.0)
    assert axis.replies == before + 1
    assert axis.reading.dq == pytest.approx(80 * axis.scale.velocity)


@given(data=st.binary(max_size=8))
def test_the_reader_survives_any_frame_on_the_bus(axis, data):
    for listener in (axis.on_state, axis.on_velocity, axis.on_emergency, axis.on_heartbeat):
        listener(0x181, bytearray(data), 0.0)
    assert axis.power in ("off", "on", "held", "fault")
    assert isinstance(axis.trouble, str)
