"""Thresholds of motion below which a joint counts as at rest."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from stribeck.drivers.arm import Array, Resolution
from stribeck.drivers.wire.axis import Axis
from stribeck.drivers.wire.driven_joint import DrivenJoint

# Each threshold is for joints that turn; slides have a tenth of it, in m.
# rad/s below which a joint is at rest after a ramp, or two velocity steps if that is more
_RAMPED = 0.005
# rad/s up to which a drive holds its joint, or four velocity steps if that is more
_HELD = 0.02
# rad within which a brake holds its joint, or two position steps if that is more
_BRAKED = 0.002


@dataclass(frozen=True)
class AtRest:
    """Largest motion with which a joint counts as at rest, for three ways of
    stopping it; each shape (n,).

    Attributes
    ----------
    ramped : ndarray
        Speed after a ramp of set-points to zero [rad/s or m/s].
    held : ndarray
        Speed while the joint's drive stops it by itself [rad/s or m/s].
    braked : ndarray
        Change of position under a brake, during the time in which the brake closes [rad or m].
    """

    ramped: Array
    held: Array
    braked: Array

    @classmethod
    def of(cls, joints: Sequence[DrivenJoint], resolution: Resolution) -> Self:
        """Return the thresholds for these joints, whose drives have this resolution."""
        small = np.array([joint.small for joint in joints])
        return cls(
            np.maximum(_RAMPED * small, 2.0 * resolution.velocity_step),
            np.maximum(_HELD * small, 4.0 * resolution.velocity_step),
            np.maximum(_BRAKED * small, 2.0 * resolution.position_step),
        )

    def turning(self, axes: Sequence[Axis]) -> list[str]:
        """Names of joints that still move although their drives report "held";
        `axes` are all axes of the arm.
        """
        return [
            axis.joint.name
            for axis, fastest in zip(axes, self.held, strict=True)
            if axis.power == "held"
            and (reading := axis.reading) is not None
            and abs(reading.dq) > fastest
        ]
