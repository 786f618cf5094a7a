"""CiA 402 drives on one CAN bus: one RPDO in and two TPDOs out of each drive at every SYNC, and the heartbeat they watch.

The `canopen` library carries SDO and network management. Its 402 profile and its periodic senders are not used: they would
re-enable a drive after a fault, and keep a hung program's motion alive.
"""

import threading
import time
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

_GONE = 1.0                 # s without a reply after which a node is not asked any more


class CanopenLink(DriveLink):
    """CiA 402 drives on one CAN bus."""

    keys, joint_keys = CanopenKeys, DriveKeys

    def __init__(self, joints: tuple[DrivenJoint, ...], keys: CanopenKeys, drives: tuple[DriveKeys, ...]) -> None:
        refuse_shared(joints, "node", [drive.node for drive in drives], {keys.host: "this computer (driver.host)"})
        self._keys, self.modes = keys, frozenset(keys.modes) | {"velocity"}
        self.axes = self._axes = tuple(CanopenAxis(joint, keys, drive) for joint, drive in zip(joints, drives, strict=True))
        self._network: CanopenNetwork | None = None
        self._arrived = threading.Event()
        self._due: set[CanopenAxis] = set()
        self._beat = 0.0

    def open(self, transport: can.BusABC | None = None) -> None:
        """Take the bus and begin to read it."""
        self._bus, self._owned = readable(transport or open_can(self._keys.bus, self._keys.bit_rate)), transport is None
        self._network, self._beat = CanopenNetwork(self._bus, self._count_error_frame), 0.0
        for axis in self._axes:
            axis.join(self._network, self._feed)
            self._network.subscribe(cia402.TPDO[0] + axis.drive.node, partial(self._take, axis, axis.on_state))
            self._network.subscribe(cia402.TPDO[1] + axis.drive.node, partial(self._take, axis, axis.on_velocity))
        self._network.connect()

    def start(self) -> None:
        """Nodes to operational: PDOs run."""
        with all_tried() as tried:
            for axis in self._axes:
                with tried():
                    axis.node.nmt.state = "OPERATIONAL"

    def close(self) -> None:
        """Release the watchdogs of drives that stand still, then the bus; one that was handed in stays open.

        Drives that were never set up may follow another program: nothing is sent to them. Those that hold their joints stay
        "operational", since some take leaving it for a lost connection.
        """
        if self._network is None:
            return
        for axis in (axis for axis in self._axes if axis.ours):
            with suppress(DriverError, can.CanError, OSError):
                if axis.power != "on" and axis.reading is not None and time.monotonic() - axis.reading.t < _GONE:
                    axis.sdo.write(WATCHDOG_OFF)
                if axis.power != "held":
                    axis.node.nmt.state = "PRE-OPERATIONAL"
        notifier, self._network = self._network.notifier, None
        try:
            if notifier is not None:
                notifier.stop(1.0)
        finally:
            if self._owned:
                self._bus.shutdown()

    def exchange(self, deadline: float) -> float:
        """RPDOs, heartbeat, SYNC, at which drives measure; then wait for the TPDOs. What goes wrong meanwhile is raised last."""
        assert self._network is not None
        now, send = time.monotonic(), self._network.send_message
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
            asked = time.monotonic()
            with tried():
                send(cia402.SYNC, b"")
                self._arrived.wait(max(0.0, deadline - time.monotonic()))
        return asked

    def _feed(self) -> None:
        """Our heartbeat where it is due, which drives watch from the first cycle on; raises where none can be heard any more."""
        if self._network is None:
            return
        now = time.monotonic()
        if self._beat and now - self._beat > self._keys.beat:
            self._beat = now
            self._network.send_message(cia402.HEARTBEAT + self._keys.host, bytes([cia402.OPERATIONAL]))
        self._network.check()

    def _count_error_frame(self) -> None:
        """In the reader's thread."""
        self.error_frames += 1

    def _take(self, axis: CanopenAxis, listener: canopen.network.Callback, *frame: Any) -> None:
        """In the reader's thread: the last drive that was waited for ends the waiting."""
        before = axis.replies
        listener(*frame)
        if axis.replies != before:
            self._due.discard(axis)
            if not self._due:
                self._arrived.set()

    def load(self) -> float:
        """One RPDO and two TPDOs of each drive and a SYNC each cycle, heartbeats beside them, all with the most stuff bits."""
        torque = "torque" in self._keys.modes
        cycle = can_bits(0) + len(self.axes) * (can_bits(7 if torque else 4) + can_bits(8) + can_bits(5 if torque else 4))
        return (cycle * self._keys.rate + can_bits(1) / self._keys.beat) / self._keys.bit_rate
