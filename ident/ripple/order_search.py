"""Search for orders that the arm file does not give: a periodogram over position, of all passages together.

The torque of each passage is summed over cells of equal width, and transformed for all orders at once. Weighted means over the
passages give cogging and friction ripple at each order, and their scatter the standard error, as in the final fit.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from stribeck.ident.arrays import Array
from stribeck.ident.ripple.passages import Passage

_FINE = 6               # orders of the grid per resolution of the widest passage
_CELLS = 4              # cells per wave of the greatest order
_MOST_CELLS = 1 << 17
_LEAST_PASSAGES = 6     # and half as many in each direction
_SPEEDS = 1.05          # least ratio of two speeds: an order told by one speed may be a frequency, or an alias
_LEVERAGE = 0.9         # greatest leverage of a passage
_BESIDE = 3.0           # resolutions about a known or claimed order that are not searched


@dataclass(frozen=True)
class Searched:
    """Periodogram of a joint.

    Attributes
    ----------
    order : ndarray, shape (K,)
        Waves per turn.
    away : ndarray, shape (2, K)
        Amplitude of cogging and friction ripple in standard errors; zero where too few passages measure the order.
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


def search_orders(passages: Sequence[Passage], torques: Sequence[Array], least: float, beside: Sequence[float],
                  most: float) -> Searched | None:
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
    low, high = min(float(one.q.min()) for one in passages), max(float(one.q.max()) for one in passages)
    cells = int(min(_MOST_CELLS, (high - low) * most / (2.0 * np.pi) * _CELLS)) + 2
    resolution = 2.0 * np.pi / max(one.width for one in passages)
    if most <= least:
        return None
    size = (high - low) / (cells - 1)
    length = 1 << int(np.ceil(np.log2(_FINE * cells * max(1.0, 2.0 * np.pi / (resolution * (high - low))))))
    grid = 2.0 * np.pi * np.fft.rfftfreq(length, size)
    kept = np.flatnonzero((grid >= least) & (grid <= min(most, np.pi / size)))
    if not len(kept):
        return None
    order: Array = np.asarray(grid[kept], dtype=np.float64)
    waves, samples, noise, measured = [], [], [], []
    for one, torque in zip(passages, torques, strict=True):
        cell = np.rint((one.q - low) / size).astype(int)
        sums = np.bincount(cell, torque, cells)
        waves.append(np.fft.rfft(sums, length)[kept].astype(np.complex64))
        samples.append(len(torque) / 2.0)
        noise.append(float(torque @ torque) / max(1, len(torque) - one.basis.shape[1]))
        measured.append((order >= one.least) & (order <= one.most))
    way = np.array([one.direction for one in passages], dtype=float)
    away = _errors_away(np.array(waves), np.array(samples), np.array(noise), np.array(measured), way)
    for known in beside:
        away[:, np.abs(order - known) < _BESIDE * resolution] = 0.0
    return Searched(order, away, 2.0 * max(1.0, float(np.ptp(order)) / resolution), resolution)


def _errors_away(waves: Array, samples: Array, noise: Array, measured: np.ndarray, way: Array) -> Array:
    """Return the amplitudes of cogging and friction ripple in standard errors, shape (2, K).

    Parameters
    ----------
    waves : ndarray of complex, shape (S, K)
        Fourier sums of the passages.
    samples, noise, way : ndarray, shape (S,)
        Information of each passage in its sums, its noise, and its direction.
    measured : ndarray of bool, shape (S, K)
        Whether a passage measures an order.
    """
    own = waves / samples[:, None]                                  # coefficients of the passages
    seen = np.where(measured, np.abs(own) ** 2, np.nan)
    usual = np.array([np.nanmedian(one) if there.any() else 0.0 for one, there in zip(seen, measured, strict=True)])
    variance = np.maximum(noise / samples, usual / (2.0 * np.log(2.0)))     # noise that is correlated along a passage
    weight = np.where(measured, (1.0 / np.maximum(variance, 1e-300))[:, None], 0.0)
    sums, odd = weight.sum(axis=0), (way[:, None] * weight).sum(axis=0)
    determinant = sums**2 - odd**2
    enough = (measured.sum(axis=0) >= _LEAST_PASSAGES) & (determinant > 0.05 * sums**2)
    for sign in (1.0, -1.0):
        enough &= (measured & (way[:, None] == sign)).sum(axis=0) >= _LEAST_PASSAGES // 2
    out = np.zeros((2, waves.shape[1]))
    if not enough.any():
        return out
    own, weight, sums, odd, determinant = (values[..., enough] for values in (own, weight, sums, odd, determinant))
    both = (weight * own).sum(axis=0), (weight * way[:, None] * own).sum(axis=0)
    even, friction = (sums * both[0] - odd * both[1]) / determinant, (sums * both[1] - odd * both[0]) / determinant
    left = np.abs(own - even - way[:, None] * friction) ** 2
    share = np.minimum(2.0 * weight * (sums - odd * way[:, None]) / determinant, _LEVERAGE)
    model = np.sqrt(sums / determinant)
    for kind, value, influence in ((0, even, weight * (sums - odd * way[:, None]) / determinant),
                                   (1, friction, weight * (sums * way[:, None] - odd) / determinant)):
        spread = np.sqrt(0.5 * (influence**2 * left / (1.0 - share) ** 2).sum(axis=0))
        out[kind, enough] = np.abs(value) / np.maximum(np.maximum(spread, model), 1e-300)
    return out
