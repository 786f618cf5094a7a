"""Joints that move while drives are powered up."""

import numpy as np
import pytest

from stribeck.drivers.errors import DriverError
from tests.drivers.ideal_drives import Ideal, ideal_arm


def test_a_joint_that_moves_while_others_are_powered_up_stops_all(make_arm, monkeypatch):
    """For example a joint whose motor is commutated wrongly; before a drive has power,
    its joint has no set-point.
    """
    with ideal_arm(make_arm()) as arm:
        ready = arm.link.clock.now() + 0.2
        arm.axes[0].q = 0.1
        monkeypatch.setattr(Ideal, "enable", lambda axis: setattr(axis, "velocity", 1.0))
        monkeypatch.setattr(
            Ideal,
            "power",
            property(
                lambda axis: (
                    "on"
                    if axis.state == "off"
                    and axis.clock.now() > ready + (0.5 if axis is arm.axes[1] else 0.0)
                    else axis.state
                )
            ),
        )
        with pytest.raises(
            DriverError,
            match=r"^turn moved from 0.\d+ to 0.\d+ rad after its drive got power, more than "
            r"its following_error of 0.05 rad: .*; the arm was stopped",
        ):
            arm.enable()
        assert [axis.velocity for axis in arm.axes] == [0.0, 0.0]


@pytest.mark.parametrize("stop", ["brake", "hold"])
def test_a_braked_joint_that_changes_position_before_power_on_lost_its_zero(
    make_arm, monkeypatch, stop
):
    """For example by a reset after the first look at the drives; a joint
    without brake may have sunk.
    """

    def enable(axis):
        axis.q, axis.ready = axis.q + 0.3, axis.clock.now() + 0.1

    with ideal_arm(
        make_arm({"joints": {name: {"stop": stop} for name in ("turn", "lift")}})
    ) as arm:
        monkeypatch.setattr(Ideal, "enable", enable)
        monkeypatch.setattr(
            Ideal,
            "power",
            property(
                lambda axis: (
                    "on"
                    if axis.state == "off" and axis.clock.now() > getattr(axis, "ready", np.inf)
                    else axis.state
                )
            ),
        )
        if stop == "hold":
            arm.enable()
            return
        with pytest.raises(
            DriverError,
            match=r"^turn moved from 0 to 0.3 rad before its drive got power, more than its "
            r"following_error of 0.05 rad: check the drive's .* zero, and the joint's brake; "
            "the arm was",
        ):
            arm.enable()
