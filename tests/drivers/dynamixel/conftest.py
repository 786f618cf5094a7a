"""Emulated servos in another process behind a TCP port, or in this process on a pty, and probes
that read and write them.
"""

import sys
from contextlib import ExitStack
from types import SimpleNamespace

import pytest
from serial.urlhandler import protocol_socket

from tests.drivers.dynamixel.servo_probe import probing
from tests.drivers.wires import PAIR, merged


@pytest.fixture(autouse=True)
def prompt(monkeypatch):
    """Skip pyserial's wait of 0.3 s after closing a socket, which our emulators do not need."""
    monkeypatch.setattr(protocol_socket, "time", SimpleNamespace(sleep=lambda seconds: None))


@pytest.fixture(scope="module")
def pair(bench):
    """Emulated servos in another process; tests leave them without faults."""
    return bench("dynamixel")


@pytest.fixture
def probe(pair):
    with probing(pair.arm) as made:
        yield made


@pytest.fixture
def own(bench):
    """Emulated servos for a single test, and a probe; for tests that break the servos."""
    with ExitStack() as made:

        def start(**changes):
            servos = bench("dynamixel", changes)
            made.callback(servos.end)
            return servos, made.enter_context(probing(servos.arm))

        yield start


@pytest.fixture
def on_pty(make_arm, tmp_path):
    if sys.platform == "win32":
        pytest.skip("has no ptys")
    return make_arm(merged(PAIR["dynamixel"], {"driver": {"port": str(tmp_path / "tty")}}))
