"""Settings that are written to Dynamixel servos before they get power."""

import numpy as np

from stribeck.drivers.connect import connect
from tests.drivers.dynamixel.servo_probe import PROFILE_TIME, WATCHDOG
from tests.drivers.virtual import virtual_drives
from tests.drivers.wires import PAIR, merged, with_port


class TestSettings:
    def test_the_servos_hold_the_written_settings(self, pair, probe):
        with connect(pair.arm):
            # 12 and 24 N·m
            for servo, speed, current in ((1, 2.0, 1141), (2, 1.5, 1793)):
                # return delay
                assert probe.read(servo, 9, "<B") == 0
                # time-based profiles
                assert probe.read(servo, 10, "<B") == 4
                # extended position
                assert probe.read(servo, 11, "<B") == 4
                assert probe.read(servo, 38, "<H") == current
                assert probe.read(servo, 44) == int(speed * 3.0 / (0.229 * 2.0 * np.pi / 60.0)) + 1
                assert probe.read(servo, WATCHDOG, "<b") == 25  # 0.5 s
                assert probe.read(servo, PROFILE_TIME) == 200
                assert not probe.powered(servo)


def test_the_torque_limit_is_in_the_servo_in_current_based_mode(make_arm):
    arm = make_arm(
        merged(
            with_port(PAIR["dynamixel"], 1),
            {
                "driver": {"profile": "current-based"},
                "joints": {"turn": {"torque": 5.0}},
            },
        )
    )
    found = {}
    with virtual_drives(arm, lambda servo: found.update(values=servo.values)) as driver, driver:
        driver.enable()
        values = found["values"]
        assert values[11] == 5
        assert values[102] == values[38] == int(5.0 / (3.0 * 3.0 / 2.3) / 2.69e-3) + 1
