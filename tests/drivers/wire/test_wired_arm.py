"""What the loop of a wired arm makes of pauses and silence, with drives in this process that reply at once or not at all."""

import itertools
import signal
import sys
import time
from dataclasses import replace

import can
import numpy as np
import pytest

from stribeck.drivers.arm import Command
from stribeck.drivers.connect import connect
from stribeck.drivers.errors import ArmStopped, DriverError
from stribeck.drivers.interrupts import uninterrupted
from stribeck.drivers.wire.axis import Axis, DriveLink, Reading, Steps, read_joints
from stribeck.drivers.wire.wired_arm import WiredArm
from tests.drivers.wires import PAIR, REST, steps

PAUSE = 0.07            # s: longer than a drive may be silent, shorter than its watchdog's time


class Ideal(Axis):
    """Follows at once."""

    steps, watched = Steps(1e-6, 1e-6, 1e-6), True

    def __init__(self, joint):
        self.joint, self.state, self.velocity, self.q, self.mute, self.noise = joint, "off", 0.0, 0.0, False, None

    @property
    def power(self):
        return self.state

    def identity(self):
        return {}

    def configure(self):
        pass

    def enable(self):
        self.state, self.velocity = "on", 0.0

    def command(self, mode, value):
        self.velocity = value

    def quick_stop(self):
        self.state, self.velocity = "held", 0.0

    def disable(self):
        self.state, self.velocity = "off", 0.0

    def reset(self):
        pass


class Loopback(DriveLink):
    """Replies come at once, but for the next cycles in which the computer pauses while it waits for them."""

    def __init__(self, joints, keys, drives):
        self.axes, self.pauses, self.failures = tuple(Ideal(joint) for joint in joints), 0, 0

    def open(self, transport=None):
        pass

    def start(self):
        pass

    def close(self):
        pass

    def load(self):
        return 0.0

    def exchange(self, deadline):
        asked = time.monotonic()
        if self.failures:
            self.failures -= 1
            raise OSError("no buffer space available")
        if self.pauses:
            self.pauses -= 1
            time.sleep(PAUSE)
            return asked
        for axis in self.axes:
            axis.q += axis.velocity * 0.005
            if not axis.mute:
                axis.reading = Reading(time.monotonic(), axis.q, next(axis.noise) if axis.noise else axis.velocity, 0.0)
        return asked


@pytest.fixture
def arm(make_arm):
    with WiredArm(make_arm(), Loopback) as made:
        made.enable()
        steps(made, 3)
        yield made


def test_an_arm_that_stands_beyond_its_limits_is_not_powered(make_arm):
    with WiredArm(make_arm(), Loopback) as made:
        made.axes[1].q = 1.7
        with pytest.raises(DriverError, match=r"lift stands at 1.7 rad, outside its limits -1.5 ... 1.5: .*; nothing was po"):
            made.enable()
        assert [axis.power for axis in made.axes] == ["off", "off"]


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
        with pytest.raises(DriverError, match=r"enough; the arm was stopped; lift went 0\.\d+ rad in 0\.5 s without power and "
                                              r"moves still: its brake does not hold it, or it has none"):
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
        with pytest.raises(DriverError, match=r"^enough; the arm was stopped; lift went 0\.\d+ rad in 0\.5 s [^;]*; support it"):
            arm.stop("enough")


def test_a_fault_that_is_told_late_is_named_beside_what_was_seen_of_it(faulty):
    """As by an ODrive, whose heartbeat comes ten times a second: its joint has fallen behind by then."""
    with pytest.raises(DriverError, match=r"^turn fell behind; the arm was stopped; the drive of turn has a fault: overcurrent$"):
        faulty.stop("turn fell behind")


def test_a_fault_that_is_the_reason_is_named_once(faulty):
    faulty.stop("the drive of turn stopped by itself")
    assert faulty.axes[0].power == "fault"


