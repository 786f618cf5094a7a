r"""Fit of harmonics of a joint's position to the torque of its passages.

In passage s with direction :math:`\sigma_s`, the fast part of the torque is linear in the
coefficients of each order k:

.. math:: \tau_s(q) = \sum_k (e_k + \sigma_s f_k)^T (\cos k q_d, \sin k q_d), \qquad q_d = q - d\, \dot q

:math:`e` is cogging, :math:`f` friction ripple, and d the delay of the torque signal, which would
turn one into the other; it is fitted with a prior. Orders that the samples gave, not the arm file,
are fitted, too (Gauss-Newton).

Noise along a passage is correlated, so passages are the clusters: weights take a deviation between
passages into account, and the covariance leaves out one passage at a time (CR3, the jackknife).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from stribeck.ident.arrays import Array
from stribeck.ident.ripple.passages import Passage
from stribeck.ident.ripple.signal_delay import DELAY, likely_delay

_TURNS = 8  # most iterations for delay and orders
# greatest last step: of the delay over its prior, of an order over its hundredth
_SETTLED = 2e-3
_RIDGE = 1e-9  # part of the information that keeps the equations solvable
_LEAST_PASSAGES = 4


@dataclass(frozen=True)
class HarmonicFit:
    """Harmonics of one joint.

    Attributes
    ----------
    orders : ndarray, shape (m,)
        Waves per turn.
    even, odd : ndarray, shape (m, 2)
        Coefficients of cosine and sine of cogging and of friction ripple [N·m or N].
    covariance : ndarray, shape (2, m, 2, 2)
        Covariance of the coefficients of each order, cogging and friction
        ripple, from the passages.
    least : ndarray, shape (2, m)
        Standard error of each amplitude that noise alone would leave.
    passages : ndarray of int, shape (m,)
        Number of passages that measure each order.
    freedom : ndarray, shape (m,)
        Degrees of freedom of the covariance, from the weights of the passages.
    delay : float
        Delay of the torque signal [s]; zero if it was not fitted.
    order_error : ndarray, shape (m,)
        Standard error of orders that were fitted, else zero.
    """

    orders: Array
    even: Array
    odd: Array
    covariance: Array
    least: Array
    passages: np.ndarray
    freedom: Array
    delay: float = 0.0
    order_error: Array = field(default_factory=lambda: np.zeros(0))

    def amplitude(self, kind: int, k: int) -> float:
        """Amplitude of one order; kind 0 is cogging, 1 friction ripple."""
        return float(np.linalg.norm((self.even, self.odd)[kind][k]))

    def error(self, kind: int, k: int) -> tuple[float, float]:
        """Standard errors of amplitude and phase of one order [N·m, rad]."""
        value, covariance = (self.even, self.odd)[kind][k], self.covariance[kind, k]
        size = max(float(np.linalg.norm(value)), 1e-300)
        along = value / size
        across = np.array([-along[1], along[0]])
        of_amplitude = float(np.sqrt(along @ covariance @ along))
        return of_amplitude, float(np.sqrt(across @ covariance @ across)) / size

    def errors_away(self, kind: int, k: int) -> float:
        """Amplitude in standard errors, of the passages or of noise alone, whichever is greater."""
        spread = float(np.sqrt(np.trace(self.covariance[kind, k]) / 2.0))
        return self.amplitude(kind, k) / max(spread, float(self.least[kind, k]), 1e-300)

    def torque(self, q: Array, dq: Array, which: Sequence[tuple[int, int]]) -> Array:
        """Return the torque of some harmonics (kind, order's index), with the delay
        of the signal, shape (N,).
        """
        out, at = np.zeros(len(q)), q - self.delay * dq
        for kind, k in which:
            wave = (
                np.column_stack((np.cos(self.orders[k] * at), np.sin(self.orders[k] * at)))
                @ (self.even, self.odd)[kind][k]
            )
            out += wave if kind == 0 else np.sign(dq) * wave
        return out


@dataclass(frozen=True)
class _Sums:
    """Sums of one passage: information (c, c), right-hand side (c,), columns to
    unknowns (c, u), and noise.
    """

    information: Array
    right: Array
    unknowns: Array
    noise: float
    orders: np.ndarray


def fit_harmonics(
    passages: Sequence[Passage],
    orders: Sequence[float],
    searched: Sequence[bool] | np.ndarray | None = None,
    delay: bool = True,
) -> HarmonicFit | None:
    """Fit cogging and friction ripple of some orders together.

    Parameters
    ----------
    passages : sequence of Passage
        Passages of the joint; each is used for the orders that it resolves.
    orders : sequence of float
        Waves per turn.
    searched : sequence of bool, optional
        Orders that are fitted, too, with the given values as starts.
    delay : bool
        Whether to fit the delay of the torque signal.

    Returns
    -------
    HarmonicFit or None
        None if fewer than four passages resolve one of the orders.
    """
    k, free = (
        np.array(orders, dtype=float),
        np.zeros(len(orders), bool) if searched is None else np.array(searched, dtype=bool),
    )
    used = [one for one in passages if any(one.resolves(order) for order in k)]
    if not len(k) or min(sum(one.resolves(order) for one in used) for order in k) < _LEAST_PASSAGES:
        return None
    theta, start, between = np.zeros(4 * len(k)), k.copy(), 0.0
    late = likely_delay(used, k) if delay else 0.0
    extras = int(delay) + int(free.sum())
    for turn in range(_TURNS if extras else 2):
        bent = turn > 0  # derivatives need coefficients
        sums = [_sums(one, k, theta, late, delay and bent, free & bent) for one in used]
        unknowns = sums[0].unknowns.shape[1]
        prior = np.zeros((unknowns, 2))
        if delay and bent:
            prior[4 * len(k)] = 1.0 / DELAY**2, -late / DELAY**2
        solution, between = _solved(sums, prior, between)
        theta = solution[: 4 * len(k)]
        if not bent:
            continue
        step = solution[4 * len(k) :]
        late += float(step[0]) if delay else 0.0
        k[free] += np.clip(step[int(delay) :], -0.05 * start[free], 0.05 * start[free])
        if (
            not extras
            or np.abs(step * np.concatenate(([1.0 / DELAY] * int(delay), 100.0 / k[free]))).max()
            < _SETTLED
        ):
            break
    return _with_errors(sums, prior, between, k, free, delay, late, solution)


def _sums(
    one: Passage, k: Array, theta: Array, late: float, of_delay: bool, free: np.ndarray
) -> _Sums:
    """Return the sums of a passage about the present delay and orders."""
    m, own = len(k), np.flatnonzero([one.resolves(order) for order in k])
    at = one.q - late * one.dq
    cosine, sine = np.cos(at[:, None] * k), np.sin(at[:, None] * k)
    wave = np.zeros((len(at), 2 * m))
    wave[:, 2 * own], wave[:, 2 * own + 1] = cosine[:, own], sine[:, own]
    both = np.zeros((2 * m, 4 * m))
    both[:, : 2 * m], both[:, 2 * m :] = np.eye(2 * m), one.direction * np.eye(2 * m)
    coefficients = both @ theta
    slope = np.zeros((len(at), m))  # of the torque over k q
    slope[:, own] = (
        -sine[:, own] * coefficients[2 * own] + cosine[:, own] * coefficients[2 * own + 1]
    )
    further = [slope @ k * -one.dq] if of_delay else []
    further += [slope[:, j] * at for j in np.flatnonzero(free)]
    columns = one.fast(np.column_stack([wave, *further]))
    information = columns.T @ columns
    kept = np.concatenate((2 * own, 2 * own + 1))
    swing = one.inertia * (k[own] * one.speed) ** 2
    swing = np.concatenate((swing, swing))
    present = columns[:, kept]
    if late != 0.0:  # the position is not delayed
        present = one.fast(
            np.column_stack((np.cos(one.q[:, None] * k[own]), np.sin(one.q[:, None] * k[own])))
        )
    held = np.linalg.solve(
        present.T @ present + _RIDGE * len(at) * np.eye(len(kept)), present.T @ one.sway
    )
    torque = one.fast(one.torque) + columns[:, kept] @ (swing * held)
    rest = information[np.ix_(kept, kept)] + _RIDGE * len(at) * np.eye(len(kept))
    left = torque - columns[:, kept] @ np.linalg.solve(rest, columns[:, kept].T @ torque)
    echo = float(np.mean(swing) if len(own) else 0.0) ** 2 * float(
        np.mean((one.fast(one.sway) - present @ held) ** 2)
    )
    freedom = max(1, len(at) - one.basis.shape[1] - len(kept))
    unknowns = np.zeros((columns.shape[1], 4 * m + len(further)))
    unknowns[: 2 * m, : 4 * m] = both
    unknowns[2 * m :, 4 * m :] = np.eye(len(further))
    return _Sums(
        information, columns.T @ torque, unknowns, float(left @ left) / freedom + echo, own
    )


def _solved(sums: Sequence[_Sums], prior: Array, between: float) -> tuple[Array, float]:
    """Return the solution with weights for noise and for a deviation between passages,
    and this variance [N²·m²].
    """
    for _ in range(3):
        matrix, right = (
            np.sum(values, axis=0)
            for values in zip(*(_normal(one, between) for one in sums), strict=True)
        )
        solution = np.linalg.solve(
            matrix + np.diag(prior[:, 0]) + _ridge(matrix), right + prior[:, 1]
        )
        between = _between(sums, solution)
    return solution, between


def _normal(one: _Sums, between: float) -> tuple[Array, Array]:
    """Return the weighted normal equations of a passage."""
    weight = _weight(one, between)
    return (
        weight * one.unknowns.T @ one.information @ one.unknowns,
        weight * one.unknowns.T @ one.right,
    )


def _weight(one: _Sums, between: float) -> float:
    """Return the weight of a passage: inverse variance of its samples, as far as
    they tell their common error.
    """
    return 1.0 / max(one.noise + between * _size(one), 1e-300)


def _size(one: _Sums) -> float:
    """Return the mean information of the waves of a passage, in samples."""
    return (
        float(
            np.mean(np.diag(one.information)[np.concatenate((2 * one.orders, 2 * one.orders + 1))])
        )
        if len(one.orders)
        else 0.0
    )


def _between(sums: Sequence[_Sums], solution: Array) -> float:
    """Return the variance of coefficients between passages beyond their noise
    (DerSimonian and Laird) [N²·m²].
    """
    square = count = scale = 0.0
    for one in sums:
        kept = np.concatenate((2 * one.orders, 2 * one.orders + 1))
        left = (one.right - one.information @ (one.unknowns @ solution))[kept]
        inverse = np.linalg.solve(
            one.information[np.ix_(kept, kept)]
            + _RIDGE * np.trace(one.information) * np.eye(len(kept)),
            left,
        )
        square += float(left @ inverse) / max(one.noise, 1e-300)
        count += len(kept)
        scale += len(kept) * _size(one) / max(one.noise, 1e-300)
    return max(0.0, (square - count + len(solution)) / scale) if scale > 0.0 else 0.0


def _ridge(matrix: Array) -> Array:
    return np.diag(_RIDGE * np.diag(matrix) + 1e-300)


def _with_errors(
    sums: Sequence[_Sums],
    prior: Array,
    between: float,
    k: Array,
    free: np.ndarray,
    delay: bool,
    late: float,
    solution: Array,
) -> HarmonicFit:
    """Return the fit with its covariance: passages left out one at a time."""
    parts = [_normal(one, between) for one in sums]
    matrix, right = (np.sum(values, axis=0) for values in zip(*parts, strict=True))
    matrix = matrix + np.diag(prior[:, 0]) + _ridge(matrix)
    right = right + prior[:, 1]
    # a passage that alone resolves an order leaves the rest singular: its part of the
    # information stays, in small
    left_out = np.array(
        [np.linalg.lstsq(matrix - one, right - own, rcond=1e-8)[0] - solution for one, own in parts]
    )
    covariance = (len(parts) - 1.0) / len(parts) * left_out.T @ left_out
    model = np.linalg.inv(matrix)
    m = len(k)
    blocks = np.array(
        [
            [covariance[2 * j + 2 * m * kind :, 2 * j + 2 * m * kind :][:2, :2] for j in range(m)]
            for kind in (0, 1)
        ]
    )
    least = np.array(
        [
            [
                np.sqrt(
                    np.trace(model[2 * j + 2 * m * kind :, 2 * j + 2 * m * kind :][:2, :2]) / 2.0
                )
                for j in range(m)
            ]
            for kind in (0, 1)
        ]
    )
    share = np.array(
        [[_weight(one, between) * one.information[2 * j, 2 * j] for j in range(m)] for one in sums]
    )
    count = np.array([sum(j in one.orders for one in sums) for j in range(m)])
    freedom = np.maximum(
        1.0, share.sum(axis=0) ** 2 / np.maximum((share**2).sum(axis=0), 1e-300) - 2.0
    )
    error = np.zeros(m)
    if free.any():
        error[free] = np.sqrt(np.diag(covariance)[4 * m + int(delay) :])
    return HarmonicFit(
        k,
        solution[: 2 * m].reshape(m, 2),
        solution[2 * m : 4 * m].reshape(m, 2),
        blocks,
        least,
        count,
        freedom,
        late,
        error,
    )
