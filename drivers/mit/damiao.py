"""Damiao motors in their own velocity mode: settings are written by register and read back;
each cycle sends a velocity frame and receives a state. A motor that receives no frame
within its timeout loses power.
"""

from collections.abc import Iterator
from typing import Annotated

import numpy as np
from pydantic import Field

from stribeck.drivers.mit import mit_frames as mit
from stribeck.drivers.mit.mit_frames import Ranges, State
from stribeck.drivers.mit.mit_motor import MotorKeys, Shaft
from stribeck.drivers.wire.axis import Reading, Steps
from stribeck.drivers.wire.driven_joint import DrivenJoint
from stribeck.drivers.wire.polled.polled_axis import Condition, Frame, PolledAxis, PolledKeys
from stribeck.drivers.wire.polled.polled_link import PolledLink
from stribeck.drivers.wire.transport import can_bits
from stribeck.drivers.wire.velocity_from_positions import Slope
from stribeck.ident.errors import InputError

# slope of the motor's own ramps over the slope of ours: they act only if ours fail
_RAMP_ROOM = 2.0
# s between two readings of a powered motor; rad/s of its joint from which a program turns it
_LOOK, _TURNS = 0.05, 0.02
_STATE = "state"


class DriveKeys(MotorKeys):
    """Keys of ``drive = {...}`` of a joint."""

    motors = mit.DAMIAO
    id: Annotated[int, Field(ge=1, le=15)]  # ESC_ID, for which replies have four bits
    reply: Annotated[int, Field(ge=1, le=0x7FE)]  # MST_ID, the identifier of the motor's replies


