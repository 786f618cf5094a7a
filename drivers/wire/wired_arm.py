"""An arm of drives on a bus: the one loop that sends set-points and signs of life, and the ladder that ends motion."""

import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import numpy as np

from stribeck.drivers.arm import Array, Command, JointSample, Resolution, command_fault
from stribeck.drivers.errors import ArmStopped, DriverError, NoAnswer
from stribeck.drivers.interrupts import endings_raised, uninterrupted
from stribeck.drivers.staleness import stale_age
from stribeck.drivers.wire.axis import BRAKE_CLOSES, Axis, DriveLink, read_joints, read_keys
from stribeck.drivers.wire.realtime import real_time
from stribeck.drivers.wire.transport import alone, bus_errors
from stribeck.ident.arm.arm_file import ArmFile, check_against_model
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.errors import InputError, about_file

MOST_LOAD = 0.7             # part of a bus that cycles may take
_PATIENCE = 2.0             # periods in which a reply must have come
_RAMP = 0.5                 # s that a joint may take to rest beyond its braking time, before its own quick stop is asked for
_QUICK_STOP = 1.0           # s for the drive's quick stop, beyond its braking time,
_TURNS = 0.02               # rad/s, of slides a tenth in m/s, from which a joint is not yet held, or four velocity steps
_POWER_OFF = 1.0            # s to let go of a joint that has a brake,
_GRIPS = 0.5                # s after which its brake has to hold,
_SWAY = 0.002               # rad, of slides a tenth in m, within which it rests then, or two position steps
_POWER_ON = 5.0             # s to power all drives
_REST = 0.005               # rad/s, of slides a tenth in m/s, below which a joint counts as at rest, or two velocity steps
_FIRST = 3                  # cycles in which drives must have replied before any is powered,
_FIRST_REPLY = 1.0          # s for which they are asked: nothing is powered yet
_NOT_CONNECTED = "it is not connected", "disconnected"


@dataclass
class Tally:
    """How the cycles went.

    Attributes
    ----------
    cycles : int
        Exchanges so far.
    missed : ndarray of int, shape (n,)
        Cycles in which a joint's reply was not there in time.
    late : int
        Cycles that began more than a period behind the clock's grid.
    latency : list of ndarray, shape (n,)
        From sending to the reply of each joint [s], of the last ten thousand cycles.
    """

    cycles: int
    missed: Array
    late: int
    latency: list[Array]


