"""CiA 402 drives on one CAN bus: at every SYNC each drive takes one RPDO and sends two TPDOs;
it watches our heartbeat.

The `canopen` library carries SDO and network management. Its 402 profile and its
periodic senders are not used: they would re-enable a drive after a fault, and keep
joints moving when the program hangs.
"""

import threading
from contextlib import suppress
from functools import partial
from typing import Any

import can
import canopen

from stribeck.drivers.canopen import cia402
from stribeck.drivers.canopen.canopen_keys import CanopenKeys, DriveKeys
from stribeck.drivers.canopen.canopen_network import CanopenNetwork
from stribeck.drivers.canopen.canopen_settings import WATCHDOG_OFF
from stribeck.drivers.canopen.cia402_axis import CanopenAxis
from stribeck.drivers.errors import DriverError
from stribeck.drivers.wire.drive_keys import refuse_shared
from stribeck.drivers.wire.drive_link import DriveLink
from stribeck.drivers.wire.driven_joint import DrivenJoint
from stribeck.drivers.wire.transport import all_tried, can_bits, open_can, readable

_GONE = 1.0  # s; a node that sent no reply for so long gets no more SDO from `close`


class CanopenLink(DriveLink):
    """CiA 402 drives on one CAN bus."""

    keys, joint_keys = CanopenKeys, DriveKeys

    def __init__(
        self, joints: tuple[DrivenJoint, ...], keys: CanopenKeys, drives: tuple[DriveKeys, ...]
    ) -> None:
        refuse_shared(
            joints,
            "node",
            [drive.node for drive in drives],
            {keys.host: "this computer (driver.host)"},
        )
        self._keys, self.modes = keys, frozenset(keys.modes) | {"velocity"}
        self.axes = self._axes = tuple(
            CanopenAxis(joint, keys, drive) for joint, drive in zip(joints, drives, strict=True)
        )
        self._network: CanopenNetwork | None = None
        self._arrived = threading.Event()
        self._due: set[CanopenAxis] = set()
        self._beat = 0.0

    def open(self, transport: can.BusABC | None = None) -> None:
        """Take an open bus, or open the bus that the keys name, and begin to read it."""
        self._bus, self._owned = (
            readable(transport or open_can(self._keys.bus, self._keys.bit_rate)),
            transport is None,
        )
        self._network, self._beat = CanopenNetwork(self._bus, self._count_error_frame), 0.0
        for axis in self._axes:
            axis.join(self._network, self._feed)
            self._network.subscribe(
                cia402.TPDO[0] + axis.drive.node, partial(self._take, axis, axis.on_state)
            )
            self._network.subscribe(
                cia402.TPDO[1] + axis.drive.node, partial(self._take, axis, axis.on_velocity)
            )
        self._network.connect()

    def start(self) -> None:
        """Set all nodes to "operational", the state in which PDOs run."""
        with all_tried() as tried:
            for axis in self._axes:
                with tried():
                    axis.node.nmt.state = "OPERATIONAL"

    def close(self) -> None:
        """Release the watchdogs of drives that stand still, then the bus; a bus that the
        caller opened stays open.

        Drives that were not configured may follow another program: nothing is sent to them.
        Drives that hold their joints stay "operational", since some drives treat leaving this
        state as a lost connection.
        """
        if self._network is None:
            return
        for axis in (axis for axis in self._axes if axis.ours):
            with suppress(DriverError, can.CanError, OSError):
                if (
                    axis.power != "on"
                    and axis.reading is not None
                    and self.clock.now() - axis.reading.t < _GONE
                ):
                    axis.sdo.write(WATCHDOG_OFF)
                if axis.power != "held":
                    axis.node.nmt.state = "PRE-OPERATIONAL"
        network, self._network = self._network, None
        try:
            network.leave()
        finally:
            if self._owned:
                self._bus.shutdown()

    def exchange(self, deadline: float) -> float:
        """Send RPDOs, heartbeat and SYNC, at which drives measure, then wait for the TPDOs.
        Errors are raised at the end.
        """
        assert self._network is not None
        now, send = self.clock.now(), self._network.send_message
        with all_tried() as tried:
            for axis in self._axes:
                with tried():
                    for identifier, data in axis.frames():
                        send(identifier, data)
            self._beat = self._beat or now - self._keys.watchdog
            with tried():
                self._feed()
            for axis in self._axes:
                axis.expect()
            self._arrived.clear()
            self._due = set(self._axes)
            asked = self.clock.now()
            with tried():
                send(cia402.SYNC, b"")
                self.clock.wait(self._arrived, deadline)
        return asked

    def _feed(self) -> None:
        """Send our heartbeat if it is due, from the first cycle on; raises an error if the
        bus can no longer be read.
        """
        if self._network is None:
            return
        now = self.clock.now()
        if self._beat and now - self._beat > self._keys.beat:
            self._beat = now
            self._network.send_message(
                cia402.HEARTBEAT + self._keys.host, bytes([cia402.OPERATIONAL])
            )
        self._network.check()

    def _count_error_frame(self) -> None:
        """Count an error frame; runs in the reader's thread."""
        self.error_frames += 1

    def _take(self, axis: CanopenAxis, listener: canopen.network.Callback, *frame: Any) -> None:
        """Give a frame to its drive; the last missing reply ends the wait of `exchange`.
        Runs in the reader's thread.
        """
        before = axis.replies
        listener(*frame)
        if axis.replies != before:
            self._due.discard(axis)
            if not self._due:
                self._arrived.set()

    def load(self) -> float:
        """Bus load of one RPDO and two TPDOs per drive, a SYNC per cycle and the heartbeats,
        with the most stuff bits.
        """
        torque = "torque" in self._keys.modes
        cycle = can_bits(0) + len(self.axes) * (
            can_bits(7 if torque else 4) + can_bits(8) + can_bits(5 if torque else 4)
        )
        return (cycle * self._keys.rate + can_bits(1) / self._keys.beat) / self._keys.bit_rate
