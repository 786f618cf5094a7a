"""The line on which emulated servos listen: a TCP port or a pty."""

import errno
import os
import select
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

from stribeck.ident.errors import InputError

# bytes of a client that were not understood yet, and a function that sends it an answer after the
# time that question and answer take on the wire [s]
Received = tuple[bytearray, Callable[[bytes, float], None]]


class Line(Protocol):
    """A line on which servos listen."""

    def receive(self, timeout: float) -> list[Received]:
        """Return the buffers that got new bytes."""

    def close(self) -> None:
        """Leave the line."""


def open_line(port: str) -> Line:
    """Listen on a TCP port or create a pty, as the arm file's `port` says."""
    return TcpLine(port) if "://" in port else PtyLine(Path(port))


class TcpLine:
    """A line behind a TCP port; all connected clients share it."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme != "socket" or parts.port is None:
            raise InputError(
                f"driver.port = {url!r}: an emulator needs socket://host:port, or a path at which "
                "it creates a pty"
            )
        try:
            self._listener = socket.create_server((parts.hostname or "127.0.0.1", parts.port))
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                raise InputError(
                    f"driver.port = {url!r}: another program, perhaps an emulator, listens on this "
                    "port; end that program, or state another port"
                ) from error
            raise
        self._clients: dict[socket.socket, bytearray] = {}

    def receive(self, timeout: float) -> list[Received]:
        """Return the buffers that got new bytes, each with a function that sends an answer."""
        came = []
        for one in select.select([self._listener, *self._clients], [], [], timeout)[0]:
            if one is self._listener:
                client, _ = one.accept()
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._clients[client] = bytearray()
                continue
            try:
                data = one.recv(4096)
            except OSError:
                data = b""
            if not data:
                self._clients.pop(one)
                one.close()
                continue
            self._clients[one] += data
            came.append((self._clients[one], _sender(one)))
        return came

    def close(self) -> None:
        """Disconnect all clients."""
        for one in (*self._clients, self._listener):
            one.close()


def _sender(client: socket.socket) -> Callable[[bytes, float], None]:
    def send(data: bytes, after: float) -> None:
        time.sleep(after)
        with suppress(OSError):
            client.sendall(data)

    return send


class PtyLine:
    """A line at a pty, with a link to it at the path that the arm file names."""

    def __init__(self, path: Path) -> None:
        import tty

        if path.exists():
            raise InputError(
                f'driver.port = "{path}" exists already; an emulator creates a pty and a link to '
                "it at this path: "
                "state a path that does not exist"
            )
        self._path, self._buffer = path, bytearray()
        # the slave stays open so that clients may come and go
        self._master, self._slave = os.openpty()
        tty.setraw(self._slave)
        path.unlink(missing_ok=True)  # an old link to a closed pty
        path.symlink_to(os.ttyname(self._slave))

    def receive(self, timeout: float) -> list[Received]:
        """Return the buffer if it got new bytes, with a function that sends an answer."""
        if not select.select([self._master], [], [], timeout)[0]:
            return []
        self._buffer += os.read(self._master, 4096)
        return [(self._buffer, self._send)]

    def _send(self, data: bytes, after: float) -> None:
        time.sleep(after)
        os.write(self._master, data)

    def close(self) -> None:
        """Close the pty and remove the link."""
        self._path.unlink(missing_ok=True)
        os.close(self._master)
        os.close(self._slave)
