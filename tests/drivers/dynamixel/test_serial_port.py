"""The line to servos: opening it, and the messages when it fails."""

import os
import socket
from contextlib import ExitStack

import pytest

from stribeck.drivers.connect import connect
from stribeck.drivers.emulators.dynamixel import Emulator
from stribeck.drivers.errors import DriverError
from stribeck.ident.errors import InputError
from tests.drivers.wires import PAIR, merged, served, steps, until_it_fails


class TestOpening:
    def test_a_socket_sends_packets_immediately(self, pair):
        """Otherwise, after a lost reply, a Sync Read waits 40 ms for the acknowledgement of
        the Sync Write before it.
        """
        with (
            connect(pair.arm) as arm,
            socket.socket(fileno=os.dup(arm.link._line.fileno())) as line,
        ):
            assert line.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)

    def test_a_socket_url_without_port_number_is_refused(self, make_arm):
        with (
            pytest.raises(
                InputError,
                match=r"pair.toml: the port socket://127.0.0.1 cannot be opened: .*number of the "
                r"port",
            ),
            connect(
                make_arm(merged(PAIR["dynamixel"], {"driver": {"port": "socket://127.0.0.1"}}))
            ),
        ):
            pass

    def test_a_port_that_cannot_be_opened_is_named(self, make_arm):
        for port in ("socket://127.0.0.1:9", "/dev/nothing-here"):
            with (
                pytest.raises(DriverError, match=f"^the port {port} cannot be opened: ") as refused,
                connect(make_arm(merged(PAIR["dynamixel"], {"driver": {"port": port}}))),
            ):
                pass
            assert str(refused.value).count(port) == 1


def test_an_unplugged_line_raises_driver_error(on_pty):
    """The other end of a pty is gone, which the system reports by several kinds of errors."""
    emulator = Emulator(on_pty)
    with ExitStack() as leaving:
        leaving.enter_context(pytest.raises(DriverError, match=r"the bus failed|has not replied"))
        with served(emulator):
            arm = leaving.enter_context(connect(on_pty))
            arm.enable()
            steps(arm, 5)
        emulator.close()
        until_it_fails(arm)