@pytest.mark.parametrize("why", [RuntimeError("a fault of the script"), KeyboardInterrupt()], ids=["fault", "Ctrl-C"])
def test_an_interface_that_cannot_be_closed_hides_nothing(make_arm, monkeypatch, why):
    """As one that was unplugged, which was why the arm was stopped."""
    def close(link):
        raise can.CanOperationError("could not write to serial device")

    def move():
        with WiredArm(make_arm(), Loopback) as made:
            made.enable()
            raise why

    monkeypatch.setattr(Loopback, "close", close)
    with pytest.raises(type(why)) as raised:
        move()
    assert raised.value is why
    WiredArm(make_arm(), Loopback).reset()


@pytest.mark.skipif(sys.platform == "win32", reason="has no such signals")
def test_ctrl_c_while_the_bus_is_let_go_of_comes_afterwards(make_arm, monkeypatch):
    closed = []

    def close(link):
        signal.raise_signal(signal.SIGINT)
        closed.append(link)

    monkeypatch.setattr(Loopback, "close", close)
    with pytest.raises(KeyboardInterrupt), WiredArm(make_arm(), Loopback):
        pass
    assert len(closed) == 1


def resized_and_ended(seen):
    with uninterrupted():
        for number in (signal.SIGWINCH, signal.SIGINT, signal.SIGWINCH):
            signal.raise_signal(number)
        assert not seen


@pytest.mark.skipif(sys.platform == "win32", reason="has no such signals")
def test_no_other_signal_takes_the_place_of_ctrl_c():
    """As that of a terminal that was resized."""
    seen, before = [], signal.signal(signal.SIGWINCH, lambda *_: seen.append("resized"))
    try:
        with pytest.raises(KeyboardInterrupt):
            resized_and_ended(seen)
    finally:
        signal.signal(signal.SIGWINCH, before)
    assert seen == ["resized"]


@pytest.mark.parametrize("again", ["look", "enable"])
def test_an_arm_that_moves_is_stopped_before_anything_but_a_step(arm, again):
    """Its drives would go on at the last velocity, and be told that somebody is there."""
    steps(arm, 3, np.array([0.3, 0.2]))
    with pytest.raises(DriverError, match=r"the arm is enabled: .*; the arm was stopped"):
        arm.look(3) if again == "look" else arm.enable()
    assert [axis.velocity for axis in arm.axes] == [0.0, 0.0]


def test_a_joint_that_leaves_while_others_come_to_power_stops_all(make_arm, monkeypatch):
    """As one whose motor is commutated wrongly; before its drive has power nobody says where a joint is to be."""
    ready = time.monotonic() + 0.2
    with WiredArm(make_arm(), Loopback) as arm:
        arm.axes[0].q = 0.1
        monkeypatch.setattr(Ideal, "enable", lambda axis: setattr(axis, "velocity", 1.0))
        monkeypatch.setattr(Ideal, "power", property(lambda axis: "on" if axis.state == "off" and time.monotonic() > ready + (
            0.5 if axis is arm.axes[1] else 0.0) else axis.state))
        with pytest.raises(DriverError, match=r"^turn went from 0.\d+ to 0.\d+ rad once its drive had come to power, more than "
                                              r"its following_error of 0.05 rad: .*; the arm was stopped"):
            arm.enable()
        assert [axis.velocity for axis in arm.axes] == [0.0, 0.0]


