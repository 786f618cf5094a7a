"""Dynamixel servos on one line: how motion ends when a servo, the line or
the program stops working.
"""

import os
import signal
import struct
import time

import numpy as np
import pytest

from stribeck.drivers.arm import Command
from stribeck.drivers.connect import connect
from stribeck.drivers.dynamixel.servo_bus import ServoBus
from stribeck.drivers.emulators.body import SILENT
from stribeck.drivers.emulators.dynamixel import Emulator
from stribeck.drivers.emulators.dynamixel_packets import frame
from stribeck.drivers.errors import ArmStopped, DriverError
from stribeck.ident.errors import InputError
from tests.drivers.dynamixel.servo_probe import (
    GOAL,
    POSITION,
    SLOW,
    STATUS_RETURN,
    VELOCITY,
    WATCHDOG,
)
from tests.drivers.dynamixel.spoilt_servos import servos_here
from tests.drivers.wires import PACE, PAIR, REST, merged, program_of, steps, until_it_fails


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
            probe.line.sendall(frame(1, 3, struct.pack("<HB", STATUS_RETURN, 0)))
            with pytest.raises(DriverError, match="turn has not replied for"):
                until_it_fails(arm, np.array([-1.2, 0.0]))
            probe.write(1, STATUS_RETURN, 2, "<B")
            # motion in the 50 ms before the silence is noticed, then braking
            assert arm.look(2)[-1].q[0] < here - 0.1

    def test_a_cut_line_is_reported(self, own):
        servos, _ = own()
        with connect(servos.arm) as arm:
            arm.enable()
            steps(arm, 20, PACE)
            servos.end()
            with pytest.raises(DriverError, match="the bus failed"):
                until_it_fails(arm)
            with pytest.raises(ArmStopped):
                arm.step(Command(REST))


class TestHost:
    """The joints after the program that moves them is killed, hangs or is interrupted."""

    @pytest.fixture
    def host(self, own):
        """A program that moves the joints, a queue with its output, and a
        probe; "lift" has no brake.
        """
        servos, probe = own(driver={"watchdog": 0.2}, joints={"lift": {"stop": "hold"}})
        with program_of(servos.arm) as (program, said):
            assert abs(probe.read(1, VELOCITY)) > 20
            yield program, said, probe, servos.arm

    @pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "stopped"])
    def test_watchdogs_stop_the_joints_and_lock_their_goals(self, host, ending):
        program, _, probe, arm = host
        os.kill(program.pid, ending)
        time.sleep(0.2 + 0.3)  # watchdog, and a moment to come to rest
        for servo in (1, 2):
            assert probe.powered(servo)
            assert probe.read(servo, WATCHDOG, "<b") == -1
            assert abs(probe.read(servo, VELOCITY)) <= SLOW
            assert probe.write(servo, GOAL, 0) == 4
        place = [probe.read(servo, POSITION) for servo in (1, 2)]
        if ending == signal.SIGSTOP:
            os.kill(program.pid, signal.SIGCONT)  # it notices its pause, and moves nothing
            program.join(5.0)
            assert abs(probe.read(2, POSITION) - place[1]) <= 1
            return
        with connect(arm) as again:  # connecting does not drop a held joint
            again.enable()
            steps(again, 10)
            assert abs(probe.read(2, POSITION) - place[1]) <= 2

    def test_a_program_asked_to_end_brakes_or_holds_its_joints(self, host):
        program, said, probe, _ = host
        os.kill(program.pid, signal.SIGTERM)
        assert "KeyboardInterrupt" in said.get(timeout=30.0)
        assert not probe.powered(1)  # brake
        assert probe.powered(2)  # no brake: held by its servo
        assert abs(probe.read(2, VELOCITY)) <= SLOW


def test_a_servo_outside_the_arm_must_report_which_servo_it_follows(on_pty, monkeypatch):
    """A servo that answered once and is silent now may follow a servo of the arm."""
    monkeypatch.setattr(ServoBus, "present", lambda _: [1, 2, 7])
    with (
        servos_here(on_pty) as driver,
        pytest.raises(
            DriverError,
            match="servo 7 is on the line but not in the arm file, and "
            "does not say whether it follows",
        ),
        driver,
    ):
        pass


def test_a_joint_without_brake_falls_when_its_servo_has_no_power(make_arm, on_pty):
    """The emulated servos behave like real ones here; otherwise "hold" would not be needed."""
    emulator = Emulator(
        make_arm(
            merged(
                PAIR["dynamixel"],
                {
                    "driver": {"port": on_pty.driver.model_extra["port"]},
                    "joints": {"lift": {"stop": "hold"}},
                },
            )
        )
    )
    # on a busy computer less simulated time passes
    lift, end = emulator._servos[1].drive, time.monotonic() + 2.0
    first = lift.q
    emulator.serve(lambda: lift.q <= first + 0.1 and time.monotonic() < end)
    emulator.close()
    assert lift.q > first + 0.1
    assert lift.dq > 0.3


def test_a_pty_works_and_its_link_is_removed_with_it(on_pty, tmp_path):
    with servos_here(on_pty) as driver:
        with pytest.raises(InputError, match="exists already"):
            Emulator(on_pty)
        with driver:
            driver.enable()
            assert steps(driver, 40, PACE)[-1].q[0] > 0.03
    assert not (tmp_path / "tty").is_symlink()
