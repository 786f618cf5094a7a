r"""Bias compensation for position noise in the regression columns (errors in variables), by simulated noise.

The columns Y and the model's torque are computed from measured positions, so both contain position noise. Least squares takes
this noise for motion. With Y = Y_0 + dY (the joint's own acceleration is one of the columns) and a model torque with error d,

.. math:: E[Y^T r] = Y_0^T Y_0\, y - E[dY^T d], \qquad E[Y^T Y] = Y_0^T Y_0 + E[dY^T dY]

A direction whose column is hardly more than noise can get any value. Noise of the same size is therefore added to the positions
and filtered like them; the changes of the columns estimate both expectations. The expectations are subtracted from the sums of
products before the other parameters of a joint are eliminated, because the column of its own acceleration contains the same noise
and absorbs most of it. The compensated least squares estimate has a sandwich covariance:

.. math:: y = G^{-1} (Y^T r + E[dY^T d]), \quad G = Y^T Y - E[dY^T dY], \qquad \mathrm{cov}\, y = G^{-1} (Y^T Y)\, G^{-1}

References
----------
Cook and Stefanski, J. American Statistical Association 89 (1994) 1314 (added noise); Stoica and Soederstroem, Int. J. Control 36
(1982) 449 (bias-compensated least squares).
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from stribeck.ident.arrays import Array
from stribeck.ident.log.motion.filtered_motion import Log, Stretch
from stribeck.ident.log.motion.low_pass import low_pass
from stribeck.ident.log.motion.position_cutoff import has_velocity, signal_noise
from stribeck.ident.model.dynamics import inverse_dynamics

_TIMES = 3              # draws of noise
_RANK = 1e-12           # of the greatest eigenvalue; smaller eigenvalues mean linearly dependent columns


def noisier(log: Log) -> Iterator[Log]:
    """Yield copies of the log with additional noise of its positions (or velocities); loads and gravity stay the same."""
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
    """Return information matrix and moment of least squares, compensated for noise in the columns.

    Parameters
    ----------
    matrix : ndarray, shape (k, k)
        Y'Y.
    noise : ndarray, shape (k, k)
        Noise part of Y'Y: the expectation of dY'dY.
    moment : ndarray, shape (k,)
        Y'r, already compensated by E[dY'd].
    """
    size = np.diag(matrix)
    scale = np.where(size > _RANK * size.max(), 1.0 / np.sqrt(np.maximum(size, 1e-300)), 0.0)
    values, vectors = np.linalg.eigh(matrix * np.outer(scale, scale))
    told = values > _RANK * values[-1]
    root = np.divide(vectors[:, told] * np.sqrt(values[told]), scale[:, None], where=scale[:, None] > 0.0,
                     out=np.zeros((len(scale), int(told.sum()))))               # matrix = root root'
    inverse = scale[:, None] * vectors[:, told] / np.sqrt(values[told])
    noisy, turn = np.linalg.eigh(inverse.T @ noise @ inverse)                   # noise share of each direction
    left, root, inverse = np.clip(1.0 - noisy, 0.0, 1.0), root @ turn, inverse @ turn
    return np.asarray(root * left**2 @ root.T), np.asarray(root @ (left * (inverse.T @ moment)))
