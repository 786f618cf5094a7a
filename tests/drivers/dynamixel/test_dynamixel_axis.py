"""One Dynamixel servo: its motion, and the faults that end motion."""

import numpy as np
import pytest

from stribeck.drivers.connect import connect
from stribeck.drivers.emulators.body import RESET
from stribeck.drivers.errors import DriverError
from stribeck.drivers.supervisor import Supervisor
from tests.drivers.dynamixel.servo_probe import GOAL, POSITION, TORQUE, VELOCITY, WATCHDOG
from tests.drivers.wires import PACE, PAIR, REST, merged, steps, until_it_fails


class TestMotion:
    def test_slow_strokes_are_finer_than_the_servos_velocity_steps(self, own):
        """12 mrad/s at the horn: half a step of the servo's own velocity."""
        servos, _ = own()
        with Supervisor(connect(servos.arm)) as guard:
            guard.enable()
            samples = steps(guard, 400, np.array([0.004, 0.006]))
            assert guard.arm.tally.missed.tolist() == [0, 0]
        t, q = (np.array([getattr(sample, key) for sample in samples]) for key in ("t", "q"))
        np.testing.assert_allclose(np.diff(t), 0.005, rtol=1e-6)
        assert np.polyfit(t[150:], q[150:, 0], 1)[0] == pytest.approx(0.004, rel=0.05)
        assert np.polyfit(t[150:], q[150:, 1], 1)[0] == pytest.approx(0.006, rel=0.05)

    def test_directions_and_zeros_are_those_of_the_model(self, own):
        """The servo turns the other way. The emulator reads this from the same keys; the probe
        reads the servo's counts.
        """
        servos, probe = own(joints={"turn": {"direction": -1, "zero_offset": 0.2}})
        with connect(servos.arm) as arm:
            arm.enable()
            first, last = steps(arm, 1)[0], steps(arm, 60, np.array([0.3, 0.0]))[-1]
            assert first.q[0] == pytest.approx(0.0, abs=0.01)
            assert last.q[0] > first.q[0] + 0.03
            assert probe.read(1, VELOCITY) < 0
            assert probe.read(1, POSITION) == pytest.approx(
                2048 + (0.2 - last.q[0]) * 3.0 * 4096 / (2.0 * np.pi), abs=60
            )

    def test_after_a_pause_the_host_does_not_make_up_for_the_missed_motion(self, pair):
        with connect(pair.arm) as arm:
            arm.enable()
            before = steps(arm, 20, PACE)[-1].q
            pair.clock.sleep(0.3)
            after = steps(arm, 4)[-1].q
            # the goal lies 0.2 s ahead
            assert np.all(np.abs(after - before) < np.abs(PACE) * (0.2 + 0.06) + 0.002)


class TestStaleGoal:
    """Another program left a goal in the servo."""

    FAR = 4000

    def test_the_driver_never_lets_it_move(self, pair, probe):
        with connect(pair.arm) as arm:
            before = arm.look(5)[-1].q
            assert probe.write(1, GOAL, self.FAR) == 0
            arm.enable()
            samples = steps(arm, 20)
            np.testing.assert_allclose(
                [sample.q for sample in samples], np.tile(before, (20, 1)), atol=1.1e-3
            )

    def test_without_the_driver_the_joint_moves(self, own):
        """Otherwise the test above would prove nothing."""
        _, probe = own()
        before = probe.read(1, POSITION)
        probe.write(1, GOAL, self.FAR)
        probe.write(1, TORQUE, 1, "<B")
        probe.clock.sleep(0.3)
        assert abs(probe.read(1, POSITION) - before) > 200


