r"""Noise of positions in what explains torques, drawn again: what of a slope is noise.

Slopes Y and the model's torque come from measured positions, whose noise is in both (errors in variables). Least squares takes it
for motion: with Y = Y_0 + dY, the joint's own acceleration among its columns, and a torque of the model that is off by d,

.. math:: E[Y^T r] = Y_0^T Y_0\, y - E[dY^T d], \qquad E[Y^T Y] = Y_0^T Y_0 + E[dY^T dY]

so that a direction whose slope is hardly more than noise gets any value. Noise of the same size, added to the positions and
filtered like them, tells both expectations. They are taken from the sums of products before what else a joint has is eliminated:
its own acceleration has the same noise, and takes most of it. Least squares that is so compensated has the covariance of a
sandwich:

.. math:: y = G^{-1} (Y^T r + E[dY^T d]), \quad G = Y^T Y - E[dY^T dY], \qquad \mathrm{cov}\, y = G^{-1} (Y^T Y)\, G^{-1}

References
----------
Cook and Stefanski, J. American Statistical Association 89 (1994) 1314 (noise added); Stoica and Soederstroem, Int. J. Control 36
(1982) 449 (least squares compensated for bias).
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from stribeck.ident.arrays import Array
from stribeck.ident.log.motion.filtered_motion import Log, Stretch
from stribeck.ident.log.motion.low_pass import low_pass
from stribeck.ident.log.motion.position_cutoff import has_velocity, signal_noise
from stribeck.ident.model.dynamics import inverse_dynamics

_TIMES = 3              # that noise is drawn
_RANK = 1e-12           # of the greatest eigenvalue, below which columns are combinations of others


def noisier(log: Log) -> Iterator[Log]:
    """The log with noise of its positions, or velocities, added once more, a few times; loads and gravity stay as they are."""
    rng = np.random.default_rng(0)
    for _ in range(_TIMES):
        yield replace(log, stretches=tuple(_noisier(part, log, rng) for part in log.stretches))


def _noisier(part: Stretch, log: Log, rng: np.random.Generator) -> Stretch:
    deviation = np.array([signal_noise(part.run, j) for j in range(part.q.shape[1])])
    noise = low_pass(deviation * rng.standard_normal(part.q.shape), log.cutoff * log.dt)
    velocity = noise if has_velocity(part.run) else np.gradient(noise, log.dt, axis=0)
    q = part.q if has_velocity(part.run) else part.q + noise
    echo = q - part.q, velocity, np.gradient(velocity, log.dt, axis=0)
    links = (part.links[0] + echo[0], part.links[1] + echo[1], part.links[2] + echo[2])
    return replace(part, q=q, dq=part.dq + echo[1], ddq=part.ddq + echo[2], links=links,
                   rigid=inverse_dynamics(part.mechanism, *links))


def compensated(matrix: Array, noise: Array, moment: Array) -> tuple[Array, Array]:
    """Information and moment of least squares that is compensated for noise in its columns.

    Parameters
    ----------
    matrix : ndarray, shape (k, k)
        Y'Y.
    noise : ndarray, shape (k, k)
        What of it is noise: expectation of dY'dY.
    moment : ndarray, shape (k,)
        Y'r, compensated.
    """
    size = np.diag(matrix)
    scale = np.where(size > _RANK * size.max(), 1.0 / np.sqrt(np.maximum(size, 1e-300)), 0.0)
    values, vectors = np.linalg.eigh(matrix * np.outer(scale, scale))
    told = values > _RANK * values[-1]
    root = np.divide(vectors[:, told] * np.sqrt(values[told]), scale[:, None], where=scale[:, None] > 0.0,
                     out=np.zeros((len(scale), int(told.sum()))))               # matrix = root root'
    inverse = scale[:, None] * vectors[:, told] / np.sqrt(values[told])
    noisy, turn = np.linalg.eigh(inverse.T @ noise @ inverse)                   # part of each direction that is noise
    left, root, inverse = np.clip(1.0 - noisy, 0.0, 1.0), root @ turn, inverse @ turn
    return np.asarray(root * left**2 @ root.T), np.asarray(root @ (left * (inverse.T @ moment)))
