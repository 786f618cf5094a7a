"""CiA 402 drives on one bus: how motion ends when a drive or the program stops working."""

import os
import re
import signal
import time

import pytest

from stribeck.drivers.arm import Command
from stribeck.drivers.connect import connect
from stribeck.drivers.emulators.body import SILENT
from stribeck.drivers.errors import DriverError
from stribeck.ident.arm.arm_file import load_arm
from tests.drivers.canopen.canopen_probe import TEST_OBJECT
from tests.drivers.wires import (
    PACE,
    processes,
    program_of,
    steps,
    until_it_fails,
)


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
            time.sleep(0.5)
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
    """The joints after the program that moves them is killed, hangs or is interrupted."""

    @pytest.fixture
    def host(self, own):
        """A program that moves the joints, a queue with its output, and a
        probe; "lift" has no brake.
        """
        drives, probe = own(driver={"watchdog": 0.2}, joints={"lift": {"stop": "hold"}})
        with program_of(drives.arm) as (program, said):
            assert abs(probe.read(1, 0x606C)) > 1000
            yield program, said, probe

    def test_a_killed_program_leaves_the_joints_to_their_watchdogs(self, host):
        program, _, probe = host
        program.kill()
        # watchdog, and braking from 0.3 rad/s at 8 rad/s²
        time.sleep(0.2 + 0.3)
        for node, state in ((1, 0x40), (2, 0x07)):  # braked; held without brake: quick stop active
            assert abs(probe.read(node, 0x606C)) < 2000
            assert probe.state(node) == state

    def test_a_hung_program_is_stopped_and_does_not_resume(self, host):
        program, said, probe = host
        os.kill(program.pid, signal.SIGSTOP)
        time.sleep(0.5)
        assert abs(probe.read(1, 0x606C)) < 2000
        os.kill(program.pid, signal.SIGCONT)
        assert re.match(
            r"DriverError: (turn has not replied|this computer sent nothing) for \d+ ms; the arm "
            r"was stopped",
            said.get(timeout=30.0),
        )
        assert abs(probe.read(1, 0x606C)) < 2000
        # brake: closed as soon as the drive could be reached
        assert probe.state(1) == 0x40
        assert probe.state(2) == 0x07

    @pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
    def test_an_interrupted_program_stops_brakes_and_holds(self, host, ending):
        """Also if the signal comes several times: a person who sees the arm
        still slow down may try again.
        """
        program, said, probe = host
        while said.empty():
            os.kill(program.pid, ending)
            time.sleep(0.003)
        assert "KeyboardInterrupt" in said.get(timeout=30.0)
        assert probe.state(1) == 0x40  # brake
        assert probe.state(2) == 0x07  # no brake: held by its drive
        assert abs(probe.read(2, 0x606C)) < 2000


def script(arm, said):
    """A script of a user, which does not handle signals."""
    try:
        with connect(load_arm(arm)) as connected:
            connected.enable()
            steps(connected, 5)
            said.put("moving")
            while True:
                connected.step(Command(PACE))
    except KeyboardInterrupt:
        said.put("interrupted")


def test_a_script_that_is_asked_to_end_stops_the_arm_first(own):
    drives, probe = own(joints={"lift": {"stop": "hold"}})
    said = processes.Queue()
    program = processes.Process(target=script, args=(drives.arm.path, said), daemon=True)
    program.start()
    assert said.get(timeout=60.0) == "moving"
    os.kill(program.pid, signal.SIGTERM)
    assert said.get(timeout=10.0) == "interrupted"
    # brake; held by its drive
    assert [probe.state(node) for node in (1, 2)] == [0x40, 0x07]
    program.join()


def test_a_joint_without_brake_falls_when_its_drive_has_no_power(own):
    """The emulated drives behave like real ones here; otherwise "hold" would not be needed."""
    _, probe = own(joints={"lift": {"stop": "hold"}})
    first = probe.read(2, 0x6064)
    time.sleep(0.3)
    assert probe.read(2, 0x6064) > first + 1000
