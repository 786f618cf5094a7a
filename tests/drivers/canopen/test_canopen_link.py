"""CiA 402 drives on one bus: how motion ends when a drive or the program stops working."""

import re

import pytest

from stribeck.drivers.arm import Command
from stribeck.drivers.connect import connect
from stribeck.drivers.emulators.body import SILENT
from stribeck.drivers.errors import DriverError
from tests.drivers.canopen.canopen_probe import TEST_OBJECT
from tests.drivers.virtual import program_of
from tests.drivers.wires import PACE, steps, until_it_fails


class TestFaults:
    def test_a_silent_node_is_named_and_the_others_stop(self, own):
        drives, probe = own()
        with connect(drives.arm) as arm:
            arm.enable()
            steps(arm, 20, PACE)
            probe.write(1, TEST_OBJECT, SILENT, "<H")
            with pytest.raises(DriverError, match="turn has not replied for"):
                until_it_fails(arm)
        assert probe.state(2) == 0x40
        assert abs(probe.read(2, 0x606C)) < 100

    def test_after_a_pause_a_silent_drive_does_not_keep_others_from_braking(self, own):
        drives, probe = own(driver={"watchdog": 0.2})
        with connect(drives.arm) as arm:
            arm.enable()
            steps(arm, 20, PACE)
            probe.write(1, TEST_OBJECT, SILENT, "<H")
            drives.clock.sleep(0.5)
            with pytest.raises(
                DriverError,
                match=r"this computer sent nothing for \d+ ms; then turn does not reply",
            ):
                arm.step(Command(PACE))
            assert probe.state(2) == 0x40

    def test_an_arm_whose_drives_all_vanish_is_stopped_with_a_message(self, own):
        drives, _ = own()
        with connect(drives.arm) as arm:
            arm.enable()
            steps(arm, 20, PACE)
            drives.end()
            with pytest.raises(DriverError, match="has not replied for"):
                until_it_fails(arm)


class TestHost:
    """The joints after the program that moves them hangs or is interrupted."""

    @pytest.fixture
    def host(self, own):
        """A program that moves the joints, and a probe; "lift" has no brake."""
        drives, probe = own(driver={"watchdog": 0.2}, joints={"lift": {"stop": "hold"}})
        with program_of(drives) as program:
            assert abs(probe.read(1, 0x606C)) > 1000
            yield program, probe

    def test_a_hung_program_leaves_the_joints_to_their_watchdogs_and_does_not_resume(self, host):
        program, probe = host
        program.pause()
        # watchdog, and braking from 0.3 rad/s at 8 rad/s²
        probe.clock.sleep(0.2 + 0.1)
        for node, state in ((1, 0x40), (2, 0x07)):  # braked; held without brake: quick stop active
            assert abs(probe.read(node, 0x606C)) < 2000
            assert probe.state(node) == state
        program.proceed()
        probe.clock.sleep(0.1)
        assert re.match(
            r"DriverError: (turn has not replied|this computer sent nothing) for \d+ ms; the arm "
            r"was stopped",
            program.said,
        )
        assert abs(probe.read(1, 0x606C)) < 2000
        # brake: closed as soon as the drive could be reached
        assert probe.state(1) == 0x40
        assert probe.state(2) == 0x07

    def test_an_interrupted_program_stops_brakes_and_holds(self, host):
        program, probe = host
        program.interrupt()
        assert program.said == "KeyboardInterrupt: "
        assert probe.state(1) == 0x40  # brake
        assert probe.state(2) == 0x07  # no brake: held by its drive
        assert abs(probe.read(2, 0x606C)) < 2000


def test_a_joint_without_brake_falls_when_its_drive_has_no_power(own):
    """The emulated drives behave like real ones here; otherwise "hold" would not be needed."""
    _, probe = own(joints={"lift": {"stop": "hold"}})
    first = probe.read(2, 0x6064)
    probe.clock.sleep(0.3)
    assert probe.read(2, 0x6064) > first + 1000
