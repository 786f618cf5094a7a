r"""Closed chains: a tree whose loops are closed by cut joints (P0, Eqs. 23-27, 55).

The tree moves with all its joints, of which some are known; the closures give the rest. With the Jacobian G of the
closures the cut-joint forces :math:`\lambda` are what makes the passive joints carry their own torque only,

.. math:: (M \ddot q + h)_p = \tau_p + (G^T \lambda)_p, \qquad \tau_a = (M \ddot q + h)_a - (G^T \lambda)_a.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ident.closures import cut_wrenches, drift, gap, jacobian, on_links
from ident.dynamics import inverse_dynamics, kinematics
from ident.errors import InputError
from ident.loads import JointLoads, joint_loads
from ident.mechanism import Array, Mechanism
from ident.sweep import batch

_CLOSED = 1e-12         # m and rad; what counts as closed
_STEP = 0.05            # rad or m of a known joint on the way from the posture at q = 0
_LEAST_STEP = 5e-3      # below which no smaller steps are tried
_JUMP = 0.5             # rad or m; what a solved joint may move in a step
_NEWTON = 12            # steps of Newton's method; near a posture that is closed it takes four
_SINGULAR = 1e8         # condition number of the passive joints from which the posture is singular


class PostureError(InputError):
    """A posture that a closed chain cannot take, or in which its forces are not determined.

    Attributes
    ----------
    condition : float
        Condition number of the passive joints' Jacobian there; infinite where no posture closes the loops.
    reachable : ndarray, shape (k, 2) or None
        How far the known joints come on the straight way from where all are zero, and back.
    """

    def __init__(self, message: str, condition: float, reachable: Array | None = None) -> None:
        super().__init__(message)
        self.condition, self.reachable = condition, reachable


@dataclass(frozen=True)
class ClosedMotion:
    """Motion of all joints of a closed chain, which closes its loops.

    Attributes
    ----------
    q, dq, ddq : ndarray, shape (N, n)
        Positions, velocities and accelerations.
    condition : ndarray, shape (N,)
        Condition number of the Jacobian of the joints that were solved for.
    """

    q: Array
    dq: Array
    ddq: Array
    condition: Array


@dataclass(frozen=True)
class ClosedLoads:
    """Forces in a closed chain.

    Attributes
    ----------
    tau : ndarray, shape (N, n)
        Driving torques; zero in passive joints [N·m or N].
    joints : JointLoads
        Loads of the tree's joints under the cut-joint forces.
    force, moment : ndarray, shape (N, closures, 3)
        On link a of each closure from its link b, at the closure's point, in base axes [N, N·m].
    condition : ndarray, shape (N,)
        Condition number of the passive joints' Jacobian.
    """

    tau: Array
    joints: JointLoads
    force: Array
    moment: Array
    condition: Array


def close_loops(mechanism: Mechanism, q: ArrayLike, dq: ArrayLike | None = None, ddq: ArrayLike | None = None,
                known: Sequence[int] | None = None) -> ClosedMotion:
    """Motion of all joints from that of the known ones (Eqs. 23-25).

    The posture at q = 0, closed first if it is not quite, is the branch that is followed.

    Parameters
    ----------
    mechanism : Mechanism
        With closures.
    q, dq, ddq : array_like, shape (N, k)
        Positions, velocities and accelerations of the known joints; the last two default to zero.
    known : sequence of int, optional
        Which joints are known; default the active ones.

    Raises
    ------
    PostureError
        If a posture cannot be reached or is singular; says how far the known joints come.
    InputError
        If a shape does not fit or the closures do not determine the other joints.
    """
    known = list(mechanism.active if known is None else known)
    solved = [joint for joint in range(mechanism.n) if joint not in known]
    wanted = _known("q", q, mechanism, known)
    rates = [np.zeros_like(wanted) if rate is None else _known(name, rate, mechanism, known, len(wanted))
             for name, rate in (("dq", dq), ("ddq", ddq))]
    posture = _follow(mechanism, wanted, known, solved)
    G, condition = jacobian(mechanism, kinematics(mechanism, posture)), np.ones(len(wanted))
    velocity, acceleration = np.zeros_like(posture), np.zeros_like(posture)
    velocity[:, known], acceleration[:, known] = rates
    if solved:
        condition = _condition(G[:, :, solved])
        _refuse_singular(mechanism, condition, wanted, known)
        inverse = _inverse(G[:, :, solved])
        velocity[:, solved] = -_apply(inverse, _apply(G[:, :, known], velocity[:, known]))
        runaway = drift(mechanism, kinematics(mechanism, posture, velocity, acceleration))
        acceleration[:, solved] = -_apply(inverse, runaway)
    return ClosedMotion(posture, velocity, acceleration, condition)


def closed_loads(mechanism: Mechanism, motion: ClosedMotion, torque: ArrayLike | None = None,
                 external: ArrayLike | None = None) -> ClosedLoads:
    """Cut-joint forces, joint loads and driving torques of a closed chain (Eqs. 26, 27, 55).

    Parameters
    ----------
    mechanism : Mechanism
        With closures.
    motion : ClosedMotion
        From `close_loops`.
    torque : array_like, shape (N, n), optional
        Torques that resist the joints, friction positive with velocity; default none [N·m or N]. Springs of the mechanism
        are added.
    external : array_like, shape (N, n, 6), optional
        Force and moment about the joint origin that act on each link from outside, in base axes [N, N·m].

    Raises
    ------
    PostureError
        If the posture is singular: the passive joints do not determine the forces.
    """
    tree, passive = _tree(mechanism), list(mechanism.passive)
    q, dq, ddq = motion.q, motion.dq, motion.ddq
    resisting = np.zeros_like(q) if torque is None else batch("torque", torque, mechanism, len(q)).copy()
    for joint, spring in mechanism.springs.items():
        resisting[:, joint] += spring.stiffness * q[:, joint] + spring.damping * dq[:, joint]
    pose = kinematics(tree, q)
    G = jacobian(mechanism, pose)
    rest = inverse_dynamics(tree, q, dq, ddq, external) + resisting
    condition = _condition(G[:, :, passive])
    _refuse_singular(mechanism, condition, q[:, list(mechanism.active)], mechanism.active)
    lam = _apply(_inverse(G[:, :, passive]).transpose(0, 2, 1), rest[:, passive])
    tau = rest - _apply(G.transpose(0, 2, 1), lam)
    tau[:, passive] = 0.0
    force, moment = cut_wrenches(mechanism, pose, lam)
    loads = joint_loads(tree, q, dq, ddq, on_links(mechanism, pose, force, moment, external))
    return ClosedLoads(tau, loads, force, moment, condition)


def _follow(m: Mechanism, wanted: Array, known: list[int], solved: list[int]) -> Array:
    """Closed postures, (N, n), followed from q = 0 along straight ways of the known joints."""
    home = np.zeros((1, m.n))
    if solved:
        G = jacobian(m, kinematics(m, home))[:, :, solved]
        rank, condition = int(np.linalg.matrix_rank(G[0], tol=1e-8)), float(_condition(G)[0])
        if rank < len(solved):
            raise PostureError(f"{m.name}: at q = 0 the closures determine only {rank} of {len(solved)} joints (condition number "
                               f"{condition:.1e}): a closure is missing, or this posture is singular; the joints are "
                               f"{', '.join(m.names[joint] for joint in solved)}", condition)
    if not _newton(m, home, solved).all():
        raise PostureError(f"{m.name}: the loops do not close at q = 0; its geometry is wrong", np.inf)
    size, posture = _STEP, np.repeat(home, len(wanted), axis=0)
    rows = np.arange(len(wanted))
    while len(rows):
        posture[rows], good = _walk(m, home, wanted[rows], known, solved, size)
        rows, size = rows[~good], size / 8.0            # near the end of a branch smaller steps may still stay on it
        if len(rows) and size < _LEAST_STEP:
            raise _unreachable(m, wanted[rows[0]], known, solved, home[0])
    return posture


def _walk(m: Mechanism, home: Array, wanted: Array, known: list[int], solved: list[int],
          size: float) -> tuple[Array, NDArray[np.bool_]]:
    """Postures at the end of the ways from `home`, in steps of at most `size`; which ways closed without a jump."""
    steps = max(1, int(np.ceil(np.abs(wanted).max(initial=0.0) / size)))
    posture = np.repeat(home, len(wanted), axis=0)
    good: NDArray[np.bool_] = np.ones(len(wanted), dtype=bool)
    for step in range(1, steps + 1):
        before = posture.copy()
        posture[:, known] = wanted * (step / steps)
        if solved:
            G = jacobian(m, kinematics(m, before))
            way = _apply(G[:, :, known], (posture - before)[:, known])
            posture[:, solved] -= np.clip(_apply(_inverse(G[:, :, solved]), way), -_JUMP, _JUMP)
        closed = _newton(m, posture, solved)
        good = good & closed & (np.abs(posture - before).max(axis=1) < _JUMP)       # further than that is another assembly
        if not good.any():
            break
        posture[~good] = before[~good]
    return posture, good


def _newton(m: Mechanism, q: Array, solved: list[int]) -> NDArray[np.bool_]:
    """Close the loops by Newton's method from q, in place; tells which rows are closed."""
    for _ in range(_NEWTON):
        pose = kinematics(m, q)
        open_by = gap(m, pose)
        if not solved or np.abs(open_by).max() < 0.01 * _CLOSED:
            break
        step = _apply(_inverse(jacobian(m, pose)[:, :, solved]), open_by)
        q[:, solved] -= np.clip(step, -0.5, 0.5)
    return np.asarray(np.abs(gap(m, kinematics(m, q))).max(axis=1) < _CLOSED, dtype=bool)


