"""Thresholds of joints at rest."""

from dataclasses import replace

import pytest

from stribeck.drivers.wire.at_rest import AtRest
from stribeck.drivers.wire.axis import Reading
from stribeck.drivers.wire.driven_joint import read_joints
from tests.drivers.ideal_drives import ideal_arm


@pytest.mark.parametrize(("unit", "turning"), [("rad", []), ("m", ["turn"])])
def test_thresholds_of_slides_are_smaller_than_those_in_rad(make_arm, monkeypatch, unit, turning):
    """A slide that moves at a centimetre per second is not held yet, even
    if its drive says "held".
    """

    def joints(*of):
        return tuple(replace(joint, position_unit=unit) for joint in read_joints(*of))

    monkeypatch.setattr("stribeck.drivers.wire.wired_arm.read_joints", joints)
    with ideal_arm(make_arm()) as arm:
        arm.axes[0].state, arm.axes[0].reading = (
            "held",
            Reading(arm.link.clock.now(), 0.0, 0.01, 0.0),
        )
        assert AtRest.of(arm.joints, arm.resolution).turning(arm.axes) == turning