@pytest.mark.parametrize("stop", ["brake", "hold"])
def test_a_braked_joint_that_is_elsewhere_before_its_drive_has_power_lost_its_zero(make_arm, monkeypatch, stop):
    """As by a reset after the drives were looked at; one without brake may have sunk."""
    def enable(axis):
        axis.q, axis.ready = axis.q + 0.3, time.monotonic() + 0.1

    with WiredArm(make_arm({"joints": {name: {"stop": stop} for name in ("turn", "lift")}}), Loopback) as arm:
        monkeypatch.setattr(Ideal, "enable", enable)
        monkeypatch.setattr(Ideal, "power", property(
            lambda axis: "on" if axis.state == "off" and time.monotonic() > getattr(axis, "ready", np.inf) else axis.state))
        if stop == "hold":
            arm.enable()
            return
        with pytest.raises(DriverError, match=r"^turn went from 0 to 0.3 rad before its drive had come to power, more than its "
                                              r"following_error of 0.05 rad: .* to its zero, and to its brake; the arm was"):
            arm.enable()


@pytest.mark.parametrize(("unit", "turning"), [("rad", []), ("m", ["turn"])])
def test_what_is_slow_in_rad_is_not_in_metres(make_arm, monkeypatch, unit, turning):
    """A slide at a centimetre a second is not held yet, whatever its drive says."""
    def joints(*of):
        return tuple(replace(joint, position_unit=unit) for joint in read_joints(*of))

    monkeypatch.setattr("stribeck.drivers.wire.wired_arm.read_joints", joints)
    with WiredArm(make_arm(), Loopback) as arm:
        arm.axes[0].state, arm.axes[0].reading = "held", Reading(time.monotonic(), 0.0, 0.01, 0.0)
        assert arm._turning() == turning


def test_an_arm_that_was_not_entered_has_nothing_to_look_at(make_arm):
    with pytest.raises(ArmStopped, match="has to be entered first"):
        WiredArm(make_arm(), Loopback).look(1)


def test_a_bus_on_which_nobody_speaks_is_told(arm):
    for axis in arm.axes:
        axis.mute = True
    with pytest.raises(DriverError, match=r"turn has not replied for .* nor has any other drive: .*; then no drive replies"):
        steps(arm, 1000)


def test_a_pause_while_replies_are_waited_for_is_not_the_drives_silence(arm):
    arm.link.pauses = 1
    missing = arm.step(Command(REST))
    assert (missing.t_joint < missing.t).all()
    fresh = arm.step(Command(REST))
    assert (fresh.t_joint >= fresh.t).all()
    np.testing.assert_array_equal(arm.tally.missed, [1, 1])


def test_pauses_one_after_the_other_are_no_sign_of_life(arm):
    arm.link.pauses = 3
    arm.step(Command(REST))
    with pytest.raises(DriverError, match=r"turn has not replied for \d+ ms; nor has any other drive: .*; the arm was stopped"):
        arm.step(Command(REST))


def test_a_drive_that_falls_silent_is_named_in_time(arm):
    arm.axes[1].mute = True
    began = time.monotonic()
    with pytest.raises(DriverError, match=r"lift has not replied for \d+ ms; then lift does not reply"):
        steps(arm, 1000, np.array([0.1, 0.1]))
    assert arm.axes[0].velocity == 0.0
    assert 0.05 < time.monotonic() - began < 3.0        # then the ladder waits for a word of the silent one


def test_no_fault_is_cleared_while_another_program_moves_the_arm(make_arm, monkeypatch):
    def refuse(axis):
        if axis.joint.name == "lift":
            raise DriverError("the drive of lift follows another program")

    cleared = []
    monkeypatch.setattr(Ideal, "refuse_company", refuse)
    monkeypatch.setattr(Ideal, "reset", cleared.append)
    with pytest.raises(DriverError, match="lift follows another program"):
        WiredArm(make_arm(), Loopback).reset()
    assert cleared == []


