"""How little a joint may move that counts as at rest."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from stribeck.drivers.arm import Array, Resolution
from stribeck.drivers.wire.axis import Axis
from stribeck.drivers.wire.driven_joint import DrivenJoint

_RAMPED = 0.005             # rad/s, of slides a tenth in m/s, below which a joint counts as at rest, or two velocity steps
_HELD = 0.02                # rad/s, of slides a tenth in m/s, up to which a drive holds its joint, or four velocity steps
_BRAKED = 0.002             # rad, of slides a tenth in m, within which a brake holds its joint, or two position steps


@dataclass(frozen=True)
class AtRest:
    """Largest motion of a joint at rest, by what brought it there; each shape (n,).

    Attributes
    ----------
    ramped : ndarray
        Speed after a ramp of set-points to zero [rad/s or m/s].
    held : ndarray
        Speed under a drive that stops by itself [rad/s or m/s].
    braked : ndarray
        Change of place under a brake, in the time in which it closes [rad or m].
    """

    ramped: Array
    held: Array
    braked: Array

    @classmethod
    def of(cls, joints: Sequence[DrivenJoint], resolution: Resolution) -> Self:
        """For these joints, whose drives are as coarse as this."""
        small = np.array([joint.small for joint in joints])
        return cls(np.maximum(_RAMPED * small, 2.0 * resolution.velocity_step),
                   np.maximum(_HELD * small, 4.0 * resolution.velocity_step),
                   np.maximum(_BRAKED * small, 2.0 * resolution.position_step))

    def turning(self, axes: Sequence[Axis]) -> list[str]:
        """Joints, of all axes, that move while their drives stop them: a drive may say "held" before its joint is at rest."""
        return [axis.joint.name for axis, fastest in zip(axes, self.held, strict=True)
                if axis.power == "held" and (reading := axis.reading) is not None and abs(reading.dq) > fastest]
