"""One CiA 402 drive: settings by SDO, its states by RPDOs and TPDOs, and what the drive says of itself meanwhile."""

import time
from collections.abc import Callable, Iterator

import canopen

from stribeck.drivers.canopen import cia402
from stribeck.drivers.canopen import cia402_inspection as inspection
from stribeck.drivers.canopen.canopen_keys import CanopenKeys, DriveConfig, DriveKeys
from stribeck.drivers.canopen.canopen_settings import AT_REST, WATCHDOG, Setting, refuse_unheld_settings, settings
from stribeck.drivers.canopen.sdo_client import FedNode, SdoClient
from stribeck.drivers.errors import NoAnswer
from stribeck.drivers.wire.axis import Axis, Power, Reading, Steps
from stribeck.drivers.wire.driven_joint import DrivenJoint
from stribeck.ident.errors import InputError

_BOOT = 2.0                 # s for a node to reach the state that it was told, or a mode to be shown
_SWITCH = 0.1               # s for another mode to be shown in motion
_LOST, _CALLED = 0.1, 10    # s and cycles without a reply after which a drive may have left its cycles
_MOST_TORQUE = 0x7FFF       # thousandths of the rated torque in a signed 0x6077


class CanopenAxis(Axis):
    """One CiA 402 drive."""

    def __init__(self, joint: DrivenJoint, keys: CanopenKeys, drive: DriveKeys) -> None:
        self.joint, self.keys, self.drive = joint, keys, drive
        self.config = config = DriveConfig(joint, keys, drive)
        self.scale = config.scale
        self.steps = Steps(abs(self.scale.velocity), abs(self.scale.position), abs(self.scale.torque))
        if joint.torque > _MOST_TORQUE * self.steps.torque:
            raise InputError(f"joints.{joint.name}.torque = {joint.torque:g} {joint.torque_unit} is "
                             f"{joint.torque / self.steps.torque:.3g} thousandths of the rated torque; the drive's torque field "
                             f"(0x6077) holds at most {_MOST_TORQUE}. Correct torque, rated_torque or gear_ratio")
        self.node: canopen.RemoteNode
        self.sdo: SdoClient
        self._torque = config.has_torque_mode
        self._profile = config.velocity_mode
        self._torque_profile = cia402.MODES["cst"]
        self._goal: str | None = None       # "on", "follow", "held", "off"; None leaves the drive as it is
        self._velocity = self._torque_target = 0
        self._mode, self._since = self._profile, 0.0        # which it was told, and since when
        self._shown: int | None = None      # which it says that it is in
        self._dq: float | None = None       # from the second TPDO, which comes before or after the first
        self._state: tuple[float, int, int, int] | None = None
        self._unanswered, self._called = 0, 0.0     # cycles since its last reading, and when it was told something by SDO
        self._emergency: str | None = None
        self._booted = False
        self._operational = False           # whether it was heard to be, by its PDOs or its heartbeat
        self.ours = False                   # whether it was set up since the bus was opened, and may be told to end that
        refuse_unheld_settings(config)

    def join(self, network: canopen.Network, feed: Callable[[], None]) -> None:
        """Be reachable by a network; `feed` keeps watchdogs quiet while answers are waited for."""
        self.ours = self._operational = False
        self.node = network.add_node(FedNode(self.drive.node, feed, self.keys.beat))
        self.sdo = SdoClient(self.node, self.joint.name)
        network.subscribe(cia402.EMERGENCY + self.drive.node, self.on_emergency)
        network.subscribe(cia402.HEARTBEAT + self.drive.node, self.on_heartbeat)

    # what the drive says

    @property
    def power(self) -> Power:
        """By the statusword."""
        if self._booted:
            return "fault"
        if self.reading is None:
            return "off"
        state = cia402.state(self.reading.status)
        if state in cia402.FAULTS:
            return "fault"
        return {"operation enabled": "on", "quick stop": "held"}.get(state, "off")       # type: ignore[return-value]

    @property
    def trouble(self) -> str | None:
        """State and last emergency."""
        if self._booted:
            return f"node {self.drive.node} was reset"
        state = "silent" if self.reading is None else cia402.state(self.reading.status)
        return f"{state}, {self._emergency}" if self._emergency else state

    def identity(self) -> dict[str, str]:
        """Device, firmware and what the drive offers."""
        return inspection.identity(self.sdo, self.config)

    # settings

    def greet(self) -> None:
        """Its type. A node that its own error behaviour stopped answers no SDO until it is told to; nor does it send PDOs, as
        one does that follows another program and is slow to answer.
        """
        try:
            self.sdo.read(0x1000, 0, "<I")
        except NoAnswer:
            if self._operational:
                raise
            self.node.nmt.state = "PRE-OPERATIONAL"
            self.sdo.read(0x1000, 0, "<I")

    def configure(self) -> None:
        """Write every setting, then read every one back."""
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
        end = time.monotonic() + _BOOT
        while (shown := self.sdo.read(0x6061, 0, "<b")) != self._profile:
            if time.monotonic() > end:
                raise self.sdo.error(f"reports mode {shown} (0x6061) instead of {self._profile}")
            time.sleep(0.01)

    def refuse_company(self) -> None:
        """A drive in "operation enabled" follows somebody."""
        inspection.refuse_company(self.sdo)

    # orders

    def enable(self) -> None:
        """Zero the target velocity, by SDO and in the frame, and what is added to it, then ask for power."""
        self._velocity = self._torque_target = 0
        self._mode, self._since, self._shown = self._profile, time.monotonic(), None
        self._emergency = None
        for zero in AT_REST:
            if self.sdo.write(zero):
                self.sdo.verify(zero)
        self._goal = "on"

    def command(self, mode: str, value: float) -> None:
        """Set-point of the next RPDO."""
        told = self._torque_profile if mode == "torque" else self._profile
        if told != self._mode:
            self._mode, self._since = told, time.monotonic()
        if mode == "torque":
            self._torque_target = self.scale.counts(value, "torque", 16)
            self._velocity = 0              # none that is left over moves a drive that changes its mode a cycle later
        else:
            self._velocity = self.scale.counts(value, "velocity", 32)

    def quick_stop(self) -> None:
        """Controlword quick stop."""
        self._velocity, self._goal = 0, "held"

    def disable(self) -> None:
        """Controlword disable voltage."""
        self._velocity, self._goal = 0, "off"

    def reset(self) -> None:
        """Rising edge of bit 7 with target velocity zero and nothing else set; one without fault is left as it is."""
        if inspection.state(self.sdo) not in cia402.FAULTS:
            return
        for zero in AT_REST:
            self.sdo.write(zero)
        for word in (cia402.DISABLE_VOLTAGE, cia402.FAULT_RESET, cia402.DISABLE_VOLTAGE):
            self.sdo.write(Setting(0x6040, 0, "<H", word, "controlword"))
            time.sleep(0.02)
        if inspection.state(self.sdo) in cia402.FAULTS:
            raise self.sdo.error(f"still has its fault after the reset: {inspection.fault_words(self.sdo)}")
        self._emergency = None

    def frames(self) -> Iterator[tuple[int, bytes]]:
        """RPDOs of this cycle, none while nothing was asked of the drive; a controlword only for a transition."""
        state = "" if self.reading is None else cia402.state(self.reading.status)
        if self._goal is None:
            return
        self._check_mode()
        if self._goal == "on":
            word = cia402.towards_power(state)
        elif self._goal == "follow":            # a drive that left this state by itself is not brought back
            word = None if state == "operation enabled" else cia402.QUICK_STOP
        elif self._goal == "held":
            word = None if state == "quick stop" else cia402.QUICK_STOP
        else:
            word = None if state == "switch on disabled" else cia402.DISABLE_VOLTAGE
        yield (cia402.RPDO[0] + self.drive.node,
               cia402.pack_setpoint(self._velocity, self._torque_target if self._torque else None, self._mode))
        if word is not None:
            yield cia402.RPDO[1] + self.drive.node, cia402.pack_control(word)
        yield from self._call()

    def _call(self) -> Iterator[tuple[int, bytes]]:
        """A drive that was told to leave its cycles hears no set-points, but our heartbeat all the same, and would go on at its
        last speed: one that has not replied for long is told to stop by SDO. Nobody waits for its answer.
        """
        now = time.monotonic()
        if self.reading is None or self._unanswered < _CALLED or min(now - self.reading.t, now - self._called) < _LOST:
            return
        self._called = now
        word = cia402.DISABLE_VOLTAGE if self._goal == "off" else cia402.QUICK_STOP
        yield cia402.SDO + self.drive.node, cia402.pack_control_by_sdo(word)

    def _check_mode(self) -> None:
        """Torque is let go of once velocities count again; a drive that stays in another mode than it was told is stopped."""
        other = self._shown not in (None, self._mode)
        if self._mode == self._profile and not other:
            self._torque_target = 0
        late = time.monotonic() - self._since
        if other and late > _SWITCH and self._goal == "follow":
            self._goal, self._torque_target = "held", 0
            raise self.sdo.error(f"still reports mode {self._shown} (0x6061) {1e3 * late:.0f} ms after the command for mode "
                                 f"{self._mode}")

    # what comes, in the reader's thread

    def on_state(self, _: int, data: bytearray, __: float) -> None:
        """First TPDO."""
        self._operational = True
        values = cia402.unpack_state(bytes(data))
        if values is None:
            self.corrupt += 1
            return
        self._state = (time.monotonic(), *values)
        self._join()

    def on_velocity(self, _: int, data: bytearray, __: float) -> None:
        """Second TPDO."""
        self._operational = True
        values = cia402.unpack_velocity(bytes(data))
        if values is None:
            self.corrupt += 1
            return
        velocity, self._shown = values
        self._dq = velocity * self.scale.velocity
        self._join()

    def expect(self) -> None:
        """A SYNC goes out: a TPDO that has lost its other half waits no longer, else it would be joined with the next SYNC's."""
        self._state = self._dq = None
        self._unanswered += 1

    def _join(self) -> None:
        """A reading is both TPDOs of one SYNC."""
        state, dq = self._state, self._dq           # a SYNC may drop either meanwhile
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
        """Emergency frame: error code first; zero says that it is over."""
        if len(data) >= 2:
            code = int.from_bytes(data[:2], "little")
            self._emergency = cia402.emergency_words(code) if code else None

    def on_heartbeat(self, _: int, data: bytearray, __: float) -> None:
        """A node that boots was reset and knows its settings no more."""
        if data and data[0] == 0:
            self._booted = True
        if data:
            self._operational = data[0] & 0x7F == cia402.OPERATIONAL
