"""Pauses of this computer and silent drives in the cycle of a bus."""

import numpy as np
import pytest

from stribeck.drivers.arm import Command
from stribeck.drivers.errors import DriverError
from tests.drivers.wires import REST, steps


def test_a_bus_without_any_reply_is_reported(arm):
    for axis in arm.axes:
        axis.mute = True
    with pytest.raises(
        DriverError,
        match=r"turn has not replied for .* no other drive has either: .*; then no drive replies",
    ):
        steps(arm, 1000)


def test_a_pause_of_the_computer_is_not_taken_for_silence_of_the_drives(arm):
    arm.link.pauses = 1
    missing = arm.step(Command(REST))
    assert (missing.t_joint < missing.t).all()
    fresh = arm.step(Command(REST))
    assert (fresh.t_joint >= fresh.t).all()
    np.testing.assert_array_equal(arm.tally.missed, [1, 1])


def test_repeated_pauses_do_not_hide_silent_drives(arm):
    arm.link.pauses = 3
    arm.step(Command(REST))
    with pytest.raises(
        DriverError,
        match=r"turn has not replied for \d+ ms; no other drive has either: .*; the arm was "
        r"stopped",
    ):
        arm.step(Command(REST))


def test_a_drive_that_falls_silent_is_named_in_time(arm):
    arm.axes[1].mute = True
    began = arm.link.clock.now()
    with pytest.raises(
        DriverError, match=r"lift has not replied for \d+ ms; then lift does not reply"
    ):
        steps(arm, 1000, np.array([0.1, 0.1]))
    assert arm.axes[0].velocity == 0.0
    # the ladder then waits for a reply of the silent drive
    assert 0.05 < arm.link.clock.now() - began < 3.0


@pytest.mark.parametrize("waiting", [False, True])
def test_after_a_pause_longer_than_the_watchdog_the_arm_is_stopped(arm, monkeypatch, waiting):
    """The program pauses before it sends, or while it waits for the time to send."""
    steps(arm, 3, np.array([0.1, 0.1]))
    before, pause = [axis.q for axis in arm.axes], arm.watchdog + 0.05
    sleep = arm.link.clock.sleep
    with monkeypatch.context() as patch:
        if waiting:
            patch.setattr(arm.link.clock, "sleep", lambda seconds: (sleep(pause), patch.undo()))
        else:
            sleep(pause)
        with pytest.raises(DriverError, match=r"this computer sent nothing for \d+ ms"):
            arm.step(Command(np.array([0.1, 0.1])))
    assert [axis.q for axis in arm.axes] == before
