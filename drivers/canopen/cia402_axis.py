"""One CiA 402 drive: settings by SDO, orders by RPDOs, readings by TPDOs, and its
emergencies and heartbeats.
"""

from collections.abc import Callable, Iterator

import canopen

from stribeck.drivers.canopen import cia402
from stribeck.drivers.canopen import cia402_inspection as inspection
from stribeck.drivers.canopen.canopen_keys import CanopenKeys, DriveConfig, DriveKeys
from stribeck.drivers.canopen.canopen_settings import (
    AT_REST,
    WATCHDOG,
    Setting,
    refuse_unheld_settings,
    settings,
)
from stribeck.drivers.canopen.sdo_client import FedNode, SdoClient
from stribeck.drivers.errors import NoAnswer
from stribeck.drivers.wire.axis import Axis, Power, Reading, Steps
from stribeck.drivers.wire.driven_joint import DrivenJoint
from stribeck.ident.errors import InputError

_BOOT = 2.0  # s for a drive to report its mode after the set-up
_SWITCH = 0.1  # s for a drive to report a change of mode during motion
# s and cycles without a reply after which a drive may have left its cycles
_LOST, _CALLED = 0.1, 10
_MOST_TORQUE = 0x7FFF  # largest value of the signed 0x6077, in thousandths of the rated torque


