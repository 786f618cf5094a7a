r"""Delay of the torque signal behind the position, as far as ripple shows it at several speeds.

A delay d turns the wave of order k, passed with velocity v, by :math:`k v d`: against each other in
both directions, so that cogging looks like friction ripple. At several speeds only one delay lets
the waves of all passages agree.
"""

from collections.abc import Sequence

import numpy as np

from stribeck.ident.arrays import Array
from stribeck.ident.ripple.passages import Passage

DELAY = 0.005  # s; standard deviation of the prior of the delay, as in general motion
_DELAYS = np.linspace(-0.01, 0.03, 161)  # s


def likely_delay(passages: Sequence[Passage], orders: Array) -> float:
    """Return the delay with which cogging and friction ripple of all passages agree best [s].

    Each order counts with the logarithm of the squares that are left (profile likelihood), and
    the delay with its prior.
    """
    score = (_DELAYS / DELAY) ** 2
    for order in orders.tolist():
        own = [one for one in passages if one.resolves(order)]
        torque, sway, samples, noise = map(
            np.array, zip(*(_coefficients(one, order) for one in own), strict=True)
        )
        velocity = np.array([one.direction * one.speed for one in own])
        inertia = np.array([one.inertia for one in own]) * (order * velocity) ** 2
        way, weight = np.sign(velocity), samples / np.maximum(noise, 1e-300)
        # a deviation between passages of the size of the noise
        weight = 1.0 / (1.0 / weight + np.median(1.0 / weight))
        turned = (
            torque * np.exp(-1j * np.multiply.outer(_DELAYS, order * velocity)) + inertia * sway
        )
        sums, odd = weight.sum(), weight @ way
        both = turned @ weight, turned @ (weight * way)
        determinant = max(sums**2 - odd**2, 1e-12 * sums**2)
        even, friction = (
            (sums * both[0] - odd * both[1]) / determinant,
            (sums * both[1] - odd * both[0]) / determinant,
        )
        left = np.abs(turned - even[:, None] - friction[:, None] * way) ** 2 @ weight
        score = score + 2.0 * len(own) * np.log(left)
    return float(_DELAYS[np.argmin(score)])


def _coefficients(one: Passage, order: float) -> tuple[complex, complex, float, float]:
    """Return the wave in torque and sway of a passage (real part of c exp(-i k q)),
    its information and noise.
    """
    columns = one.fast(np.column_stack((np.cos(order * one.q), np.sin(order * one.q))))
    information, torque = columns.T @ columns, one.fast(one.torque)
    waves = np.linalg.solve(information, columns.T @ np.column_stack((torque, one.fast(one.sway))))
    left = torque - columns @ waves[:, 0]
    complex_ = waves[0] + 1j * waves[1]
    return (
        complex_[0],
        complex_[1],
        float(np.trace(information)) / 2.0,
        float(left @ left) / len(left),
    )
