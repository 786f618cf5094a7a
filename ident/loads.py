r"""Joint loads: what presses, bends and twists a joint (Eqs. 37-47).

From the force f and the moment m about the joint origin that the parent exerts on the subtree. All
loads are even under time reversal and do not depend on friction in the tree.
"""

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import ArrayLike

from ident.dynamics import joint_wrenches
from ident.errors import InputError
from ident.mechanism import Array, Bearing, Mechanism

LOADS = ("torque", "bending", "radial", "axial", "normal")


@dataclass(frozen=True)
class JointLoads:
    """Loads of every joint along a motion.

    Attributes
    ----------
    torque : ndarray, shape (N, n)
        Transmitted torque ``|tau_rigid|`` (force, where prismatic), link side, without rotor inertia.
    bending : ndarray, shape (N, n)
        ``|m - n(n.m)|`` [N·m].
    radial, axial : ndarray, shape (N, n)
        ``|f - n(n.f)|`` and ``|n.f|`` [N].
    normal : ndarray, shape (N, n)
        Normal load of Eq. 47 [N·m; N where prismatic]; nan where the bearing is unknown.
    tau : ndarray, shape (N, n)
        Signed rigid-body torque (force) of the drive [N·m or N].
    force, moment : ndarray, shape (N, n, 3)
        Wrench on the subtree about the joint origin, base axes.
    """

    torque: Array
    bending: Array
    radial: Array
    axial: Array
    normal: Array
    tau: Array
    force: Array
    moment: Array

    def get(self, load: str) -> Array:
        """Load by name, shape (N, n)."""
        if load not in LOADS:
            raise InputError(f"unknown load {load!r} (valid: {', '.join(LOADS)})")
        return np.asarray(getattr(self, load))


def joint_loads(mechanism: Mechanism, q: ArrayLike, dq: ArrayLike | None = None,
                ddq: ArrayLike | None = None) -> JointLoads:
    """Loads of every joint for a batch of samples.

    A follower (URDF ``mimic``) moves with its leader and loads every joint that carries it; the torque of the
    leader's drive includes ratio times the follower's (virtual work).

    Parameters
    ----------
    mechanism : Mechanism
        The rigid-body model.
    q, dq, ddq : array_like, shape (N, n)
        Joint positions, velocities, accelerations [rad or m, and per s, s²]; the last two default to zero.

    Returns
    -------
    JointLoads
        Transmitted torque, bending, radial, axial and normal load, and the wrenches they come from.

    Raises
    ------
    InputError
        If a shape does not fit the mechanism or a value is not finite.

    References
    ----------
    Guo, Ju and Wang, Aerospace 11 (2024) 368, Eqs. 37-47.
    """
    if mechanism.followers:
        return _loads_with_followers(mechanism, q, dq, ddq)
    wrenches = joint_wrenches(mechanism, q, dq, ddq)
    n, f, m = wrenches.axis, wrenches.force, wrenches.moment
    f_axial, m_axial = _along(n, f), _along(n, m)
    radial, axial = _across(n, f, f_axial), np.abs(f_axial)
    bending = _across(n, m, m_axial)
    tau = np.where(mechanism.prismatic, f_axial, m_axial)
    normal = np.full_like(tau, np.nan)
    for j, bearing in enumerate(mechanism.bearings):
        if bearing is not None:
            normal[:, j] = normal_load(bearing, bool(mechanism.prismatic[j]), bending=bending[:, j],
                                       radial=radial[:, j], axial=axial[:, j], twist=np.abs(m_axial[:, j]))
    return JointLoads(np.abs(tau), bending, radial, axial, normal, tau, f, m)


def _loads_with_followers(mechanism: Mechanism, q: ArrayLike, dq: ArrayLike | None, ddq: ArrayLike | None) -> JointLoads:
    """Loads of the tree in which leaders move their followers."""
    n, followers = mechanism.n, mechanism.followers
    leader, ratio, shift = (np.array([getattr(follower, key) for follower in followers])
                            for key in ("leader", "ratio", "shift"))

    def whole(name: str, value: ArrayLike | None, shift: Array | float = 0.0) -> Array | None:
        if value is None:
            return None
        value = np.asarray(value, dtype=float)
        if value.ndim != 2 or value.shape[1] != n:
            raise InputError(f"{name} has shape {value.shape}, {mechanism.name} needs (N, {n}) "
                             f"with columns {', '.join(mechanism.names)}")
        return np.hstack([value, ratio * value[:, leader] + shift])

    loads = joint_loads(mechanism.tree, np.asarray(whole("q", q, shift)), whole("dq", dq), whole("ddq", ddq))
    tau = loads.tau[:, :n].copy()
    for k in range(len(followers)):
        tau[:, leader[k]] += ratio[k] * loads.tau[:, n + k]
    own = {item.name: getattr(loads, item.name)[:, :n] for item in fields(loads)}
    return JointLoads(**{**own, "tau": tau, "torque": np.abs(tau)})


def normal_load(bearing: Bearing, prismatic: bool, bending: Array, radial: Array, axial: Array,
                twist: Array) -> Array:
    r"""Scalar load that presses the rubbing surfaces together (Eq. 47).

    .. math:: N = (\tau_r / R_b + f_r) R_p + f_m R_n \quad\text{(revolute)}, \qquad
              N = \tau_p / R_b + f_p + \tau_m / R_n \quad\text{(prismatic)}

    Parameters
    ----------
    bearing : Bearing
        R_p, R_n and R_b [m].
    prismatic : bool
        Which of the two forms.
    bending, radial, axial, twist : ndarray, shape (N,)
        Moment across the axis [N·m], force across and along it [N], moment about it [N·m].

    Returns
    -------
    ndarray, shape (N,)
        Normal load [N·m; N for a prismatic joint].
    """
    if prismatic:
        return bending / bearing.bending_arm + radial + twist / bearing.friction_arm
    return (bending / bearing.bending_arm + radial) * bearing.pin_radius + axial * bearing.friction_arm


def _along(n: Array, v: Array) -> Array:
    return np.asarray(np.einsum("ijk,ijk->ij", n, v))


def _across(n: Array, v: Array, along: Array) -> Array:
    rest = v - n * along[:, :, None]
    return np.asarray(np.sqrt(np.einsum("ijk,ijk->ij", rest, rest)))
