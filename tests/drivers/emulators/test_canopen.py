"""Emulated CiA 402 drives behave like real drives; otherwise tests of programs that drive
them would prove nothing.
"""

import numpy as np
import pytest

from stribeck.drivers.arm import Command
from stribeck.drivers.connect import connect
from stribeck.drivers.errors import DriverError
from tests.drivers.virtual import virtual_drives
from tests.drivers.wires import PACE, PAIR, steps, until_it_fails, with_port


class TestFaults:
    @pytest.mark.parametrize(
        ("code", "power"),
        [(0x2310, "off"), (0x8611, "velocity")],
        ids=["overcurrent", "following error"],
    )
    def test_an_emulated_drive_brakes_after_faults_that_keep_its_current(
        self, make_arm, code, power
    ):
        """Otherwise programs would be tested only with drives that can always brake."""
        nodes = []
        with virtual_drives(make_arm(with_port(PAIR["canopen"], 1)), nodes.append) as arm:
            with arm:
                arm.enable()
                steps(arm, 20, PACE)
                nodes[0].fault(code)
                assert nodes[0].drive.power == power
                with pytest.raises(DriverError, match="drive of turn stopped by itself"):
                    until_it_fails(arm)
            assert (nodes[0].drive.power, nodes[0].drive.held_by) == ("off", "brake")

    @pytest.mark.parametrize(
        ("stop", "state"), [("brake", "switch on disabled"), ("hold", "quick stop active")]
    )
    def test_a_drive_in_torque_mode_that_hears_nothing_ramps_its_torque_to_zero(
        self, bench, stop, state
    ):
        """The brake then holds the joint; a joint without brake falls."""
        changes = {"driver": {"watchdog": 0.2}, "joints": {"lift": {"stop": stop}}}
        drives = bench("canopen", changes)
        with connect(drives.arm) as arm:
            lift = drives.drives[1]
            arm.enable()
            for _ in range(20):
                arm.step(Command(np.zeros(2), np.array([0.0, 5.0]), ("velocity", "torque")))
            assert lift.drive.tau == pytest.approx(5.0, abs=0.2)
            drives.clock.sleep(0.2 + 0.1)  # the program hangs
            assert (lift.state, lift.drive.tau) == (state, pytest.approx(0.0, abs=0.2))
            drives.clock.sleep(0.1)
            there = lift.drive.q
            drives.clock.sleep(0.1)
            assert (abs(lift.drive.q - there) > 0.01) == (stop == "hold")

    @pytest.mark.parametrize(
        ("word", "coasts"), [(0x00, True), (0x02, False)], ids=["disable voltage", "quick stop"]
    )
    def test_an_emulated_drive_that_loses_its_power_in_motion_coasts_until_its_brake_has_closed(
        self, make_arm, word, coasts
    ):
        nodes = []
        with virtual_drives(make_arm(with_port(PAIR["canopen"], 1)), nodes.append) as arm, arm:
            arm.enable()
            steps(arm, 40, PACE)
            nodes[0]._control(word)
            assert nodes[0].drive.held_by == ("nothing" if coasts else "drive")
            with pytest.raises(DriverError, match="drive of turn stopped by itself"):
                until_it_fails(arm)
            assert nodes[0].drive.held_by == "brake"
