"""Leaving a bus hides no earlier error, and cannot be interrupted."""

import signal
import sys

import can
import pytest

from tests.drivers.ideal_drives import Loopback, ideal_arm


@pytest.mark.parametrize(
    "why", [RuntimeError("a fault of the script"), KeyboardInterrupt()], ids=["fault", "Ctrl-C"]
)
def test_an_error_of_closing_the_interface_does_not_hide_the_reason(make_arm, monkeypatch, why):
    """For example an interface that was unplugged, which is the reason why the arm was stopped."""

    def close(link):
        raise can.CanOperationError("could not write to serial device")

    def move():
        with ideal_arm(make_arm()) as made:
            made.enable()
            raise why

    monkeypatch.setattr(Loopback, "close", close)
    with pytest.raises(type(why)) as raised:
        move()
    assert raised.value is why
    ideal_arm(make_arm()).reset()


@pytest.mark.skipif(sys.platform == "win32", reason="has no such signals")
def test_ctrl_c_during_the_release_of_the_bus_takes_effect_afterwards(make_arm, monkeypatch):
    closed = []

    def close(link):
        signal.raise_signal(signal.SIGINT)
        closed.append(link)

    monkeypatch.setattr(Loopback, "close", close)
    with pytest.raises(KeyboardInterrupt), ideal_arm(make_arm()):
        pass
    assert len(closed) == 1
