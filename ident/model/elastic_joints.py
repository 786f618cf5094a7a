"""Elastic joints and flexible links as mechanisms: rigid links on passive joints with springs.

A mechanism holds where the springs are (`Mechanism.springs`); `inverse_dynamics` gives the torque that passes
through each, which a spring supplies when it equals -K q - D dq.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from stribeck.ident.arrays import Array
from stribeck.ident.errors import InputError, ModelError, unknown_name
from stribeck.ident.model.joint_parts import Spring
from stribeck.ident.model.mechanism import Mechanism

_UNIFORM = 0.01         # how far a link may be from a uniform rod, as a fraction


def elastic_joint(mechanism: Mechanism, joint: str, spring: Spring, rotor_inertia: float = 0.0) -> Mechanism:
    r"""Split a revolute joint into a drive and a spring behind it.

    .. math:: B \ddot\theta + \tau_f + K (\theta - q) + D (\dot\theta - \dot q) = u

    with the drive at theta and the link at q = theta + the spring's deflection, which is the new joint's position.

    Parameters
    ----------
    mechanism : Mechanism
        The mechanism with a rigid joint.
    joint : str
        Its name; the drive keeps it, with its friction, bearing and limits.
    spring : Spring
        Torsional stiffness K and damping D.
    rotor_inertia : float
        B, inertia of the rotor about the joint axis, on the joint's side of the gear [kg·m²]. The rotor is a link that
        turns at the joint's speed, as in a direct drive; behind a gear it turns faster, and what it adds to the joints
        that carry it, here B times their acceleration about this axis, is overstated.

    Returns
    -------
    Mechanism
        With a passive joint ``"NAME spring"`` after the drive, which carries what the joint carried.

    Raises
    ------
    InputError
        If there is no such joint or the inertia is negative.
    ModelError
        If the joint slides, is part of a spherical joint or leads a follower.

    References
    ----------
    Spong, J. Dyn. Syst. Meas. Control 109 (1987) 310; flexible joints of Zhang and Zhao, Electronics 12 (2023) 2038.
    """
    j = _index(mechanism, joint)
    if not rotor_inertia >= 0.0:
        raise InputError(f"rotor_inertia of joint {joint} = {rotor_inertia:g} kg·m², zero or more is needed")
    for follower in mechanism.followers:
        if follower.leader == j:
            raise ModelError(f"{mechanism.name}: joint {joint} leads {follower.name}, which could follow the drive or the link "
                             "behind the spring; take mechanism.tree, where it follows neither")
    if mechanism.prismatic[j] or any(j in ball.joints for ball in mechanism.balls):
        kind = "slides" if mechanism.prismatic[j] else "is part of a spherical joint"
        raise ModelError(f"{mechanism.name}: joint {joint} {kind}; only a revolute joint can be split into rotor and link")
    n, zero = mechanism.axis[j], np.zeros(3)
    return _lengthened(mechanism, j, [f"{joint} spring"], axis=[n], origin=[zero], springs=[spring],
                       mass=[0.0, mechanism.mass[j]], com=[zero, mechanism.com[j]],
                       inertia=[rotor_inertia * np.outer(n, n), mechanism.inertia[j]])


def flexible_link(mechanism: Mechanism, joint: str, tip: ArrayLike, bending_stiffness: float, segments: int = 8,
                  relaxation_time: float = 0.0) -> Mechanism:
    r"""Make the link of a joint a beam: rigid pieces on pairs of elastic hinges, one for each bending axis.

    The beam is cut into N equal segments of length h with a hinge pair in the middle of each, so that half a segment
    stays on either end. A hinge has the stiffness of its segment,

    .. math:: K = E I / h, \quad D = K \, t_r,

    which makes deflections and low frequencies right to second order in h. Torsion and extension stay rigid.

    Parameters
    ----------
    mechanism : Mechanism
        The mechanism with a rigid link, a uniform rod from the joint's origin to `tip`.
    joint : str
        The joint that carries the link.
    tip : array_like, shape (3,)
        End of the beam from the joint's origin, in base axes at q = 0 [m]; what hangs on the link or is tied to it by a
        closure moves with this end.
    bending_stiffness : float
        E I, the same about both axes [N·m²].
    segments : int
        N.
    relaxation_time : float
        Material damping over stiffness, t_r [s].

    Returns
    -------
    Mechanism
        With 2 N passive joints ``"NAME 1a", "NAME 1b", "NAME 2a", ...`` after the joint.

    Raises
    ------
    InputError
        If there is no such joint or a value is impossible.
    ModelError
        If the link is no uniform rod from the joint's origin to `tip`.

    References
    ----------
    Wittbrodt, Adamiec-Wojcik and Wojciech, Dynamics of Flexible Multibody Systems: Rigid Finite Element Method (2006);
    flexible links of Zhang and Zhao, Electronics 12 (2023) 2038.
    """
    j, tip = _index(mechanism, joint), np.asarray(tip, dtype=float)
    if tip.shape != (3,) or not 0.0 < np.linalg.norm(tip) < np.inf:
        raise InputError(f"tip = {tip.tolist()}, three numbers [m] with a length are needed")
    if not (0.0 < bending_stiffness < np.inf and segments >= 1 and 0.0 <= relaxation_time < np.inf):
        raise InputError(f"bending_stiffness = {bending_stiffness:g} N·m², segments = {segments}, relaxation_time = "
                         f"{relaxation_time:g} s: a positive stiffness, at least one segment and no negative time are needed")
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
    inertia = (share * axial)[:, None, None] * (along + across / 2.0) + (mass * pieces**2 / 12.0)[:, None, None] * across

    hinges = np.zeros((2 * segments, 3))             # the second of a pair is where the first is, and carries the piece
    hinges[::2] = pieces[:-1, None] * e
    stiffness = bending_stiffness / h
    return _lengthened(mechanism, j, [f"{joint} {k}{letter}" for k in range(1, segments + 1) for letter in "ab"],
                       axis=[a, np.cross(e, a)] * segments, origin=hinges,
                       springs=[Spring(stiffness, stiffness * relaxation_time)] * (2 * segments),
                       mass=_every_second(mass), com=_every_second(com), inertia=_every_second(inertia))


def _rod_inertia(m: Mechanism, j: int, e: Array, length: float) -> float:
    """Inertia of the link about its own axis [kg·m²], if it is a uniform rod along e."""
    axial = float(e @ m.inertia[j] @ e)
    across = m.mass[j] * length**2 / 12.0 + axial / 2.0
    wanted = axial * np.outer(e, e) + across * (np.eye(3) - np.outer(e, e))
    if not (m.mass[j] > 0.0 and np.abs(m.com[j] - e * length / 2.0).max() <= _UNIFORM * length
            and np.abs(m.inertia[j] - wanted).max() <= _UNIFORM * across):
        raise ModelError(f"{m.name}: the link of joint {m.names[j]} is no uniform rod of {length:g} m: its centre of mass is at "
                         f"{np.round(m.com[j], 4).tolist()}, half the way to the tip is "
                         f"{np.round(e * length / 2.0, 4).tolist()}; its inertia across is to be {across:.4g} kg·m²")
    return axial


def _every_second(values: Array) -> Array:
    """The first, then the others each behind a link without mass."""
    out = np.zeros((2 * len(values) - 1, *values.shape[1:]))
    out[::2] = values
    return out


def _lengthened(m: Mechanism, j: int, names: Sequence[str], axis: ArrayLike, origin: ArrayLike, springs: Sequence[Spring],
                mass: ArrayLike, com: ArrayLike, inertia: ArrayLike) -> Mechanism:
    """Mechanism with k passive elastic joints between joint j and what hangs on its link.

    `axis` and `origin` are those of the k joints, (k, 3); `mass`, `com` and `inertia` those of joint j's link and of
    theirs, (k + 1, ...).
    """
    k, after = len(names), j + 1
    for name in names:
        if name in m.tree.names:
            raise InputError(f"{m.name}: there is a joint {name!r} already; joint {m.names[j]} was made elastic before")
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
        m, names=(*m.names[:after], *names, *m.names[after:]), parent=(*parent[:after], *range(j, j + k), *parent[after:]),
        prismatic=np.insert(m.prismatic, [after] * k, False), axis=put(m.axis, axis),
        origin=put(m.origin - np.where(hanging[:, None], offset, 0.0), origin),
        mass=put(m.mass, mass, j), com=put(m.com, com, j), inertia=put(m.inertia, inertia, j),
        position=put(m.position, np.tile([-np.inf, np.inf], (k, 1))),
        bearings=(*m.bearings[:after], *(None,) * k, *m.bearings[after:]),
        passive=tuple(sorted({*map(moved, m.passive), *range(after, after + k)})),
        springs={**{moved(joint): spring for joint, spring in m.springs.items()}, **dict(enumerate(springs, start=after))},
        friction={moved(joint): friction for joint, friction in m.friction.items()},
        rotors=None if m.rotors is None else np.insert(np.insert(m.rotors, [after] * k, 0.0, 0), [after] * k, 0.0, 1),
        balls=tuple(replace(ball, joints=tuple(map(moved, ball.joints))) for ball in m.balls),
        closures=tuple(replace(closure, links=(carrier(closure.links[0]), carrier(closure.links[1])),
                               points=closure.points - np.outer(np.equal(closure.links, j), offset)) for closure in m.closures),
        followers=tuple(replace(follower, leader=moved(follower.leader), parent=carrier(follower.parent),
                                origin=follower.origin - (offset if follower.parent == j else 0.0))
                        for follower in m.followers))


def _index(m: Mechanism, joint: str) -> int:
    """Joint by name."""
    if joint not in m.names:
        raise unknown_name("joint", joint, m.names)
    return m.names.index(joint)


def spring_torque(mechanism: Mechanism, q: Array, dq: Array) -> Array:
    """Torques with which elastic joints resist (P3), zero for others, shape (N, n) [N·m or N]."""
    resisting = np.zeros_like(q)
    for joint, spring in mechanism.springs.items():
        resisting[:, joint] = spring.stiffness * q[:, joint] + spring.damping * dq[:, joint]
    return resisting
