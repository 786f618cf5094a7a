"""Internal forces of overconstrained chains: what rigid bodies do not tell.

Where closures say the same thing twice (pins of a planar loop, each of which keeps the links in the plane), forces can
press one against the other without any joint noticing. If loads act on these ways, how they share depends on
elasticity and on where the loop was cut; then it is not answered.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ident.branch import Branch
from ident.closures import cut_wrenches, on_links
from ident.dynamics import Kinematics
from ident.loads import JointLoads
from ident.mechanism import Array, Mechanism

_FELT = 1e-8            # part of the greatest force or moment that counts


@dataclass(frozen=True)
class InternalForces:
    """Unit internal forces of a chain, r of them in every sample.

    Attributes
    ----------
    mechanism : Mechanism
        With closures.
    axis : ndarray, shape (N, n, 3)
        Joint axes.
    length : float
        What makes a force of a moment [m].
    joints, cuts : ndarray, shapes (r, N, n, 2, 3) and (r, N, closures, 2, 3)
        Force, and moment over `length`, in the joints of the tree and in the cut ones.
    """

    mechanism: Mechanism
    axis: Array
    length: float
    joints: Array
    cuts: Array

    @classmethod
    def of(cls, branch: Branch, pose: Kinematics, jacobian: Array) -> "InternalForces":
        """From the scaled Jacobian of the closures: multipliers that no passive joint feels."""
        m, solved = branch.mechanism, len(branch.solved)
        idle = np.linalg.svd(jacobian[:, :, branch.solved])[0][:, :, solved:] / branch.row_unit[:, None]
        joints, cuts = [], []
        for k in range(idle.shape[2]):
            force, moment = cut_wrenches(m, pose, idle[:, :, k])
            joints.append(_transmitted(m, pose, on_links(m, pose, force, moment)) / [[1.0], [branch.length]])
            cuts.append(np.stack((force, moment / branch.length), axis=2))
        shape = (idle.shape[2], len(pose.axis), -1, 2, 3)
        return cls(m, pose.axis, branch.length, np.reshape(joints, (*shape[:2], m.n, 2, 3)),
                   np.reshape(cuts, (*shape[:2], len(m.closures), 2, 3)))

    def hide(self, loads: JointLoads, force: Array, moment: Array) -> tuple[JointLoads, Array, Array]:
        """Loads of the joints and wrenches at the cuts, nan where they depend on internal forces that are loaded."""
        if not len(self.joints):
            return loads, force, moment
        carried = np.stack((loads.force, loads.moment / self.length), axis=2)
        at_cuts = np.stack((force, moment / self.length), axis=2)
        most = np.maximum(np.abs(carried).max(axis=(1, 2, 3)), np.abs(at_cuts).max(axis=(1, 2, 3)))
        work = [np.abs(np.einsum("rnjki,njki->rnjk", unit, found)).max(axis=(2, 3), initial=0.0)
                for unit, found in ((self.joints, carried), (self.cuts, at_cuts))]
        loaded = np.maximum(*work) > _FELT * most
        joints, cuts = ((loaded[:, :, None, None, None] & (np.abs(unit) > _FELT)) for unit in (self.joints, self.cuts))
        along, across = self._parts(loaded)
        radial, bending, axial, twist = across[0], across[1], along[0], along[1]
        pressed = np.where(self.mechanism.prismatic, twist, axial)

        def shown(values: Array, hidden: NDArray[np.bool_]) -> Array:
            return np.where(hidden, np.nan, values)

        part, cut = joints.any(axis=(0, 4)), cuts.any(axis=(0, 4))
        told = replace(loads, radial=shown(loads.radial, radial), bending=shown(loads.bending, bending),
                       axial=shown(loads.axial, axial), normal=shown(loads.normal, radial | bending | pressed),
                       force=shown(loads.force, part[:, :, 0, None]), moment=shown(loads.moment, part[:, :, 1, None]))
        return told, shown(force, cut[:, :, 0, None]), shown(moment, cut[:, :, 1, None])

    def _parts(self, loaded: NDArray[np.bool_]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Whether forces and moments along the joint axes and across them depend on internal forces, each (2, N, n)."""
        along = np.einsum("rnjki,nji->rnjk", self.joints, self.axis)
        across = np.linalg.norm(self.joints - along[..., None] * self.axis[:, :, None], axis=4)
        felt = [(loaded[:, :, None, None] & (np.abs(part) > _FELT)).any(axis=0) for part in (along, across)]
        return felt[0].transpose(2, 0, 1), felt[1].transpose(2, 0, 1)


def _transmitted(m: Mechanism, pose: Kinematics, on: Array) -> Array:
    """Force and moment about its origin that every joint transmits to bear forces on the links, shape (N, n, 2, 3)."""
    carried = -on.reshape(*on.shape[:2], 2, 3)
    for j in reversed(range(m.n)):
        p = m.parent[j]
        if p >= 0:
            carried[:, p] += carried[:, j]
            carried[:, p, 1] += np.cross(pose.origin[:, j] - pose.origin[:, p], carried[:, j, 0])
    return carried
