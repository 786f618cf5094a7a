"""One Dynamixel servo, whose velocities are ramps of the goal position:
settings, orders and readings.

A servo's velocity set-point is coarse (24 mrad/s at the horn). Velocities are therefore sent as
ramps of the goal position, in extended position mode with a time-based profile: each goal lies
`span` ahead on the ramp and must be reached in that time. The servo interpolates between goals. If
the host falls silent, the last goal is at most `span` ahead.
"""

from collections.abc import Callable

from stribeck.drivers.dynamixel import protocol2 as dxl
from stribeck.drivers.dynamixel import servo_inspection as inspection
from stribeck.drivers.dynamixel.dynamixel_keys import DriveKeys, DynamixelKeys, ServoConfig
from stribeck.drivers.dynamixel.dynamixel_settings import (
    WATCHDOG_OFF,
    Setting,
    profile,
    settings,
    torque_limit,
    watchdog,
)
from stribeck.drivers.dynamixel.protocol2 import Reply, State
from stribeck.drivers.dynamixel.servo_bus import ServoBus
from stribeck.drivers.dynamixel.servo_registers import ServoRegisters
from stribeck.drivers.wire.axis import Axis, Power, Reading, Steps
from stribeck.drivers.wire.driven_joint import DrivenJoint

_BOOT = 3.0  # s for a servo to answer after a reboot
# rad of the horn by which the ramp may lead the servo; it saturates the position loop
_LEAD = 0.25
_FRESH = 0.05  # s for which the position of a reply is valid
# counts by which the position of a holding servo may change between two answers
_TREMBLE = 4
_STANDING = 1  # counts of velocity up to which a servo stands still


