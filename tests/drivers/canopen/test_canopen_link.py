"""CiA 402 drives on one bus: what ends motion when drives or the program that moves them do not go on."""

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
    def test_a_node_that_falls_silent_is_noticed_and_the_others_stop(self, own):
        drives, probe = own()
        with connect(drives.arm) as arm:
            arm.enable()
            steps(arm, 20, PACE)
            probe.write(1, TEST_OBJECT, SILENT, "<H")
            with pytest.raises(DriverError, match="turn has not replied for"):
                until_it_fails(arm)
        assert probe.state(2) == 0x40
        assert abs(probe.read(2, 0x606C)) < 100

    def test_after_a_pause_a_drive_that_is_silent_keeps_no_other_from_its_brake(self, own):
        drives, probe = own(driver={"watchdog": 0.2})
        with connect(drives.arm) as arm:
            arm.enable()
            steps(arm, 20, PACE)
            probe.write(1, TEST_OBJECT, SILENT, "<H")
            time.sleep(0.5)
            with pytest.raises(DriverError, match=r"this computer sent nothing for \d+ ms; then turn does not reply"):
                arm.step(Command(PACE))
            assert probe.state(2) == 0x40

    def test_when_all_drives_vanish_the_arm_says_so(self, own):
        drives, _ = own()
        with connect(drives.arm) as arm:
            arm.enable()
            steps(arm, 20, PACE)
            drives.end()
            with pytest.raises(DriverError, match="has not replied for"):
                until_it_fails(arm)


class TestHost:
    """What becomes of the joints when the program that moves them does not go on."""

    @pytest.fixture
    def host(self, own):
        """A program that moves the joints, what it said, and a probe; "lift" has no brake."""
        drives, probe = own(driver={"watchdog": 0.2}, joints={"lift": {"stop": "hold"}})
        with program_of(drives.arm) as (program, said):
            assert abs(probe.read(1, 0x606C)) > 1000
            yield program, said, probe

    def test_killed_it_leaves_the_joints_to_their_watchdogs(self, host):
        program, _, probe = host
        program.kill()
        time.sleep(0.2 + 0.3)                       # watchdog, and braking from 0.3 rad/s at 8 rad/s²
        for node, state in ((1, 0x40), (2, 0x07)):  # braked; the one without brake held: quick stop active
            assert abs(probe.read(node, 0x606C)) < 2000
            assert probe.state(node) == state

    def test_hung_it_is_stopped_and_does_not_resume(self, host):
        program, said, probe = host
        os.kill(program.pid, signal.SIGSTOP)
        time.sleep(0.5)
        assert abs(probe.read(1, 0x606C)) < 2000
        os.kill(program.pid, signal.SIGCONT)
        assert re.match(r"DriverError: (turn has not replied|this computer sent nothing) for \d+ ms; the arm was stopped",
                        said.get(timeout=30.0))
        assert abs(probe.read(1, 0x606C)) < 2000
        assert probe.state(1) == 0x40               # brake: it was told once it could be
        assert probe.state(2) == 0x07

    @pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
    def test_interrupted_it_stops_brakes_and_holds(self, host, ending):
        """However often: a person who sees the arm still slow down may try again."""
        program, said, probe = host
        while said.empty():
            os.kill(program.pid, ending)
            time.sleep(0.003)
        assert "KeyboardInterrupt" in said.get(timeout=30.0)
        assert probe.state(1) == 0x40               # brake
        assert probe.state(2) == 0x07               # no brake: held by its drive
        assert abs(probe.read(2, 0x606C)) < 2000


def script(arm, said):
    """As a user may write it: nothing in it cares for signals."""
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
    assert [probe.state(node) for node in (1, 2)] == [0x40, 0x07]          # brake; held by its drive
    program.join()


def test_a_joint_without_brake_falls_when_its_drive_has_no_power(own):
    """The emulated drives do what real ones do; else "hold" would not be needed."""
    _, probe = own(joints={"lift": {"stop": "hold"}})
    first = probe.read(2, 0x6064)
    time.sleep(0.3)
    assert probe.read(2, 0x6064) > first + 1000
