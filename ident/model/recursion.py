r"""Recursion over a tree: link motions in an outward sweep, joint wrenches in an
inward sweep (P0, Eqs. 19-22).

Each link has its own axes, and the third axis is the joint axis. A joint is then a plane rotation,
and every other transformation is a constant matrix. Radial, axial and bending parts are components
of the wrench. The first axis of an array is the component, ``(3, N)``. Samples are processed in
blocks that fit the cache.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from stribeck.ident.arrays import Array
from stribeck.ident.errors import InputError, ModelError
from stribeck.ident.model.mechanism import Mechanism

_BLOCK = 4096
# vectors of a link's motion: w, dw, a minus gravity, base axes
W, DW, A, BASE = 0, 1, 2, slice(-3, None)


@dataclass(frozen=True)
class OwnWrench:
    """Force and moment that one joint transmits in a block of samples; the third of the joint's
    own axes is the joint axis.

    Attributes
    ----------
    rows : slice
        Samples of the block.
    joint : int
        Index of the joint.
    force, moment : ndarray, shape (3, N)
        Force on the subtree, and moment about the joint origin, in own axes [N, N·m].
    base : ndarray, shape (3, 3, N)
        ``base[:, i]`` is base axis i in the joint's own axes.
    """

    rows: slice
    joint: int
    force: Array
    moment: Array
    base: Array

    def in_base(self, vector: Array) -> Array:
        """Convert a vector from the joint's own axes to base axes, shape (3, N)."""
        return np.asarray(
            self.base[0] * vector[0] + self.base[1] * vector[1] + self.base[2] * vector[2]
        )


def own_wrenches(
    mechanism: Mechanism,
    q: ArrayLike,
    dq: ArrayLike | None = None,
    ddq: ArrayLike | None = None,
    external: ArrayLike | None = None,
) -> Iterator[OwnWrench]:
    """Yield the wrench of every joint in its own axes, block by block; parameters and
    errors as in `joint_wrenches`.

    The iterator reuses the memory of the arrays: use or copy them before the
    next step of the iteration.
    """
    refuse_followers(mechanism)
    q, dq, ddq = checked_motion(mechanism, q, dq, ddq)
    if external is not None:
        external = np.asarray(external, dtype=float)
        if external.shape != (*q.shape, 6):
            raise InputError(
                f"external has shape {external.shape}, {mechanism.name} needs {(*q.shape, 6)}: "
                f"force and moment on the links of {', '.join(mechanism.names)}"
            )
        if not np.isfinite(external).all():
            raise InputError(
                "external on link "
                f"{mechanism.names[int(np.argwhere(~np.isfinite(external))[0, 1])]} is not finite; "
                "finite numbers are needed"
            )
    return _sweeps(mechanism, q, dq, ddq, external)


def _sweeps(
    m: Mechanism, q: Array, dq: Array | None, ddq: Array | None, external: Array | None
) -> Iterator[OwnWrench]:
    for rows in blocks(len(q)):
        sweep = Sweep(
            m, q[rows], None if dq is None else dq[rows], None if ddq is None else ddq[rows]
        )
        sweep.outwards()
        for joint, wrench in sweep.inwards(None if external is None else external[rows]):
            yield OwnWrench(rows, joint, wrench[0], wrench[1], sweep.motion[joint][:, BASE])