class WiredArm:
    """Drives on a bus behind the `Arm` interface. Guard it by a `Supervisor`, which checks what it measures.

    While it is connected, SIGTERM and SIGHUP raise KeyboardInterrupt where they would end the program at once: the arm is stopped
    first. A sample's `t` is the instant at which replies were asked for, since entering.

    Parameters
    ----------
    arm : ArmFile
        Limits and the driver's keys.
    link : type of DriveLink
        The driver.
    transport : optional
        An open python-can bus or serial port; default is the one that the arm file names, opened on entering.

    Raises
    ------
    InputError
        On keys that the driver refuses, limits that are missing, or a bus that cannot carry the rate.
    """

    def __init__(self, arm: ArmFile, link: type[DriveLink], transport: Any = None) -> None:
        mechanism = load_mechanism(arm)
        check_against_model(arm, mechanism)
        self.names, self.rate, self.limits = mechanism.names, arm.driver.rate, arm.limits(mechanism)
        missing = self.limits.missing(self.names)
        if missing:
            raise InputError(f"{arm.path}: {missing[0]} is missing; nothing moves without it")
        keys, drives = read_keys(arm, self.names, link)
        self.joints = read_joints(arm, mechanism, self.limits)
        with about_file(arm.path):
            self.link = link(self.joints, keys, drives)
        self.file = arm
        self.link.mechanism = mechanism
        self.watchdog: float = keys.watchdog
        self._place = keys.place if transport is None else ""       # an open bus is its owner's affair
        self._watchdog_needed = not keys.allow_no_watchdog
        self.axes, self.modes = self.link.axes, self.link.modes
        load = self.link.load()
        if load > MOST_LOAD:
            raise InputError(f"{arm.path}: driver.rate = {self.rate:g} Hz would take {100 * load:.0f} % of the bus, at most "
                             f"{100 * MOST_LOAD:.0f} % is safe; at most {self.rate * MOST_LOAD / load:.0f} Hz fit")
        steps = [axis.steps for axis in self.axes]
        self.resolution = Resolution(*(np.array([getattr(step, key) for step in steps])
                                       for key in ("velocity", "position", "torque", "viscous")))
        self._small = np.array([joint.small for joint in self.joints])
        self._sway = np.maximum(_SWAY * self._small, 2.0 * self.resolution.position_step)
        self._transport = transport
        self._reason: str | None = _NOT_CONNECTED[0]
        self._period, self._began, self._tick, self._asked = 1.0 / self.rate, 0.0, 0.0, 0.0
        self._sent = np.zeros(len(self.names))
        self._stood = np.zeros(len(self.names))             # where joints were when they came to power
        self._failure: Exception | None = None          # of the ladder's last cycle
        self._gap = 0.0                     # between the last two times that replies were asked for [s]
        self._leave = ExitStack()
        self.epoch = 0.0                    # when t = 0 was, in s since 1970
        self.prompt = False                 # whether this computer lets the loop go before all else
        self.tally = Tally(0, np.zeros(len(self.names), dtype=int), 0, [])

    def __enter__(self) -> Self:
        with bus_errors(), ExitStack() as undo:
            undo.enter_context(endings_raised())
            self.prompt = undo.enter_context(real_time())
            self._open(undo)
            for axis in self.axes:
                axis.configure()
                if self._watchdog_needed and not axis.watched:
                    raise DriverError(f"the drive of {axis.joint.name} has no watchdog: if this computer hangs, the joint "
                                      f"{axis.unwatched}. driver.allow_no_watchdog = true moves it all the same")
            self._leave = undo.pop_all()
        self._began = self._tick = self._asked = time.monotonic()
        self.epoch = time.time()
        self._reason = "it has not been enabled"
        return self

    def _open(self, undo: ExitStack) -> None:
        """Take the bus, for this program alone, and greet all drives."""
        undo.enter_context(alone(self._place))
        undo.callback(self._close)
        with about_file(self.file.path):
            self.link.open(self._transport)
        self._greet()

    def _close(self) -> None:
        """Let go of the bus. Drives have stopped, or were told all that there is: what an interface that failed says now tells no
        more, and would hide why the arm was stopped.
        """
        with uninterrupted(), suppress(Exception):
            self.link.close()

    def _greet(self) -> None:
        """Nothing is written to any drive before all have answered; all that do not are named."""
        absent: dict[str, NoAnswer] = {}
        for axis in self.axes:
            try:
                axis.greet()
            except NoAnswer as error:
                absent[axis.joint.name] = error
        if not absent:
            return
        first = next(iter(absent.values()))
        if len(absent) == 1:
            raise first
        who = (f"none of {len(absent)} drives answers" if len(absent) == len(self.axes) else
               f"the drives of {', '.join(absent)} do not answer")
        raise NoAnswer(f"{who}: {first}")

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        with self._leave:
            try:
                self._stop_whatever_comes("interrupted" if kind is KeyboardInterrupt else "disconnected")
            finally:
                self._reason = _NOT_CONNECTED[1]

    def _stop_whatever_comes(self, reason: str) -> None:
        """A second Ctrl-C may come before the ladder has begun to hold it back: then it has yet to be gone down."""
        try:
            self.stop(reason)
        except KeyboardInterrupt:
            self.stop(reason)           # does nothing where it was
            raise

    def enable(self) -> None:
        """Power the joints at rest.

        Raises
        ------
        DriverError
            If a drive does not come to power; those that did are stopped again.
        """
        self._stood[:], self._sent[:] = self.stands(), 0.0
        self._reason = None
        try:
            with bus_errors():
                for axis in self.axes:
                    axis.enable()
                self._until("on", _POWER_ON)
        except DriverError as error:
            powered = [axis.joint.name for axis in self.axes if axis.power == "on"]
            self._fail(f"{error}; " + (f"only {', '.join(powered)} had come to power" if powered else "the arm was not powered"))
        except BaseException:
            self.stop("enabling was broken off")
            raise

    def stands(self) -> Array:
        """Where all joints are, shape (n,), by drives that are asked as they are, for up to a second; moves nothing.

        Raises
        ------
        DriverError
            If a drive does not reply, or a joint stands beyond its limits.
        """
        end = time.monotonic() + _FIRST_REPLY
        places = self.look(_FIRST)
        while (silent := self._silent()) and time.monotonic() < end:
            places = self.look(_FIRST)
        if silent:
            raise DriverError(f"{silent[0]} does not reply; nothing was powered")
        if outside := self.outside():               # a damaged reply may tell a place that is no place
            raise DriverError(f"{outside[0]}; nothing was powered")
        return places[-1].q

    def outside(self) -> list[str]:
        """Joints that stand beyond their limits, by their last replies, in words."""
        said = []
        for j, axis in enumerate(self.axes):
            (low, high), unit = self.limits.position[j], self.link.mechanism.position_unit(j)
            if axis.reading is not None and not low <= axis.reading.q <= high:
                said.append(f"{self.names[j]} stands at {axis.reading.q:.4g} {unit}, outside its limits {low:.4g} ... "
                            f"{high:.4g}: check zero_offset, direction and gear_ratio before anything moves")
        return said

    def step(self, command: Command) -> JointSample:
        """Send the set-points at the next tick and return what the joints reply."""
        if self._reason is not None:
            raise ArmStopped(f"the arm takes no commands: {self._reason}; enable it first")
        fault = command_fault(command, self.names, self.modes)
        if fault is not None:
            self._fail(fault)
        self._wait()
        self._refuse_pause(time.monotonic() - self._asked)
        try:
            with bus_errors():
                self._order(command)
                sample = self._exchange()
        except DriverError as error:
            self._fail(str(error))
        self._refuse_pause(self._gap)
        silent = self._silent()
        if silent:
            self._fail(f"{silent[0]} has not replied for {1e3 * self._oldest():.0f} ms"
                       + ("; nor has any other drive: see to the bus and its supply" if self._nobody_speaks() else ""))
        lost = [axis for axis in self.axes if axis.power != "on"]
        if lost:
            self._fail(f"the drive of {lost[0].joint.name} stopped by itself: {lost[0].trouble or lost[0].power}")
        return sample

    def _refuse_pause(self, pause: float) -> None:
        """What was commanded before a pause of this computer is no way to go on."""
        if pause > self.watchdog + self._period:
            self._fail(f"this computer sent nothing for {1e3 * pause:.0f} ms")

    def _paused(self) -> bool:
        """Whether nothing was sent for so long, until now or until the last cycle, that drives may have stopped by themselves."""
        return max(time.monotonic() - self._asked, self._gap) > self.watchdog + self._period

    def look(self, cycles: int) -> list[JointSample]:
        """Cycles without set-points, of drives as they are; moves nothing.

        Raises
        ------
        ArmStopped
            Before the arm was entered.
        DriverError
            After the arm was stopped, where it was enabled: its drives would follow their last set-points.
        """
        if self._reason in _NOT_CONNECTED:
            raise ArmStopped("the arm is not connected; it has to be entered first")
        if self._reason is None:
            self._fail("the arm is enabled: only step() goes on from there, or stop()")
        with bus_errors():
            self.link.start()
            self._tick = time.monotonic()
            return [self._cycle() for _ in range(cycles)]

    def reset(self) -> None:
        """Clear faults of the drives, unconnected as the arm is, and leave those without power; none if one follows somebody."""
        with bus_errors(), ExitStack() as undo:
            self._open(undo)
            for axis in self.axes:
                axis.refuse_company()
            for axis in self.axes:
                axis.reset()

    def stop(self, reason: str) -> None:
        """Velocity 0, then the drives' own quick stop until all is at rest, then brakes where the arm file says so.

        Each has a time-out. Ctrl-C meanwhile takes effect after the last.

        Raises
        ------
        DriverError
            After the last rung, if a drive did not confirm that it stopped, has a fault that the reason does not name, or a brake
            does not hold its joint.
        """
        errors: list[BaseException] = []
        with uninterrupted():
            if self._reason is not None:
                return
            self._reason = reason
            for rung in (self._take_back, self._slow_down, self._quick_stop, self._power_off):
                try:
                    with bus_errors():
                        rung()
                except BaseException as error:      # whatever it is, the next rung is tried
                    errors.append(error)
            for found in errors:
                if not isinstance(found, DriverError):
                    raise found
            loose = self._loose()
            if errors:
                told = dict.fromkeys(map(str, errors))
                raise DriverError("; ".join([f"{reason}; then {'; '.join(told)}", self._out_of_reach(), *loose]))
            if beside := [*self._faults_beside(reason), *loose]:
                raise DriverError("; ".join([reason, "the arm was stopped", *beside]))

    def _faults_beside(self, reason: str) -> list[str]:
        """Faults of drives that a reason does not name, though they may be why: some tell theirs late."""
        return [f"the drive of {axis.joint.name} has a fault: {axis.trouble or axis.power}" for axis in self.axes
                if axis.power == "fault" and f"drive of {axis.joint.name} " not in reason]

    def _out_of_reach(self) -> str:
        """What becomes of drives that could not be told to stop."""
        unwatched = [axis.joint.name for axis in self.axes if not axis.watched]
        return ("drives that are out of reach are left to their own watchdogs"
                + (f"; {', '.join(unwatched)}: none, switch the supply off" if unwatched else ""))

    def _fail(self, fault: str) -> None:
        """Stop, then say why."""
        self.stop(fault)
        raise DriverError(f"{fault}; the arm was stopped")

    def _order(self, command: Command) -> None:
        """Set-points to the axes; `_sent` is the velocity from which a stop would begin."""
        for j, axis in enumerate(self.axes):
            if command.mode is not None and command.mode[j] == "torque" and command.torque is not None:
                axis.command("torque", float(command.torque[j]))
                self._sent[j] = axis.reading.dq if axis.reading else 0.0
            else:
                axis.command("velocity", float(command.velocity[j]))
                self._sent[j] = command.velocity[j]

    # the ladder

    def _take_back(self) -> None:
        """The cycles of the ladder bring no drive to power that was asked to come there.

        Drives that heard nothing for long may have left their cycles, and could not be told to brake.
        """
        for axis in self.axes:
            if axis.power != "on":
                axis.quick_stop()
        if self._paused():
            self.link.start()

    def _slow_down(self) -> None:
        """Bring the set-points to zero within the acceleration limits and wait for rest; joints stop at once after a pause."""
        velocity, n = np.zeros_like(self._sent) if self._paused() else self._sent.copy(), len(self.axes)
        braking = np.abs(velocity) / self.limits.acceleration
        end, drop = time.monotonic() + float(braking.max()) + _RAMP, self.limits.acceleration * self._period
        rest = np.maximum(_REST * self._small, 2.0 * self.resolution.velocity_step)
        while time.monotonic() < end:
            velocity -= np.clip(velocity, -drop, drop)
            for axis, value in zip(self.axes, velocity, strict=True):
                axis.command("velocity", float(value))
            dq = self._try_cycle()
            if not velocity.any() and (np.abs(dq) < rest).sum() == n and not self._silent():
                return
        self._raise_failure()

    def _quick_stop(self) -> None:
        for axis in self.axes:
            axis.quick_stop()
        self._until("held", _QUICK_STOP + float((self.limits.velocity / self.limits.acceleration).max()))
        for axis in self.axes:
            if axis.joint.falls and axis.power != "held" and f"drive of {axis.joint.name} " not in str(self._reason):
                raise DriverError(f"the drive of {axis.joint.name} does not hold it: {axis.trouble or axis.power}")

    def _power_off(self) -> None:
        braked = [axis for axis in self.axes if not axis.joint.falls]
        for axis in braked:
            axis.disable()
        self._until("off", _POWER_OFF, braked)

    def _loose(self) -> list[str]:
        """Joints that move on although their brakes should hold them, in words.

        Each is watched, by its place, for as long as a brake takes to close, and again while it moves: velocities are noisy, and
        at rest for moments.
        """
        begin, stood = time.monotonic(), self._places()
        loose = [j for j, axis in enumerate(self.axes) if not axis.joint.falls and axis.power in ("off", "fault")]
        places = stood
        while loose and time.monotonic() < begin + _GRIPS:
            before, end = places, time.monotonic() + BRAKE_CLOSES
            while time.monotonic() < end:
                self._try_cycle()
            places = self._places()
            loose = [j for j in loose if abs(places[j] - before[j]) > self._sway[j]]
        return [f"{self.names[j]} went {abs(places[j] - stood[j]):.2g} {self.link.mechanism.position_unit(j)} in {_GRIPS:g} s "
                'without power and moves still: its brake does not hold it, or it has none (stop = "brake" in the arm file); '
                "support it, then come near" for j in loose]

    def _places(self) -> Array:
        """By the last replies."""
        return np.array([axis.reading.q if axis.reading else np.nan for axis in self.axes])

    # one cycle

    def _until(self, power: str, patience: float, axes: Sequence[Axis] | None = None) -> None:
        """Cycle until these drives are in this state; a drive without power cannot be held."""
        axes, end, self._failure = self.axes if axes is None else axes, time.monotonic() + patience, None
        done = {"held": ("held", "off", "fault"), "off": ("off", "fault")}.get(power, (power,))       # a fault takes power, too
        while any(axis.power not in done for axis in axes) or self._silent(axes) or (power == "held" and self._turning()):
            if power == "on":
                broken = next((axis for axis in axes if axis.power == "fault"), None)
                if broken is not None:
                    raise DriverError(f"the drive of {broken.joint.name} has a fault: {broken.trouble}")
                self._refuse_to_leave()
            if time.monotonic() > end:
                self._raise_failure()
                silent = self._silent(axes)
                if silent:
                    raise DriverError(self._who(silent))
                if turning := self._turning():
                    raise DriverError(f"{turning[0]} still turns {patience:.2g} s after its drive was told to stop")
                axis = next(axis for axis in axes if axis.power not in done)
                raise DriverError(f"the drive of {axis.joint.name} is {axis.power!r} after {patience:g} s, not {power!r}"
                                  + (f": {axis.trouble}" if axis.trouble else ""))
            if power == "on":
                self._cycle()
            else:
                self._try_cycle()

    def _refuse_to_leave(self) -> None:
        """A joint rests until all drives have come to power: nothing else looks after it meanwhile. One that no brake holds may
        sink before its own has; one that a brake holds and that is elsewhere now lost its zero, as by a reset.
        """
        for j, axis in enumerate(self.axes):
            if axis.reading is None:
                continue
            if axis.power != "on" and axis.joint.falls:
                self._stood[j] = axis.reading.q
            unit, allowed = self.link.mechanism.position_unit(j), self.limits.following_error[j]
            if not abs(axis.reading.q - self._stood[j]) <= allowed:
                when = "once its drive had come to power" if axis.power == "on" else "before its drive had come to power"
                raise DriverError(f"{self.names[j]} went from {self._stood[j]:.4g} to {axis.reading.q:.4g} {unit} {when}, more "
                                  f"than its following_error of {allowed:g} {unit}: see to how the drive is tuned and "
                                  "commutated, to its zero, and to its brake")

    def _turning(self) -> list[str]:
        """Joints that move while their drives stop them: to say so, a drive need not have come to rest."""
        return [axis.joint.name for j, axis in enumerate(self.axes) if axis.power == "held" and self._turns(j)]

    def _turns(self, j: int) -> bool:
        """Whether a joint moved when it last replied."""
        reading = self.axes[j].reading
        return reading is not None and abs(reading.dq) > max(_TURNS * self._small[j], 4.0 * self.resolution.velocity_step[j])

    def _try_cycle(self) -> Array:
        """A cycle of the ladder: what fails in it is no reason to end a rung before its time. Velocities, nan where it failed."""
        self._failure = None
        try:
            with bus_errors():
                return self._cycle().dq
        except Exception as error:                  # whatever it is, drives have still to hear of us
            self._failure = error
            return np.full(len(self.axes), np.nan)

    def _raise_failure(self) -> None:
        """What failed in the last cycle, if anything did."""
        if self._failure is not None:
            raise self._failure

    def _cycle(self) -> JointSample:
        """Wait for the tick, exchange, gather what came."""
        self._wait()
        return self._exchange()

    def _wait(self) -> None:
        now = time.monotonic()
        if now < self._tick:
            time.sleep(self._tick - now)
        elif now - self._tick > self._period:        # behind by whole periods: they are left out, not made up
            self.tally.late += 1
            self._tick += int((now - self._tick) / self._period) * self._period

    def _exchange(self) -> JointSample:
        self._tick += self._period
        before = self._asked
        self._asked = self.link.exchange(time.monotonic() + _PATIENCE * self._period)
        self._gap = self._asked - before
        return self._gather()

    def _gather(self) -> JointSample:
        rows = [(r.q, r.dq, r.tau, r.t - self._began, r.raw, r.temperature, r.status) if (r := axis.reading) else
                (np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, 0) for axis in self.axes]
        q, dq, tau, t_joint, raw, temperature, status = np.array(rows, dtype=float).T.copy()
        t, tally = self._asked - self._began, self.tally
        tally.cycles += 1
        tally.missed += ~(t_joint >= t)
        tally.latency.append(t_joint - t)
        del tally.latency[:-10000]
        return JointSample(t, q, dq, tau, t_joint, None if np.isnan(temperature).all() else temperature, status.astype(np.int64),
                           None if np.isnan(raw).all() else raw)

    def _oldest(self) -> float:
        """Age of the oldest reading when the next was asked for [s]."""
        return max(self._asked - (axis.reading.t if axis.reading else self._began) for axis in self.axes)

    def _nobody_speaks(self) -> bool:
        """Whether none of several drives has replied in the last cycles."""
        since = self._asked - _FIRST * self._period
        return len(self.axes) > 1 and all(axis.reading is None or axis.reading.t < since for axis in self.axes)

    def _who(self, silent: Sequence[str]) -> str:
        """Who does not reply."""
        return "no drive replies" if self._nobody_speaks() else f"{silent[0]} does not reply"

    def _silent(self, axes: Sequence[Axis] | None = None) -> list[str]:
        """Joints that have not replied for a while; a pause of this computer while it waits for replies is not theirs."""
        old = self._asked - stale_age(self.rate)
        return [axis.joint.name for axis in (self.axes if axes is None else axes) if axis.reading is None or axis.reading.t < old]
