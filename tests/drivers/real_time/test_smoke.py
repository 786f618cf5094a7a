"""Each protocol over a real bus or line: drives in another process move as commanded."""

import os
import socket

import numpy as np
import pytest

from stribeck.drivers.connect import connect
from stribeck.drivers.emulators.emulator import emulate
from stribeck.ident.errors import InputError
from tests.drivers.wires import PACE, PAIR, steps


def moves_and_stops(arm):
    """Move both joints for a while, and stop; the supervisor is not between."""
    with connect(arm) as connected:
        connected.enable()
        samples = steps(connected, 100, PACE)
        t = np.array([sample.t for sample in samples])
        assert (np.diff(t) > 0.0).all()
        moved = samples[-1].q - samples[0].q
        assert (np.sign(moved) == np.sign(PACE)).all()
        assert (np.abs(moved) > 0.02).all()
        connected.stop("enough")
        assert [axis.power for axis in connected.axes] == ["off", "off"]  # both have brakes
        first, last = connected.look(1)[0], connected.look(20)[-1]
        np.testing.assert_allclose(last.q, first.q, atol=2e-3)


@pytest.mark.parametrize("kind", PAIR)
def test_drives_move_as_commanded(bench, kind):
    moves_and_stops(bench(kind).arm)


def test_servos_on_a_pty_move_and_its_link_is_removed_with_it(bench, on_pty, tmp_path):
    servos = bench("dynamixel", on_pty)
    with pytest.raises(InputError, match="exists already"):
        emulate(servos.arm)
    moves_and_stops(servos.arm)


def test_a_socket_sends_packets_immediately(bench):
    """Otherwise, after a lost reply, a Sync Read waits 40 ms for the acknowledgement of
    the Sync Write before it.
    """
    with (
        connect(bench("dynamixel").arm) as arm,
        socket.socket(fileno=os.dup(arm.link._line.fileno())) as line,
    ):
        assert line.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