class DynamixelAxis(Axis):
    """One servo."""

    def __init__(
        self, joint: DrivenJoint, keys: DynamixelKeys, drive: DriveKeys, bus: Callable[[], ServoBus]
    ) -> None:
        self.joint, self.keys, self.drive = joint, keys, drive
        self.config = config = ServoConfig(joint, keys, drive)
        config.refuse_unfit()
        self.scale = config.scale
        self.registers, self._bus = ServoRegisters(joint.name, drive.id, bus), bus
        position = abs(self.scale.position)
        self.steps = Steps(position / keys.span, position, abs(self.scale.torque))
        self.state: State | None = None
        # "on", "follow", "held", "off"; None leaves the servo as it is
        self._asked: str | None = None
        self._alert = False
        # whether this program configured or powered the servo since the line was opened
        self.ours = False
        # joint position that the ramp has reached, and the last velocity set-point
        self._ramp = self._velocity = 0.0
        self._commanded = 0.0

    # reports of the servo

    @property
    def power(self) -> Power:
        """Power state according to the last reply; a servo stopped by its watchdog is
        "held" and takes no goals.

        Not every hardware error switches the power off (register 63). A servo that keeps
        its power counts as "fault" until it is stopped; then it is "held" or switched
        off like any other servo.
        """
        state = self.state
        if state is None:
            return "off"
        faulty = bool(state.hardware_error or self._alert)
        if not state.torque_enable:
            return "fault" if faulty else "off"
        if faulty and self._asked not in ("held", "off"):
            return "fault"
        return "held" if state.tripped or (self._asked == "held" and self._stands(state)) else "on"

    @property
    def trouble(self) -> str | None:
        """Hardware error, tripped watchdog or lost power, in words."""
        state = self.state
        if state is None:
            return "silent"
        if state.hardware_error or self._alert:
            return dxl.hardware_words(state.hardware_error) or "hardware error"
        if state.tripped and state.torque_enable:
            return "its bus watchdog heard nothing from the computer"
        if not state.torque_enable:
            return (
                "no power: switched off, or restarted after losing its supply"
                if self._asked == "follow"
                else "no power"
            )
        return None

    def identity(self) -> dict[str, str]:
        """Model, firmware, mode, limits in force, supply."""
        return inspection.identity(self.registers, self.config)

    @staticmethod
    def _stands(state: State) -> bool:
        return abs(state.velocity) <= _STANDING

    def take(self, t: float, reply: Reply) -> bool:
        """Take a reply to a Sync Read; return whether the packet was such a reply."""
        state = dxl.unpack_state(reply.data)
        if state is None:
            return False
        self.state, self._alert = state, dxl.alert(reply.error)
        q, dq, tau = self.scale.joint(state)
        self.reading = Reading(
            t, q, dq, tau, state.word, float(state.current), float(state.temperature)
        )
        self.replies += 1
        if self._asked == "on" and state.torque_enable and not state.tripped:
            self._asked, self._commanded = "follow", t
        return True

    # settings

    def greet(self) -> None:
        """Read the model number."""
        self.registers.read(dxl.MODEL_NUMBER)

    def configure(self) -> None:
        """Write the settings that differ, then read all settings back; a servo held by
        its watchdog keeps holding.
        """
        self.reading = self.state = self._asked = None
        self.ours = False
        inspection.check_servo(self.registers, self.config)
        powered, tripped = inspection.stance(self.registers, self.keys, self.clock)
        inspection.refuse_leader(self.registers, powered, tripped)
        told = [
            setting
            for setting in (*settings(self.config), *profile(self.keys))
            if not (tripped and setting.item is dxl.GOAL_CURRENT)
        ]
        for setting in told:
            if self.registers.read(setting.item) != setting.value:
                if powered and setting.locked:
                    raise self.registers.error(
                        f"holds its joint, and its {setting.what} differs from the needed value "
                        "but cannot be changed under power; support the arm, then switch the "
                        "servo's supply off and on"
                    )
                self.registers.write(setting)
        for setting in told:
            self.registers.verify(setting)
        if not tripped:
            self.ours = True
            self.registers.tell(watchdog(self.keys))
        self.watched = True

    def refuse_company(self) -> None:
        """Refuse a powered servo whose watchdog has not stopped it: it follows another program."""
        stance = inspection.stance(self.registers, self.keys, self.clock)
        inspection.refuse_leader(self.registers, *stance)

    # orders

    def enable(self) -> None:
        """Set the goal to the present position and read it back, then ask for power.

        The goals, which a tripped watchdog locks, are unlocked first. A servo that was reset after
        its set-up is refused, since it knows its position within one turn only.
        """
        if self.registers.read_once(dxl.INDIRECT) != dxl.indirect_addresses():
            raise self.registers.error(
                "was reset after it had been set up: its position may be wrong by whole turns. "
                "Connect again with the horn within half a turn of zero_offset"
            )
        self.ours = True
        for setting in profile(self.keys):
            self.registers.tell(setting)
        here = self.registers.read(dxl.PRESENT_POSITION, _TREMBLE)
        self._ramp, self._velocity = (
            (here - dxl.CENTRE) * self.scale.position + self.scale.zero,
            0.0,
        )
        self.registers.write(WATCHDOG_OFF)
        self.registers.tell(watchdog(self.keys))
        self.registers.tell(Setting(dxl.GOAL_POSITION, here, "goal position"))
        for setting in torque_limit(self.config):
            self.registers.tell(setting)
        self._asked = "on"

    def command(self, mode: str, value: float) -> None:
        """Advance the ramp by the last velocity up to now, and continue with this velocity.

        The ramp stays near the measured position. If the servo does not report its position,
        the ramp continues without this correction, since going back to the last known
        position would be a jump.
        """
        now = self.clock.now()
        passed, self._commanded = min(now - self._commanded, self.keys.span), now
        self._ramp += self._velocity * passed
        self._velocity = value
        if self.reading is not None and now - self.reading.t < _FRESH:
            lead = _LEAD / self.drive.reduction
            self._ramp = min(max(self._ramp, self.reading.q - lead), self.reading.q + lead)
        self.scale.goal(self._ramp + value * self.keys.span)

    def quick_stop(self) -> None:
        """Stop at the end of the ramp; the servo holds its joint there."""
        self._velocity, self._asked = 0.0, "held"

    def disable(self) -> None:
        """Switch power off."""
        self._velocity, self._asked = 0.0, "off"

    def rest(self) -> None:
        """Leave the servo: release its watchdog if it has no power, otherwise arm the watchdog
        so that it trips and holds.
        """
        if self.state is None or not self.state.torque_enable:
            self.registers.write(WATCHDOG_OFF)
        elif not self.state.tripped:
            self.registers.tell(watchdog(self.keys))

    def reset(self) -> None:
        """Clear a fault by a reboot, which also switches power off; a servo
        without fault is left as it is.
        """
        fault = self.registers.read(dxl.HARDWARE_ERROR)
        if not fault:
            return
        if self.joint.falls and self.registers.read(dxl.TORQUE_ENABLE):
            raise self.registers.error(
                f"holds its joint in spite of its fault, {dxl.hardware_words(fault)}; a reset "
                "would let "
                "the joint fall. Now support the arm, then switch the servo's supply off and on"
            )
        self.registers.write(Setting(dxl.TORQUE_ENABLE, 0, "power"))
        self.registers.write(WATCHDOG_OFF)
        self._bus().ask(self.drive.id, dxl.REBOOT, tries=1)
        end = self.clock.now() + _BOOT
        while self._bus().ask(self.drive.id, dxl.PING, size=3) is None and self.clock.now() < end:
            pass
        fault = self.registers.read(dxl.HARDWARE_ERROR)
        if fault:
            raise self.registers.error(
                "still has its fault after the reset: " + dxl.hardware_words(fault)
            )

    def goal(self) -> int | None:
        """Goal position of this cycle; None to send no goal."""
        if self._asked == "follow" or (self._asked == "held" and self.power == "on"):
            return self.scale.goal(self._ramp + self._velocity * self.keys.span)
        return None

    def switch(self) -> int | None:
        """Torque Enable of this cycle, for transitions only: a servo that lost power by
        itself is not powered again.
        """
        if self.state is None or self._asked not in ("on", "off"):
            return None
        wanted = int(self._asked == "on")
        return None if self.state.torque_enable == wanted else wanted
