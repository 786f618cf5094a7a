"""Emulated drives in processes of their own, on buses, sockets and ptys of this computer.

A busy computer may stand still for a while. These tests judge what happens and in which order,
never how soon: replies may be late by `PATIENCE`, and drives wait as long for their program.
"""

import sys
from collections.abc import Callable, Iterator
from types import SimpleNamespace

import pytest
from serial.urlhandler import protocol_socket

from stribeck.ident.arm.arm_file import ArmFile
from tests.drivers.wires import Bench, benches, patiently


@pytest.fixture(autouse=True)
def prompt(monkeypatch):
    """Skip pyserial's wait of 0.3 s after closing a socket, which our emulators do not need."""
    monkeypatch.setattr(protocol_socket, "time", SimpleNamespace(sleep=lambda seconds: None))


@pytest.fixture
def bench(make_arm: Callable[..., ArmFile]) -> Iterator[Callable[..., Bench]]:
    """Start an emulator in another process: ``bench(kind, changes)``; emulators end with their
    test.
    """
    with patiently():
        yield from benches(make_arm)


@pytest.fixture
def on_pty(tmp_path):
    """Changes that put servos on a pty."""
    if sys.platform == "win32":
        pytest.skip("has no ptys")
    return {"driver": {"port": str(tmp_path / "tty")}}
