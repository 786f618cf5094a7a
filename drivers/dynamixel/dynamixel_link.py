"""Dynamixel X servos on one line over Protocol 2.0: one Sync Write and one Sync Read per cycle."""

from contextlib import suppress

import serial

from stribeck.drivers.dynamixel import protocol2 as dxl
from stribeck.drivers.dynamixel.dynamixel_axis import DynamixelAxis
from stribeck.drivers.dynamixel.dynamixel_keys import DriveKeys, DynamixelKeys
from stribeck.drivers.dynamixel.serial_port import Port, open_line
from stribeck.drivers.dynamixel.servo_bus import ServoBus
from stribeck.drivers.errors import DriverError
from stribeck.drivers.wire.drive_keys import refuse_shared
from stribeck.drivers.wire.drive_link import DriveLink
from stribeck.drivers.wire.driven_joint import DrivenJoint


class DynamixelLink(DriveLink):
    """Servos on one line."""

    keys, joint_keys = DynamixelKeys, DriveKeys

    def __init__(
        self, joints: tuple[DrivenJoint, ...], keys: DynamixelKeys, drives: tuple[DriveKeys, ...]
    ) -> None:
        refuse_shared(joints, "id", [drive.id for drive in drives])
        self._keys = keys
        self.axes = self._axes = tuple(
            DynamixelAxis(joint, keys, drive, self._connected)
            for joint, drive in zip(joints, drives, strict=True)
        )
        self._by_id = {axis.drive.id: axis for axis in self._axes}
        self._order = list(self._by_id)
        self._bus: ServoBus | None = None
        # servos on the line that are not in the arm file
        self._others: list[int] | None = None

    @property
    def corrupt(self) -> int:
        """Number of damaged packets; their servo is unknown."""
        return self._bus.corrupt if self._bus else 0

    def _connected(self) -> ServoBus:
        if self._bus is None:
            raise DriverError("the serial line to the servos is not open")
        return self._bus

    def open(self, transport: serial.SerialBase | None = None) -> None:
        """Take an open line, or open the line that the keys name, with the
        shortest delay of its adapter.
        """
        self._owned, self._line = (
            transport is None,
            transport or open_line(self._keys.port, self._keys.baud_rate),
        )
        self._bus = ServoBus(Port(self._line, self._keys.baud_rate, self.clock))
        for axis in self._axes:
            axis.ours = False
        self._refuse_followers()

    def _refuse_followers(self) -> None:
        """Refuse a servo outside the arm file that follows a servo of the arm; other servos, as
        of a gripper, are allowed.
        """
        bus = self._connected()
        if self._others is None:
            self._others = [servo for servo in bus.present() if servo not in self._by_id]
        for servo in self._others:
            reply = bus.ask(
                servo, dxl.READ, dxl.read_request(dxl.SECONDARY_ID), dxl.SECONDARY_ID.size
            )
            if reply is None or not reply.data:
                raise DriverError(
                    f"servo {servo} is on the line but not in the arm file, and does not say "
                    "whether it follows a servo of the arm (Secondary ID, register 12); check its "
                    "wiring, or remove it from the line"
                )
            leader = self._by_id.get(dxl.SECONDARY_ID.unpack(reply.data))
            if leader is not None:
                raise DriverError(
                    f"servo {servo} follows the commands to servo {leader.drive.id}, the drive of "
                    f"{leader.joint.name} (Secondary ID, register 12); joints with two servos "
                    "cannot be driven, since the torque of only one servo would be read"
                )

    def start(self) -> None:
        """Do nothing: servos answer at any time."""

    def close(self) -> None:
        """Release the watchdogs of servos without power; the watchdogs of holding servos
        trip, which locks their goals.

        Nothing is written to servos that this program did not configure: they may follow another
        program, or hold their joints for an earlier one.
        """
        if self._bus is None:
            return
        for axis in (axis for axis in self._axes if axis.ours):
            with suppress(DriverError, OSError):
                axis.rest()
        self._bus = None
        if self._owned:
            self._line.close()

    def exchange(self, deadline: float) -> float:
        """Send changes of power and goals by Sync Write, and read the states by Sync Read, which
        is also the sign of life.
        """
        bus = self._connected()
        for item, values in (
            (dxl.TORQUE_ENABLE, {servo: axis.switch() for servo, axis in self._by_id.items()}),
            (dxl.GOAL_POSITION, {servo: axis.goal() for servo, axis in self._by_id.items()}),
        ):
            bus.sync_write(
                item, {servo: value for servo, value in values.items() if value is not None}
            )
        asked = self.clock.now()
        answered = [
            reply.servo
            for reply in bus.sync_read(dxl.STATE, self._order, deadline)
            if self._by_id[reply.servo].take(self.clock.now(), reply)
        ]
        # a silent servo blocks the answers of servos after it
        self._order.sort(key=lambda servo: servo not in answered)
        return asked

    def load(self) -> float:
        """Line load of one Sync Write of goals and one Sync Read with its replies per
        cycle, at ten bits per byte.
        """
        n = len(self.axes)
        cycle = dxl.sync_write_bytes(n, dxl.GOAL_POSITION.size) + dxl.sync_read_bytes(
            n, dxl.STATE.size
        )
        return 10.0 * cycle * self._keys.rate / self._keys.baud_rate