class Sweep:
    """One sweep outwards and one inwards over a block of samples."""

    def __init__(self, m: Mechanism, q: Array, dq: Array | None, ddq: Array | None) -> None:
        self.m, self.links, self.size = m, m.links, len(q)
        self.q = np.ascontiguousarray(q.T)
        self.sin, self.cos = np.sin(self.q), np.cos(self.q)
        self.moving = dq is not None or ddq is not None
        self.dq, self.ddq = (
            np.zeros_like(self.q) if rate is None else np.ascontiguousarray(rate.T)
            for rate in (dq, ddq)
        )
        self.motion: list[Array] = []  # motion of each link in its own axes, (3, vectors, N)
        self.wrench: list[Array] = []  # force and moment that move each link alone, (2, 3, N)

    def outwards(self) -> None:
        """Compute the motion of every link, and the wrench that moves the link's own mass."""
        ground = np.zeros((3, 6 if self.moving else 4, self.size))
        ground[:, -4] = -self.m.gravity[:, None]
        ground[:, BASE] = np.eye(3)[:, :, None]
        # acceleration of each joint's origin, in axes of the parent link
        carried: list[Array] = []
        for j, (p, link) in enumerate(zip(self.m.parent, self.links, strict=True)):
            before = ground if p < 0 else self.motion[p]
            X = _times(link.turn.T, before)
            if p >= 0 and self.moving:
                np.matmul(link.turn.T, carried[p][link.place] + before[:, A], out=X[:, A])
            if not self.m.prismatic[j]:
                _turn(X, self.cos[j], self.sin[j])
            wrench = np.empty((2, 3, self.size))
            if self.moving:
                # (children + 4, 3, N)
                AK = _times(link.K, self._move(j, X))
                h, S = AK[-4], AK[-3:]
                np.multiply(X[:, A], link.mass, out=wrench[0])
                wrench[0] += h
                np.matmul(link.h_cross, X[:, A], out=wrench[1])
                wrench[1, 0] += S[1, 2] - S[2, 1]
                wrench[1, 1] += S[2, 0] - S[0, 2]
                wrench[1, 2] += S[0, 1] - S[1, 0]
                carried.append(AK[:-4])
            else:
                np.multiply(X[:, 0], link.mass, out=wrench[0])
                np.matmul(link.h_cross, X[:, 0], out=wrench[1])
            self.motion.append(X)
            self.wrench.append(wrench)

    def _move(self, j: int, X: Array) -> Array:
        """Add the joint's own motion to X; return ``[dw]x + [w]x²``, columns first, which
        maps points to accelerations.
        """
        q, dq, ddq = self.q[j], self.dq[j], self.ddq[j]
        w, dw, a = X[:, W], X[:, DW], X[:, A]
        if not self.m.prismatic[j]:
            dw[0] += w[1] * dq
            dw[1] -= w[0] * dq
            dw[2] += ddq
            w[2] += dq
        xx, yy, zz = w * w
        xy, xz, yz = w[0] * w[1], w[0] * w[2], w[1] * w[2]
        T = np.empty((3, 3, self.size))
        np.negative(yy + zz, out=T[0, 0])
        np.negative(xx + zz, out=T[1, 1])
        np.negative(xx + yy, out=T[2, 2])
        np.subtract(xy, dw[2], out=T[1, 0])
        np.add(xy, dw[2], out=T[0, 1])
        np.add(xz, dw[1], out=T[2, 0])
        np.subtract(xz, dw[1], out=T[0, 2])
        np.subtract(yz, dw[0], out=T[2, 1])
        np.add(yz, dw[0], out=T[1, 2])
        if self.m.prismatic[j]:
            a += T[2] * q
            a[0] += 2.0 * w[1] * dq
            a[1] -= 2.0 * w[0] * dq
            a[2] += ddq
        return T

    def inwards(self, external: Array | None = None) -> Iterator[tuple[int, Array]]:
        """Yield every joint, from the tips to the ground, with the wrench that the
        joint transmits, (2, 3, N).
        """
        for j in reversed(range(self.m.n)):
            wrench, p = self.wrench[j], self.m.parent[j]
            if external is not None:
                base = self.motion[j][:, BASE]
                for part in (0, 1):
                    wrench[part] -= np.einsum(
                        "kin,ni->kn", base, external[:, j, 3 * part : 3 * part + 3]
                    )
            yield j, wrench
            if p < 0:
                continue
            self.wrench[p] += self.to_parent(j, wrench)

    def to_parent(self, j: int, wrench: Array) -> Array:
        """Move wrenches on a link, (2, 3, ..., N), to the origin and own axes of the parent link."""
        if self.m.prismatic[j]:
            wrench = wrench.copy()
            wrench[1, 0] -= self.q[j] * wrench[0, 1]
            wrench[1, 1] += self.q[j] * wrench[0, 0]
        else:
            turned = np.empty_like(wrench)
            x, y, c, s = wrench[:, 0], wrench[:, 1], self.cos[j], self.sin[j]
            np.multiply(x, c, out=turned[:, 0])
            turned[:, 0] -= y * s
            np.multiply(y, c, out=turned[:, 1])
            turned[:, 1] += x * s
            turned[:, 2] = wrench[:, 2]
            wrench = turned
        return np.asarray((self.links[j].shift @ wrench.reshape(6, -1)).reshape(wrench.shape))


