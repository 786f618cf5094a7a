"""The ladder that ends motion: each rung is tried, and failures are reported."""

import itertools

import numpy as np
import pytest

from stribeck.drivers.arm import Command
from stribeck.drivers.errors import DriverError
from tests.drivers.ideal_drives import Ideal, ideal_arm
from tests.drivers.wires import steps


@pytest.fixture
def faulty(make_arm, monkeypatch):
    """An arm with brakes whose first drive reports a fault after the command to stop."""
    with ideal_arm(
        make_arm({"joints": {name: {"stop": "brake"} for name in ("turn", "lift")}})
    ) as arm:
        arm.enable()
        steps(arm, 3)
        monkeypatch.setattr(Ideal, "trouble", "overcurrent")
        monkeypatch.setattr(
            Ideal,
            "disable",
            lambda axis: setattr(axis, "state", "fault" if axis is arm.axes[0] else "off"),
        )
        yield arm


def test_a_brake_that_does_not_hold_is_reported(make_arm, monkeypatch):
    """The brake is worn or missing: without this message the program
    would end as if all were well.
    """
    with ideal_arm(
        make_arm({"joints": {name: {"stop": "brake"} for name in ("turn", "lift")}})
    ) as arm:
        arm.enable()
        steps(arm, 3)

        def sinks(axis):
            axis.state, axis.velocity = "off", 0.2 * (axis is arm.axes[1])

        monkeypatch.setattr(Ideal, "disable", sinks)
        with pytest.raises(
            DriverError,
            match=r"enough; the arm was stopped; lift moved 0\.\d+ rad in 0\.5 s without power "
            r"and still moves: its brake does not hold it, or it has no brake",
        ):
            arm.stop("enough")


def test_the_ladder_waits_for_a_joint_that_sinks_until_its_brake_holds(make_arm, monkeypatch):
    with ideal_arm(
        make_arm({"joints": {name: {"stop": "brake"} for name in ("turn", "lift")}})
    ) as arm:
        arm.enable()
        steps(arm, 3)
        gone = []

        def disable(axis):
            gone.append(axis.clock.now() + 0.3)
            axis.state = "off"
            monkeypatch.setattr(
                Ideal,
                "velocity",
                property(lambda axis: 0.2 * (axis.clock.now() < gone[0]), lambda axis, value: None),
                raising=False,
            )

        monkeypatch.setattr(Ideal, "disable", disable)
        arm.stop("enough")
        assert arm.link.clock.now() > gone[0]


def test_a_noisy_velocity_is_not_taken_for_a_slipping_brake(make_arm, monkeypatch):
    with ideal_arm(
        make_arm({"joints": {name: {"stop": "brake"} for name in ("turn", "lift")}})
    ) as arm:
        arm.enable()
        steps(arm, 3)
        noise = itertools.cycle([0.4, -0.4])
        monkeypatch.setattr(
            Ideal,
            "disable",
            lambda axis: setattr(axis, "state", "off") or setattr(axis, "noise", noise),
        )
        arm.stop("enough")
        assert abs(next(axis.reading.dq for axis in arm.axes)) == 0.4


def test_each_brake_is_observed_separately(make_arm, monkeypatch):
    """A slipping brake is reported alone; silence or rest of other
    joints is not attributed to it.
    """
    with ideal_arm(
        make_arm({"joints": {name: {"stop": "brake"} for name in ("turn", "lift")}})
    ) as arm:
        arm.enable()
        steps(arm, 3)

        def disable(axis):
            axis.state, axis.velocity, axis.mute = "off", 0.2, axis is arm.axes[0]

        monkeypatch.setattr(Ideal, "disable", disable)
        with pytest.raises(
            DriverError,
            match=r"^enough; the arm was stopped; lift moved 0\.\d+ rad in 0\.5 s [^;]*; "
            "support the joint",
        ):
            arm.stop("enough")


def test_a_fault_that_is_reported_late_is_named_beside_its_consequence(faulty):
    """For example by an ODrive, whose heartbeat comes ten times a second: its joint
    breaches a limit before that.
    """
    with pytest.raises(
        DriverError,
        match=r"^turn fell behind; the arm was stopped; the drive of turn has a fault: "
        r"overcurrent$",
    ):
        faulty.stop("turn fell behind")


