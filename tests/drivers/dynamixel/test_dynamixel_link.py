"""Dynamixel servos on one line: how motion ends when a servo or the program
stops working.
"""

import struct

import numpy as np
import pytest

from stribeck.drivers.connect import connect
from stribeck.drivers.dynamixel.servo_bus import ServoBus
from stribeck.drivers.emulators.body import SILENT
from stribeck.drivers.errors import DriverError
from tests.drivers.dynamixel.servo_probe import (
    GOAL,
    POSITION,
    SLOW,
    STATUS_RETURN,
    VELOCITY,
    WATCHDOG,
)
from tests.drivers.virtual import program_of, virtual_drives
from tests.drivers.wires import PACE, PAIR, merged, steps, until_it_fails


class TestFollowers:
    def test_a_joint_with_two_servos_is_refused(self, make_arm, own):
        """The torque of only one servo would be read."""
        servos, probe = own()
        alone = merged(
            PAIR["dynamixel"],
            {
                "driver": {"port": servos.arm.driver.model_extra["port"]},
                "joints": {"lift": {"drive": {"id": 9}}},
            },
        )
        assert probe.write(2, 12, 1, "<B") == 0  # it follows the commands to servo 1
        follows = r"servo 2 follows the commands to servo 1, the drive of turn"
        with pytest.raises(DriverError, match=follows), connect(make_arm(alone)):
            pass
        with (
            pytest.raises(
                DriverError,
                match=r"lift \(id 2\) also follows the commands to servo 1; set its Secondary ID",
            ),
            connect(servos.arm),
        ):
            pass


class TestFaults:
    def test_a_silent_servo_is_named_and_the_other_stops(self, own):
        """The silent first servo keeps the second from answering, until the first is the
        last one in the Sync Read.
        """
        servos, probe = own()
        with connect(servos.arm) as arm:
            arm.enable()
            steps(arm, 20, PACE)
            probe.happen(1, SILENT)
            with pytest.raises(DriverError, match="turn has not replied for"):
                until_it_fails(arm)
            assert not probe.powered(2)

    def test_a_mute_servo_is_brought_to_rest_and_not_back_to_its_last_known_position(
        self, pair, probe
    ):
        with connect(pair.arm) as arm:
            arm.enable()
            here = steps(arm, 60, np.array([-1.2, 0.0]))[-1].q[0]
            probe.send(1, 3, struct.pack("<HB", STATUS_RETURN, 0))
            with pytest.raises(DriverError, match="turn has not replied for"):
                until_it_fails(arm, np.array([-1.2, 0.0]))
            probe.write(1, STATUS_RETURN, 2, "<B")
            # motion in the 50 ms before the silence is noticed, then braking
            assert arm.look(2)[-1].q[0] < here - 0.1


class TestHost:
    """The joints after the program that moves them hangs or is interrupted."""

    @pytest.fixture
    def host(self, own):
        """A program that moves the joints, and a probe; "lift" has no brake."""
        servos, probe = own(driver={"watchdog": 0.2}, joints={"lift": {"stop": "hold"}})
        with program_of(servos) as program:
            assert abs(probe.read(1, VELOCITY)) > 20
            yield program, probe, servos.arm

    @pytest.mark.parametrize("goes_on", [False, True], ids=["killed", "stopped"])
    def test_watchdogs_stop_the_joints_and_lock_their_goals(self, host, goes_on):
        program, probe, arm = host
        program.pause()
        probe.clock.sleep(0.2 + 0.3)  # watchdog, and a moment to come to rest
        for servo in (1, 2):
            assert probe.powered(servo)
            assert probe.read(servo, WATCHDOG, "<b") == -1
            assert abs(probe.read(servo, VELOCITY)) <= SLOW
            assert probe.write(servo, GOAL, 0) == 4
        place = [probe.read(servo, POSITION) for servo in (1, 2)]
        if goes_on:
            program.proceed()  # it notices its pause, and moves nothing
            probe.clock.sleep(1.0)
            assert program.said
            assert abs(probe.read(2, POSITION) - place[1]) <= 1
            return
        with connect(arm) as again:  # connecting does not drop a held joint
            again.enable()
            steps(again, 10)
            assert abs(probe.read(2, POSITION) - place[1]) <= 2

    def test_a_program_asked_to_end_brakes_or_holds_its_joints(self, host):
        program, probe, _ = host
        program.interrupt()
        assert program.said == "KeyboardInterrupt: "
        assert not probe.powered(1)  # brake
        assert probe.powered(2)  # no brake: held by its servo
        assert abs(probe.read(2, VELOCITY)) <= SLOW


def test_a_servo_outside_the_arm_must_report_which_servo_it_follows(arm_file, monkeypatch):
    """A servo that answered once and is silent now may follow a servo of the arm."""
    monkeypatch.setattr(ServoBus, "present", lambda _: [1, 2, 7])
    with (
        virtual_drives(arm_file) as driver,
        pytest.raises(
            DriverError,
            match="servo 7 is on the line but not in the arm file, and "
            "does not say whether it follows",
        ),
        driver,
    ):
        pass


def test_a_joint_without_brake_falls_when_its_servo_has_no_power(bench):
    """The emulated servos behave like real ones here; otherwise "hold" would not be needed."""
    servos = bench("dynamixel", {"joints": {"lift": {"stop": "hold"}}})
    lift = servos.drives[1].drive
    first = lift.q
    servos.clock.sleep(0.4)
    assert lift.q > first + 0.1
    assert lift.dq > 0.3