class DamiaoAxis(PolledAxis):
    """One Damiao motor."""

    def __init__(self, joint: DrivenJoint, keys: PolledKeys, drive: DriveKeys) -> None:
        super().__init__(joint, keys)
        self.drive, self.shaft = drive, Shaft(joint, drive)
        step = self.shaft.steps
        self.steps = Steps(
            float(np.spacing(np.float32(joint.velocity * drive.gear))) / drive.gear,
            step.position,
            step.torque,
        )
        self._slope = Slope(step.position)

    # reports of the motor

    @property
    def condition(self) -> Condition:
        """Power condition according to the status of the last reply."""
        if self.reading is None:
            return "unknown"
        return {0: "off", mit.ENABLED: "powered"}.get(self.reading.status, "fault")  # type: ignore[return-value]

    @property
    def trouble(self) -> str | None:
        """Status of the motor in words."""
        return "silent" if self.reading is None else mit.damiao_words(self.reading.status)

    def identity(self) -> dict[str, str]:
        """Motor, firmware, and the ranges in its registers."""
        spans = ", ".join(f"{self.read(register):g}" for register in mit.RANGES)
        return {
            "id": str(self.drive.id),
            "device": self.drive.motor or "Damiao",
            "firmware": f"{self.read(mit.FIRMWARE):.0f}",
            "modes": "velocity",
            "ranges": f"{spans} (rad, rad/s, N·m)",
            "own gear": f"{self.read(mit.GEAR):g}",
            "holds": f"{self.read(mit.MAX_SPEED) / self.drive.gear:.3g} "
            f"{self.joint.position_unit}/s",
        }

    # settings

    def greet(self) -> None:
        """Read the identifier."""
        self.read(mit.MOTOR_ID)

    def configure(self) -> None:
        """Compare identifiers and ranges; write mode, ramps, speed limit and
        timeout, and read each back.
        """
        self.reading, self._goal = None, None
        for register, stated, key in (
            (mit.MOTOR_ID, self.drive.id, "id"),
            (mit.REPLY_ID, self.drive.reply, "reply"),
        ):
            found = self.read(register)
            if found != stated:
                raise self.error(
                    f"has {key} {found:.0f} in register {register}; the arm file states {stated}"
                )
        self._compare_ranges()
        status = self.state().status
        if status not in (0, mit.ENABLED):
            raise self.error(
                f"has a fault: {mit.damiao_words(status)}; remove its cause, then clear the fault "
                "with stribeck check --reset"
            )
        holds = status == mit.ENABLED
        self._refuse_leader(holds)
        self.settings[mit.MODE] = self._question(mit.READ, mit.MODE), mit.VELOCITY_MODE
        ramp = _RAMP_ROOM * self.joint.acceleration * self.drive.gear
        for register, value, what in (
            (mit.MODE, mit.VELOCITY_MODE, "mode"),
            (mit.ACCELERATION, ramp, "acceleration"),
            (mit.DECELERATION, -ramp, "deceleration"),
            (mit.MAX_SPEED, self.joint.velocity * self.drive.gear, "speed limit"),
        ):
            if not (holds and register == mit.MODE):
                self.write(register, value, what)
        self.try_watchdog(holds)

    def refuse_company(self) -> None:
        """Refuse a powered motor with a timeout, or one that turns: it follows another program."""
        self._refuse_leader(self.state().status == mit.ENABLED)

    def _refuse_leader(self, powered: bool) -> None:
        if powered and (
            self.read(mit.TIMEOUT) != 0 or self.read(mit.MODE) != mit.VELOCITY_MODE or self._turns()
        ):
            raise self.error(
                "is powered and follows another program, or a program ended without stopping the "
                "motor; end that program, or switch the motor off, first"
            )

    def _turns(self) -> bool:
        """Whether the joint moves by more than the creep of a joint that a velocity loop holds."""
        before, _, _ = self.shaft.measured(self.state())
        self.clock.sleep(_LOOK)
        after, _, _ = self.shaft.measured(self.state())
        return abs(after - before) > max(_TURNS * _LOOK, 2.0 * self.steps.position)

    def _compare_ranges(self) -> None:
        found, stated = Ranges(*(self.read(register) for register in mit.RANGES)), self.drive.spans
        for key, unit in (("position", "rad"), ("velocity", "rad/s"), ("torque", "N·m")):
            is_, says = getattr(found, key), getattr(stated, key)
            if not abs(is_ - says) <= 1e-3 * says:
                raise self.error(
                    f"has a {key} range of {is_:g} {unit} (registers 21-23: {found.position:g}, "
                    f"{found.velocity:g}, {found.torque:g}); the arm file states {says:g} {unit}. "
                    f"Every {key} would be wrong by the ratio of these numbers. Correct motor or "
                    "ranges"
                )

    def watch(self, on: bool) -> None:
        """Write the timeout's register. A set-point comes first, since a motor that heard
        nothing for long would trip.
        """
        if on:
            self.link.send(self.setpoint(0.0))
            # set before writing: the write may succeed although its answer is lost
            self.released = False
        self.write(mit.TIMEOUT, round(self.keys.watchdog / mit.TICK) if on else 0, "watchdog")
        self.released = not on

    def write(self, register: int, value: float, what: str) -> None:
        """Write a register and read it back."""
        self.settings[register] = self._question(mit.READ, register), value
        self.ask(self._question(mit.WRITE, register, value), register)
        found = self.read(register)
        if not self.has(register, found):
            raise self.error(
                f"did not accept {what} = {value:g} (register {register}): it reads back {found:g}"
            )

    def read(self, register: int) -> float:
        """Return the value of a register."""
        value: float = self.ask(self._question(mit.READ, register), register)
        return value

    def state(self) -> State:
        """Ask for the state outside the cycles and return it."""
        found: State = self.ask(self._question(mit.STATE), _STATE)
        return found

    def _question(self, what: int, register: int = 0, value: float | None = None) -> Frame:
        return Frame(mit.SERVICE, mit.pack_question(self.drive.id, what, register, value))

    # orders

    def setpoint(self, velocity: float) -> Frame:
        """Velocity frame with this velocity of the joint."""
        shaft = self.shaft.velocity(velocity)
        if not abs(shaft) <= self.shaft.spans.velocity:
            raise self.error(
                f"cannot turn at {velocity:.4g} rad/s, {shaft:.4g} rad/s at its shaft: its "
                f"velocity range ends at {self.shaft.spans.velocity:.4g} rad/s"
            )
        return Frame(mit.VELOCITY + self.drive.id, mit.pack_velocity(shaft))

    def power_on(self) -> Iterator[Frame]:
        """Enable frame."""
        yield Frame(self.drive.id, mit.ENABLE)

    def power_off(self) -> Iterator[Frame]:
        """Disable frame."""
        yield Frame(self.drive.id, mit.DISABLE)

    def release(self) -> Iterator[Frame]:
        """Frame that sets the timeout to zero."""
        yield self._question(mit.WRITE, mit.TIMEOUT, 0)

    def questions(self, told: bool) -> Iterator[Frame]:
        """Question for the state, if no set-point is sent; a motor answers a
        set-point with its state.
        """
        if not told:
            yield self._question(mit.STATE)

    def reset(self) -> None:
        """Clear a fault and leave the motor without power; a motor
        without fault is left as it is.
        """
        if self.state().status in (0, mit.ENABLED):
            return
        for data in (mit.CLEAR, mit.DISABLE):
            self.link.send(Frame(self.drive.id, data))
            self.clock.sleep(0.02)
        status = self.state().status
        if status != 0:
            raise self.error(f"still has its fault after the reset: {mit.damiao_words(status)}")

    # received frames

    def forget(self) -> None:
        """Forget the positions before a pause, from which no velocity can be computed."""
        super().forget()
        self._slope.clear()

    def take(self, frame: Frame) -> None:
        """Take a state or the value of a register."""
        if frame.identifier != self.drive.reply:
            return
        answer = mit.unpack_register(self.drive.id, frame.data)
        if answer is not None:
            register, value = answer
            self.answers[register] = value
            if register == mit.TIMEOUT and self._goal in ("held", "off"):
                self.released = value == 0
            return
        state = mit.unpack_damiao(frame.data)
        if state is None or state.motor != self.drive.id:
            self.corrupt += 1
            return
        self.answers[_STATE] = state
        if self.due:
            q, _, tau = self.shaft.measured(state)
            self.measured(
                Reading(
                    self.clock.now(),
                    q,
                    self._slope.add(self._asked, q),
                    tau,
                    state.status,
                    float(state.torque),
                    state.temperature,
                )
            )


