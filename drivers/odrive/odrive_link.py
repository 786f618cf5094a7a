"""ODrive axes by CAN Simple, firmware 0.6: settings are written by endpoint and read back; each
cycle sends a velocity and asks for the estimates. An axis that receives no set-point within its
watchdog's time is disarmed.
"""

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from stribeck.drivers.odrive import can_simple as cansimple
from stribeck.drivers.odrive.odrive_keys import (
    ABSOLUTE,
    CONTROL_MODE,
    FORMS,
    INPUT_MODE,
    INPUT_VELOCITY,
    LEAST_TORQUE,
    MOST_TORQUE,
    SPEED_LIMIT,
    TIMEOUT,
    WATCHDOG,
    DriveKeys,
    OdriveKeys,
)
from stribeck.drivers.wire.axis import Reading, Steps
from stribeck.drivers.wire.drive_keys import refuse_shared
from stribeck.drivers.wire.driven_joint import DrivenJoint
from stribeck.drivers.wire.polled.polled_axis import Condition, Frame, PolledAxis
from stribeck.drivers.wire.polled.polled_link import PolledLink
from stribeck.drivers.wire.transport import can_bits

_PATIENCE = 0.25  # s between two requests for power
# s within which a heartbeat must come; it comes ten times a second and cannot be requested
_BEATS = 0.5
_FASTEST = float(np.finfo(np.float32).max)  # largest speed in a frame [rev/s]
_TOLD_AGAIN = 3  # attempts to write a setting before a different read-back is an error
# s between questions for the temperature: after, and before, the first answer
_WARM, _COLD = 1.0, 0.05


