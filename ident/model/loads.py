r"""Joint loads: transmitted torque, bending moment, radial and axial force, and
normal load (Eqs. 37-47).

Loads follow from the force f and the moment m about the joint origin that the parent link
exerts on the subtree. All loads keep their values when time is reversed. They do not
depend on friction in the tree.
"""

import numpy as np
from numpy.typing import ArrayLike

from stribeck.ident.arrays import Array
from stribeck.ident.errors import unknown_name
from stribeck.ident.model.dynamics import led, with_followers
from stribeck.ident.model.joint_parts import Bearing
from stribeck.ident.model.load_arrays import LOAD_PARTS as LOAD_PARTS
from stribeck.ident.model.load_arrays import LOADS as LOADS
from stribeck.ident.model.load_arrays import JointLoads as JointLoads
from stribeck.ident.model.mechanism import Mechanism
from stribeck.ident.model.recursion import own_wrenches, refuse_closures


def joint_loads(
    mechanism: Mechanism,
    q: ArrayLike,
    dq: ArrayLike | None = None,
    ddq: ArrayLike | None = None,
    external: ArrayLike | None = None,
) -> JointLoads:
    """Compute the loads of every joint at one sample or along a motion.

    The loads of the driven joints of a closed chain include the cut-joint forces and the other
    joints' effect (`driven_joints`). A follower (URDF ``mimic``) moves with its leader and loads
    every joint that carries it. The torque of the leader's drive includes ratio times the
    follower's torque (virtual work).

    Parameters
    ----------
    mechanism : Mechanism
        The rigid-body model.
    q, dq, ddq : array_like, shape (n,) or (N, n)
        Joint positions, velocities, accelerations [rad or m, and per s, s²]; the
        last two default to zero.
    external : array_like, shape (n + k, 6) or (N, n + k, 6), optional
        External force, and moment about the joint origin, on each link in base axes [N, N·m]: the
        links of the n joints, then the links of the k followers.

    Returns
    -------
    JointLoads
        Transmitted torque, bending, radial, axial and normal load, and the wrenches from which the
        loads follow. If q has shape (n,), the arrays have no axis N.

    Raises
    ------
    InputError
        If a shape does not fit the mechanism or a value is not finite.
    ModelError
        If the mechanism is a closed chain.

    References
    ----------
    Guo, Ju and Wang, Aerospace 11 (2024) 368, Eqs. 37-47.

    Examples
    --------
    >>> from stribeck import joint_loads, load_mechanism
    >>> joint_loads(load_mechanism("lab6"), [0.0, 0.5, 0.9, 0.0, 0.6, 0.0]).torque.round(1)
    array([ 0. , 32.8, 14.8,  0.1,  1.7,  0. ])
    """
    if np.ndim(q) == 1:
        one = [
            None if values is None else np.asarray(values, dtype=float)[None]
            for values in (dq, ddq, external)
        ]
        return joint_loads(mechanism, np.asarray(q, dtype=float)[None], *one).at(0)
    if mechanism.chain is not None:
        return mechanism.chain.loads(mechanism, q, dq, ddq, external)
    refuse_closures(mechanism)
    tree, q, dq, ddq = with_followers(mechanism, q, dq, ddq)
    samples, joints = len(q), mechanism.n
    force, moment = (np.empty((tree.n, 3, samples)) for _ in range(2))
    radial, axial, bending, twist = (np.empty((tree.n, samples)) for _ in range(4))
    for own in own_wrenches(tree, q, dq, ddq, external):
        here = own.joint, own.rows
        force[own.joint, :, own.rows] = own.in_base(own.force)
        moment[own.joint, :, own.rows] = own.in_base(own.moment)
        radial[here], axial[here] = _across(own.force), own.force[2]
        bending[here], twist[here] = _across(own.moment), own.moment[2]
    tau = led(mechanism, np.where(tree.prismatic[:, None], axial, twist))
    normal = np.full_like(tau, np.nan)
    for j, bearing in enumerate(mechanism.bearings):
        if bearing is not None:
            normal[j] = normal_load(
                bearing,
                bool(mechanism.prismatic[j]),
                bending=bending[j],
                radial=radial[j],
                axial=np.abs(axial[j]),
                twist=np.abs(twist[j]),
            )
    coupled = mechanism.transmission
    transmitted = np.abs(tau.T if coupled is None else coupled.torque_of_motors(tau.T))
    return JointLoads(
        transmitted,
        bending[:joints].T,
        radial[:joints].T,
        np.abs(axial[:joints]).T,
        normal.T,
        tau.T,
        force[:joints].transpose(2, 0, 1),
        moment[:joints].transpose(2, 0, 1),
    )


def normal_load(
    bearing: Bearing, prismatic: bool, bending: Array, radial: Array, axial: Array, twist: Array
) -> Array:
    r"""Scalar load that presses the rubbing surfaces together (Eq. 47).

    .. math:: N = (\tau_r / R_b + f_r) R_p + f_m R_n \quad\text{(revolute)}, \qquad
              N = \tau_p / R_b + f_p + \tau_m / R_n \quad\text{(prismatic)}

    Parameters
    ----------
    bearing : Bearing
        R_p, R_n and R_b [m].
    prismatic : bool
        Selects the prismatic form; otherwise the revolute form.
    bending, radial, axial, twist : ndarray, shape (N,)
        Moment across the axis [N·m], force across and along it [N], moment about it [N·m].

    Returns
    -------
    ndarray, shape (N,)
        Normal load [N·m; N for a prismatic joint].
    """
    R_p, R_n, R_b = bearing.pin_radius, bearing.friction_arm, bearing.bending_arm
    if prismatic:
        return bending / R_b + radial + twist / R_n
    return (bending / R_b + radial) * R_p + axial * R_n


def load_weights(load: str, bearing: Bearing | None, prismatic: bool) -> Array:
    """Return the weight of each of `LOAD_PARTS` in a load, shape (5,); nan for a normal
    load with unknown bearing.

    All weights are zero for "none" and for "components", because neither is a single load.
    """
    if load in ("none", "components"):
        return np.zeros(len(LOAD_PARTS))
    if load not in LOADS:
        raise unknown_name("load", load, LOADS)
    if load != "normal":
        return np.array([float(part == load) for part in LOAD_PARTS])
    if bearing is None:
        return np.full(len(LOAD_PARTS), np.nan)
    one = np.eye(len(LOAD_PARTS))[1:]  # Eq. 47 is linear
    return np.asarray(
        normal_load(bearing, prismatic, **dict(zip(LOAD_PARTS[1:], one, strict=True)))
    )


def _across(vector: Array) -> Array:
    """Return the length of the part normal to the joint axis; this axis is the third of the
    joint's own axes (Eqs. 43-46).
    """
    return np.asarray(np.sqrt(vector[0] ** 2 + vector[1] ** 2))
