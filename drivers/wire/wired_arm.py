"""An arm of drives on a bus behind the `Arm` interface: connect, greet, enable, step, stop."""

from contextlib import ExitStack
from types import TracebackType
from typing import Any, Self

import numpy as np

from stribeck.drivers.arm import Array, Command, JointSample, Resolution, command_fault
from stribeck.drivers.coupling import (
    command_of_motors,
    limits_of_motors,
    mixed_modes,
    resolution_of_joints,
    sample_of_joints,
)
from stribeck.drivers.errors import ArmStopped, DriverError
from stribeck.drivers.interrupts import endings_raised, uninterrupted
from stribeck.drivers.realtime import real_time
from stribeck.drivers.wire.at_rest import AtRest
from stribeck.drivers.wire.clock import REAL_TIME, Clock
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

MOST_LOAD = 0.7  # largest fraction of a bus that cycles may use
_FIRST = 3  # cycles run before a drive is powered, in which all drives must reply
_FIRST_REPLY = 1.0  # s for which silent drives are asked again before any drive is powered
_NOT_CONNECTED = "it is not connected", "disconnected"


class WiredArm:
    """Drives on a bus behind the `Arm` interface. Wrap it in a `Supervisor`, which checks the
    measurements against the limits.

    While the arm is connected, SIGTERM and SIGHUP raise KeyboardInterrupt if they would otherwise
    end the program immediately: the arm is stopped first. `t` of a sample is the time of the
    request for replies, counted from entering.

    Parameters
    ----------
    arm : ArmFile
        Limits and the driver's keys.
    link : type of DriveLink
        The driver.
    transport : optional
        An open python-can bus or serial port. By default, entering opens the bus or
        port that the arm file names.
    clock : Clock, optional
        Clock of drives and cycles; a virtual one needs a transport whose members move it.

    Raises
    ------
    InputError
        If the driver refuses a key, a limit is missing, or the bus cannot carry the rate.
    """

    def __init__(
        self,
        arm: ArmFile,
        link: type[DriveLink],
        transport: Any = None,
        clock: Clock = REAL_TIME,
    ) -> None:
        mechanism = load_mechanism(arm)
        check_against_model(arm, mechanism)
        self.names, self.rate, self.limits = mechanism.names, arm.driver.rate, arm.limits(mechanism)
        missing = self.limits.missing(self.names)
        if missing:
            raise InputError(
                f"{arm.path}: {missing[0]} is missing; no joint moves without this limit"
            )
        keys, drives = read_keys(arm, self.names, link.keys, link.joint_keys)
        self._coupled, self._of_motors = (
            mechanism.transmission,
            limits_of_motors(self.limits, mechanism.transmission),
        )
        self.joints = read_joints(arm, mechanism, self._of_motors)
        with about_file(arm.path):
            if self._coupled is not None and not link.knows_coupling:
                raise InputError(
                    f"[transmission]: the driver {arm.driver.kind} does not support motors that "
                    "move several joints; remove this table, or use another driver"
                )
            self.link = link(self.joints, keys, drives)
        self.file = arm
        self.link.mechanism = mechanism
        self._clock = self.link.clock = clock
        for axis in self.link.axes:
            axis.clock = clock
        self.watchdog: float = keys.watchdog
        # the caller of an open bus decides who else uses it
        self._place = keys.place if transport is None else ""
        self._watchdog_needed = not keys.allow_no_watchdog
        self.axes, self.modes = self.link.axes, self.link.modes
        self._refuse_load()
        steps = [axis.steps for axis in self.axes]
        self.resolution = resolution_of_joints(
            Resolution(
                *(
                    np.array([getattr(step, key) for step in steps])
                    for key in ("velocity", "position", "torque", "viscous")
                )
            ),
            self._coupled,
        )
        self._transport = transport
        self._reason: str | None = _NOT_CONNECTED[0]
        self._sent = np.zeros(len(self.names))  # velocity from which a stop would begin
        self._leave = ExitStack()
        self.epoch = 0.0  # time of t = 0, in s since 1970
        # whether this computer granted the loop real-time priority
        self.prompt = False
        self.tally = Tally(0, np.zeros(len(self.names), dtype=int), 0, [])
        self._cycle = Cycle(self.link, self.rate, self.watchdog, self.tally)
        self._at_rest = AtRest.of(self.joints, self.resolution)
        self._ladder = StopLadder(self._cycle, self._of_motors, self._at_rest)

    def _refuse_load(self) -> None:
        """Refuse a rate whose cycles would fill the bus."""
        load = self.link.load()
        if load > MOST_LOAD:
            raise InputError(
                f"{self.file.path}: driver.rate = {self.rate:g} Hz would take {100 * load:.0f} % "
                f"of the bus; at most {100 * MOST_LOAD:.0f} % is safe: lower rate to "
                f"{self.rate * MOST_LOAD / load:.0f} Hz or less"
            )

    def __enter__(self) -> Self:
        with bus_errors(), ExitStack() as undo:
            undo.enter_context(endings_raised())
            if self._clock is REAL_TIME:  # no other program waits on a virtual clock
                self.prompt = undo.enter_context(real_time())
            self._take_bus(undo)
            set_up(self.axes, self._watchdog_needed)
            self._leave = undo.pop_all()
        self._cycle.begin()
        self.epoch = self._clock.since_1970()
        self._reason = "it has not been enabled"
        return self

    def _take_bus(self, undo: ExitStack) -> None:
        take_bus(self.link, self._place, self._transport, self.file.path, undo)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with self._leave:
            try:
                self._stop_whatever_comes(
                    "interrupted" if kind is KeyboardInterrupt else "disconnected"
                )
            finally:
                self._reason = _NOT_CONNECTED[1]

    def _stop_whatever_comes(self, reason: str) -> None:
        """Stop the arm even if a second Ctrl-C comes before the ladder has
        begun to delay interrupts.
        """
        try:
            self.stop(reason)
        except KeyboardInterrupt:
            self.stop(reason)  # does nothing if the ladder has been run
            raise

    def enable(self) -> None:
        """Power the joints at rest.

        Raises
        ------
        DriverError
            If a drive gets no power; drives that have power are stopped again.
        """
        stood = self.stands()
        stood = stood if self._coupled is None else self._coupled.of_motors(stood)
        self._sent[:], self._reason = 0.0, None
        try:
            with bus_errors():
                power_up(self._cycle, stood, self._of_motors.following_error, self._at_rest)
        except DriverError as error:
            powered = [axis.joint.name for axis in self.axes if axis.power == "on"]
            self._fail(
                f"{error}; "
                + (f"only {', '.join(powered)} had power" if powered else "the arm was not powered")
            )
        except BaseException:
            self.stop("enabling was interrupted")
            raise

    def stands(self) -> Array:
        """Return the positions of all joints, shape (n,) [rad or m]; moves
        nothing and powers nothing.

        Drives that do not reply are asked again for up to a second.

        Raises
        ------
        DriverError
            If a drive does not reply, or a joint stands beyond its limits.
        """
        end = self._clock.now() + _FIRST_REPLY
        places = self.look(_FIRST)
        while (silent := self._cycle.silent()) and self._clock.now() < end:
            places = self.look(_FIRST)
        if silent:
            raise DriverError(f"{silent[0]} does not reply; nothing was powered")
        # a damaged reply may also give an impossible position
        if outside := self.outside():
            raise DriverError(f"{outside[0]}; nothing was powered")
        return places[-1].q

    def outside(self) -> list[str]:
        """Return messages for joints that stand beyond their limits
        according to their last replies.
        """
        said, places = (
            [],
            np.array([np.nan if axis.reading is None else axis.reading.q for axis in self.axes]),
        )
        if self._coupled is not None:
            places = self._coupled.of_joints(places)
        for axis, (low, high), place in zip(
            self.axes, self.limits.position.tolist(), places.tolist(), strict=True
        ):
            if place < low or place > high:
                said.append(
                    f"{axis.joint.name} stands at {place:.4g} {axis.joint.position_unit}, outside "
                    f"its limits {low:.4g} ... {high:.4g}: check zero_offset, direction and "
                    "gear_ratio before anything moves"
                )
        return said

    def step(self, command: Command) -> JointSample:
        """Send the set-points at the next tick and return the sample of the joints' replies."""
        if self._reason is not None:
            raise ArmStopped(f"the arm accepts no commands: {self._reason}; enable it first")
        fault = command_fault(command, self.names, self.modes) or mixed_modes(
            command, self._coupled
        )
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
        """Give the set-points to the axes."""
        for j, axis in enumerate(self.axes):
            if (
                command.mode is not None
                and command.mode[j] == "torque"
                and command.torque is not None
            ):
                axis.command("torque", float(command.torque[j]))
                self._sent[j] = axis.reading.dq if axis.reading else 0.0
            else:
                axis.command("velocity", float(command.velocity[j]))
                self._sent[j] = command.velocity[j]

    def _refuse_pause(self, pause: float) -> None:
        """Stop the arm if this computer paused for too long: its commands
        are older than the pause.
        """
        if self._cycle.too_long(pause):
            self._fail(f"this computer sent nothing for {1e3 * pause:.0f} ms")

    def _refuse_silence(self) -> None:
        """Stop the arm if a drive does not reply."""
        silent = self._cycle.silent()
        if silent:
            self._fail(
                f"{silent[0]} has not replied for {1e3 * self._cycle.oldest():.0f} ms"
                + (
                    "; no other drive has either: check the bus and its supply"
                    if self._cycle.nobody_speaks()
                    else ""
                )
            )

    def _refuse_lost(self) -> None:
        """Stop the arm if a drive is no longer "on" although nobody stopped it."""
        lost = [axis for axis in self.axes if axis.power != "on"]
        if lost:
            self._fail(
                f"the drive of {lost[0].joint.name} stopped by itself: "
                f"{lost[0].trouble or lost[0].power}"
            )

    def look(self, cycles: int) -> list[JointSample]:
        """Run cycles without set-points and return their samples; moves nothing.

        Raises
        ------
        ArmStopped
            If the arm was not entered.
        DriverError
            If the arm is enabled, since its drives would follow their last set-points.
            The arm is stopped first.
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
        """Clear faults and leave these drives without power; the arm must not be connected.

        No fault is cleared if a drive follows another program.
        """
        with bus_errors(), ExitStack() as undo:
            self._take_bus(undo)
            for axis in self.axes:
                axis.refuse_company()
            for axis in self.axes:
                axis.reset()

    def stop(self, reason: str) -> None:
        """Stop by velocity 0, then the drives' own quick stop until all joints rest, then the
        brakes of joints that have one.

        Each step has a timeout. A Ctrl-C during the stop takes effect after the last step.

        Raises
        ------
        DriverError
            After the last step, if a drive did not confirm that it stopped, has a fault that the
            reason does not name, or if a brake does not hold its joint.
        """
        with uninterrupted():
            if self._reason is None:
                self._reason = reason
                self._ladder.descend(reason, self._sent)

    def _fail(self, fault: str) -> None:
        """Stop the arm, then raise the fault."""
        self.stop(fault)
        raise DriverError(f"{fault}; the arm was stopped")