def _unreachable(m: Mechanism, wanted: Array, known: list[int], solved: list[int], home: Array) -> PostureError:
    """How far the known joints come towards `wanted`, and the other way."""
    ends = np.array([_reach(m, way, known, solved, home) for way in (-wanted, wanted)])
    far = np.array([-ends[0] * wanted, ends[1] * wanted]).T
    far.sort(axis=1)
    said = ", ".join(f"{m.names[joint]} from {low:.4f} to {high:.4f} {'m' if m.prismatic[joint] else 'rad'}"
                     for joint, (low, high) in zip(known, far, strict=True) if low < high)
    asked = ", ".join(f"{m.names[joint]} = {value:.4f}" for joint, value in zip(known, wanted, strict=True) if value)
    return PostureError(f"{m.name}: no posture closes the loops at {asked}: the way there is singular (condition number "
                        f"infinite) at its end; reachable along it: {said}", np.inf, far)


def _reach(m: Mechanism, way: Array, known: list[int], solved: list[int], home: Array) -> float:
    """Part of a way of the known joints from zero, at most 20 times as long, on which the loops close."""
    size, s, posture = _STEP / np.abs(way).max(), 0.0, home.copy()
    while size * np.abs(way).max() > 1e-9 and s < 20.0:
        trial = posture.copy()
        trial[known] = (s + size) * way
        row = trial[None]
        if _newton(m, row, solved).all() and np.abs(row[0] - posture).max() < _JUMP:
            s, posture = s + size, row[0]
        else:
            size /= 2.0
    return s