def _times(matrix: Array, vectors: Array) -> Array:
    """Multiply a constant matrix (k, 3) by vectors (3, m, N), whose first axis is the component."""
    return np.asarray((matrix @ vectors.reshape(3, -1)).reshape(len(matrix), *vectors.shape[1:]))


def _turn(X: Array, c: Array, s: Array) -> None:
    """Convert vectors (3, m, N) to axes that are rotated about the third axis, in place."""
    left, right = X[0] * s, X[1] * s
    X[0] *= c
    X[0] += right
    X[1] *= c
    X[1] -= left


def blocks(samples: int) -> Iterator[slice]:
    """Return slices that divide a batch into blocks that fit the cache."""
    return (slice(start, start + _BLOCK) for start in range(0, samples, _BLOCK))


def refuse_closures(m: Mechanism) -> None:
    """Raise `ModelError` for a closed chain: a function of a tree would ignore the closures, or
    the links of passive joints.
    """
    if m.closures:
        raise ModelError(
            f"{m.name} is a closed chain; use close_loops and closed_loads for its loads and "
            "torques"
        )
    if m.chain is not None:
        raise ModelError(
            f"{m.name}: {', '.join(m.names)} drive a closed chain, for which the equations of a "
            "tree do not hold; use joint_loads and inverse_dynamics, or mechanism.chain.whole "
            "with close_loops and closed_loads"
        )


def refuse_followers(m: Mechanism) -> None:
    """Raise `ModelError` for followers and for driven joints of a chain: to ignore their
    links would give wrong loads.
    """
    if m.chain is not None:
        refuse_closures(m)
    if m.followers:
        one = m.followers[0]
        moved = f"follows {m.names[one.leader]}" if one.leader >= 0 else "is held"
        raise ModelError(
            f"{m.name}: {one.name} {moved} and is not an independent joint; use mechanism.tree and "
            "with_followers, which treat followers as joints"
        )


def checked_motion(
    m: Mechanism, q: ArrayLike, dq: ArrayLike | None, ddq: ArrayLike | None
) -> tuple[Array, Array | None, Array | None]:
    """Return positions, velocities and accelerations as finite float arrays, shape (N, n) each."""
    q = batch("q", q, m)
    return (
        q,
        None if dq is None else batch("dq", dq, m, len(q)),
        None if ddq is None else batch("ddq", ddq, m, len(q)),
    )


def batch(name: str, value: ArrayLike, mechanism: Mechanism, samples: int | None = None) -> Array:
    """Return joint values as a finite float array, shape (N, n).

    Raises
    ------
    InputError
        If the shape does not fit the mechanism or a value is not finite; the
        message names joint and row.
    """
    array = np.asarray(value, dtype=float)
    wanted = ("N" if samples is None else samples, mechanism.n)
    if (
        array.ndim != 2
        or array.shape[1] != mechanism.n
        or (samples is not None and len(array) != samples)
    ):
        raise InputError(
            f"{name} has shape {array.shape}, {mechanism.name} needs ({wanted[0]}, {wanted[1]}) "
            f"with columns {', '.join(mechanism.names)}"
        )
    if not np.isfinite(array).all():
        row, column = np.argwhere(~np.isfinite(array))[0]
        raise InputError(
            f"{name} of joint {mechanism.names[column]} is not finite in row {row}: "
            f"{array[row, column]}; finite numbers are needed"
        )
    return array


def single(name: str, value: ArrayLike, mechanism: Mechanism) -> Array:
    """Return one state, shape (n,), as a batch of shape (1, n); errors as in `batch`."""
    array = np.asarray(value, dtype=float)
    if array.shape != (mechanism.n,):
        raise InputError(
            f"{name} has shape {array.shape}, one state of {mechanism.name} needs "
            f"({mechanism.n},): {', '.join(mechanism.names)}"
        )
    return batch(name, array[None], mechanism)
