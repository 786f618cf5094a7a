"""Base parameters: the identifiable combinations of inertial parameters, from the rank of the
regressor over random motion.

A regressor column that is a linear combination of the columns before it is redundant: its parameter
is regrouped into theirs. Columns are in the order of the links from base to tip, so the mass of a
link is regrouped into parameters of links before it.

References
----------
Gautier, J. Robotic Systems 8 (1991) 485 (numerical computation by QR).
"""

from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from stribeck.ident.arrays import Array
from stribeck.ident.model.mechanism import Chain, Mechanism
from stribeck.ident.model.regressor import inertial_names, of_bodies, torque_regressor

_STATES = 40  # number of random states for each link
# relative residual of a column below which the column is a combination of others
_SMALL = 1e-9
_ROUNDED = 1e-7  # a coefficient below this is zero
# closed chain: parts of a path, limit of the relative condition number
_PARTS, _WORSE = (0.5, 0.2, 0.1, 0.05), 3.0
# ranges of positions, velocities and accelerations
_TURN, _SLIDE, _FAST, _PULL = np.pi, 0.5, 2.0, 5.0


@dataclass(frozen=True)
class BaseParameters:
    """Combinations of inertial parameters that joint torques identify.

    Attributes
    ----------
    independent : ndarray of int, shape (b,)
        Columns of the regressor that are linearly independent of the columns before them.
    combination : ndarray, shape (b, 10 n)
        ``combination @ inertial_parameters(mechanism)`` are the base parameters: ``Y @ theta`` is
        ``Y[..., independent] @ (combination @ theta)``.
    names : tuple of str
        Formula of each base parameter: the parameter with coefficient 1, then the regrouped ones
        by decreasing coefficient.
    """

    independent: NDArray[np.int_]
    combination: Array
    names: tuple[str, ...]


def base_parameters(mechanism: Mechanism, still: bool = False) -> BaseParameters:
    """Return the combinations of inertial parameters that torques identify in
    general motion, or at rest.

    Parameters
    ----------
    mechanism : Mechanism
        The tree, or the driven joints of a closed chain; masses and inertias are not used.
    still : bool
        True for the combinations that gravity torques alone identify, as in slow
        motion at constant speed.
    """
    return _of_geometry(_Geometry.of(mechanism), still)


@dataclass(frozen=True)
class _Geometry:
    """A mechanism that equals all mechanisms of the same geometry, which have
    the same base parameters.
    """

    key: tuple[object, ...]
    mechanism: Mechanism = field(compare=False, repr=False)

    @classmethod
    def of(cls, mechanism: Mechanism) -> "_Geometry":
        """Return the geometry of a mechanism."""
        parts = [
            (
                m.names,
                m.parent,
                *(values.tobytes() for values in (m.prismatic, m.axis, m.origin, m.gravity)),
            )
            for m in (mechanism, mechanism.link_tree)
        ]
        followers = [(one.leader, one.ratio, one.shift) for one in mechanism.followers]
        closures = () if mechanism.chain is None else mechanism.chain.whole.closures
        loops = [
            (one.kind, one.links, one.points.tobytes(), one.axis.tobytes()) for one in closures
        ]
        return cls((*parts, *followers, *loops, of_bodies(mechanism).tobytes()), mechanism)


@lru_cache(maxsize=8)
def _of_geometry(geometry: _Geometry, still: bool) -> BaseParameters:
    """As `base_parameters`; a search for postures of a closed chain takes seconds, and a fit needs
    the result several times.
    """
    mechanism = geometry.mechanism
    Y = _random_rows(mechanism, still)
    length = np.linalg.norm(Y, axis=0)
    seen = np.flatnonzero((length > _SMALL * length.max()) & of_bodies(mechanism))
    R = np.asarray(np.linalg.qr(Y[:, seen] / length[seen])[1])
    independent = _independent(R)
    beta = (
        np.linalg.solve(R[: len(independent), independent], R[: len(independent)])
        if len(independent)
        else R[:0]
    )
    combination = np.zeros((len(independent), Y.shape[1]))
    combination[:, seen] = beta * length[seen] / length[seen][independent][:, None]
    combination[np.abs(combination) < _ROUNDED] = 0.0
    names = inertial_names(mechanism)
    return BaseParameters(
        seen[independent], combination, tuple(_name(row, names) for row in combination)
    )


def _independent(R: Array) -> NDArray[np.int_]:
    """Return the columns that are linearly independent of the columns before them; R becomes
    triangular in them, in place.
    """
    rank, chosen = 0, list[int]()
    for k in range(R.shape[1]):
        below = R[rank:, k]
        size = float(np.linalg.norm(below))
        if size <= _SMALL:
            continue
        # Householder reflection: makes the entries below the diagonal zero
        v = below.copy()
        v[0] += np.copysign(size, v[0])
        v /= np.linalg.norm(v)
        R[rank:, k:] -= 2.0 * np.outer(v, v @ R[rank:, k:])
        chosen.append(k)
        rank += 1
    return np.array(chosen, dtype=np.int_)


def _random_rows(mechanism: Mechanism, still: bool) -> Array:
    """Return the torque regressor at random states, shape (states n, 10 n)."""
    rng = np.random.default_rng(0)
    links = mechanism.link_tree.n
    # each state of a closed chain has as many rows as drives, and takes long to be found
    states = _STATES * links if mechanism.chain is None else -(-_STATES * links // mechanism.n)
    shape = (states, mechanism.n)
    q = rng.uniform(-1.0, 1.0, shape) * np.where(mechanism.prismatic, _SLIDE, _TURN)
    if mechanism.chain is not None:
        q = _regular(mechanism.chain, q)
        shape = q.shape
    dq, ddq = (
        (None, None)
        if still
        else (rng.uniform(-_FAST, _FAST, shape), rng.uniform(-_PULL, _PULL, shape))
    )
    Y = torque_regressor(mechanism, q, dq, ddq)
    return Y.reshape(-1, Y.shape[-1])


def _regular(chain: Chain, q: Array) -> Array:
    """Return one posture on each path from zero to q that is reachable and well away from
    singular postures, shape (K, n).
    """
    home = np.zeros((1, q.shape[1]))
    worst = _WORSE * float(chain.condition(home, home)[0])
    found = np.zeros((0, q.shape[1]))
    for part in _PARTS:
        near = chain.condition(np.zeros_like(q), part * q) < worst
        found, q = np.vstack((found, part * q[near])), q[~near]
    return found


def _name(row: Array, names: tuple[str, ...]) -> str:
    """Return the formula of a base parameter: the parameter with coefficient 1, then the
    regrouped ones by coefficient.
    """
    size = np.round(np.abs(row) / _ROUNDED)  # equal coefficients keep the order of the links
    first, *others = [
        int(np.flatnonzero(row)[0]),
        *(k for k in np.argsort(-size, kind="stable") if row[k] != 0.0),
    ]
    others = [k for k in others if k != first]
    parts = [names[first]]
    for k in others:
        times = "" if abs(abs(row[k]) - 1.0) < _SMALL else f"{abs(row[k]):.3g} "
        parts.append(f"{'-' if row[k] < 0.0 else '+'} {times}{names[k]}")
    return " ".join(parts)
