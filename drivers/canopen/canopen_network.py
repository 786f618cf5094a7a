"""The `canopen` library's network on a CAN bus, with its failures raised as `DriverError`."""

from collections.abc import Callable
from typing import Any

import can
import canopen

from stribeck.drivers.errors import DriverError
from stribeck.drivers.wire.transport import SEND


class _Reader(canopen.network.MessageListener):
    """Reports error frames, and ends the reader's thread without a traceback when the bus fails."""

    def __init__(self, network: canopen.Network, on_error_frame: Callable[[], None]) -> None:
        super().__init__(network)
        self._on_error_frame = on_error_frame

    def on_message_received(self, msg: can.Message) -> None:
        """Report an error frame, which the library ignores, and pass all messages on."""
        if msg.is_error_frame:
            self._on_error_frame()
        super().on_message_received(msg)

    def on_error(self, exc: Exception) -> None:
        """End the reader's thread; `CanopenNetwork.check` raises the cause."""
        raise SystemExit


class CanopenNetwork(canopen.Network):
    """A network whose `check` reports that its reader has stopped, and which waits at most
    `SEND` for a frame to be sent.

    Parameters
    ----------
    bus : can.BusABC
        An open bus.
    on_error_frame : callable
        Called in the reader's thread for each error frame.
    """

    NOTIFIER_CYCLE = 0.05

    def __init__(self, bus: can.BusABC, on_error_frame: Callable[[], None]) -> None:
        super().__init__(bus)
        self.listeners = [_Reader(self, on_error_frame)]

    def connect(self, *args: Any, **kwargs: Any) -> canopen.Network:
        """Read the bus in a thread; a bus in memory needs none and calls the listeners."""
        tell = getattr(self.bus, "tell", None)
        if tell is None:
            return super().connect(*args, **kwargs)
        tell(self.listeners)
        return self

    def leave(self) -> None:
        """Stop reading the bus, which stays open."""
        if self.notifier is not None:
            self.notifier.stop(1.0)
            return
        tell = getattr(self.bus, "tell", None)
        if tell is not None:
            tell(())

    def send_message(self, can_id: int, data: bytes, remote: bool = False) -> None:
        """Send a frame as the library does, with a timeout."""
        if self.bus is None:
            raise DriverError("the CAN bus is closed")
        with self.send_lock:
            self.bus.send(
                can.Message(
                    arbitration_id=can_id, data=data, is_remote_frame=remote, is_extended_id=False
                ),
                timeout=SEND,
            )

    def check(self) -> None:
        """Raise an error if the reader has stopped. Sending does not check this: drives may still
        hear the command to stop.
        """
        failure = None if self.notifier is None else self.notifier.exception
        if failure is not None:
            raise DriverError(f"the CAN bus cannot be read any more: {failure}") from failure
