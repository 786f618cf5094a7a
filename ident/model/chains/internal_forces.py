"""Internal forces of overconstrained chains, which rigid-body mechanics does not determine.

Redundant closures (for example the pins of a planar loop, each of which keeps the links in the
plane) allow internal forces: the closures press against each other, and the torques of the passive
joints stay zero. If a load acts along such internal forces, the shares of the closures depend on
elasticity. These shares are then nan (`hide`), or follow a rule that the user chooses (`share`).
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from stribeck.ident.arrays import Array
from stribeck.ident.model.chains.loop_geometry import cut_wrenches, on_links
from stribeck.ident.model.chains.posture_following import Linearised
from stribeck.ident.model.dynamics import Kinematics
from stribeck.ident.model.loads import JointLoads, normal_load
from stribeck.ident.model.mechanism import Mechanism

# fraction of the greatest force or moment above which a value counts as nonzero
_FELT = 1e-8


@dataclass(frozen=True)
class InternalForces:
    """Basis of the internal forces of a chain: r unit internal forces in every sample.

    Attributes
    ----------
    mechanism : Mechanism
        Mechanism with closures.
    axis : ndarray, shape (N, n, 3)
        Unit vectors of the joint axes.
    length : float
        Characteristic length; a moment divided by this length compares with a force [m].
    units : ndarray, shape (N, r, n + closures, 2, 3)
        Force, and moment divided by `length`, in the joints of the tree and in the cut joints;
        orthonormal over all joints.
    """

    mechanism: Mechanism
    axis: Array
    length: float
    units: Array

    @classmethod
    def of(cls, linearised: Linearised, pose: Kinematics) -> "InternalForces":
        """Return the basis from the linearised closures: multipliers that cause no
        torque in a passive joint.
        """
        branch = linearised.branch
        m = branch.mechanism
        idle = linearised.singular[0][:, :, len(branch.solved) :] / branch.row_unit[:, None]
        units = np.zeros((len(pose.axis), idle.shape[2], m.n + len(m.closures), 2, 3))
        for k in range(idle.shape[2]):
            force, moment = cut_wrenches(m, pose, idle[:, :, k])
            units[:, k, : m.n] = transmitted(m, pose, on_links(m, pose, force, moment))
            units[:, k, m.n :, 0], units[:, k, m.n :, 1] = force, moment
        units[..., 1, :] /= branch.length
        flat = units.reshape(*units.shape[:2], 6 * units.shape[2])
        lower = np.linalg.cholesky(flat @ flat.transpose(0, 2, 1))
        return cls(m, pose.axis, branch.length, np.linalg.solve(lower, flat).reshape(units.shape))

    def hide(
        self, loads: JointLoads, force: Array, moment: Array
    ) -> tuple[JointLoads, Array, Array]:
        """Return joint loads and cut-joint wrenches, with nan for values that depend on
        the stiffness of the joints.
        """
        if not self.units.shape[1]:
            return loads, force, moment
        reached = self._reached(self._carried(loads, force, moment))
        if not reached.any():
            return loads, force, moment
        shared = np.einsum("nrjki,nrs->nsjki", self.units, reached)
        n = self.mechanism.n
        along = np.einsum("nsjki,nji->nsjk", shared[:, :, :n], self.axis)
        across = np.linalg.norm(
            shared[:, :, :n] - along[..., None] * self.axis[:, None, :, None], axis=4
        )
        (axial, twist), (radial, bending) = (
            (np.abs(part).max(axis=1) > _FELT).transpose(2, 0, 1) for part in (along, across)
        )
        whole = np.linalg.norm(shared, axis=4).max(axis=1) > _FELT

        def shown(values: Array, hidden: NDArray[np.bool_]) -> Array:
            return np.where(hidden, np.nan, values)

        pressed = radial | bending | np.where(self.mechanism.prismatic, twist, axial)
        told = replace(
            loads,
            radial=shown(loads.radial, radial),
            bending=shown(loads.bending, bending),
            axial=shown(loads.axial, axial),
            normal=shown(loads.normal, pressed),
            force=shown(loads.force, whole[:, :n, :1]),
            moment=shown(loads.moment, whole[:, :n, 1:]),
        )
        return told, shown(force, whole[:, n:, :1]), shown(moment, whole[:, n:, 1:])

    def share(
        self, loads: JointLoads, force: Array, moment: Array
    ) -> tuple[JointLoads, Array, Array]:
        """Return joint loads and cut-joint wrenches for equally stiff joints: the
        least-squares solution of the balance.
        """
        if not self.units.shape[1]:
            return loads, force, moment
        carried = self._carried(loads, force, moment)
        amount = np.einsum("nrjki,njki->nr", self.units, carried)
        carried = carried - np.einsum("nrjki,nr->njki", self.units, amount)
        n, m = self.mechanism.n, self.mechanism
        (f, cut_force), (t, cut_moment) = (
            (part[:, :n], part[:, n:])
            for part in (carried[:, :, 0], carried[:, :, 1] * self.length)
        )
        along, about = (np.einsum("nji,nji->nj", vectors, self.axis) for vectors in (f, t))
        radial, bending = (
            np.linalg.norm(vectors - size[..., None] * self.axis, axis=2)
            for vectors, size in ((f, along), (t, about))
        )
        normal = np.full_like(radial, np.nan)
        for j, bearing in enumerate(m.bearings):
            if bearing is not None:
                normal[:, j] = normal_load(
                    bearing,
                    bool(m.prismatic[j]),
                    bending[:, j],
                    radial[:, j],
                    np.abs(along[:, j]),
                    np.abs(about[:, j]),
                )
        shared = replace(
            loads,
            radial=radial,
            bending=bending,
            axial=np.abs(along),
            normal=normal,
            force=f,
            moment=t,
        )
        return shared, cut_force, cut_moment

    def _carried(self, loads: JointLoads, force: Array, moment: Array) -> Array:
        """Stack the wrenches of tree joints and cut joints, moments divided by `length`,
        shape (N, n + closures, 2, 3).
        """
        return np.concatenate(
            (
                np.stack((loads.force, loads.moment / self.length), axis=2),
                np.stack((force, moment / self.length), axis=2),
            ),
            axis=1,
        )

    @cached_property
    def _coupling(self) -> Array:
        """Products of the units in every joint, (N, joints, 2, r, r)."""
        return np.einsum("nrjki,nsjki->njkrs", self.units, self.units)

    def _reached(self, carried: Array) -> Array:
        """Return a projection onto the internal forces that the loads can cause with any joint
        stiffnesses, shape (N, r, r).

        The wrenches `carried`, shape (N, joints, 2, 3), excite a unit internal force if they do
        work along it in any joint. The stiffness of a joint couples all units that load this joint.
        Units without such a coupling to the loads stay zero.
        """
        most = np.abs(carried).max(axis=(1, 2, 3), initial=0.0)[:, None, None]
        work = np.einsum("nrjki,njki->nrjk", self.units, carried)
        work = work.reshape(*work.shape[:2], 2 * work.shape[2])
        work = np.where(np.abs(work) > _FELT * most, work / np.maximum(most, 1e-300), 0.0)
        if not work.any():
            return np.zeros((len(work), work.shape[1], work.shape[1]))
        reached = _projection(work @ work.transpose(0, 2, 1))
        for _ in range(self.units.shape[1]):
            moved, before = self._coupling @ reached[:, None, None], reached
            moved = moved.transpose(0, 3, 1, 2, 4).reshape(*reached.shape[:2], -1)
            reached = _projection(reached + moved @ moved.transpose(0, 2, 1))
            if np.abs(reached - before).max() < _FELT:
                break
        return reached


def _projection(gram: Array) -> Array:
    """Return the projection onto the range of symmetric matrices, shape (N, r, r)."""
    values, vectors = np.linalg.eigh(gram)
    vectors = vectors * (values > _FELT**2)[:, None, :]
    return np.asarray(vectors @ vectors.transpose(0, 2, 1))


def transmitted(m: Mechanism, pose: Kinematics, on: Array) -> Array:
    """Return force and moment (about the joint origin) of every joint that balance the wrenches
    `on` the links, (N, n, 2, 3).
    """
    carried = -on.reshape(*on.shape[:2], 2, 3)
    for j in reversed(range(m.n)):
        p = m.parent[j]
        if p >= 0:
            carried[:, p] += carried[:, j]
            carried[:, p, 1] += np.cross(pose.origin[:, j] - pose.origin[:, p], carried[:, j, 0])
    return carried
