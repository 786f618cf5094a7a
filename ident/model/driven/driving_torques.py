r"""Friction in the dynamics: driving torques (P0, Eqs. 42, 52, 53, 55, 56,
Algorithm 1; P4, Eqs. 3-5).

.. math:: M \ddot q + h = \tau_d - \tau_f(\dot q, N), \qquad N = N(q, \dot q, \ddot q)

Friction of a joint depends on the load of the joint. In a tree, friction acts about the joint axis
and does not change any load. In a closed chain with friction in passive or spherical joints, loads
and friction depend on each other and are solved together.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from stribeck.ident.arrays import Array
from stribeck.ident.errors import InputError
from stribeck.ident.laws.law_table import law_named
from stribeck.ident.model.chains.closed_chain import (
    ClosedLoads,
    ClosedMotion,
    ForceBalance,
    LoopsInMotion,
    close_loops,
    swinging_joints,
)
from stribeck.ident.model.chains.rest import set_off
from stribeck.ident.model.driven.ball_friction import cut_balls, tree_balls
from stribeck.ident.model.dynamics import kinematics, rotor_torque
from stribeck.ident.model.elastic_joints import spring_torque
from stribeck.ident.model.loads import JointLoads, joint_loads
from stribeck.ident.model.mechanism import Mechanism
from stribeck.ident.model.recursion import batch

# relative change of friction between iterations at which the iteration has converged
_SETTLED = 1e-13
_TURNS = 500  # iterations
# N or N·m; a larger change of friction between iterations means a self-locking mechanism
_LOCKED = 1e12


@dataclass(frozen=True)
class Driving:
    """Driving torques of a given motion, with friction and loads.

    Attributes
    ----------
    tau : ndarray, shape (N, n)
        Driving torques with friction and springs; zero in passive joints [N·m or N].
    friction : ndarray, shape (N, n)
        Friction torques about the joint axes [N·m or N].
    loads : JointLoads
        Loads on which friction depends.
    closed : ClosedLoads or None
        Cut-joint forces of a closed chain.
    """

    tau: Array
    friction: Array
    loads: JointLoads
    closed: ClosedLoads | None = None


def joint_friction(mechanism: Mechanism, dq: ArrayLike, loads: JointLoads) -> Array:
    """Compute the friction torque of every joint by the mechanism's laws (Eqs. 42,
    52), shape (N, n) [N·m or N].
    """
    dq = batch("dq", dq, mechanism)
    friction = np.zeros_like(dq)
    for j, stated in mechanism.friction.items():
        load = None if stated.load == "none" else loads.get(stated.load)[:, j]
        friction[:, j] = law_named(stated.law).function(dq[:, j], **stated.parameters, load=load)
    return friction


def driving_torque(
    mechanism: Mechanism,
    q: ArrayLike,
    dq: ArrayLike,
    ddq: ArrayLike,
    external: ArrayLike | None = None,
) -> Driving:
    """Compute the driving torques of a tree with friction and springs (Eq. 53, Algorithm 1).

    The function does not check that passive joints can follow the given motion without a drive. Use
    `simulate` for the motion of passive joints, and `equilibrium` for their posture at rest.

    Parameters
    ----------
    mechanism : Mechanism
        A tree with its friction, springs and rotors.
    q, dq, ddq : array_like, shape (N, n)
        Motion of all joints.
    external : array_like, shape (N, n + k, 6), optional
        As in `joint_loads`.
    """
    loads = joint_loads(mechanism, q, dq, ddq, external)
    friction = joint_friction(mechanism, dq, loads)
    if any(ball.friction_arm for ball in mechanism.balls):
        friction += tree_balls(mechanism, kinematics(mechanism, q, dq), loads.force)
    q, dq, ddq = (
        batch(name, value, mechanism) for name, value in (("q", q), ("dq", dq), ("ddq", ddq))
    )
    tau = loads.tau + rotor_torque(mechanism, ddq) + friction + spring_torque(mechanism, q, dq)
    tau[:, list(mechanism.passive)] = 0.0
    return Driving(tau, friction, loads)


def closed_driving_torque(
    mechanism: Mechanism, motion: ClosedMotion, external: ArrayLike | None = None
) -> Driving:
    """Compute the driving torques of a closed chain with friction (Eqs. 55, 56; P4, Eqs. 3-5).

    Parameters
    ----------
    mechanism : Mechanism
        A closed chain with its friction and rotors.
    motion : ClosedMotion
        Motion from `close_loops`.
    external : array_like, shape (N, n, 6), optional
        As in `driving_torque`.

    Raises
    ------
    PostureError
        If the posture is singular.
    InputError
        If the iteration of friction and loads does not converge because the
        mechanism is self-locking.
    """
    return balanced_torque(ForceBalance(mechanism, LoopsInMotion(mechanism, motion)), external)


def balanced_torque(balance: ForceBalance, external: ArrayLike | None = None) -> Driving:
    """As `closed_driving_torque`, from the balance of the mechanism in its motion."""
    mechanism, motion = balance.mechanism, balance.motion
    acting = (
        np.zeros((*motion.q.shape, 6)) if external is None else np.asarray(external, dtype=float)
    )
    found, friction, rubbing = (
        balance.loads(None, acting),
        np.zeros_like(motion.q),
        np.zeros_like(acting),
    )
    for turn in range(_TURNS):
        before, moments = friction, rubbing
        friction, rubbing = _rubbed(balance, found)
        # only the first and last loads are checked: the check takes most of the time
        if turn == 0:
            refuse_undetermined(mechanism, friction, rubbing)
        change = np.maximum(
            np.abs(friction - before).max(axis=1, initial=0.0),
            np.abs(rubbing - moments).max(axis=(1, 2), initial=0.0),
        )
        if (change <= _SETTLED * np.maximum(np.abs(found.tau).max(axis=1, initial=0.0), 1.0)).all():
            found = balance.loads(friction, acting + rubbing)
            refuse_undetermined(mechanism, *_rubbed(balance, found))
            return Driving(found.tau, friction, found.joints, found)
        found = balance.loads(friction, acting + rubbing, hidden=False)
        if change.max() > _LOCKED:
            break
    raise InputError(
        f"{mechanism.name}: friction and joint loads find no balance in row "
        f"{int(np.argmax(change))}: the mechanism locks itself at this posture; lower the friction "
        "coefficient or friction_arm, or move away from the singular posture"
    )


def _rubbed(balance: ForceBalance, found: ClosedLoads) -> tuple[Array, Array]:
    """Return friction under given loads: of the tree's joints, (N, n), and of cut joints as
    wrenches on links, (N, n, 6).
    """
    m = balance.mechanism
    friction = joint_friction(m, balance.motion.dq, found.joints) + tree_balls(
        m, balance.pose, found.joints.force
    )
    return friction, cut_balls(m, balance.pose, found.force)[0]


def drive(
    mechanism: Mechanism, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike
) -> tuple[Array, Driving]:
    """Compute one state of any mechanism from its driven joints: loops close, elastic and
    hanging joints are at rest.

    Parameters
    ----------
    mechanism : Mechanism
        A tree or closed chain.
    q, dq, ddq : array_like, shape (k,)
        Positions, velocities and accelerations of the driven joints.

    Returns
    -------
    q : ndarray, shape (n,)
        Positions of all joints.
    driving : Driving
        Torques, friction and loads of this one sample.

    Raises
    ------
    PostureError
        If the posture cannot be reached or is singular.
    InputError
        If a mechanism with elastic or hanging joints is to move (these joints would swing), if the
        mechanism has no stable posture at rest near q = 0, or if the computation overflows.
    """
    wanted = [np.asarray(value, dtype=float) for value in (q, dq, ddq)]
    try:
        with np.errstate(over="raise"):
            posture, driving = _drive(mechanism, *wanted)
    except FloatingPointError:
        raise _overflow(mechanism, wanted) from None
    if np.isfinite(wanted).all() and not np.isfinite(driving.tau).all():
        raise _overflow(mechanism, wanted)
    return posture, driving


def _overflow(m: Mechanism, wanted: list[Array]) -> InputError:
    """Return an error that names the greatest input value."""
    which, k = np.unravel_index(np.argmax(np.abs(wanted)), np.shape(wanted))
    joint, name = m.active[k], ("q", "dq", "ddq")[which]
    unit = m.position_unit(joint) + ("", "/s", "/s²")[which]
    return InputError(
        f"{m.name}: {name} of joint {m.names[joint]} = {wanted[which][k]:g} {unit} is too large: "
        "the computation overflows; give a smaller value"
    )


def _drive(mechanism: Mechanism, q: Array, dq: Array, ddq: Array) -> tuple[Array, Driving]:
    """As `drive`, without the check for overflow."""
    swinging = swinging_joints(mechanism)
    if not swinging and mechanism.closures:
        motion = close_loops(mechanism, q[None], dq[None], ddq[None])
        return motion.q[0], closed_driving_torque(mechanism, motion)
    if not swinging:
        return q, driving_torque(mechanism, q[None], dq[None], ddq[None])
    if np.any(dq) or np.any(ddq):
        raise InputError(
            f"{mechanism.name} has passive joints (for example {mechanism.names[swinging[0]]}) "
            "that swing when the mechanism moves, and a single state does not determine this "
            "swing; ask for the loads at rest (dq and ddq zero) or along a motion (--motion)"
        )
    still, _ = set_off(mechanism, q, dq)
    posture, nothing = still[None], np.zeros((1, mechanism.n))
    if mechanism.closures:
        return still, closed_driving_torque(
            mechanism, ClosedMotion(posture, nothing, nothing, np.ones(1))
        )
    return still, driving_torque(mechanism, posture, nothing, nothing)


def refuse_undetermined(m: Mechanism, friction: Array, rubbing: Array) -> None:
    """Raise `InputError` if friction depends on loads that rigid-body mechanics
    does not determine (nan).
    """
    joints = [m.names[j] for j in np.flatnonzero(np.isnan(friction).any(axis=0))]
    if joints or np.isnan(rubbing).any():
        raise InputError(
            f"{m.name}: friction of {', '.join(joints) or 'its cut joints'} depends on loads that "
            "rigid-body mechanics does not determine: the chain is overconstrained, and loads act "
            "across its plane; give a link a universal and a spherical joint instead of pins, or "
            "leave out the friction of these joints"
        )
