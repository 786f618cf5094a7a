"""Search for orders that the arm file does not give: a periodogram over position,
of all passages together.

The torque of each passage is summed over cells of equal width, and transformed for all orders at
once. Weighted means over the passages give cogging and friction ripple at each order, and their
scatter the standard error, as in the final fit.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from stribeck.ident.arrays import Array
from stribeck.ident.ripple.passages import Passage

_FINE = 4  # orders of the grid per resolution of the widest passage
_MANY = 8  # waves in a passage from which the slow columns take nothing of them
_FINE_CELLS = 8  # cells per wave where there are fewer
_CELLS = 4  # cells per wave of the greatest order
_MOST_CELLS = 1 << 17
_LEAST_PASSAGES = 6  # and half as many in each direction
# least ratio of two speeds: an order told by one speed may be a frequency, or an alias
_SPEEDS = 1.05
_LEVERAGE = 0.9  # greatest leverage of a passage
_BESIDE = 1.2  # resolutions about a known or claimed order that are not searched


@dataclass(frozen=True)
class Searched:
    """Periodogram of a joint.

    Attributes
    ----------
    order : ndarray, shape (K,)
        Waves per turn.
    away : ndarray, shape (2, K)
        Amplitude of cogging and friction ripple in standard errors; zero where too few
        passages measure the order.
    tests : float
        Number of independent amplitudes in the search.
    resolution : float
        Difference of orders that the widest passages resolve.
    """

    order: Array
    away: Array
    tests: float
    resolution: float

    def greatest(self) -> tuple[float, float]:
        """Return the order with the greatest amplitude in standard errors, and this number."""
        best = self.away.max(axis=0)
        k = int(np.argmax(best))
        return float(self.order[k]), float(best[k])


def search_orders(
    passages: Sequence[Passage],
    torques: Sequence[Array],
    least: float,
    beside: Sequence[float],
    most: float,
) -> Searched | None:
    """Return the periodogram over position between two orders.

    Parameters
    ----------
    passages : sequence of Passage
        Passages of a joint.
    torques : sequence of ndarray
        Their torques without slow parts and known ripple, shape (N,) each.
    least, most : float
        Range of orders.
    beside : sequence of float
        Orders that are known or claimed: their neighbourhood is left out.

    Returns
    -------
    Searched or None
        None if there are too few passages, or all have the same speed.
    """
    speeds = [one.speed for one in passages]
    reach = sorted((one.most for one in passages), reverse=True)
    if len(passages) < _LEAST_PASSAGES or max(speeds) < _SPEEDS * min(speeds):
        return None
    most = min(most, reach[_LEAST_PASSAGES - 1])
    least = max(least, sorted(one.least for one in passages)[_LEAST_PASSAGES - 1])
    low, high = (
        min(float(one.q.min()) for one in passages),
        max(float(one.q.max()) for one in passages),
    )
    cells = int(min(_MOST_CELLS, (high - low) * most / (2.0 * np.pi) * _CELLS)) + 2
    resolution = 2.0 * np.pi / max(one.width for one in passages)
    if most <= least:
        return None
    size = (high - low) / (cells - 1)
    length = 1 << int(
        np.ceil(np.log2(_FINE * cells * max(1.0, 2.0 * np.pi / (resolution * (high - low)))))
    )
    grid = 2.0 * np.pi * np.fft.rfftfreq(length, size)
    kept = np.flatnonzero((grid >= least) & (grid <= min(most, np.pi / size)))
    if not len(kept):
        return None
    order: Array = np.asarray(grid[kept], dtype=np.float64)
    waves, samples, noise, measured = [], [], [], []
    for one, torque in zip(passages, torques, strict=True):
        cell = np.rint((one.q - low) / size).astype(int)
        information = np.full(len(order), len(torque) / 2.0)
        own = np.fft.rfft(np.bincount(cell, torque, cells), length)[kept] / information
        there = (order >= one.least) & (order <= one.most)
        few = np.flatnonzero(there & (order < 2.0 * np.pi * _MANY / one.width))
        if len(few):
            own[few], information[few] = _few_waves(one, torque, order[few], low)
        waves.append(own.astype(np.complex64))
        samples.append(information)
        noise.append(float(torque @ torque) / max(1, len(torque) - one.basis.shape[1]))
        measured.append(there)
    way = np.array([one.direction for one in passages], dtype=float)
    away = _errors_away(
        np.array(waves), np.array(samples), np.array(noise), np.array(measured), way
    )
    for known in beside:
        away[:, np.abs(order - known) < _BESIDE * resolution] = 0.0
    return Searched(order, away, 2.0 * max(1.0, float(np.ptp(order)) / resolution), resolution)


def _few_waves(one: Passage, torque: Array, order: Array, low: float) -> tuple[Array, Array]:
    """Return coefficients and information of orders with few waves in a passage, of which the
    slow columns take a part.

    The samples are averaged over cells, with several cells per wave.
    """
    cell = np.minimum(
        ((one.q - one.q.min()) / one.width * _MANY * _FINE_CELLS).astype(int),
        _MANY * _FINE_CELLS - 1,
    )
    there, cell, count = np.unique(cell, return_inverse=True, return_counts=True)
    root = np.sqrt(count)
    q, tau = (np.bincount(cell, values, len(there)) / count for values in (one.q - low, torque))
    slow = np.column_stack([np.bincount(cell, column, len(there)) / root for column in one.basis.T])
    basis = np.linalg.qr(slow)[0]

    def left(values: Array) -> Array:
        return np.asarray(values - (values @ basis) @ basis.T)

    cosine, sine, torque = (
        left(np.cos(np.outer(order, q)) * root),
        left(np.sin(np.outer(order, q)) * root),
        left(tau * root),
    )
    a, b, c = (cosine**2).sum(axis=1), (cosine * sine).sum(axis=1), (sine**2).sum(axis=1)
    determinant = np.maximum(a * c - b**2, 1e-9 * a * c)
    of_cosine, of_sine = cosine @ torque, sine @ torque
    real = (c * of_cosine - b * of_sine) / determinant
    imaginary = (a * of_sine - b * of_cosine) / determinant
    return np.asarray(real - 1j * imaginary), np.asarray(2.0 * determinant / (a + c))


def _errors_away(
    own: Array, samples: Array, noise: Array, measured: np.ndarray, way: Array
) -> Array:
    """Return the amplitudes of cogging and friction ripple in standard errors, shape (2, K).

    Parameters
    ----------
    own : ndarray of complex, shape (S, K)
        Waves of the passages.
    samples : ndarray, shape (S, K)
        Information of each passage on them.
    noise, way : ndarray, shape (S,)
        Noise and direction of each passage.
    measured : ndarray of bool, shape (S, K)
        Whether a passage measures an order.
    """
    square = np.abs(own) ** 2 * samples
    usual = np.array(
        [
            np.median(one[there]) if there.any() else 0.0
            for one, there in zip(square, measured, strict=True)
        ]
    )
    # noise that is correlated along a passage
    level = np.maximum(noise, usual / (2.0 * np.log(2.0)))
    weight = np.where(measured, samples / np.maximum(level, 1e-300)[:, None], 0.0)
    sums, odd = weight.sum(axis=0), (way[:, None] * weight).sum(axis=0)
    determinant = sums**2 - odd**2
    enough = (measured.sum(axis=0) >= _LEAST_PASSAGES) & (determinant > 0.05 * sums**2)
    for sign in (1.0, -1.0):
        enough &= (measured & (way[:, None] == sign)).sum(axis=0) >= _LEAST_PASSAGES // 2
    out = np.zeros((2, own.shape[1]))
    if not enough.any():
        return out
    own, weight, sums, odd, determinant = (
        values[..., enough] for values in (own, weight, sums, odd, determinant)
    )
    both = (weight * own).sum(axis=0), (weight * way[:, None] * own).sum(axis=0)
    even, friction = (
        (sums * both[0] - odd * both[1]) / determinant,
        (sums * both[1] - odd * both[0]) / determinant,
    )
    left = np.abs(own - even - way[:, None] * friction) ** 2
    share = np.minimum(2.0 * weight * (sums - odd * way[:, None]) / determinant, _LEVERAGE)
    model = np.sqrt(sums / determinant)
    for kind, value, influence in (
        (0, even, weight * (sums - odd * way[:, None]) / determinant),
        (1, friction, weight * (sums * way[:, None] - odd) / determinant),
    ):
        spread = np.sqrt(0.5 * (influence**2 * left / (1.0 - share) ** 2).sum(axis=0))
        out[kind, enough] = np.abs(value) / np.maximum(np.maximum(spread, model), 1e-300)
    return out