def test_a_fault_that_is_the_reason_is_named_once(faulty):
    faulty.stop("the drive of turn stopped by itself")
    assert faulty.axes[0].power == "fault"


def test_after_a_pause_joints_that_stand_still_are_not_moved(arm, monkeypatch):
    """The drives have stopped by themselves, so the ladder must not ramp
    down from the old set-points.
    """
    steps(arm, 3, np.array([0.1, 0.1]))
    told = []
    command = Ideal.command
    monkeypatch.setattr(
        Ideal, "command", lambda axis, mode, value: (told.append(value), command(axis, mode, value))
    )
    monkeypatch.setattr("tests.drivers.ideal_drives.PAUSE", arm.watchdog + 0.05)
    arm.link.pauses = 1
    arm.step(Command(np.array([0.1, 0.1])))
    told.clear()
    arm.stop("enough")
    assert set(told) == {0.0}


def test_a_short_bus_failure_stops_the_arm_but_no_rung_of_the_ladder(arm):
    """Otherwise joints would fall whose drives lose power when they hear nothing."""
    arm.link.failures = 10
    with pytest.raises(
        DriverError, match=r"the bus failed: no buffer space available; the arm was stopped"
    ):
        steps(arm, 3, np.array([0.1, 0.1]))
    assert [axis.state for axis in arm.axes] == [
        "off" if not axis.joint.falls else "held" for axis in arm.axes
    ]


def test_a_permanent_bus_failure_is_reported_again_after_the_last_rung(arm):
    arm.link.failures = 10**9
    with pytest.raises(
        DriverError, match=r"the bus failed: no buffer space available; then the bus failed"
    ):
        steps(arm, 3, np.array([0.1, 0.1]))


def test_an_unexpected_exception_of_a_rung_hides_neither_reason_nor_other_errors(arm, monkeypatch):
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
    """A drive reports "held" as soon as it begins to stop."""
    arm = ideal_arm(make_arm({"joints": {name: {"stop": "brake"} for name in ("turn", "lift")}}))
    arm.__enter__()
    arm.enable()

    def slower(axis):
        axis.state, began, pace = "held", axis.clock.now(), axis.velocity
        ramp = property(
            lambda axis: max(0.0, pace * (1.0 - (axis.clock.now() - began) / coasts)),
            lambda axis, value: None,
        )
        monkeypatch.setattr(Ideal, "velocity", ramp, raising=False)

    off = []
    monkeypatch.setattr(Ideal, "quick_stop", slower)
    monkeypatch.setattr(
        Ideal, "disable", lambda axis: (off.append(axis.velocity), setattr(axis, "state", "off"))
    )
    monkeypatch.setattr(Ideal, "command", lambda axis, mode, value: None)
    for axis in arm.axes:
        axis.velocity = 0.5
    if coasts > 1.0:
        with pytest.raises(
            DriverError, match=r"turn still moves 1\.\d+ s after its drive was told to stop"
        ):
            arm.stop("enough")
        return
    arm.stop("enough")
    assert len(off) == 2
    assert max(off) < 0.03


def test_drives_without_watchdog_are_named(arm, monkeypatch):
    monkeypatch.setattr(arm.axes[1], "watched", False)
    arm.link.failures = 10**9
    with pytest.raises(
        DriverError, match="left to their own watchdogs; lift: no watchdog, switch the supply off"
    ):
        steps(arm, 1)


def test_a_joint_that_its_drive_does_not_hold_is_reported(make_arm, monkeypatch):
    """Without this message the program would end as if all were well, and the joint would fall."""
    monkeypatch.setattr(Ideal, "quick_stop", lambda axis: setattr(axis, "state", "fault"))
    arm = ideal_arm(make_arm({"joints": {"lift": {"stop": "hold"}, "turn": {"stop": "brake"}}}))
    arm.__enter__()
    arm.enable()
    with pytest.raises(
        DriverError, match="disconnected; then the drive of lift does not hold its joint: fault"
    ):
        arm.__exit__(None, None, None)
