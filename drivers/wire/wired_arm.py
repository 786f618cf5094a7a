"""An arm of drives on a bus behind the `Arm` interface: connect, greet, enable, step, stop."""

import time
from contextlib import ExitStack
from types import TracebackType
from typing import Any, Self

import numpy as np

from stribeck.drivers.arm import Array, Command, JointSample, Resolution, command_fault
from stribeck.drivers.coupling import command_of_motors, limits_of_motors, mixed_modes, resolution_of_joints, sample_of_joints
from stribeck.drivers.errors import ArmStopped, DriverError
from stribeck.drivers.interrupts import endings_raised, uninterrupted
from stribeck.drivers.realtime import real_time
from stribeck.drivers.wire.at_rest import AtRest
from stribeck.drivers.wire.connection import set_up, take_bus
from stribeck.drivers.wire.cycle import Cycle, Tally
from stribeck.drivers.wire.drive_keys import read_keys
from stribeck.drivers.wire.drive_link import DriveLink
from stribeck.drivers.wire.driven_joint import read_joints
from stribeck.drivers.wire.power_up import power_up
from stribeck.drivers.wire.stop_ladder import StopLadder
from stribeck.drivers.wire.transport import bus_errors
from stribeck.ident.arm.arm_file import ArmFile, check_against_model
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.errors import InputError, about_file

