"""Settings that are written to CiA 402 drives before they get power."""

import numpy as np

from stribeck.drivers.connect import connect
from tests.drivers.virtual import virtual_drives
from tests.drivers.wires import PAIR, merged, with_port


class TestSettings:
    def test_the_drives_hold_the_written_settings(self, pair, probe):
        with connect(pair.arm):
            for node, torque in ((1, 1000), (2, 1000)):
                # host and ms
                assert probe.read(node, 0x1016, 1, "<I") == 127 << 16 | 500
                # quick stop
                assert probe.read(node, 0x6007, 0, "<h") == 3
                # quick stop that ends in the brake
                assert probe.read(node, 0x605A, 0, "<h") == 2
                assert probe.read(node, 0x60FF) == 0
                assert probe.read(node, 0x6060, 0, "<b") == 9
                # 60 and 40 N·m
                assert probe.read(node, 0x6072, 0, "<H") == torque
                assert probe.read(node, 0x6085, 0, "<I") == round(
                    8.0 * 100.0 * 65536 / (2.0 * np.pi)
                )
                assert [probe.read(node, 0x1A00, k, "<I") for k in range(4)] == [
                    3,
                    0x60410010,
                    0x60640020,
                    0x60770010,
                ]
                assert probe.read(node, 0x1800, 1, "<I") == 0x180 + node
                # 200 Hz
                assert (probe.read(node, 0x60C2, 1, "<B"), probe.read(node, 0x60C2, 2, "<b")) == (
                    5,
                    -3,
                )
                # unused PDOs stay off
                assert probe.read(node, 0x1803, 1, "<I") >> 31


def test_ramps_are_counted_in_units_of_acceleration(make_arm):
    """With wrong units a drive would stop a thousand times too slowly, or with a jerk, when
    its computer falls silent.
    """
    nodes = []
    arm = make_arm(
        merged(
            with_port(PAIR["canopen"], 1),
            {
                "joints": {
                    "turn": {"drive": {"velocity_counts": 60.0, "acceleration_counts": 65536.0}}
                }
            },
        )
    )
    with virtual_drives(arm, nodes.append) as driver, driver:
        assert nodes[0].values[0x6085, 0] == round(8.0 * 100.0 * 65536 / (2.0 * np.pi))
        told = driver.axes[0].identity()["acceleration counts"]
        assert told == "65536 at one motor revolution per second squared, reported by the drive"


def test_profile_torque_mode_gets_a_steep_slope_if_there_is_no_cyclic_torque_mode(make_arm):
    nodes = []

    def spoil(node):
        nodes.append(node)
        node.values[0x6502, 0] &= ~(1 << 9)

    with virtual_drives(make_arm(with_port(PAIR["canopen"], 1)), spoil) as driver, driver:
        assert nodes[0].values[0x6087, 0] == round(60.0 / (0.6 * 100.0 / 1000.0) / 0.01)
        assert driver.axes[0]._torque_profile == 4
