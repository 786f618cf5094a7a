"""Interfaces of buses with errors of their own when they are opened and read; the thread that reads
for CANopen is tested in real time.
"""

import can
import numpy as np
import pytest

from stribeck.drivers.arm import Command
from stribeck.drivers.connect import connect
from stribeck.drivers.errors import DriverError
from stribeck.drivers.mit.damiao import DamiaoLink
from stribeck.drivers.wire.polled.polled_axis import PolledKeys
from stribeck.drivers.wire.transport import open_can
from stribeck.drivers.wire.wired_arm import WiredArm
from stribeck.ident.errors import InputError
from tests.drivers.wires import PACE, steps, until_it_fails


class Stumbles:
    """A bus like that of an interface on a serial line, whose parser raises any
    exception when bytes were lost.
    """

    def __init__(self, bus):
        self.bus, self.left = bus, 0

    def __getattr__(self, name):
        return getattr(self.bus, name)

    def recv(self, timeout=None):
        if self.left > 0:
            self.left -= 1
            raise ValueError("invalid literal for int() with base 16: 't1'")
        return self.bus.recv(timeout)


@pytest.fixture
def drives(bench):
    return bench("damiao")


@pytest.fixture
def bus(drives):
    return Stumbles(drives.bus.join())


def test_unreadable_bytes_lose_only_a_frame(drives, bus):
    with WiredArm(drives.arm, DamiaoLink, bus, drives.clock) as arm:
        arm.enable()
        before = arm.step(Command(PACE)).q
        for _ in range(3):
            bus.left = 2
            after = steps(arm, 10, PACE)[-1].q
        assert arm.link.error_frames == 6
        # lost frames only make readings older
        assert (np.sign(after - before) == np.sign(PACE)).all()


def test_the_arm_is_stopped_when_the_bus_cannot_be_read(drives, bus):
    with WiredArm(drives.arm, DamiaoLink, bus, drives.clock) as arm:
        arm.enable()
        steps(arm, 20, PACE)
        bus.left = 10**9
        with pytest.raises(DriverError, match=r"cannot be read: .*ValueError"):
            until_it_fails(arm)
    bus.left = 0
    with connect(drives.arm) as again:
        assert np.abs(np.array([sample.dq for sample in again.look(20)])).max() < 5e-3
        assert [axis.power for axis in again.axes] == ["off", "off"]  # both have brakes


def test_bit_rates_that_differ_are_refused():
    with pytest.raises(
        InputError,
        match=r"driver\.bus\.bitrate = 125000 differs from driver\.bit_rate = 1e\+06, from which",
    ):
        open_can({"interface": "virtual", "bitrate": 125000}, 1e6)
    open_can({"interface": "virtual", "bitrate": 1000000}, 1e6).shutdown()


def test_any_exception_of_an_interface_becomes_an_input_error(monkeypatch):
    """For example of an interface whose vendor library is missing."""

    def missing(**_):
        raise NameError("name 'canGetNumberOfChannels' is not defined")

    monkeypatch.setattr(can, "Bus", missing)
    with pytest.raises(
        InputError,
        match=r"the CAN bus \(interface = kvaser, channel = 0\) cannot be opened: .*canGetNumberOf",
    ):
        open_can({"interface": "kvaser", "channel": 0}, 1e6)


def test_a_bus_without_msgpack_names_the_command_that_installs_it(monkeypatch):
    def missing(**_):
        raise can.CanInterfaceNotImplementedError("msgpack not installed")

    monkeypatch.setattr(can, "Bus", missing)
    with pytest.raises(
        InputError, match=r"msgpack not installed; run pip install 'stribeck\[emulators\]'$"
    ):
        open_can({"interface": "udp_multicast", "channel": "239.74.163.2"}, 1e6)


def test_the_place_of_a_bus_does_not_depend_on_transmission_settings():
    def place(**more):
        return PolledKeys(
            kind="damiao", rate=200.0, bus={"interface": "kvaser", "channel": 0, **more}
        ).place

    assert place() == place(bitrate=1000000, receive_own_messages=False)
    assert place() != place(serial="12")
