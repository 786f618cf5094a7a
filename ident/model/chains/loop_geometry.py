"""Geometry of closures: gaps of open loops, their rates and accelerations, and closing forces
on links (P0, Eqs. 23-27).
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stribeck.ident.arrays import Array, cross
from stribeck.ident.model.dynamics import Kinematics
from stribeck.ident.model.joint_parts import Closure
from stribeck.ident.model.mechanism import Mechanism


def gap(m: Mechanism, pose: Kinematics) -> Array:
    """Compute the gaps of the closures, shape (N, rows): for each closure three
    lengths [m], then angles [rad].
    """
    rows = []
    for closure in m.closures:
        rows.append(_point(pose, closure, 0) - _point(pose, closure, 1))
        if len(closure.across):
            a, b = (_rotation(pose, link) for link in closure.links)
            if closure.kind == "pin":
                turned = cross(b @ closure.axis, a @ closure.axis)
            else:
                turned = 0.5 * cross(b.swapaxes(1, 2), a.swapaxes(1, 2)).sum(axis=1)
            rows.append(np.einsum("nij,kj,ni->nk", a, closure.across, turned))
    return np.concatenate(rows, axis=1)


def turning_rows(m: Mechanism) -> NDArray[np.bool_]:
    """Return a mask of the gap rows that are angles, shape (rows,); the other rows are lengths."""
    return np.array(
        [turns for closure in m.closures for turns in [False] * 3 + [True] * len(closure.across)],
        dtype=bool,
    )


def gap_jacobian(m: Mechanism, pose: Kinematics) -> Array:
    """Compute the Jacobian G of the gaps: gap velocity per joint velocity, shape (N, rows, n)."""
    G, row = (
        np.zeros((len(pose.origin), sum(3 + len(closure.across) for closure in m.closures), m.n)),
        0,
    )
    for closure in m.closures:
        a, b = (
            np.flatnonzero(m.carries[:, link]) if link >= 0 else np.zeros(0, dtype=int)
            for link in closure.links
        )
        # joints that move sides a and b
        path, slides = np.concatenate((a, b)), m.prismatic[np.concatenate((a, b))]
        axis, arm = pose.axis[:, path], -pose.origin[:, path]
        arm[:, : len(a)] += _point(pose, closure, 0)[:, None]
        arm[:, len(a) :] += _point(pose, closure, 1)[:, None]
        many = 3 + len(closure.across)
        part = np.empty((len(axis), many, len(path)))
        part[:, :3] = cross(axis, arm).swapaxes(1, 2)
        if many > 3:
            np.matmul(_directions(pose, closure), axis.swapaxes(1, 2), out=part[:, 3:])
        if slides.any():
            part[:, :3, slides] = axis[:, slides].swapaxes(1, 2)
            part[:, 3:, slides] = 0.0
        G[:, row : row + many, a] = part[:, :, : len(a)]
        G[:, row : row + many, b] -= part[:, :, len(a) :]
        row += many
    return G


def gap_acceleration(m: Mechanism, motion: Kinematics) -> Array:
    """Compute the accelerations of the gaps, shape (N, rows)."""
    rows = []
    for closure in m.closures:
        parts = []
        for side in (0, 1):
            link = closure.links[side]
            if link < 0:
                parts.append(np.zeros((3, len(motion.origin), 3)))
                continue
            r, w, dw = (
                _point(motion, closure, side) - motion.origin[:, link],
                motion.w[:, link],
                motion.dw[:, link],
            )
            parts.append(
                np.array([motion.a[:, link] + cross(dw, r) + cross(w, cross(w, r)), w, dw])
            )
        a, b = parts
        rows.append(a[0] - b[0])
        t = _directions(motion, closure)
        rows.append(
            np.einsum("nki,ni->nk", t, a[2] - b[2])
            + np.einsum("nki,ni->nk", cross(a[1][:, None], t), a[1] - b[1])
        )
    return np.concatenate(rows, axis=1)


def cut_wrenches(m: Mechanism, pose: Kinematics, lam: Array) -> tuple[Array, Array]:
    """Convert multipliers to forces and moments on link a of each
    closure, (N, closures, 3) each.
    """
    force, moment, row = (
        np.zeros((len(lam), len(m.closures), 3)),
        np.zeros((len(lam), len(m.closures), 3)),
        0,
    )
    for k, closure in enumerate(m.closures):
        across = closure.across
        force[:, k] = lam[:, row : row + 3]
        directions = _directions(pose, closure)
        moment[:, k] = np.einsum("nki,nk->ni", directions, lam[:, row + 3 : row + 3 + len(across)])
        row += 3 + len(across)
    return force, moment


def on_links(
    mechanism: Mechanism,
    pose: Kinematics,
    force: Array,
    moment: Array,
    external: ArrayLike | None = None,
) -> Array:
    """Convert cut-joint forces and moments, (N, closures, 3) each, to wrenches on the
    links of the tree, (N, n, 6).

    The result includes the wrenches `external`, if given.
    """
    out = (
        np.zeros((*pose.origin.shape[:2], 6))
        if external is None
        else np.array(external, dtype=float)
    )
    for k, closure in enumerate(mechanism.closures):
        for side, sign in ((0, 1.0), (1, -1.0)):
            link = closure.links[side]
            if link >= 0:
                arm = _point(pose, closure, side) - pose.origin[:, link]
                out[:, link, :3] += sign * force[:, k]
                out[:, link, 3:] += sign * (moment[:, k] + cross(arm, force[:, k]))
    return out


def _point(pose: Kinematics, closure: Closure, side: int) -> Array:
    link = closure.links[side]
    if link < 0:
        return np.broadcast_to(closure.points[side], (len(pose.origin), 3))
    return np.asarray(pose.origin[:, link] + pose.rotation[:, link] @ closure.points[side])


def _directions(pose: Kinematics, closure: Closure) -> Array:
    """Return the directions about which a closure allows no turning, in
    base axes, shape (N, k, 3).
    """
    return np.asarray((_rotation(pose, closure.links[0]) @ closure.across.T).swapaxes(1, 2))


def _rotation(pose: Kinematics, link: int) -> Array:
    return (
        np.broadcast_to(np.eye(3), (len(pose.origin), 3, 3)) if link < 0 else pose.rotation[:, link]
    )
