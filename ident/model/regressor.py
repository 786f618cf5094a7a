r"""Joint torques as a linear function of the links' inertial parameters: :math:`\tau = Y(q,
\dot q, \ddot q)\, \theta`.

A link has mass m, first moment h and inertia I about its joint's origin. The origin accelerates by
a (gravity subtracted). The link's motion then needs the force f and the moment n,

.. math:: f = m a + \dot\omega \times h + \omega \times (\omega \times h), \qquad
          n = h \times a + I \dot\omega + \omega \times I \omega

A joint that carries the link moves it with the twist (v, u) for each unit of joint speed. By
virtual work the joint supplies the torque v·f + u·n (P0, Eq. 22; Atkeson, An and Hollerbach, Int.
J. Robotics Research 5 (1986) 101).
"""

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stribeck.ident.arrays import Array
from stribeck.ident.model.dynamics import with_followers
from stribeck.ident.model.mechanism import Mechanism
from stribeck.ident.model.recursion import DW, A, Sweep, W, blocks, refuse_closures

INERTIAL = ("m", "hx", "hy", "hz", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")
PER_LINK = len(INERTIAL)


def inertial_parameters(mechanism: Mechanism) -> Array:
    """Return the inertial parameters of all links, shape (10 n): for each link the ten parameters
    in the order of `INERTIAL`.

    Joint torques are linear in these parameters: mass [kg], first moment [kg·m] and inertia [kg·m²]
    about the joint's origin, in link axes (natural coordinates). The links of followers come last.
    For the driven joints of a closed chain, the array holds all links of the chain.
    """
    tree = mechanism.link_tree
    h = tree.mass[:, None] * tree.com
    about = tree.inertia + np.einsum("j,jab->jab", tree.mass, _steiner(tree.com))
    rows, columns = np.triu_indices(3)
    return np.asarray(np.column_stack((tree.mass, h, about[:, rows, columns])).ravel())


def point_mass(place: Array) -> Array:
    """Return the inertial parameters of a mass of 1 kg at a place, shape (3,), from the joint's
    origin; shape (10,).
    """
    return np.concatenate(([1.0], place, _steiner(place[None])[0][np.triu_indices(3)]))


def of_bodies(mechanism: Mechanism) -> NDArray[np.bool_]:
    """Tell which inertial parameters belong to real bodies, shape (10 n,).

    In a closed chain, links without mass and inertia are the inner links of joints of several axes,
    not bodies. In an open chain, a link without mass is a body whose mass the file leaves out.
    """
    tree = mechanism.link_tree
    bodies = (
        np.ones(tree.n, dtype=bool)
        if mechanism.chain is None
        else (tree.mass > 0.0) | tree.inertia.any(axis=(1, 2))
    )
    return np.repeat(bodies, PER_LINK)


def changed(mechanism: Mechanism, change: Array) -> Mechanism:
    """Return the mechanism with `change` added to its inertial parameters, shape (10 n,)."""
    tree = mechanism.link_tree
    theta = (inertial_parameters(tree) + change).reshape(-1, PER_LINK)
    mass = theta[:, 0]
    com = np.divide(
        theta[:, 1:4], mass[:, None], out=np.zeros((len(mass), 3)), where=mass[:, None] > 0.0
    )
    inertia, (rows, columns) = np.zeros((len(mass), 3, 3)), np.triu_indices(3)
    inertia[:, rows, columns] = inertia[:, columns, rows] = theta[:, 4:]
    inertia -= mass[:, None, None] * _steiner(com)
    if mechanism.chain is not None:
        inertia = _possible(inertia, tree.inertia)
    return with_bodies(mechanism, mass, com, inertia)


def _possible(inertia: Array, before: Array) -> Array:
    """Return inertias about the centres of mass; a newly impossible inertia becomes the nearest
    inertia that a body can have.
    """
    trace = np.einsum("jaa->j", inertia)[:, None, None] * np.eye(3) / 2.0
    values, vectors = np.linalg.eigh(trace - inertia)  # second moments
    least = np.linalg.eigvalsh(
        np.einsum("jaa->j", before)[:, None, None] * np.eye(3) / 2.0 - before
    )[:, 0]
    wrong = (values[:, 0] < 0.0) & (values[:, 0] < least)
    moments = (vectors * np.maximum(values, 0.0)[:, None]) @ vectors.transpose(0, 2, 1)
    nearest = np.einsum("jaa->j", moments)[:, None, None] * np.eye(3) - moments
    return np.where(wrong[:, None, None], nearest, inertia)


def with_bodies(mechanism: Mechanism, mass: Array, com: Array, inertia: Array) -> Mechanism:
    """Return the mechanism with new masses (n,), centres of mass (n, 3) and central inertias (n,
    3, 3) of its `link_tree`.
    """
    if mechanism.chain is not None:
        own = list(mechanism.chain.whole.active)
        return replace(
            mechanism,
            mass=mass[own],
            com=com[own],
            inertia=inertia[own],
            chain=mechanism.chain.with_bodies(mass, com, inertia),
        )
    n = mechanism.n
    followers = tuple(
        replace(one, mass=float(mass[n + k]), com=com[n + k], inertia=inertia[n + k])
        for k, one in enumerate(mechanism.followers)
    )
    return replace(mechanism, mass=mass[:n], com=com[:n], inertia=inertia[:n], followers=followers)


def inertial_names(mechanism: Mechanism) -> tuple[str, ...]:
    """Return the parameter names, "joint.m" to "joint.Izz", where "joint" is the name of the
    joint that carries the link.
    """
    return tuple(f"{name}.{key}" for name in mechanism.link_tree.names for key in INERTIAL)


def torque_regressor(
    mechanism: Mechanism, q: ArrayLike, dq: ArrayLike | None = None, ddq: ArrayLike | None = None
) -> Array:
    """Compute the torque regressor Y: torque of every joint per unit of each inertial
    parameter, for a batch of samples.

    Parameters
    ----------
    mechanism : Mechanism
        Axes, origins and gravity; its masses and inertias are not used.
    q, dq, ddq : array_like, shape (N, n)
        Joint positions, velocities, accelerations [rad or m, and per s, s²]; the
        last two default to zero.

    Returns
    -------
    ndarray, shape (N, n, 10 n)
        ``regressor @ inertial_parameters(mechanism)`` equals `inverse_dynamics`. The axis
        N is contiguous in memory. For the driven joints of a closed chain, the columns
        cover all links of the chain.

    Raises
    ------
    InputError
        If a shape does not fit the mechanism or a value is not finite.
    ModelError
        If the mechanism is a closed chain. The mechanism of its driven joints is accepted.
    """
    if mechanism.chain is not None:
        return mechanism.chain.regressor(mechanism, q, dq, ddq)
    refuse_closures(mechanism)
    tree, q, dq, ddq = with_followers(mechanism, q, dq, ddq)
    out = np.zeros((mechanism.n, PER_LINK * tree.n, len(q)))
    for rows in blocks(len(q)):
        sweep = Sweep(
            tree, q[rows], None if dq is None else dq[rows], None if ddq is None else ddq[rows]
        )
        sweep.outwards()
        _write(mechanism, sweep, out[:, :, rows])
    return out.transpose(2, 0, 1)


def _write(mechanism: Mechanism, sweep: Sweep, out: Array) -> None:
    """Write the regressor of a block of samples into `out`, shape (n, 10 n, N)."""
    tree, twists = sweep.m, dict[int, tuple[list[int], Array]]()
    count = PER_LINK if sweep.moving else 4
    for j in range(tree.n):
        chain, twist = _twists(sweep, j, twists)
        twists[j] = chain, twist
        own = slice(PER_LINK * j, PER_LINK * j + count)
        if not mechanism.followers and chain == list(range(len(chain))):
            _columns(tree.own_axes[j], sweep.motion[j], sweep.moving, twist, out[: len(chain), own])
            continue
        columns = np.empty((len(chain), count, sweep.size))
        _columns(tree.own_axes[j], sweep.motion[j], sweep.moving, twist, columns)
        for i, joint in enumerate(chain):
            if joint < mechanism.n:
                out[joint, own] += columns[i]
            else:
                follower = mechanism.followers[joint - mechanism.n]
                out[follower.leader, own] += follower.ratio * columns[i]


def _twists(
    sweep: Sweep, j: int, known: dict[int, tuple[list[int], Array]]
) -> tuple[list[int], Array]:
    """Return the joints that move link j, and the link's twist (v of its origin, u) per joint
    speed, own axes, (3, 2, d, N).
    """
    m, link, p = sweep.m, sweep.links[j], sweep.m.parent[j]
    own = np.zeros((3, 2, 1, sweep.size))
    own[2, 0 if m.prismatic[j] else 1] = 1.0
    if p < 0:
        return [j], own
    chain, before = known[p]
    r = m.own_axes[p].T @ m.origin[j]
    moved = before.copy()
    _add_cross(moved[:, 0], before[:, 1], r)
    X = (link.turn.T @ moved.reshape(3, -1)).reshape(before.shape)
    if m.prismatic[j]:
        q = sweep.q[j]
        X[0, 0] += X[1, 1] * q
        X[1, 0] -= X[0, 1] * q
    else:
        c, s = sweep.cos[j], sweep.sin[j]
        X[0], X[1] = c * X[0] + s * X[1], c * X[1] - s * X[0]
    return [*chain, j], np.concatenate((X, own), axis=2)


def _columns(axes: Array, motion: Array, moving: bool, twist: Array, out: Array) -> None:
    """Write the torque of each joint that moves a link, per parameter of the link, into
    `out`, shape (d, 10 or 4, N).

    One call of einsum multiplies and adds in a single pass over the memory.
    """
    d, size = twist.shape[2:]
    vectors = [motion[:, (W, DW, A)] if moving else motion[:, :1], twist.reshape(3, -1, size)]
    turned = np.concatenate(vectors, axis=1)
    # own axes -> link axes
    turned = (axes @ turned.reshape(3, -1)).reshape(turned.shape)
    a, v, u = turned[:, 2 if moving else 0], turned[:, -2 * d : -d], turned[:, -d:]
    np.einsum("an,adn->dn", a, v, out=out[:, 0])
    if not moving:
        np.einsum("akn,adn->dkn", _cross_matrix(a), u, out=out[:, 1:4])
        return
    carrying, spins = _of_spin(turned[:, 0], turned[:, 1])
    np.einsum(
        "akn,adn->dkn",
        np.concatenate((carrying, _cross_matrix(a))),
        turned[:, -2 * d :].reshape(3, 2, d, size).swapaxes(0, 1).reshape(6, d, size),
        out=out[:, 1:4],
    )
    np.einsum("akn,adn->dkn", spins, u, out=out[:, 4:])


def wrench_regressor(axes: Array, motion: Array, moving: bool) -> Array:
    """Return the force and the moment about the joint's origin that move one link alone, per
    parameter of the link.

    Parameters
    ----------
    axes : ndarray, shape (3, 3)
        Own axes of the link.
    motion : ndarray, shape (3, vectors, N)
        Motion of the link from a `Sweep`.
    moving : bool
        Whether the links have velocities or accelerations.

    Returns
    -------
    ndarray, shape (2, 3, 10, N)
        Force and moment in own axes; without motion, inertia has no effect and its columns are
        left out, shape (2, 3, 4, N).
    """
    vectors = motion[:, (W, DW, A)] if moving else motion[:, :1]
    turned = (axes @ vectors.reshape(3, -1)).reshape(vectors.shape)
    a = turned[:, -1]
    out = np.zeros((2, 3, PER_LINK if moving else 4, a.shape[1]))
    out[0, :, 0], out[1, :, 1:4] = a, _cross_matrix(a)
    if moving:
        out[0, :, 1:4], out[1, :, 4:] = _of_spin(turned[:, 0], turned[:, 1])
    # link axes -> own axes
    return np.asarray((axes.T @ out.reshape(2, 3, -1)).reshape(out.shape))


def _of_spin(w: Array, dw: Array) -> tuple[Array, Array]:
    """Return ``[dw]x + [w]x²``, the force per first moment, shape (3, 3, N), and the moment per Ixx
    ... Izz, shape (3, 6, N).
    """
    xx, yy, zz = w * w
    xy, xz, yz = w[0] * w[1], w[0] * w[2], w[1] * w[2]
    spins = np.array(
        [
            [dw[0], dw[1] - xz, dw[2] + xy, -yz, yy - zz, yz],
            [xz, dw[0] + yz, zz - xx, dw[1], dw[2] - xy, -xz],
            [-xy, xx - yy, dw[0] - yz, xy, dw[1] + xz, dw[2]],
        ]
    )
    return _carrying(dw, xx, yy, zz, xy, xz, yz), spins


def _carrying(dw: Array, xx: Array, yy: Array, zz: Array, xy: Array, xz: Array, yz: Array) -> Array:
    """``[dw]x + [w]x²``, shape (3, 3, N), from the products of the components of w."""
    return np.array(
        [
            [-yy - zz, xy - dw[2], xz + dw[1]],
            [xy + dw[2], -xx - zz, yz - dw[0]],
            [xz - dw[1], yz + dw[0], -xx - yy],
        ]
    )


def _cross_matrix(a: Array) -> Array:
    """Matrix S with ``(a x u)_k = sum_b u_b S[b, k]``, shape (3, 3, N)."""
    none = np.zeros_like(a[0])
    return np.array([[none, a[2], -a[1]], [-a[2], none, a[0]], [a[1], -a[0], none]])


def _add_cross(out: Array, u: Array, r: Array) -> None:
    """Add the vector product u x r to `out`; the first axis of the arrays is the component."""
    x, y, z = r
    out[0] += u[1] * z - u[2] * y
    out[1] += u[2] * x - u[0] * z
    out[2] += u[0] * y - u[1] * x


def _steiner(c: Array) -> Array:
    """``c.c 1 - c c'``, shape (n, 3, 3)."""
    return np.asarray(
        np.sum(c**2, axis=1)[:, None, None] * np.eye(3) - c[:, :, None] * c[:, None, :]
    )
