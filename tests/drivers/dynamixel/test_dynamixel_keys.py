"""Keys of Dynamixel servos, and the checks before any servo is asked."""

import numpy as np
import pytest

from stribeck.drivers.connect import connect
from stribeck.ident.errors import InputError
from tests.drivers.wires import PAIR, merged, with_port


class TestKeys:
    @pytest.mark.parametrize(
        ("changes", "words"),
        [
            (
                {"joints": {"turn": {"torque": 60.0}}},
                r"pair.toml: joints.turn.torque = 60 N·m exceeds the largest torque "
                "that XM430-W210 can give at the joint",
            ),
            (
                {"driver": {"baudrate": 1}},
                r"driver.baudrate: unknown key 'baudrate'; did you mean 'baud_rate'",
            ),
            ({"driver": {"watchdog": 9.0}}, r"driver.watchdog = 9"),
            (
                {"driver": {"baud_rate": 57600}},
                r"200 Hz would take \d+ % of the bus; at most 70 % is safe: lower "
                r"rate to \d+ Hz or less",
            ),
            (
                {"joints": {"lift": {"drive": {"id": 1}}}},
                r"joints.lift.drive.id = 1 is already used by turn",
            ),
            (
                {"joints": {"lift": {"drive": {"model": "XL430-W250"}}}},
                r"drive.model = 'XL430-W250': this servo reports a load est",
            ),
            (
                {"joints": {"lift": {"drive": {"model": "XC330-T288"}}}},
                r"drive.model = 'XC330-T288': this servo reports its supply",
            ),
            (
                {"joints": {"lift": {"drive": {"model": "XM540-W151"}}}},
                r"drive.model 'XM540-W151'; did you mean 'XM540-W150'",
            ),
        ],
    )
    def test_keys_are_checked_before_any_drive_is_asked(self, make_arm, changes, words):
        with pytest.raises(InputError, match=words):
            connect(make_arm(merged(with_port(PAIR["dynamixel"], 1), changes)))

    def test_velocity_resolution_is_one_count_over_the_span(self, pair):
        """7.7 mrad/s at the horn; the servo's own velocities have steps of 24 mrad/s."""
        resolution = connect(pair.arm).resolution
        np.testing.assert_allclose(resolution.position_step, 2.0 * np.pi / 4096 / 3.0)
        np.testing.assert_allclose(resolution.velocity_step, 2.0 * np.pi / 4096 / 3.0 / 0.2)
        np.testing.assert_allclose(
            resolution.torque_step, [2.69e-3 * 3.0 / 2.3 * 3.0, 2.69e-3 * 7.3 / 4.4 * 3.0]
        )