MOST_LOAD = 0.7             # part of a bus that cycles may take
_FIRST = 3                  # cycles in which drives must have replied before any is powered,
_FIRST_REPLY = 1.0          # s for which they are asked: nothing is powered yet
_NOT_CONNECTED = "it is not connected", "disconnected"


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
        keys, drives = read_keys(arm, self.names, link.keys, link.joint_keys)
        self._coupled, self._of_motors = mechanism.transmission, limits_of_motors(self.limits, mechanism.transmission)
        self.joints = read_joints(arm, mechanism, self._of_motors)
        with about_file(arm.path):
            if self._coupled is not None and not link.knows_coupling:
                raise InputError(f"[transmission]: the driver {arm.driver.kind} does not support motors that move several joints")
            self.link = link(self.joints, keys, drives)
        self.file = arm
        self.link.mechanism = mechanism
        self.watchdog: float = keys.watchdog
        self._place = keys.place if transport is None else ""       # an open bus is its owner's affair
        self._watchdog_needed = not keys.allow_no_watchdog
        self.axes, self.modes = self.link.axes, self.link.modes
        self._refuse_load()
        steps = [axis.steps for axis in self.axes]
        self.resolution = resolution_of_joints(Resolution(*(np.array([getattr(step, key) for step in steps]) for key in (
            "velocity", "position", "torque", "viscous"))), self._coupled)
        self._transport = transport
        self._reason: str | None = _NOT_CONNECTED[0]
        self._sent = np.zeros(len(self.names))          # velocity from which a stop would begin
        self._leave = ExitStack()
        self.epoch = 0.0                    # when t = 0 was, in s since 1970
        self.prompt = False                 # whether this computer lets the loop go before all else
        self.tally = Tally(0, np.zeros(len(self.names), dtype=int), 0, [])
        self._cycle = Cycle(self.link, self.rate, self.watchdog, self.tally)
        self._at_rest = AtRest.of(self.joints, self.resolution)
        self._ladder = StopLadder(self._cycle, self._of_motors, self._at_rest)

    def _refuse_load(self) -> None:
        """Refuse a rate whose cycles would fill the bus."""
        load = self.link.load()
        if load > MOST_LOAD:
            raise InputError(f"{self.file.path}: driver.rate = {self.rate:g} Hz would take {100 * load:.0f} % of the bus; at "
                             f"most {100 * MOST_LOAD:.0f} % is safe: lower rate to {self.rate * MOST_LOAD / load:.0f} Hz or less")

    def __enter__(self) -> Self:
        with bus_errors(), ExitStack() as undo:
            undo.enter_context(endings_raised())
            self.prompt = undo.enter_context(real_time())
            self._take_bus(undo)
            set_up(self.axes, self._watchdog_needed)
            self._leave = undo.pop_all()
        self._cycle.begin()
        self.epoch = time.time()
        self._reason = "it has not been enabled"
        return self

    def _take_bus(self, undo: ExitStack) -> None:
        take_bus(self.link, self._place, self._transport, self.file.path, undo)

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
            self.stop(reason)           # does nothing where the ladder was gone down
            raise

    def enable(self) -> None:
        """Power the joints at rest.

        Raises
        ------
        DriverError
            If a drive does not come to power; those that did are stopped again.
        """
        stood = self.stands()
        stood = stood if self._coupled is None else self._coupled.of_motors(stood)
        self._sent[:], self._reason = 0.0, None
        try:
            with bus_errors():
                power_up(self._cycle, stood, self._of_motors.following_error, self._at_rest)
        except DriverError as error:
            powered = [axis.joint.name for axis in self.axes if axis.power == "on"]
            self._fail(f"{error}; " + (f"only {', '.join(powered)} had power" if powered else "the arm was not powered"))
        except BaseException:
            self.stop("enabling was interrupted")
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
        while (silent := self._cycle.silent()) and time.monotonic() < end:
            places = self.look(_FIRST)
        if silent:
            raise DriverError(f"{silent[0]} does not reply; nothing was powered")
        if outside := self.outside():               # a damaged reply may tell a place that is no place
            raise DriverError(f"{outside[0]}; nothing was powered")
        return places[-1].q

    def outside(self) -> list[str]:
        """Joints that stand beyond their limits, by their last replies, in words."""
        said, places = [], np.array([np.nan if axis.reading is None else axis.reading.q for axis in self.axes])
        if self._coupled is not None:
            places = self._coupled.of_joints(places)
        for axis, (low, high), place in zip(self.axes, self.limits.position.tolist(), places.tolist(), strict=True):
            if place < low or place > high:
                said.append(f"{axis.joint.name} stands at {place:.4g} {axis.joint.position_unit}, outside its limits {low:.4g} "
                            f"... {high:.4g}: check zero_offset, direction and gear_ratio before anything moves")
        return said

    def step(self, command: Command) -> JointSample:
        """Send the set-points at the next tick and return what the joints reply."""
        if self._reason is not None:
            raise ArmStopped(f"the arm accepts no commands: {self._reason}; enable it first")
        fault = command_fault(command, self.names, self.modes) or mixed_modes(command, self._coupled)
        if fault is not None:
            self._fail(fault)
        self._cycle.wait()
        self._refuse_pause(self._cycle.since_asked())
        try:
            with bus_errors():
                self._order(command_of_motors(command, self._coupled))
                sample = sample_of_joints(self._cycle.exchange(), self._coupled)
        except DriverError as error:
            self._fail(str(error))
        self._refuse_pause(self._cycle.gap)
        self._refuse_silence()
        self._refuse_lost()
        return sample

    def _order(self, command: Command) -> None:
        """Set-points to the axes."""
        for j, axis in enumerate(self.axes):
            if command.mode is not None and command.mode[j] == "torque" and command.torque is not None:
                axis.command("torque", float(command.torque[j]))
                self._sent[j] = axis.reading.dq if axis.reading else 0.0
            else:
                axis.command("velocity", float(command.velocity[j]))
                self._sent[j] = command.velocity[j]

    def _refuse_pause(self, pause: float) -> None:
        """Stop where this computer paused: its commands are of before that."""
        if self._cycle.too_long(pause):
            self._fail(f"this computer sent nothing for {1e3 * pause:.0f} ms")

    def _refuse_silence(self) -> None:
        """Stop where a drive does not reply."""
        silent = self._cycle.silent()
        if silent:
            self._fail(f"{silent[0]} has not replied for {1e3 * self._cycle.oldest():.0f} ms"
                       + ("; no other drive has either: check the bus and its supply" if self._cycle.nobody_speaks() else ""))

    def _refuse_lost(self) -> None:
        """Stop where a drive has left power by itself."""
        lost = [axis for axis in self.axes if axis.power != "on"]
        if lost:
            self._fail(f"the drive of {lost[0].joint.name} stopped by itself: {lost[0].trouble or lost[0].power}")

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
            raise ArmStopped("the arm is not connected; enter it first (with arm: ...)")
        if self._reason is None:
            self._fail("the arm is enabled: only step() and stop() may be called now")
        with bus_errors():
            self.link.start()
            self._cycle.due_now()
            return [sample_of_joints(self._cycle.run(), self._coupled) for _ in range(cycles)]

    def reset(self) -> None:
        """Clear faults of the drives, unconnected as the arm is, and leave those without power; none if one follows somebody."""
        with bus_errors(), ExitStack() as undo:
            self._take_bus(undo)
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
        with uninterrupted():
            if self._reason is None:
                self._reason = reason
                self._ladder.descend(reason, self._sent)

    def _fail(self, fault: str) -> None:
        """Stop, then say why."""
        self.stop(fault)
        raise DriverError(f"{fault}; the arm was stopped")
