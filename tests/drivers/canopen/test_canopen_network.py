"""Buses with error frames, and buses that cannot send."""

import can
import pytest

from stribeck.drivers.connect import connect
from stribeck.drivers.errors import DriverError
from tests.drivers.virtual import virtual_drives
from tests.drivers.wires import PACE, PAIR, steps, until_it_fails, with_port


class TestFaults:
    def test_a_failing_bus_raises_driver_error_and_the_watchdogs_stop_the_joints(
        self, pair, probe, monkeypatch
    ):
        def broken(*_, **__):
            raise can.CanOperationError("No buffer space available")

        with connect(pair.arm) as arm:
            arm.enable()
            steps(arm, 20, PACE)
            monkeypatch.setattr(arm.link._bus, "send", broken)
            with pytest.raises(DriverError, match="the bus failed: No buffer space"):
                until_it_fails(arm)
        pair.clock.sleep(0.6)
        for node in (1, 2):
            assert abs(probe.read(node, 0x606C)) < 2000
            assert probe.state(node) == 0x40


def test_error_frames_are_counted(make_arm):
    with virtual_drives(make_arm(with_port(PAIR["canopen"], 1)), lambda _: None) as driver, driver:
        driver.link._network.listeners[0].on_message_received(can.Message(is_error_frame=True))
        driver.look(1)
        assert driver.link.error_frames == 1
