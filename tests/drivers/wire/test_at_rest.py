"""How slow a joint at rest is."""

import time
from dataclasses import replace

import pytest

from stribeck.drivers.wire.at_rest import AtRest
from stribeck.drivers.wire.axis import Reading
from stribeck.drivers.wire.driven_joint import read_joints
from stribeck.drivers.wire.wired_arm import WiredArm
from tests.drivers.ideal_drives import Loopback


@pytest.mark.parametrize(("unit", "turning"), [("rad", []), ("m", ["turn"])])
def test_what_is_slow_in_rad_is_not_in_metres(make_arm, monkeypatch, unit, turning):
    """A slide at a centimetre a second is not held yet, whatever its drive says."""
    def joints(*of):
        return tuple(replace(joint, position_unit=unit) for joint in read_joints(*of))

    monkeypatch.setattr("stribeck.drivers.wire.wired_arm.read_joints", joints)
    with WiredArm(make_arm(), Loopback) as arm:
        arm.axes[0].state, arm.axes[0].reading = "held", Reading(time.monotonic(), 0.0, 0.01, 0.0)
        assert AtRest.of(arm.joints, arm.resolution).turning(arm.axes) == turning