class DamiaoLink(PolledLink):
    """Damiao motors on one CAN bus."""

    keys, joint_keys = PolledKeys, DriveKeys

    def __init__(
        self, joints: tuple[DrivenJoint, ...], keys: PolledKeys, drives: tuple[DriveKeys, ...]
    ) -> None:
        taken: dict[int, str] = {mit.SERVICE: "questions to all motors"}
        for joint, drive in zip(joints, drives, strict=True):
            for identifier, what in (
                (drive.id, "id"),
                (mit.VELOCITY + drive.id, "velocity frames"),
                (drive.reply, "reply"),
            ):
                if identifier in taken:
                    raise InputError(
                        f"joints.{joint.name}.drive: its {what} would use the CAN identifier "
                        f"0x{identifier:X}, which is taken by {taken[identifier]}; give each motor "
                        "id and reply of its own"
                    )
                taken[identifier] = f"{what} of {joint.name}"
        super().__init__(
            joints,
            keys,
            tuple(
                DamiaoAxis(joint, keys, drive) for joint, drive in zip(joints, drives, strict=True)
            ),
        )

    def load(self) -> float:
        """Bus load of a velocity frame and a state per motor and cycle,
        with the most stuff bits.
        """
        return 2 * can_bits(8) * len(self.axes) * self._keys.rate / self._keys.bit_rate
