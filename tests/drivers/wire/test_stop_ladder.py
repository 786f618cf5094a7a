"""The ladder that ends motion: each rung is taken, and what it left undone is told."""

import itertools
import time

import numpy as np
import pytest

from stribeck.drivers.arm import Command
from stribeck.drivers.errors import DriverError
from stribeck.drivers.wire.wired_arm import WiredArm
from tests.drivers.ideal_drives import Ideal, Loopback
from tests.drivers.wires import steps


@pytest.fixture
def faulty(make_arm, monkeypatch):
    """An arm with brakes whose first drive tells a fault after it was told to stop."""
    with WiredArm(make_arm({"joints": {name: {"stop": "brake"} for name in ("turn", "lift")}}), Loopback) as arm:
        arm.enable()
        steps(arm, 3)
        monkeypatch.setattr(Ideal, "trouble", "overcurrent")
        monkeypatch.setattr(Ideal, "disable", lambda axis: setattr(axis, "state", "fault" if axis is arm.axes[0] else "off"))
        yield arm


def test_a_brake_that_does_not_hold_is_told(make_arm, monkeypatch):
    """Worn, or not there: nothing else would say so, and the program would end as if all were well."""
    with WiredArm(make_arm({"joints": {name: {"stop": "brake"} for name in ("turn", "lift")}}), Loopback) as arm:
        arm.enable()
        steps(arm, 3)
        sinks = lambda axis: setattr(axis, "state", "off") or setattr(axis, "velocity", 0.2 * (axis is arm.axes[1]))     # noqa: E731
        monkeypatch.setattr(Ideal, "disable", sinks)
        with pytest.raises(DriverError, match=r"enough; the arm was stopped; lift moved 0\.\d+ rad in 0\.5 s without power "
                                              r"and still moves: its brake does not hold it, or it has no brake"):
            arm.stop("enough")


def test_a_joint_that_sinks_until_its_brake_holds_is_waited_for(make_arm, monkeypatch):
    with WiredArm(make_arm({"joints": {name: {"stop": "brake"} for name in ("turn", "lift")}}), Loopback) as arm:
        arm.enable()
        steps(arm, 3)
        gone = []

        def disable(axis):
            gone.append(time.monotonic() + 0.3)
            axis.state = "off"
            monkeypatch.setattr(Ideal, "velocity", property(lambda axis: 0.2 * (time.monotonic() < gone[0]),
                                                            lambda axis, value: None), raising=False)

        monkeypatch.setattr(Ideal, "disable", disable)
        arm.stop("enough")
        assert time.monotonic() > gone[0]


def test_a_noisy_velocity_is_no_brake_that_slips(make_arm, monkeypatch):
    with WiredArm(make_arm({"joints": {name: {"stop": "brake"} for name in ("turn", "lift")}}), Loopback) as arm:
        arm.enable()
        steps(arm, 3)
        noise = itertools.cycle([0.4, -0.4])
        monkeypatch.setattr(Ideal, "disable", lambda axis: setattr(axis, "state", "off") or setattr(axis, "noise", noise))
        arm.stop("enough")
        assert abs(next(axis.reading.dq for axis in arm.axes)) == 0.4


def test_each_brake_is_watched_for_itself(make_arm, monkeypatch):
    """One that slips is told, and the others' silence or rest is not laid to it."""
    with WiredArm(make_arm({"joints": {name: {"stop": "brake"} for name in ("turn", "lift")}}), Loopback) as arm:
        arm.enable()
        steps(arm, 3)

        def disable(axis):
            axis.state, axis.velocity, axis.mute = "off", 0.2, axis is arm.axes[0]

        monkeypatch.setattr(Ideal, "disable", disable)
        with pytest.raises(DriverError, match=r"^enough; the arm was stopped; lift moved 0\.\d+ rad in 0\.5 s [^;]*; "
                                              "support the joint"):
            arm.stop("enough")


def test_a_fault_that_is_told_late_is_named_beside_what_was_seen_of_it(faulty):
    """As by an ODrive, whose heartbeat comes ten times a second: its joint has fallen behind by then."""
    with pytest.raises(DriverError, match=r"^turn fell behind; the arm was stopped; the drive of turn has a fault: overcurrent$"):
        faulty.stop("turn fell behind")


def test_a_fault_that_is_the_reason_is_named_once(faulty):
    faulty.stop("the drive of turn stopped by itself")
    assert faulty.axes[0].power == "fault"


