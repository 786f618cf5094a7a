r"""Closed chains: a tree whose loops are closed by cut joints (P0, Eqs. 23-27, 55).

The motion of some joints of the tree is known; the closures determine the motion of the other
joints. G is the Jacobian of the closures. The cut-joint forces :math:`\lambda` are such that
passive joints (index p) carry their own resisting torque only,

.. math:: (M \ddot q + h)_p = \tau_p + (G^T \lambda)_p, \qquad \tau_a = (M \ddot q + h)_a - (G^T \lambda)_a.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import qr

from stribeck.ident.arrays import Array
from stribeck.ident.errors import InputError
from stribeck.ident.model.chains.internal_forces import InternalForces, transmitted
from stribeck.ident.model.chains.loop_geometry import cut_wrenches, gap_acceleration, on_links
from stribeck.ident.model.chains.posture_following import (
    RANK,
    SINGULAR,
    Branch,
    Linearised,
    PostureError,
    apply,
)
from stribeck.ident.model.dynamics import Kinematics, inverse_dynamics, kinematics, rotor_torque
from stribeck.ident.model.elastic_joints import spring_torque
from stribeck.ident.model.load_arrays import WrenchSlopes
from stribeck.ident.model.load_slopes import wrench_slopes
from stribeck.ident.model.loads import JointLoads, joint_loads
from stribeck.ident.model.mechanism import Mechanism
from stribeck.ident.model.recursion import batch


@dataclass(frozen=True)
class ClosedMotion:
    """Motion of all joints of a closed chain with closed loops.

    Attributes
    ----------
    q, dq, ddq : ndarray, shape (N, n)
        Positions, velocities and accelerations.
    condition : ndarray, shape (N,)
        Condition number of the Jacobian of the solved joints, in characteristic lengths and rad.
    linearised : Linearised, optional
        The closures at these postures, as far as they are known already.
    """

    q: Array
    dq: Array
    ddq: Array
    condition: Array
    linearised: Linearised | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True)
class ClosedLoads:
    """Forces in a closed chain.

    In an overconstrained chain (for example a planar chain with pins) several load paths can carry
    a load across its plane. Rigid-body mechanics does not determine their shares. Loads and forces
    that depend on these shares are nan, unless `Mechanism.sharing` states a rule.

    Attributes
    ----------
    tau : ndarray, shape (N, n)
        Driving torques; zero in passive joints [N·m or N].
    joints : JointLoads
        Loads of the tree's joints, with the effect of cut-joint forces.
    force, moment : ndarray, shape (N, closures, 3)
        Force and moment that link b of each closure exerts on link a, at the closure's
        point, in base axes [N, N·m].
    condition : ndarray, shape (N,)
        Condition number of the passive joints' Jacobian, in characteristic lengths and rad.
    """

    tau: Array
    joints: JointLoads
    force: Array
    moment: Array
    condition: Array


def close_loops(
    mechanism: Mechanism,
    q: ArrayLike,
    dq: ArrayLike | None = None,
    ddq: ArrayLike | None = None,
    known: Sequence[int] | None = None,
) -> ClosedMotion:
    """Compute the motion of all joints from the motion of the known joints (Eqs. 23-25).

    The result stays on the assembly branch of the posture at q = 0 (`posture_following`). Small
    gaps at q = 0 are closed first.

    Parameters
    ----------
    mechanism : Mechanism
        Mechanism with closures.
    q, dq, ddq : array_like, shape (N, k)
        Positions, velocities and accelerations of the known joints; the last two default to zero.
    known : sequence of int, optional
        Indices of the known joints; by default the active joints.

    Raises
    ------
    PostureError
        If a posture cannot be reached or is singular; the message states the reachable
        range of the known joints.
    InputError
        If a shape does not fit, or if the number of known joints differs from the
        number of degrees of freedom.
    """
    branch = branch_of(mechanism, mechanism.active if known is None else known)
    given = list(branch.known)
    wanted = _known("q", q, mechanism, given)
    rates = [
        np.zeros_like(wanted) if rate is None else _known(name, rate, mechanism, given, len(wanted))
        for name, rate in (("dq", dq), ("ddq", ddq))
    ]
    posture, reached = branch.follow(wanted)
    for row in np.flatnonzero(reached < 1.0):
        raise branch.unreachable(wanted[row], float(reached[row]))
    return closed_rates(branch, posture, *rates)


def closed_rates(branch: Branch, posture: Array, dq: Array, ddq: Array) -> ClosedMotion:
    """Compute the motion of all joints in closed postures, (N, n), from velocities and
    accelerations of known joints, (N, k).

    Raises
    ------
    PostureError
        If a posture is singular.
    """
    mechanism, given, solved = branch.mechanism, list(branch.known), list(branch.solved)
    here = branch.at(posture)
    _refuse_singular(mechanism, here.condition, posture[:, given], given)
    velocity, acceleration = np.zeros_like(posture), np.zeros_like(posture)
    velocity[:, given], acceleration[:, given] = dq, ddq
    if solved and (dq.any() or ddq.any()):
        unit = branch.unit
        velocity[:, solved] = -unit[solved] * apply(
            here.inverse, apply(here.jacobian, velocity / unit)
        )
        runaway = gap_acceleration(
            mechanism, kinematics(mechanism, posture, velocity, acceleration)
        )
        acceleration[:, solved] = -unit[solved] * apply(here.inverse, runaway / branch.row_unit)
    return ClosedMotion(posture, velocity, acceleration, here.condition, here)


def closed_loads(
    mechanism: Mechanism,
    motion: ClosedMotion,
    torque: ArrayLike | None = None,
    external: ArrayLike | None = None,
) -> ClosedLoads:
    """Compute cut-joint forces, joint loads and driving torques of a
    closed chain (Eqs. 26, 27, 55).

    Parameters
    ----------
    mechanism : Mechanism
        Mechanism with closures.
    motion : ClosedMotion
        Motion from `close_loops`.
    torque : array_like, shape (N, n), optional
        Torques that resist the joints; friction is positive at positive velocity; default zero [N·m
        or N]. Spring torques of the mechanism are added. Elastic joints that the loops leave free
        follow the given motion, as if a drive held them.
    external : array_like, shape (N, n, 6), optional
        External force, and moment about the joint origin, on each link in base axes [N, N·m].

    Raises
    ------
    PostureError
        If the posture is singular: the passive joints do not determine the forces.
    """
    return ForceBalance(mechanism, LoopsInMotion(mechanism, motion)).loads(torque, external)


class LoopsInMotion:
    """Geometry of a closed chain in one motion, which masses and friction do not change.

    Parameters and errors as in `closed_loads`.
    """

    def __init__(self, mechanism: Mechanism, motion: ClosedMotion) -> None:
        self.tree, self.motion = replace(mechanism, closures=()), motion
        self.branch = branch_of(mechanism, telling_joints(mechanism))
        known = motion.linearised
        self.linearised = (
            known if known and known.branch.known == self.branch.known else self.branch.at(motion.q)
        )
        self.condition = self.linearised.condition
        _refuse_singular(
            mechanism, self.condition, motion.q[:, list(mechanism.active)], mechanism.active
        )

    @cached_property
    def pose(self) -> Kinematics:
        """Pose and velocities of the links."""
        return kinematics(self.tree, self.motion.q, self.motion.dq)

    @cached_property
    def jacobian(self) -> Array:
        """Scaled Jacobian of the closures, shape (N, rows, n)."""
        return self.linearised.jacobian

    @cached_property
    def inverse(self) -> Array:
        """Pseudoinverse of the transposed Jacobian of the solved
        joints, shape (N, rows, solved).
        """
        return self.linearised.inverse.transpose(0, 2, 1)

    @cached_property
    def internal(self) -> InternalForces:
        """Internal forces that the torques of the joints leave open."""
        return InternalForces.of(self.linearised, self.pose)

    @cached_property
    def of_closures(self) -> Array:
        """Force and moment about the origin of each driven joint that a unit of each scaled
        multiplier of the closures causes, base axes, shape (rows, N, drives, 2, 3).
        """
        m, drives = self.branch.mechanism, list(self.branch.mechanism.active)
        units = np.diag(1.0 / self.branch.row_unit)[:, None]
        return np.array(
            [
                transmitted(
                    m, self.pose, on_links(m, self.pose, *cut_wrenches(m, self.pose, unit))
                )[:, drives]
                for unit in units.repeat(len(self.motion.q), axis=1)
            ]
        )


@dataclass(frozen=True)
class ForceBalance:
    """Forces of a closed chain in one motion, for any resisting torques and external forces.

    Attributes
    ----------
    mechanism : Mechanism
        Mechanism with closures.
    loops : LoopsInMotion
        Geometry of the mechanism, or of a mechanism that differs in masses and friction only.
    """

    mechanism: Mechanism
    loops: LoopsInMotion

    @property
    def motion(self) -> ClosedMotion:
        """The motion."""
        return self.loops.motion

    @property
    def pose(self) -> Kinematics:
        """Pose and velocities of the links."""
        return self.loops.pose

    @cached_property
    def tree(self) -> Mechanism:
        """The mechanism without closures."""
        return replace(self.mechanism, closures=())

    @cached_property
    def free(self) -> Array:
        """Torques of all joints in the open tree without friction and external
        forces, shape (N, n) [N·m or N].
        """
        return self._resisting(None)

    def _resisting(self, external: ArrayLike | None) -> Array:
        q, dq, ddq = self.motion.q, self.motion.dq, self.motion.ddq
        return np.asarray(
            inverse_dynamics(self.tree, q, dq, ddq, external)
            + rotor_torque(self.mechanism, ddq)
            + spring_torque(self.mechanism, q, dq)
        )

    def loads(
        self,
        torque: ArrayLike | None = None,
        external: ArrayLike | None = None,
        hidden: bool = True,
    ) -> ClosedLoads:
        """As `closed_loads`; with `hidden` false, an undetermined load is one of many
        possible values instead of nan.
        """
        m, loops, branch = self.mechanism, self.loops, self.loops.branch
        (q, dq, ddq), unit = (self.motion.q, self.motion.dq, self.motion.ddq), branch.unit
        alone = external is None or (np.shape(external) == (*q.shape, 6) and not np.any(external))
        rest = self.free if alone else self._resisting(external)
        if torque is not None:
            rest = rest + batch("torque", torque, m, len(q))
        lam = apply(loops.inverse, (rest * unit)[:, branch.solved])
        tau = rest - apply(loops.jacobian.transpose(0, 2, 1), lam) / unit
        tau[:, list(m.passive)] = 0.0
        force, moment = cut_wrenches(m, self.pose, lam / branch.row_unit)
        joints = joint_loads(self.tree, q, dq, ddq, on_links(m, self.pose, force, moment, external))
        told = joints, force, moment
        if m.sharing == "equal":
            told = replace(loops.internal, mechanism=m).share(*told)
        elif hidden:
            told = loops.internal.hide(*told)
        return ClosedLoads(tau, *told, loops.condition)

    def wrench_slopes(self, directions: Array) -> Iterator[WrenchSlopes]:
        """Yield the wrench of every driven joint, numbered among the driven joints, and its
        derivatives by changes of the inertial parameters, (10 n, k); no joint has friction.
        """
        m, loops, drives = self.mechanism, self.loops, list(self.mechanism.active)
        q, dq, ddq = self.motion.q, self.motion.dq, self.motion.ddq
        rest, of_drives = np.zeros((len(q), m.n, directions.shape[1])), dict[int, WrenchSlopes]()
        for own in wrench_slopes(self.tree, directions, q, dq, ddq):
            of_torque = own.slopes[0 if m.prismatic[own.joint] else 1, 2]
            rest[own.rows, own.joint, own.columns] = of_torque.T
            if own.joint in drives:
                of_drives[own.joint] = own
        solved = list(loops.branch.solved)
        lam = loops.inverse @ (rest[:, solved] * loops.branch.unit[solved, None])
        found = self.loads(hidden=False).joints
        for k, j in enumerate(drives):
            own = of_drives[j]
            through = np.einsum("cin,rnpi->npcr", own.base, loops.of_closures[:, :, k])
            slopes = (through.reshape(len(q), 6, -1) @ lam).transpose(1, 2, 0)
            slopes = slopes.reshape(2, 3, *slopes.shape[1:])
            slopes[:, :, own.columns] += own.slopes
            wrench = np.einsum("cin,pni->pcn", own.base, (found.force[:, j], found.moment[:, j]))
            yield WrenchSlopes(
                own.rows, k, wrench, np.arange(directions.shape[1]), slopes, own.base
            )


def branch_of(m: Mechanism, known: Sequence[int]) -> Branch:
    """Return the assembly branch of a closed chain for given known joints;
    errors as in `close_loops`.
    """
    known = tuple(known)
    if not m.closures:
        raise InputError(f"{m.name} has no loops to close; use joint_loads and driving_torque")
    if len(set(known)) < len(known) or not set(known) <= set(range(m.n)):
        raise InputError(
            f"{m.name}: known = {list(known)}; joint numbers from 0 to {m.n - 1} are needed, each "
            "at most once"
        )
    return Branch(m, known, tuple(joint for joint in range(m.n) if joint not in known))


def telling_joints(m: Mechanism) -> tuple[int, ...]:
    """Return the joints whose positions determine the posture of a closed chain.

    These are the driven joints, and one elastic joint for each degree of freedom that the driven
    joints leave. The choice makes the Jacobian of the other elastic joints as well-conditioned as
    possible (QR with pivoting).
    """
    driven, rigid = list(m.active), [j for j in m.passive if j not in m.springs]
    elastic = [j for j in m.passive if j in m.springs]
    if not elastic:
        return m.active
    whole = Branch(m, (), tuple(range(m.n)))
    G = whole.jacobian(np.zeros((1, m.n)))[0]
    told, _ = np.linalg.qr(G[:, rigid])
    left = G[:, elastic] - told @ (told.T @ G[:, elastic])
    rank = int(np.linalg.matrix_rank(left, tol=RANK))
    moved = [elastic[k] for k in qr(left, mode="r", pivoting=True)[1][:rank]]
    return tuple(sorted({*driven, *elastic} - {*moved}))


def swinging_joints(m: Mechanism) -> tuple[int, ...]:
    """Return the joints whose motion does not follow from the motion of the drives.

    In a tree these are all joints without a drive. In a closed chain these are the elastic joints
    that the loops leave free.
    """
    return tuple(j for j in telling_joints(m) if j not in m.active) if m.closures else m.passive


def _refuse_singular(m: Mechanism, condition: Array, known: Array, joints: Sequence[int]) -> None:
    if (condition < SINGULAR).all():
        return
    row = int(np.argmax(condition))
    where = ", ".join(
        f"{m.names[joint]} = {value:.4f}" for joint, value in zip(joints, known[row], strict=True)
    )
    raise PostureError(
        f"{m.name}: the posture at {where} is singular: condition number {condition[row]:.1e} of "
        f"the Jacobian of the other joints, at most {SINGULAR:.0e} is allowed; a singular posture "
        "does not determine the forces",
        float(condition[row]),
    )


def _known(
    name: str, value: ArrayLike, m: Mechanism, known: list[int], samples: int | None = None
) -> Array:
    array = np.asarray(value, dtype=float)
    if (
        array.ndim != 2
        or array.shape[1] != len(known)
        or (samples is not None and len(array) != samples)
    ):
        raise InputError(
            f"{name} has shape {array.shape}, {m.name} needs ({samples or 'N'}, {len(known)}) for "
            f"the joints {', '.join(m.names[joint] for joint in known)}"
        )
    if not np.isfinite(array).all():
        row, column = np.argwhere(~np.isfinite(array))[0]
        raise InputError(
            f"{name} of joint {m.names[known[column]]} is not finite in row {row}: "
            f"{array[row, column]}; finite numbers are needed"
        )
    return array