@pytest.mark.parametrize("error", [DriverError("it is gone"), KeyboardInterrupt(), ImportError("none")],
                         ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("kind", PAIR)
def test_an_enabling_that_is_broken_off_powers_nothing(bench, monkeypatch, kind, error):
    """The ladder has cycles of its own, many where a joint does not come to rest, and drives that were asked to come to power."""
    cycle, seen = WiredArm._try_cycle, []

    def restless(arm):
        measured = cycle(arm)
        seen.append({getattr(axis, "condition", axis.power) for axis in arm.axes})      # one that is armed is not "off" yet
        return measured + 1.0

    def fail():
        raise error

    def move():
        with connect(bench(kind).arm) as arm:
            monkeypatch.setattr(arm.axes[-1], "enable", fail)
            arm.enable()

    monkeypatch.setattr(WiredArm, "_try_cycle", restless)
    with pytest.raises(type(error)):
        move()
    assert len(seen) > 20
    assert not set().union(*seen) & {"on", "held", "powered"}


def test_after_a_pause_in_which_replies_were_waited_for_joints_that_stand_still_go_on_doing_so(arm, monkeypatch):
    """Its drives have stopped by themselves meanwhile; from what was commanded before no ramp leads to rest."""
    steps(arm, 3, np.array([0.1, 0.1]))
    told = []
    command = Ideal.command
    monkeypatch.setattr(Ideal, "command", lambda axis, mode, value: (told.append(value), command(axis, mode, value)))
    monkeypatch.setattr("tests.drivers.wire.test_wired_arm.PAUSE", arm.watchdog + 0.05)
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


@pytest.mark.parametrize("waiting", [False, True])
def test_after_a_pause_longer_than_the_watchdog_nothing_goes_on(arm, monkeypatch, waiting):
    """Whether the program paused before it came to send, or while it waited for the time to do so."""
    steps(arm, 3, np.array([0.1, 0.1]))
    before, pause, sleep = [axis.q for axis in arm.axes], arm.watchdog + 0.05, time.sleep
    with monkeypatch.context() as patch:
        if waiting:
            patch.setattr("stribeck.drivers.wire.wired_arm.time.sleep", lambda seconds: (sleep(pause), patch.undo()))
        else:
            sleep(pause)
        with pytest.raises(DriverError, match=r"this computer sent nothing for \d+ ms"):
            arm.step(Command(np.array([0.1, 0.1])))
    assert [axis.q for axis in arm.axes] == before


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
        with pytest.raises(DriverError, match=r"turn still turns 1\.\d+ s after its drive was told to stop"):
            arm.stop("enough")
        return
    arm.stop("enough")
    assert len(off) == 2
    assert max(off) < 0.03


def test_a_second_ctrl_c_before_the_ladder_holds_it_back_skips_no_rung(make_arm, monkeypatch):
    """As programs that pass signals on send them."""
    stop, often = WiredArm.stop, []

    def struck(arm, reason):
        often.append(reason)
        if len(often) == 1:
            raise KeyboardInterrupt
        stop(arm, reason)

    monkeypatch.setattr(WiredArm, "stop", struck)
    arm = WiredArm(make_arm(), Loopback)

    def interrupted():
        with arm:
            arm.enable()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert [axis.state for axis in arm.axes] == ["held" if axis.joint.falls else "off" for axis in arm.axes]
    assert often == ["interrupted", "interrupted"]


def test_drives_that_nothing_stops_are_named(arm, monkeypatch):
    monkeypatch.setattr(arm.axes[1], "watched", False)
    arm.link.failures = 10**9
    with pytest.raises(DriverError, match="left to their own watchdogs; lift: none, switch the supply off"):
        steps(arm, 1)


def test_a_joint_that_its_drive_does_not_hold_in_the_end_is_told(make_arm, monkeypatch):
    """The program would end as if all were well, and the joint falls."""
    monkeypatch.setattr(Ideal, "quick_stop", lambda axis: setattr(axis, "state", "fault"))
    arm = WiredArm(make_arm({"joints": {"lift": {"stop": "hold"}, "turn": {"stop": "brake"}}}), Loopback)
    arm.__enter__()
    arm.enable()
    with pytest.raises(DriverError, match="disconnected; then the drive of lift does not hold it: fault"):
        arm.__exit__(None, None, None)