class OdriveAxis(PolledAxis):
    """One ODrive axis."""

    keys: OdriveKeys

    def __init__(self, joint: DrivenJoint, keys: OdriveKeys, drive: DriveKeys) -> None:
        super().__init__(joint, keys)
        self.drive = drive
        gear, direction = joint.gear, joint.table.direction
        # rad at the joint per motor revolution
        self._turn = direction * 2.0 * math.pi / gear
        self._torque = direction * gear
        self.steps = Steps(
            float(np.spacing(np.float32(joint.velocity / abs(self._turn)))) * abs(self._turn),
            abs(self._turn) / drive.encoder_counts,
            float(np.spacing(np.float32(joint.torque / gear))) * gear,
        )
        # error word and state of the last heartbeat
        self._beat: tuple[int, int] | None = None
        self._heard = 0.0  # time of the last heartbeat
        self._parts: dict[int, tuple[float, float]] = {}
        self._temperature = math.nan
        self._warmth = self._requested = 0.0

    # reports of the axis

    @property
    def condition(self) -> Condition:
        """Power condition according to the last heartbeat; "unknown" if the heartbeat is old."""
        if self._beat is None or self._asked - self._heard > _BEATS:
            return "unknown"
        error, state = self._beat
        return "fault" if error else "powered" if state == cansimple.CLOSED_LOOP else "off"

    @property
    def trouble(self) -> str | None:
        """Errors of the axis, or else its state, in words."""
        if self._beat is None or self._asked - self._heard > _BEATS:
            return "no heartbeat"
        error, state = self._beat
        return cansimple.error_words(error) if error else cansimple.state_words(state)

    def identity(self) -> dict[str, str]:
        """Hardware, firmware, and the limits that the axis enforces."""
        hardware, firmware = self._get(cansimple.VERSION)
        return {
            "node": str(self.drive.node),
            "device": f"ODrive {hardware}",
            "firmware": firmware,
            "modes": "velocity",
            "holds": f"{self.read(SPEED_LIMIT) * abs(self._turn):.3g} "
            f"{self.joint.position_unit}/s, "
            f"{self.read(MOST_TORQUE) * abs(self._torque):.3g} {self.joint.torque_unit}",
        }

    # settings

    def greet(self) -> None:
        """Read the version."""
        self._get(cansimple.VERSION)

    def configure(self) -> None:
        """Compare the firmware; write modes, limits and watchdog, and read each back."""
        self.reading = self._goal = self._beat = None
        self._compare_firmware()
        error, state = self._error(), self._state()
        if error:
            raise self.error(
                f"has a fault: {cansimple.error_words(error)}; remove its cause, then clear the "
                "fault with stribeck check --reset"
            )
        if state not in (cansimple.IDLE, cansimple.CLOSED_LOOP):
            raise self.error(f"is busy: {cansimple.state_words(state)}")
        self._refuse_leader(state)
        if not (self.keys.relative_positions or self.read(ABSOLUTE)):
            raise self.error(
                "counts positions from its place at power-up (absolute_setpoints is false): after "
                "a power-up in another posture, zero_offset and every position limit would be "
                "wrong. Set absolute_setpoints on the ODrive; or state driver.relative_positions = "
                "true and bring the arm to the same posture before each power-up"
            )
        torque = self.joint.torque / abs(self._torque)
        mode = self._frame(
            cansimple.MODE, cansimple.pack_mode(cansimple.VELOCITY_CONTROL, cansimple.PASSTHROUGH)
        )
        self._tell(
            mode if state == cansimple.IDLE else None,
            {CONTROL_MODE: cansimple.VELOCITY_CONTROL, INPUT_MODE: cansimple.PASSTHROUGH},
        )
        for name, value in (
            (SPEED_LIMIT, self.joint.velocity / abs(self._turn)),
            (MOST_TORQUE, torque),
            (LEAST_TORQUE, -torque),
            (TIMEOUT, self.keys.watchdog),
        ):
            self.write(name, value)
        self.try_watchdog(state == cansimple.CLOSED_LOOP)

    def refuse_company(self) -> None:
        """Refuse an axis in closed loop whose watchdog or velocity is on:
        it follows another program.
        """
        self._compare_firmware()
        self._refuse_leader(self._state())

    def _refuse_leader(self, state: int) -> None:
        if state == cansimple.CLOSED_LOOP and (self.read(WATCHDOG) or self.read(INPUT_VELOCITY)):
            raise self.error(
                "is powered and follows another program, or a program ended without stopping the "
                "axis; end that program, or set the axis to idle, first"
            )

    def _compare_firmware(self) -> None:
        """Refuse an axis with other firmware; called before anything is written by endpoint."""
        _, firmware = self._get(cansimple.VERSION)
        if firmware != self.keys.firmware:
            raise self.error(
                f"has firmware {firmware}; the arm file's endpoints belong to firmware "
                f"{self.keys.firmware} and "
                "would change other settings here. Correct firmware and endpoints"
            )

    def watch(self, on: bool) -> None:
        """Send set-point zero, then switch the watchdog on or off."""
        self._tell(self.setpoint(0.0), {INPUT_VELOCITY: 0.0})
        # set before writing: the write may succeed although its answer is lost
        self.released &= not on
        self.write(WATCHDOG, on)
        self.released = not on

    def write(self, name: str, value: float) -> None:
        """Write an endpoint and read it back."""
        data = cansimple.pack_sdo(self.keys.endpoints[name], FORMS[name], value)
        self._tell(self._frame(cansimple.RX_SDO, data), {name: value})

    def read(self, name: str) -> float:
        """Return the value of an endpoint."""
        value: float = self.ask(
            self._question(name),
            name,
            f" when asked for endpoint {self.keys.endpoints[name]}, which driver.endpoints states "
            f"for {name}; compare driver.endpoints with flat_endpoints.json of this firmware",
        )
        return value

    def _question(self, name: str) -> Frame:
        return self._frame(
            cansimple.RX_SDO, cansimple.pack_sdo(self.keys.endpoints[name], FORMS[name])
        )

    def _tell(self, frame: Frame | None, values: Mapping[str, float]) -> None:
        """Send a frame that sets endpoints and read them back; repeat it if the values differ,
        since nothing acknowledges it.
        """
        self.settings |= {name: (self._question(name), value) for name, value in values.items()}
        for left in reversed(range(_TOLD_AGAIN)):
            if frame is not None:
                self.link.send(frame)
            found = {name: self.read(name) for name in values}
            wrong = [name for name in values if not self.has(name, found[name])]
            if not wrong:
                return
            if not left:
                raise self.error(
                    f"did not accept {wrong[0]} = {values[wrong[0]]:g}: it reads back "
                    f"{found[wrong[0]]:g}"
                )

    def _error(self) -> int:
        """Read the errors of the axis, including past errors that keep it disarmed."""
        return int(self._get(cansimple.ERROR))

    def _state(self) -> int:
        """Return the state in the next heartbeat.

        Raises
        ------
        DriverError
            If no heartbeat comes.
        """
        self._beat = None
        for _ in range(2):  # this computer may have paused during the first wait
            if (
                self.link.listen(lambda: self._beat is not None, self.clock.now() + _BEATS)
                and self._beat is not None
            ):
                return self._beat[1]
        self._error()  # raises an error if the axis does not answer at all
        raise self.error("sends no heartbeat; set its heartbeat_msg_rate_ms to 100")

    def _get(self, command: int) -> Any:
        return self.ask(self._frame(command), command)

    def _frame(self, command: int, data: bytes = b"") -> Frame:
        return Frame(cansimple.identifier(self.drive.node, command), data, remote=not data)

    # orders

    def setpoint(self, velocity: float) -> Frame:
        """Frame Set_Input_Vel with this velocity of the joint."""
        if not abs(velocity / self._turn) <= _FASTEST:
            raise self.error(
                f"cannot take a set-point of {velocity:.4g} rad/s, {velocity / self._turn:.4g} "
                "revolutions per second"
            )
        return self._frame(cansimple.VELOCITY, cansimple.pack_velocity(velocity / self._turn))

    def power_on(self) -> Iterator[Frame]:
        """Request for closed loop, repeated from time to time, since the axis needs time."""
        if self.clock.now() - self._requested > _PATIENCE:
            # an earlier heartbeat has an outdated state
            self._requested, self._beat = self.clock.now(), None
            yield self._frame(cansimple.STATE, cansimple.pack_state(cansimple.CLOSED_LOOP))

    def power_off(self) -> Iterator[Frame]:
        """Request for idle."""
        yield self._frame(cansimple.STATE, cansimple.pack_state(cansimple.IDLE))

    def release(self) -> Iterator[Frame]:
        """Frames that switch the watchdog off and ask whether it is off."""
        endpoint, form = self.keys.endpoints[WATCHDOG], FORMS[WATCHDOG]
        for value in (0.0, None):
            yield self._frame(cansimple.RX_SDO, cansimple.pack_sdo(endpoint, form, value))

    def questions(self, told: bool) -> Iterator[Frame]:
        """Questions for the estimates, and less often for the temperature."""
        self._parts.clear()
        if self._asked - self._warmth > (_COLD if math.isnan(self._temperature) else _WARM):
            self._warmth = self._asked
            yield self._frame(cansimple.TEMPERATURE)
        yield self._frame(cansimple.ENCODER)
        yield self._frame(cansimple.TORQUES)

    def reset(self) -> None:
        """Clear a fault and leave the axis idle; an axis without fault is left as it is."""
        self._compare_firmware()
        if not self._error():
            return
        self.link.send(self.setpoint(0.0))
        self.write(WATCHDOG, False)
        self.link.send(self._frame(cansimple.CLEAR, b"\0"))
        self.clock.sleep(0.02)
        if error := self._error():
            raise self.error(f"still has its fault after the reset: {cansimple.error_words(error)}")

    # received frames

    def forget(self) -> None:
        """Forget the heartbeat before a pause."""
        super().forget()
        self._beat, self._requested = None, 0.0

    def take(self, frame: Frame) -> None:
        """Take a heartbeat, an estimate or the value of an endpoint."""
        node, command = frame.identifier >> 5, frame.identifier & 0x1F
        if node != self.drive.node:
            return
        if command == cansimple.TX_SDO:
            self._take_endpoint(frame.data)
            return
        parse = {
            cansimple.VERSION: cansimple.unpack_version,
            cansimple.HEARTBEAT: cansimple.unpack_heartbeat,
            cansimple.ERROR: cansimple.unpack_error,
            cansimple.ENCODER: cansimple.unpack_pair,
            cansimple.TORQUES: cansimple.unpack_pair,
            cansimple.TEMPERATURE: cansimple.unpack_pair,
        }.get(command)
        if parse is None:
            return
        found: Any = parse(frame.data)
        if found is None:
            self.corrupt += 1
            return
        self.answers[command] = found
        if command == cansimple.HEARTBEAT:
            self._beat, self._heard = found, self.clock.now()
        elif command == cansimple.TEMPERATURE:
            self._temperature = found[1]
        elif command in (cansimple.ENCODER, cansimple.TORQUES) and self.due:
            self._parts[command] = found
            if len(self._parts) == 2:
                self._join()

    def _join(self) -> None:
        """Make a reading from both estimates of one cycle."""
        (position, velocity), (_, torque) = (
            self._parts[cansimple.ENCODER],
            self._parts[cansimple.TORQUES],
        )
        error, state = self._beat or (0, 0)
        self.measured(
            Reading(
                self.clock.now(),
                position * self._turn + self.joint.table.zero_offset,
                velocity * self._turn,
                torque * self._torque,
                error << 8 | state,
                torque,
                self._temperature,
            )
        )

    def _take_endpoint(self, data: bytes) -> None:
        endpoint = cansimple.sdo_endpoint(data)
        for name, number in self.keys.endpoints.items():
            value = cansimple.unpack_sdo(data, FORMS[name]) if number == endpoint else None
            if value is not None:
                self.answers[name] = value
                if name == WATCHDOG and self._goal in ("held", "off"):
                    self.released = not value


class OdriveLink(PolledLink):
    """ODrive axes on one CAN bus."""

    keys, joint_keys = OdriveKeys, DriveKeys

    def __init__(
        self, joints: tuple[DrivenJoint, ...], keys: OdriveKeys, drives: tuple[DriveKeys, ...]
    ) -> None:
        refuse_shared(joints, "node", [drive.node for drive in drives])
        super().__init__(
            joints,
            keys,
            tuple(
                OdriveAxis(joint, keys, drive) for joint, drive in zip(joints, drives, strict=True)
            ),
        )

    def load(self) -> float:
        """Bus load of a set-point and two questions with answers per axis and cycle, and
        ten heartbeats per second.
        """
        cycle = 3 * can_bits(8) + 2 * can_bits(0)
        return len(self.axes) * (cycle * self._keys.rate + 10.0 * can_bits(8)) / self._keys.bit_rate
