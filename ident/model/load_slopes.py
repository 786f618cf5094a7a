r"""Derivatives of joint loads by the links' inertial parameters.

Force f and moment m of a joint are linear in the parameters (`regressor`), so a change s of the
parameters changes them by exactly s times their slope. A load is the length of a part of them, for
example :math:`|f_\perp|`, and its derivative is taken over the change -s to s, which is zero where
the part itself is zero:

.. math:: \frac{|x + s\, d| - |x - s\, d|}{2 s} = \frac{2\, x \cdot d}{|x + s\, d| + |x - s\, d|}
"""

from collections.abc import Iterator

import numpy as np

from stribeck.ident.arrays import Array
from stribeck.ident.model.dynamics import led, with_followers
from stribeck.ident.model.load_arrays import WrenchSlopes
from stribeck.ident.model.loads import LOADS, joint_loads, normal_load
from stribeck.ident.model.mechanism import Mechanism
from stribeck.ident.model.recursion import BASE, Sweep, blocks
from stribeck.ident.model.regressor import PER_LINK, changed, wrench_regressor


def load_slopes(
    mechanism: Mechanism,
    directions: Array,
    step: float,
    q: Array,
    dq: Array,
    ddq: Array | None = None,
) -> dict[str, Array]:
    """Compute the derivatives of the loads of every joint by changes of the inertial parameters.

    Parameters
    ----------
    mechanism : Mechanism
        A tree, or the driven joints of a closed chain.
    directions : ndarray, shape (10 n, k)
        Changes of the inertial parameters; each of them changes one link.
    step : float
        Part of a change over which a derivative is taken.
    q, dq, ddq : ndarray, shape (N, n)
        Joint positions, velocities and accelerations; the last defaults to zero.

    Returns
    -------
    dict of str to ndarray, shape (N, n, k)
        Derivatives by load; zero where a load is unknown (nan).
    """
    if mechanism.chain is None:
        tree, positions, *rates = with_followers(mechanism, q, dq, ddq)
        parts = wrench_slopes(tree, directions, positions, *rates)
    else:
        tree, known = mechanism, mechanism.chain.wrench_slopes(mechanism, directions, q, dq, ddq)
        if known is None:
            return _differences(mechanism, directions, step, q, dq, ddq)
        parts = known
    shape = (tree.n, directions.shape[1], len(q))
    slopes = {load: np.zeros((mechanism.n, *shape[1:])) for load in LOADS}
    tau, of_tau = np.zeros((tree.n, len(q))), np.zeros(shape)
    for own in parts:
        j, (force, moment), (of_force, of_moment) = own.joint, own.wrench, own.slopes
        slides = bool(tree.prismatic[j])
        tau[j, own.rows] = (force if slides else moment)[2]
        of_tau[j, own.columns, own.rows] = (of_force if slides else of_moment)[2]
        if j >= mechanism.n:
            continue
        lengths = {
            "bending": _length_slope(moment[:2], of_moment[:2], step),
            "radial": _length_slope(force[:2], of_force[:2], step),
            "axial": _length_slope(force[2:], of_force[2:], step),
        }
        bearing = mechanism.bearings[j]
        if bearing is not None:
            twist = _length_slope(moment[2:], of_moment[2:], step)
            lengths["normal"] = normal_load(bearing, slides, **lengths, twist=twist)
        for load, values in lengths.items():
            slopes[load][j, own.columns, own.rows] = values
    tau, of_tau = led(mechanism, tau), led(mechanism, of_tau)
    if mechanism.chain is None and mechanism.transmission is not None:
        tau, of_tau = (
            np.moveaxis(mechanism.transmission.torque_of_motors(np.moveaxis(values, 0, -1)), -1, 0)
            for values in (tau, of_tau)
        )
    for j in range(mechanism.n):
        slopes["torque"][j] = _length_slope(tau[j : j + 1], of_tau[j : j + 1], step)
    out = {load: values.transpose(2, 0, 1) for load, values in slopes.items()}
    if mechanism.chain is not None:
        # loads are nan where a link has mass outside the plane of a planar closed chain
        loads = joint_loads(mechanism, q, dq, ddq)
        for load, values in out.items():
            values[np.isnan(loads.get(load))] = 0.0
    return out


def wrench_slopes(
    tree: Mechanism, directions: Array, q: Array, dq: Array | None, ddq: Array | None
) -> Iterator[WrenchSlopes]:
    """Yield the wrench of every joint of a tree and its derivatives by changes of the inertial
    parameters, block by block, from the tips to the ground; parameters as in `load_slopes`.
    """
    of_link = directions.reshape(tree.n, PER_LINK, -1)
    columns = [np.flatnonzero(changes.any(axis=0)) for changes in of_link]
    for rows in blocks(len(q)):
        sweep = Sweep(
            tree, q[rows], None if dq is None else dq[rows], None if ddq is None else ddq[rows]
        )
        sweep.outwards()
        carried = [
            [(own, _own_slopes(sweep, j, of_link[j][:, own]))] for j, own in enumerate(columns)
        ]
        for j, wrench in sweep.inwards():
            own, slopes = (
                np.concatenate(parts, axis=axis)
                for parts, axis in zip(zip(*carried[j], strict=True), (0, 2), strict=True)
            )
            yield WrenchSlopes(rows, j, wrench, own, slopes, sweep.motion[j][:, BASE])
            carried[j].clear()
            if (p := tree.parent[j]) >= 0:
                carried[p].append((own, sweep.to_parent(j, slopes)))


def _own_slopes(sweep: Sweep, j: int, changes: Array) -> Array:
    """Return derivatives of the wrench that moves link j alone, shape (2, 3, c, N)."""
    regressor = wrench_regressor(sweep.m.own_axes[j], sweep.motion[j], sweep.moving)
    return np.asarray(changes[: regressor.shape[2]].T @ regressor)


def _length_slope(vector: Array, slopes: Array, step: float) -> Array:
    """Derivatives of the length of a vector (d, N), whose derivatives are `slopes` (d, c, N)."""
    along = np.einsum("dn,dcn->cn", vector, slopes)
    square = np.einsum("dcn,dcn->cn", slopes, slopes)
    square *= step**2
    square += np.einsum("dn,dn->n", vector, vector)
    change = 2.0 * step * along
    both = np.sqrt(np.maximum(square + change, 0.0)) + np.sqrt(np.maximum(square - change, 0.0))
    return np.divide(2.0 * along, both, out=np.zeros_like(both), where=both > 0.0)


def _differences(
    mechanism: Mechanism, directions: Array, step: float, q: Array, dq: Array, ddq: Array | None
) -> dict[str, Array]:
    """As `load_slopes`, from the loads of changed mechanisms: friction of joints without a drive
    is not linear in the parameters.
    """
    slopes = {load: np.zeros((len(q), mechanism.n, directions.shape[1])) for load in LOADS}
    for k in np.flatnonzero(directions.any(axis=0)):
        up, down = (
            joint_loads(changed(mechanism, sign * step * directions[:, k]), q, dq, ddq)
            for sign in (1.0, -1.0)
        )
        for load, slope in slopes.items():
            slope[:, :, k] = np.nan_to_num((up.get(load) - down.get(load)) / (2.0 * step))
    return slopes
