"""Keys of CANopen drives, and the checks before any drive is asked."""

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
                {"driver": {"bitrate": 1e6}},
                r"driver.bitrate: unknown key 'bitrate'; did you mean 'bit_rate'",
            ),
            ({"driver": {"watchdog": 9.0}}, r"driver.watchdog = 9"),
            ({"driver": {"profile": "csp"}}, r"driver.profile = 'csp'"),
            (
                {"joints": {"lift": {"drive": {"nod": 1}}}},
                r"joints.lift.drive.nod: unknown key 'nod'; did you mean 'node'",
            ),
            (
                {"joints": {"lift": {"drive": {"node": 1}}}},
                r"joints.lift.drive.node = 1 is already used by turn",
            ),
            (
                {"joints": {"lift": {"drive": {"rated_torque": -1}}}},
                r"joints.lift.drive.rated_torque = -1",
            ),
            (
                {"joints": {"lift": {"drive": {"position_counts": 1e300}}}},
                r"joints.lift.drive.position_counts = 1e\+300",
            ),
            (
                {"joints": {"lift": {"gear_ratio": None}}},
                r"pair.toml: joints.lift.gear_ratio is missing: this drive counts motor",
            ),
            (
                {"joints": {"lift": {"acceleration": 5e5}}},
                r"joints.lift: the quick-stop deceleration is \d+ counts, but object "
                r"0x6085 of the drive holds 1 to 4294967295 only",
            ),
            (
                {"joints": {"lift": {"drive": {"velocity_counts": 1e-4}}}},
                r"joints.lift: the quick-stop deceleration is 0 counts",
            ),
            (
                {"joints": {"lift": {"drive": {"position_counts": 1e9, "velocity_counts": 4096}}}},
                r"joints.lift: a position of .* is .* counts, which do not fit the drive's field "
                r"of 32 bits",
            ),
            (
                {"joints": {"lift": {"torque": 1e5}}},
                r"joints.lift.torque = 100000 N·m is .* thousandths of the rated torque",
            ),
        ],
    )
    def test_keys_are_checked_before_any_drive_is_asked(self, make_arm, changes, words):
        with pytest.raises(InputError, match=words):
            connect(make_arm(merged(with_port(PAIR["canopen"], 1), changes)))

    def test_resolution_is_one_count(self, pair):
        resolution = connect(pair.arm).resolution
        np.testing.assert_allclose(resolution.torque_step, [0.06, 0.04])
        np.testing.assert_allclose(resolution.position_step, 2.0 * np.pi / 65536 / 100.0)

    def test_a_bus_that_cannot_carry_the_rate_is_refused(self, make_arm):
        arm = make_arm(merged(with_port(PAIR["canopen"], 1), {"driver": {"bit_rate": 125000.0}}))
        with pytest.raises(
            InputError,
            match=r"200 Hz would take \d+ % of the bus; at most 70 % is safe: lower rate to "
            r"\d+ Hz or less",
        ):
            connect(arm)