def test_after_a_pause_in_which_replies_were_waited_for_joints_that_stand_still_go_on_doing_so(arm, monkeypatch):
    """Its drives have stopped by themselves meanwhile; from what was commanded before no ramp leads to rest."""
    steps(arm, 3, np.array([0.1, 0.1]))
    told = []
    command = Ideal.command
    monkeypatch.setattr(Ideal, "command", lambda axis, mode, value: (told.append(value), command(axis, mode, value)))
    monkeypatch.setattr("tests.drivers.ideal_drives.PAUSE", arm.watchdog + 0.05)
    arm.link.pauses = 1
    arm.step(Command(np.array([0.1, 0.1])))
    told.clear()
    arm.stop("enough")
    assert set(told) == {0.0}


def test_a_bus_that_fails_for_a_moment_stops_the_arm_and_no_rung_of_the_ladder(arm):
    """It would let joints fall whose drives take their power away when they hear nothing."""
    arm.link.failures = 10
    with pytest.raises(DriverError, match=r"the bus failed: no buffer space available; the arm was stopped"):
        steps(arm, 3, np.array([0.1, 0.1]))
    assert [axis.state for axis in arm.axes] == ["off" if not axis.joint.falls else "held" for axis in arm.axes]


def test_a_bus_that_fails_for_good_is_told_once_more_after_the_last_rung(arm):
    arm.link.failures = 10**9
    with pytest.raises(DriverError, match=r"the bus failed: no buffer space available; then the bus failed"):
        steps(arm, 3, np.array([0.1, 0.1]))


def test_what_nobody_expected_of_a_rung_hides_neither_the_reason_nor_what_others_say(arm, monkeypatch):
    def broken(axis):
        raise ZeroDivisionError

    monkeypatch.setattr(Ideal, "quick_stop", broken)
    arm.link.failures = 10**9
    with pytest.raises(ZeroDivisionError) as raised:
        steps(arm, 3, np.array([0.1, 0.1]))
    reason, *others = raised.value.__notes__
    assert reason == "the arm was being stopped: the bus failed: no buffer space available"
    assert any("the bus failed" in said for said in others)
    monkeypatch.undo()


@pytest.mark.parametrize("coasts", [0.4, 9.0])
def test_brakes_close_once_the_joints_are_at_rest(make_arm, monkeypatch, coasts):
    """A drive says that it stops as soon as it begins to."""
    arm = WiredArm(make_arm({"joints": {name: {"stop": "brake"} for name in ("turn", "lift")}}), Loopback)
    arm.__enter__()
    arm.enable()

    def slower(axis):
        axis.state, began, pace = "held", time.monotonic(), axis.velocity
        ramp = property(lambda axis: max(0.0, pace * (1.0 - (time.monotonic() - began) / coasts)), lambda axis, value: None)
        monkeypatch.setattr(Ideal, "velocity", ramp, raising=False)

    off = []
    monkeypatch.setattr(Ideal, "quick_stop", slower)
    monkeypatch.setattr(Ideal, "disable", lambda axis: (off.append(axis.velocity), setattr(axis, "state", "off")))
    monkeypatch.setattr(Ideal, "command", lambda axis, mode, value: None)
    for axis in arm.axes:
        axis.velocity = 0.5
    if coasts > 1.0:
        with pytest.raises(DriverError, match=r"turn still moves 1\.\d+ s after its drive was told to stop"):
            arm.stop("enough")
        return
    arm.stop("enough")
    assert len(off) == 2
    assert max(off) < 0.03


def test_drives_that_nothing_stops_are_named(arm, monkeypatch):
    monkeypatch.setattr(arm.axes[1], "watched", False)
    arm.link.failures = 10**9
    with pytest.raises(DriverError, match="left to their own watchdogs; lift: no watchdog, switch the supply off"):
        steps(arm, 1)


def test_a_joint_that_its_drive_does_not_hold_in_the_end_is_told(make_arm, monkeypatch):
    """The program would end as if all were well, and the joint falls."""
    monkeypatch.setattr(Ideal, "quick_stop", lambda axis: setattr(axis, "state", "fault"))
    arm = WiredArm(make_arm({"joints": {"lift": {"stop": "hold"}, "turn": {"stop": "brake"}}}), Loopback)
    arm.__enter__()
    arm.enable()
    with pytest.raises(DriverError, match="disconnected; then the drive of lift does not hold it: fault"):
        arm.__exit__(None, None, None)
