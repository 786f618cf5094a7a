"""Elastic joints and flexible links as mechanisms: rigid links on passive joints with springs.

`Mechanism.springs` states which joints have springs. `inverse_dynamics` gives the torque
that a joint transmits. In a motion without a drive at that joint, this torque equals the
spring torque -K q - D dq.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from stribeck.ident.arrays import Array
from stribeck.ident.errors import InputError, ModelError, unknown_name
from stribeck.ident.model.joint_parts import Spring
from stribeck.ident.model.mechanism import Mechanism

# largest deviation of a link from a uniform rod, as a fraction of its length or inertia
_UNIFORM = 0.01


def elastic_joint(
    mechanism: Mechanism, joint: str, spring: Spring, rotor_inertia: float = 0.0
) -> Mechanism:
    r"""Return the mechanism with a revolute joint split into a drive and a spring behind the drive.

    .. math:: B \ddot\theta + \tau_f + K (\theta - q) + D (\dot\theta - \dot q) = u

    The drive is at theta. The link is at q = theta + deflection of the spring; this deflection is
    the position of the new joint.

    Parameters
    ----------
    mechanism : Mechanism
        The mechanism with a rigid joint.
    joint : str
        Name of the joint. The drive keeps this name and the joint's friction, bearing and limits.
    spring : Spring
        Torsional stiffness K and damping D.
    rotor_inertia : float
        B, inertia of the rotor about the joint axis, reflected to the joint's side of the gear
        [kg·m²]. The rotor is modelled as a link that turns at the joint's speed, as in a direct
        drive. The rotor of a geared motor turns faster. Its reaction on the joints that carry it,
        here B times their acceleration about this axis, is then overestimated.

    Returns
    -------
    Mechanism
        Mechanism with a passive joint ``"NAME spring"`` after the drive; the
        passive joint carries the link.

    Raises
    ------
    InputError
        If no joint has this name or the inertia is negative.
    ModelError
        If the joint is prismatic, is part of a spherical joint or leads a follower.

    References
    ----------
    Spong, J. Dyn. Syst. Meas. Control 109 (1987) 310; flexible joints of Zhang and Zhao,
    Electronics 12 (2023) 2038.
    """
    j = _index(mechanism, joint)
    if not rotor_inertia >= 0.0:
        raise InputError(
            f"rotor_inertia of joint {joint} = {rotor_inertia:g} kg·m², zero or more is needed"
        )
    for follower in mechanism.followers:
        if follower.leader == j:
            raise ModelError(
                f"{mechanism.name}: joint {joint} leads the follower {follower.name}, which could "
                "follow either the drive or the link behind the spring; use mechanism.tree, in "
                "which followers are independent joints"
            )
    if mechanism.prismatic[j] or any(j in ball.joints for ball in mechanism.balls):
        kind = "slides" if mechanism.prismatic[j] else "is part of a spherical joint"
        raise ModelError(
            f"{mechanism.name}: joint {joint} {kind}; only a revolute joint can be split into "
            "rotor and link"
        )
    n, zero = mechanism.axis[j], np.zeros(3)
    return _lengthened(
        mechanism,
        j,
        [f"{joint} spring"],
        axis=[n],
        origin=[zero],
        springs=[spring],
        mass=[0.0, mechanism.mass[j]],
        com=[zero, mechanism.com[j]],
        inertia=[rotor_inertia * np.outer(n, n), mechanism.inertia[j]],
    )


def flexible_link(
    mechanism: Mechanism,
    joint: str,
    tip: ArrayLike,
    bending_stiffness: float,
    segments: int = 8,
    relaxation_time: float = 0.0,
) -> Mechanism:
    r"""Return the mechanism with the link of a joint as a beam: rigid pieces joined
    by pairs of elastic hinges.

    A pair has one hinge for each bending axis. The beam has N equal segments of length h, each
    with a hinge pair in its middle, so half a segment is rigid at either end. A hinge has the
    stiffness of its segment,

    .. math:: K = E I / h, \quad D = K \, t_r,

    which makes deflections and low frequencies accurate to second order in h. The beam is rigid
    in torsion and extension.

    Parameters
    ----------
    mechanism : Mechanism
        The mechanism with a rigid link, a uniform rod from the joint's origin to `tip`.
    joint : str
        The joint that carries the link.
    tip : array_like, shape (3,)
        End of the beam from the joint's origin, in base axes at q = 0 [m]. Joints and closures
        attached to the link move with this end.
    bending_stiffness : float
        E I, the same about both axes [N·m²].
    segments : int
        Number of segments N.
    relaxation_time : float
        Ratio t_r of material damping to stiffness [s].

    Returns
    -------
    Mechanism
        Mechanism with 2 N passive joints ``"NAME 1a", "NAME 1b", "NAME 2a", ...`` after the joint.

    Raises
    ------
    InputError
        If no joint has this name or a value is impossible.
    ModelError
        If the link is not a uniform rod from the joint's origin to `tip`.

    References
    ----------
    Wittbrodt, Adamiec-Wojcik and Wojciech, Dynamics of Flexible Multibody Systems: Rigid Finite
    Element Method (2006); flexible links of Zhang and Zhao, Electronics 12 (2023) 2038.
    """
    j, tip = _index(mechanism, joint), np.asarray(tip, dtype=float)
    if tip.shape != (3,) or not 0.0 < np.linalg.norm(tip) < np.inf:
        raise InputError(
            f"tip = {tip.tolist()}, three finite numbers [m], not all zero, are needed"
        )
    if not (0.0 < bending_stiffness < np.inf and segments >= 1 and 0.0 <= relaxation_time < np.inf):
        raise InputError(
            f"bending_stiffness = {bending_stiffness:g} N·m², segments = {segments}, "
            f"relaxation_time = {relaxation_time:g} s: a positive stiffness, at least one segment "
            "and a time of zero or more are needed"
        )
    length = float(np.linalg.norm(tip))
    e, h = tip / length, length / segments
    a = np.cross(e, np.eye(3)[np.argmin(np.abs(e))])
    a /= np.linalg.norm(a)
    axial = _rod_inertia(mechanism, j, e, length)

    along, across = np.outer(e, e), np.eye(3) - np.outer(e, e)
    pieces = np.full(segments + 1, h)
    pieces[[0, -1]] = h / 2.0
    share = pieces / length
    mass = share * mechanism.mass[j]
    com = pieces[:, None] / 2.0 * e
    inertia = (share * axial)[:, None, None] * (along + across / 2.0) + (mass * pieces**2 / 12.0)[
        :, None, None
    ] * across

    # both hinges of a pair have the same place; the second carries the piece
    hinges = np.zeros((2 * segments, 3))
    hinges[::2] = pieces[:-1, None] * e
    stiffness = bending_stiffness / h
    return _lengthened(
        mechanism,
        j,
        [f"{joint} {k}{letter}" for k in range(1, segments + 1) for letter in "ab"],
        axis=[a, np.cross(e, a)] * segments,
        origin=hinges,
        springs=[Spring(stiffness, stiffness * relaxation_time)] * (2 * segments),
        mass=_every_second(mass),
        com=_every_second(com),
        inertia=_every_second(inertia),
    )


def _rod_inertia(m: Mechanism, j: int, e: Array, length: float) -> float:
    """Return the inertia of the link about the rod axis e [kg·m²]; refuse a link that is
    not a uniform rod along e.
    """
    axial = float(e @ m.inertia[j] @ e)
    across = m.mass[j] * length**2 / 12.0 + axial / 2.0
    wanted = axial * np.outer(e, e) + across * (np.eye(3) - np.outer(e, e))
    if not (
        m.mass[j] > 0.0
        and np.abs(m.com[j] - e * length / 2.0).max() <= _UNIFORM * length
        and np.abs(m.inertia[j] - wanted).max() <= _UNIFORM * across
    ):
        raise ModelError(
            f"{m.name}: the link of joint {m.names[j]} is not a uniform rod of {length:g} m: its "
            f"centre of mass is at {np.round(m.com[j], 4).tolist()}, a uniform rod to the tip has "
            f"its centre of mass at {np.round(e * length / 2.0, 4).tolist()} and the transverse "
            f"moment of inertia {across:.4g} kg·m²"
        )
    return axial


def _every_second(values: Array) -> Array:
    """Return the values with a zero, for a link without mass, before
    every value except the first.
    """
    out = np.zeros((2 * len(values) - 1, *values.shape[1:]))
    out[::2] = values
    return out


def _lengthened(
    m: Mechanism,
    j: int,
    names: Sequence[str],
    axis: ArrayLike,
    origin: ArrayLike,
    springs: Sequence[Spring],
    mass: ArrayLike,
    com: ArrayLike,
    inertia: ArrayLike,
) -> Mechanism:
    """Return the mechanism with k passive elastic joints between joint j and the
    joints that its link carries.

    `axis` and `origin`, shape (k, 3), belong to the k new joints. `mass`, `com` and `inertia`,
    shape (k + 1, ...), belong to the link of joint j and the links of the k new joints.
    """
    k, after = len(names), j + 1
    for name in names:
        if name in m.tree.names:
            raise InputError(
                f"{m.name}: a joint {name!r} exists already, so joint {m.names[j]} is already "
                "elastic; leave it out"
            )
    offset = np.sum(origin, axis=0)

    def put(values: Array, new: ArrayLike, at: int = after) -> Array:
        return np.concatenate((values[:at], np.asarray(new), values[after:]))

    def moved(joint: int) -> int:
        return joint + k if joint > j else joint

    def carrier(link: int) -> int:
        return link + k if link >= j else link

    hanging = np.array([parent == j for parent in m.parent])
    parent = [carrier(parent) for parent in m.parent]
    return replace(
        m,
        names=(*m.names[:after], *names, *m.names[after:]),
        parent=(*parent[:after], *range(j, j + k), *parent[after:]),
        prismatic=np.insert(m.prismatic, [after] * k, False),
        axis=put(m.axis, axis),
        origin=put(m.origin - np.where(hanging[:, None], offset, 0.0), origin),
        mass=put(m.mass, mass, j),
        com=put(m.com, com, j),
        inertia=put(m.inertia, inertia, j),
        position=put(m.position, np.tile([-np.inf, np.inf], (k, 1))),
        bearings=(*m.bearings[:after], *(None,) * k, *m.bearings[after:]),
        passive=tuple(sorted({*map(moved, m.passive), *range(after, after + k)})),
        springs={
            **{moved(joint): spring for joint, spring in m.springs.items()},
            **dict(enumerate(springs, start=after)),
        },
        friction={moved(joint): friction for joint, friction in m.friction.items()},
        rotors=None
        if m.rotors is None
        else np.insert(np.insert(m.rotors, [after] * k, 0.0, 0), [after] * k, 0.0, 1),
        balls=tuple(replace(ball, joints=tuple(map(moved, ball.joints))) for ball in m.balls),
        closures=tuple(
            replace(
                closure,
                links=(carrier(closure.links[0]), carrier(closure.links[1])),
                points=closure.points - np.outer(np.equal(closure.links, j), offset),
            )
            for closure in m.closures
        ),
        followers=tuple(
            replace(
                follower,
                leader=moved(follower.leader),
                parent=carrier(follower.parent),
                origin=follower.origin - (offset if follower.parent == j else 0.0),
            )
            for follower in m.followers
        ),
    )


def _index(m: Mechanism, joint: str) -> int:
    """Return the index of a joint by name."""
    if joint not in m.names:
        raise unknown_name("joint", joint, m.names)
    return m.names.index(joint)


def spring_torque(mechanism: Mechanism, q: Array, dq: Array) -> Array:
    """Compute the resisting torques of springs, K q + D dq (P3); zero for joints without a
    spring, shape (N, n) [N·m or N].
    """
    resisting = np.zeros_like(q)
    for joint, spring in mechanism.springs.items():
        resisting[:, joint] = spring.stiffness * q[:, joint] + spring.damping * dq[:, joint]
    return resisting