class CanopenAxis(Axis):
    """One CiA 402 drive."""

    def __init__(self, joint: DrivenJoint, keys: CanopenKeys, drive: DriveKeys) -> None:
        self.joint, self.keys, self.drive = joint, keys, drive
        self.config = config = DriveConfig(joint, keys, drive)
        self.scale = config.scale
        self.steps = Steps(
            abs(self.scale.velocity), abs(self.scale.position), abs(self.scale.torque)
        )
        if joint.torque > _MOST_TORQUE * self.steps.torque:
            raise InputError(
                f"joints.{joint.name}.torque = {joint.torque:g} {joint.torque_unit} is "
                f"{joint.torque / self.steps.torque:.3g} thousandths of the rated torque; the "
                "drive's torque field "
                f"(0x6077) holds at most {_MOST_TORQUE}. Correct torque, rated_torque or gear_ratio"
            )
        self.node: canopen.RemoteNode
        self.sdo: SdoClient
        self._torque = config.has_torque_mode
        self._profile = config.velocity_mode
        self._torque_profile = cia402.MODES["cst"]
        # "on", "follow", "held", "off"; None leaves the drive as it is
        self._goal: str | None = None
        self._velocity = self._torque_target = 0
        # mode of the set-points, and time of the last change of mode
        self._mode, self._since = self._profile, 0.0
        self._shown: int | None = None  # mode that the drive reports
        # from the second TPDO, which comes before or after the first
        self._dq: float | None = None
        self._state: tuple[float, int, int, int] | None = None
        # cycles since the last reading, and time of the last stop command by SDO
        self._unanswered, self._called = 0, 0.0
        self._emergency: str | None = None
        self._booted = False
        # whether PDOs or heartbeats show that the node is operational
        self._operational = False
        # whether this program configured the drive since the bus was opened
        self.ours = False
        refuse_unheld_settings(config)

    def join(self, network: canopen.Network, feed: Callable[[], None]) -> None:
        """Join a network; `feed` keeps the watchdogs of all drives quiet during SDO transfers."""
        self.ours = self._operational = False
        self.node = network.add_node(FedNode(self.drive.node, feed, self.keys.beat, self.clock))
        self.sdo = SdoClient(self.node, self.joint.name)
        network.subscribe(cia402.EMERGENCY + self.drive.node, self.on_emergency)
        network.subscribe(cia402.HEARTBEAT + self.drive.node, self.on_heartbeat)

    # reports of the drive

    @property
    def power(self) -> Power:
        """Power state according to the statusword; "fault" after a reset."""
        if self._booted:
            return "fault"
        if self.reading is None:
            return "off"
        state = cia402.state(self.reading.status)
        if state in cia402.FAULTS:
            return "fault"
        return {"operation enabled": "on", "quick stop": "held"}.get(state, "off")  # type: ignore[return-value]

    @property
    def trouble(self) -> str | None:
        """State and last emergency, in words."""
        if self._booted:
            return f"node {self.drive.node} was reset"
        state = "silent" if self.reading is None else cia402.state(self.reading.status)
        return f"{state}, {self._emergency}" if self._emergency else state

    def identity(self) -> dict[str, str]:
        """Device, firmware, modes and limits of the drive."""
        return inspection.identity(self.sdo, self.config)

    # settings

    def greet(self) -> None:
        """Read the device type.

        A node that its error behaviour has put into the state "stopped" answers no SDO, so it is
        set to "pre-operational" and asked again. A node that is slow to answer but sends PDOs may
        follow another program and is not changed.
        """
        try:
            self.sdo.read(0x1000, 0, "<I")
        except NoAnswer:
            if self._operational:
                raise
            self.node.nmt.state = "PRE-OPERATIONAL"
            self.sdo.read(0x1000, 0, "<I")

    def configure(self) -> None:
        """Write all settings, then read all of them back."""
        self.ours, self._goal = False, None
        self._torque_profile = inspection.torque_mode(self.sdo, self.config) or self._torque_profile
        inspection.check_drive(self.sdo, self.config)
        self.reading, self._booted = None, False
        self.ours = True
        self.node.nmt.state = "PRE-OPERATIONAL"
        last: dict[tuple[int, int], Setting] = {}
        for setting in settings(self.config):
            if self.sdo.write(setting):
                last[setting.index, setting.sub] = setting
        for setting in last.values():
            self.sdo.verify(setting)
        self.watched = set(last) >= WATCHDOG
        end = self.clock.now() + _BOOT
        while (shown := self.sdo.read(0x6061, 0, "<b")) != self._profile:
            if self.clock.now() > end:
                raise self.sdo.error(f"reports mode {shown} (0x6061) instead of {self._profile}")
            self.clock.sleep(0.01)

    def refuse_company(self) -> None:
        """Refuse a drive in "operation enabled": it follows another program."""
        inspection.refuse_company(self.sdo)

    # orders

    def enable(self) -> None:
        """Zero the target velocity, by SDO and in the RPDO, and the offsets to velocity and
        torque, then ask for power.
        """
        self._velocity = self._torque_target = 0
        self._mode, self._since, self._shown = self._profile, self.clock.now(), None
        self._emergency = None
        for zero in AT_REST:
            if self.sdo.write(zero):
                self.sdo.verify(zero)
        self._goal = "on"

    def command(self, mode: str, value: float) -> None:
        """Keep the set-point of the next RPDO."""
        told = self._torque_profile if mode == "torque" else self._profile
        if told != self._mode:
            self._mode, self._since = told, self.clock.now()
        if mode == "torque":
            self._torque_target = self.scale.counts(value, "torque", 16)
            # an old velocity must not move a drive that changes its mode a cycle later
            self._velocity = 0
        else:
            self._velocity = self.scale.counts(value, "velocity", 32)

    def quick_stop(self) -> None:
        """Ask for the state "quick stop"."""
        self._velocity, self._goal = 0, "held"

    def disable(self) -> None:
        """Ask for power off by the controlword "disable voltage"."""
        self._velocity, self._goal = 0, "off"

    def reset(self) -> None:
        """Clear a fault by a rising edge of bit 7, with target velocity zero; a drive
        without fault is left as it is.
        """
        if inspection.state(self.sdo) not in cia402.FAULTS:
            return
        for zero in AT_REST:
            self.sdo.write(zero)
        for word in (cia402.DISABLE_VOLTAGE, cia402.FAULT_RESET, cia402.DISABLE_VOLTAGE):
            self.sdo.write(Setting(0x6040, 0, "<H", word, "controlword"))
            self.clock.sleep(0.02)
        if inspection.state(self.sdo) in cia402.FAULTS:
            raise self.sdo.error(
                f"still has its fault after the reset: {inspection.fault_words(self.sdo)}"
            )
        self._emergency = None

    def frames(self) -> Iterator[tuple[int, bytes]]:
        """RPDOs of this cycle; none before the first order, and a
        controlword only for a transition.
        """
        state = "" if self.reading is None else cia402.state(self.reading.status)
        if self._goal is None:
            return
        self._check_mode()
        if self._goal == "on":
            word = cia402.towards_power(state)
        elif self._goal == "follow":
            # a drive that left this state by itself is not powered again
            word = None if state == "operation enabled" else cia402.QUICK_STOP
        elif self._goal == "held":
            word = None if state == "quick stop" else cia402.QUICK_STOP
        else:
            word = None if state == "switch on disabled" else cia402.DISABLE_VOLTAGE
        yield (
            cia402.RPDO[0] + self.drive.node,
            cia402.pack_setpoint(
                self._velocity, self._torque_target if self._torque else None, self._mode
            ),
        )
        if word is not None:
            yield cia402.RPDO[1] + self.drive.node, cia402.pack_control(word)
        yield from self._call()

    def _call(self) -> Iterator[tuple[int, bytes]]:
        """Stop a silent drive by SDO, without waiting for its answer.

        Another master may have taken the drive out of "operational". It then hears no set-points
        but still our heartbeat, so it would move on at its last speed.
        """
        now = self.clock.now()
        if (
            self.reading is None
            or self._unanswered < _CALLED
            or min(now - self.reading.t, now - self._called) < _LOST
        ):
            return
        self._called = now
        word = cia402.DISABLE_VOLTAGE if self._goal == "off" else cia402.QUICK_STOP
        yield cia402.SDO + self.drive.node, cia402.pack_control_by_sdo(word)

    def _check_mode(self) -> None:
        """Zero the torque set-point when the drive is back in velocity mode, and stop a drive
        that reports a wrong mode.
        """
        other = self._shown not in (None, self._mode)
        if self._mode == self._profile and not other:
            self._torque_target = 0
        late = self.clock.now() - self._since
        if other and late > _SWITCH and self._goal == "follow":
            self._goal, self._torque_target = "held", 0
            raise self.sdo.error(
                f"still reports mode {self._shown} (0x6061) {1e3 * late:.0f} ms after the command "
                f"for mode {self._mode}"
            )

    # received frames, in the reader's thread

    def on_state(self, _: int, data: bytearray, __: float) -> None:
        """Take the first TPDO."""
        self._operational = True
        values = cia402.unpack_state(bytes(data))
        if values is None:
            self.corrupt += 1
            return
        self._state = (self.clock.now(), *values)
        self._join()

    def on_velocity(self, _: int, data: bytearray, __: float) -> None:
        """Take the second TPDO."""
        self._operational = True
        values = cia402.unpack_velocity(bytes(data))
        if values is None:
            self.corrupt += 1
            return
        velocity, self._shown = values
        self._dq = velocity * self.scale.velocity
        self._join()

    def expect(self) -> None:
        """Drop a single TPDO before the next SYNC, so that it is not joined
        with a TPDO of that SYNC.
        """
        self._state = self._dq = None
        self._unanswered += 1

    def _join(self) -> None:
        """Make a reading from both TPDOs of one SYNC."""
        # copies, since `expect` may clear either in another thread
        state, dq = self._state, self._dq
        if state is None or dq is None:
            return
        t, status, position, torque = state
        q, tau = self.scale.joint(position, torque)
        self.reading = Reading(t, q, dq, tau, status, float(torque))
        self.replies += 1
        self._state = self._dq = None
        self._unanswered = 0
        if self._goal == "on" and self.power == "on":
            self._goal = "follow"

    def on_emergency(self, _: int, data: bytearray, __: float) -> None:
        """Take an emergency frame; its first two bytes are the error code, and zero
        means that the error is over.
        """
        if len(data) >= 2:
            code = int.from_bytes(data[:2], "little")
            self._emergency = cia402.emergency_words(code) if code else None

    def on_heartbeat(self, _: int, data: bytearray, __: float) -> None:
        """Take a heartbeat; a boot-up message means that the node was
        reset and lost its settings.
        """
        if data and data[0] == 0:
            self._booted = True
        if data:
            self._operational = data[0] & 0x7F == cia402.OPERATIONAL