def _condition(G: Array) -> Array:
    """Greatest over least singular value that the solved joints need, shape (N,)."""
    if G.shape[2] == 0:
        return np.ones(len(G))
    if G.shape[1] < G.shape[2]:
        return np.full(len(G), np.inf)
    values = np.linalg.svd(G, compute_uv=False)
    return np.asarray(values[:, 0] / np.maximum(values[:, -1], 1e-300))


def _refuse_singular(m: Mechanism, condition: Array, known: Array, joints: Sequence[int]) -> None:
    if (condition < _SINGULAR).all():
        return
    row = int(np.argmax(condition))
    where = ", ".join(f"{m.names[joint]} = {value:.4f}" for joint, value in zip(joints, known[row], strict=True))
    raise PostureError(f"{m.name}: the posture at {where} is singular: condition number {condition[row]:.1e} of the passive "
                       f"joints, at most {_SINGULAR:.0e} is allowed; forces there are not determined", float(condition[row]))


def _inverse(G: Array) -> Array:
    """Pseudoinverse, (N, k, rows): loops in a plane have rows that say the same."""
    return np.asarray(np.linalg.pinv(G, rcond=1.0 / _SINGULAR), dtype=np.float64)


def _tree(m: Mechanism) -> Mechanism:
    return replace(m, closures=())


def _apply(matrix: Array, vector: Array) -> Array:
    return np.asarray((matrix @ vector[..., None])[..., 0])


def _known(name: str, value: ArrayLike, m: Mechanism, known: list[int], samples: int | None = None) -> Array:
    array = np.asarray(value, dtype=float)
    if array.ndim != 2 or array.shape[1] != len(known) or (samples is not None and len(array) != samples):
        raise InputError(f"{name} has shape {array.shape}, {m.name} needs ({samples or 'N'}, {len(known)}) for the joints "
                         f"{', '.join(m.names[joint] for joint in known)}")
    if not np.isfinite(array).all():
        row, column = np.argwhere(~np.isfinite(array))[0]
        raise InputError(f"{name} of joint {m.names[known[column]]} is not a number in row {row}")
    return array
