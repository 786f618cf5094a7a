"""Base parameters: the combinations of inertial parameters that joint torques tell, found by rank over random motion.

A column of the torque regressor that is a combination of columns before it adds nothing: its parameter is regrouped into theirs.
Links come from the base to the tip, so that a link's mass is regrouped into the links before it.

References
----------
Gautier, J. Robotic Systems 8 (1991) 485 (numerical computation by QR).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stribeck.ident.arrays import Array
from stribeck.ident.model.mechanism import Chain, Mechanism
from stribeck.ident.model.regressor import inertial_names, of_bodies, torque_regressor

_STATES = 40            # random ones a link
_SMALL = 1e-9           # of a column that is left of a combination of others
_ROUNDED = 1e-7         # of a coefficient that is none
_PARTS, _WORSE = (0.5, 0.2, 0.1, 0.05), 3.0      # of a way from zero, and times the condition number there, in a closed chain
_TURN, _SLIDE, _FAST, _PULL = np.pi, 0.5, 2.0, 5.0      # ranges of positions, velocities and accelerations


@dataclass(frozen=True)
class BaseParameters:
    """Combinations of inertial parameters that torques tell.

    Attributes
    ----------
    independent : ndarray of int, shape (b,)
        Columns of the regressor that are no combination of others before them.
    combination : ndarray, shape (b, 10 n)
        ``combination @ inertial_parameters(mechanism)`` are the base parameters: ``Y @ theta`` is
        ``Y[..., independent] @ (combination @ theta)``.
    names : tuple of str
        What each combines: the parameter with coefficient 1, then those regrouped into it, the most weighty first.
    """

    independent: NDArray[np.int_]
    combination: Array
    names: tuple[str, ...]


def base_parameters(mechanism: Mechanism, still: bool = False) -> BaseParameters:
    """Combinations that torques tell in any motion, or at rest.

    Parameters
    ----------
    mechanism : Mechanism
        The tree, or driven joints; masses and inertias are not used.
    still : bool
        Of gravity alone, as constant speeds that are slow show it.
    """
    Y = _random_rows(mechanism, still)
    length = np.linalg.norm(Y, axis=0)
    seen = np.flatnonzero((length > _SMALL * length.max()) & of_bodies(mechanism))
    R = np.asarray(np.linalg.qr(Y[:, seen] / length[seen])[1])
    independent = _independent(R)
    beta = np.linalg.solve(R[:len(independent), independent], R[:len(independent)]) if len(independent) else R[:0]
    combination = np.zeros((len(independent), Y.shape[1]))
    combination[:, seen] = beta * length[seen] / length[seen][independent][:, None]
    combination[np.abs(combination) < _ROUNDED] = 0.0
    names = inertial_names(mechanism)
    return BaseParameters(seen[independent], combination, tuple(_name(row, names) for row in combination))


def _independent(R: Array) -> NDArray[np.int_]:
    """Columns that are no combination of those before them; R is turned to be triangular in them, in place."""
    rank, chosen = 0, list[int]()
    for k in range(R.shape[1]):
        below = R[rank:, k]
        size = float(np.linalg.norm(below))
        if size <= _SMALL:
            continue
        v = below.copy()                        # Householder's reflection, which leaves nothing below
        v[0] += np.copysign(size, v[0])
        v /= np.linalg.norm(v)
        R[rank:, k:] -= 2.0 * np.outer(v, v @ R[rank:, k:])
        chosen.append(k)
        rank += 1
    return np.array(chosen, dtype=np.int_)


def _random_rows(mechanism: Mechanism, still: bool) -> Array:
    """Regressor of random states, shape (states n, 10 n)."""
    rng = np.random.default_rng(0)
    shape = (_STATES * mechanism.link_tree.n, mechanism.n)
    q = rng.uniform(-1.0, 1.0, shape) * np.where(mechanism.prismatic, _SLIDE, _TURN)
    if mechanism.chain is not None:
        q = _regular(mechanism.chain, q)
        shape = q.shape
    dq, ddq = (None, None) if still else (rng.uniform(-_FAST, _FAST, shape), rng.uniform(-_PULL, _PULL, shape))
    Y = torque_regressor(mechanism, q, dq, ddq)
    return Y.reshape(-1, Y.shape[-1])


def _regular(chain: Chain, q: Array) -> Array:
    """Postures on the ways from zero to others that are in reach and well away from singular ones, shape (K, n)."""
    home = np.zeros((1, q.shape[1]))
    worst = _WORSE * float(chain.condition(home, home)[0])
    found = np.zeros((0, q.shape[1]))
    for part in _PARTS:
        near = chain.condition(np.zeros_like(q), part * q) < worst
        found, q = np.vstack((found, part * q[near])), q[~near]
    return found


def _name(row: Array, names: tuple[str, ...]) -> str:
    """The first parameter has coefficient 1; those that are regrouped into it follow, the most weighty first."""
    first, *others = [int(np.flatnonzero(row)[0]), *(k for k in np.argsort(-np.abs(row), kind="stable") if row[k] != 0.0)]
    others = [k for k in others if k != first]
    parts = [names[first]]
    for k in others:
        times = "" if abs(abs(row[k]) - 1.0) < _SMALL else f"{abs(row[k]):.3g} "
        parts.append(f"{'-' if row[k] < 0.0 else '+'} {times}{names[k]}")
    return " ".join(parts)