class TestFaults:
    def test_a_hardware_error_stops_all_joints_and_only_a_reset_clears_it(self, pair, probe):
        arm = connect(pair.arm)
        with arm:
            arm.enable()
            steps(arm, 20, PACE)
            probe.happen(1, 0x20)
            with pytest.raises(DriverError, match="drive of turn stopped by itself: overload"):
                until_it_fails(arm)
            assert not probe.powered(2)  # braked
            with pytest.raises(DriverError, match=r"turn.*fault"):
                arm.enable()
            assert not probe.powered(1)
        with (
            pytest.raises(DriverError, match=r"has a fault, overload; .* stribeck check --reset"),
            connect(pair.arm),
        ):
            pass
        arm = connect(pair.arm)
        arm.reset()
        assert not probe.powered(1)
        with arm:
            arm.enable()
            steps(arm, 5)

    @pytest.mark.parametrize("bits", [0x01, 0x08])
    def test_an_error_that_keeps_power_on_stops_all_joints_and_braked_ones_lose_power(
        self, own, bits
    ):
        """Errors of input voltage and encoder do not shut a servo down
        (factory setting of register 63).
        """
        servos, probe = own(joints={"lift": {"stop": "hold"}})
        arm = connect(servos.arm)
        with arm:
            arm.enable()
            steps(arm, 20, PACE)
            for servo in (1, 2):
                probe.happen(servo, bits)
            with pytest.raises(
                DriverError, match=r"drive of turn stopped by itself: [\w ]+; the arm was stopped$"
            ):
                until_it_fails(arm)
            assert (probe.powered(1), probe.powered(2)) == (False, True)
        probe.clock.sleep(0.6)
        assert probe.read(2, WATCHDOG, "<b") == -1  # held, its goals locked
        before = probe.read(2, POSITION)
        arm = connect(servos.arm)
        for _ in range(2):
            with pytest.raises(
                DriverError,
                match=r"lift .* holds its joint in spite of its fault, .* support the arm",
            ):
                arm.reset()
            assert probe.powered(2)
            assert abs(probe.read(2, POSITION) - before) < 5

    def test_a_reset_clears_an_error_that_kept_power_on_if_a_brake_holds(self, own):
        servos, probe = own()
        probe.happen(1, 0x01)
        with (
            pytest.raises(
                DriverError, match=r"has a fault, input voltage; .* stribeck check --reset"
            ),
            connect(servos.arm),
        ):
            pass
        arm = connect(servos.arm)
        arm.reset()
        with arm:
            arm.enable()
            steps(arm, 5)

    def test_a_servo_that_lost_its_supply_is_not_powered_again(self, pair, probe):
        with connect(pair.arm) as arm:
            arm.enable()
            steps(arm, 20, PACE)
            probe.happen(1, RESET)
            with pytest.raises(
                DriverError, match=r"turn stopped by itself: no power: .* losing its supply"
            ):
                until_it_fails(arm)
            assert not probe.powered(1)

    def test_a_servo_that_was_reset_after_it_had_been_set_up_is_not_powered(self, pair, probe):
        """Its reported position would be wrong by a turn of the horn."""
        with connect(pair.arm) as arm:
            probe.happen(1, RESET)
            with pytest.raises(
                DriverError, match=r"turn \(id 1\) was reset after it had been set up"
            ):
                arm.enable()
            assert not probe.powered(1)

    def test_a_servo_that_another_program_switched_off_is_not_powered_again(self, pair, probe):
        with connect(pair.arm) as arm:
            arm.enable()
            steps(arm, 10)
            probe.write(1, TORQUE, 0, "<B")
            with pytest.raises(DriverError, match="turn stopped by itself: no power"):
                until_it_fails(arm, REST)


def test_a_reset_leaves_a_servo_without_fault_as_it_is(bench, make_arm):
    drives = bench("dynamixel", {"joints": {"turn": {"stop": "hold"}}})
    turn = drives.drives[0]
    driver = connect(drives.arm)
    with driver:
        driver.enable()
        steps(driver, 3)
    assert turn.values[TORQUE] == 1  # held by its servo
    drives.clock.sleep(0.6)
    assert turn.values[WATCHDOG] == -1  # its watchdog has locked the goals
    for _ in range(2):
        driver.reset()
        assert (turn.values[TORQUE], turn.values[WATCHDOG]) == (1, -1)
    line = {"port": drives.arm.driver.model_extra["port"]}
    missing = {"driver": line, "joints": {"lift": {"drive": {"id": 9}}}}
    wrong = connect(make_arm(merged(PAIR["dynamixel"], missing)))
    with pytest.raises(DriverError, match=r"lift .* does not answer"), wrong:
        pass
    assert (turn.values[TORQUE], turn.values[WATCHDOG]) == (1, -1)
    with driver:  # the driver can connect to it
        driver.enable()
        steps(driver, 3)
