"""Servos with a wrong setting or state are not powered, and the message says what is wrong."""

import pytest

from stribeck.drivers.connect import connect
from stribeck.drivers.errors import DriverError
from tests.drivers.dynamixel.spoilt_servos import deaf_to, holds
from tests.drivers.virtual import virtual_drives
from tests.drivers.wires import PAIR, merged


class TestModel:
    def test_a_servo_in_reverse_mode_is_refused_and_not_changed(self, own):
        servos, probe = own()
        assert probe.write(2, 10, 1, "<B") == 0
        with (
            pytest.raises(DriverError, match=r"drive of lift \(id 2\) is in Reverse Mode \(bit 0"),
            connect(servos.arm),
        ):
            pass
        assert probe.read(2, 10, "<B") == 1

    def test_another_model_than_the_arm_file_says_is_refused(self, make_arm, pair):
        wrong = make_arm(
            merged(
                PAIR["dynamixel"],
                {
                    "driver": {"port": pair.arm.driver.model_extra["port"]},
                    "joints": {"lift": {"torque": 17.0, "drive": {"model": "XM430-W350"}}},
                },
            )
        )
        with (
            pytest.raises(
                DriverError,
                match=r"drive of lift \(id 2\) reports model number 1130 \(XM540-W150\); the arm "
                r"file "
                "states XM430-W350",
            ),
            connect(wrong),
        ):
            pass


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (
            holds(_6=38),
            r"turn \(id 1\) has firmware 38, which has no time-based profiles; 42 or later is "
            r"needed",
        ),
        (deaf_to(9), "did not accept return delay = 0 .* reads back 250"),
        (deaf_to(10), "did not accept drive mode = 4"),
        (deaf_to(98), r"did not accept watchdog = 25 \(register 98\): it reads back 0"),
        (deaf_to(172), "did not accept indirect addresses"),
        (lambda servo: servo.fault(0x04), "has a fault, overheating"),
        (holds(_64=1), "is powered and follows another program"),
        (
            holds(_64=1, _98=-1, _11=3),
            r"holds its joint, and its return delay differs.*switch the servo's supply off and on",
        ),
    ],
    ids=[
        "old firmware",
        "return delay",
        "drive mode",
        "watchdog",
        "indirect",
        "fault",
        "somebody else's",
        "held otherwise",
    ],
)
def test_a_servo_with_a_wrong_setting_or_state_is_not_powered(arm_file, spoil, words):
    with virtual_drives(arm_file, spoil) as driver, pytest.raises(DriverError, match=words), driver:
        pass


def test_the_watchdog_of_a_servo_that_follows_another_program_is_not_changed(arm_file):
    found = []

    def follows(servo):
        found.append(servo)
        servo.values[64], servo.values[98] = 1, 127

    with virtual_drives(arm_file, follows) as driver:
        for refused in (driver.reset, driver.__enter__):
            with pytest.raises(DriverError, match="follows another program"):
                refused()
            assert found[0].values[98] == 127
