"""Signals that come during a step that must not be interrupted."""

import signal
import sys

import pytest

from stribeck.drivers.interrupts import uninterrupted


def resized_and_ended(seen):
    with uninterrupted():
        for number in (signal.SIGWINCH, signal.SIGINT, signal.SIGWINCH):
            signal.raise_signal(number)
        assert not seen


@pytest.mark.skipif(sys.platform == "win32", reason="has no such signals")
def test_ctrl_c_is_not_lost_behind_another_signal():
    """For example the signal of a terminal that was resized."""
    seen, before = [], signal.signal(signal.SIGWINCH, lambda *_: seen.append("resized"))
    try:
        with pytest.raises(KeyboardInterrupt):
            resized_and_ended(seen)
    finally:
        signal.signal(signal.SIGWINCH, before)
    assert seen == ["resized"]
