"""Ripple of one joint: orders that are known or found, their claims, and
what the samples cannot tell.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from stribeck.ident.arrays import Array
from stribeck.ident.laws.parameter import verdict
from stribeck.ident.log.finding import Finding
from stribeck.ident.ripple.harmonic_fit import HarmonicFit, fit_harmonics
from stribeck.ident.ripple.known_orders import LEAST_ORDER, refusal
from stribeck.ident.ripple.order_search import Searched, search_orders
from stribeck.ident.ripple.passages import SAMPLED, Passage
from stribeck.ident.ripple.thresholds import KNOWN_ORDER, SEARCHED_ORDER, half_width, threshold
from stribeck.ident.ripple.wave import FOUND, KINDS, KNOWN, Wave

_LEAST = 3  # passages in each direction that must measure an order
_MOST_FOUND = 6  # orders that a search may add
# part of the amplitude of a neighbour below which a searched order is not told from it
_SHADOW = 0.25
_WORTH = 5.0  # standard errors in the periodogram from which an order is fitted
_MOST_ORDER = 5000.0
# degrees of freedom of a claim: both coefficients of all passages tell the error that noise leaves
_BOTH = 2.0


@dataclass(frozen=True)
class JointRipple:
    """Ripple of one joint.

    Attributes
    ----------
    waves : tuple of Wave
        Claimed harmonics.
    findings : tuple of Finding
        Claims in words, and orders that cannot be told.
    fit : HarmonicFit, optional
        Fit of the claimed orders.
    claimed : tuple of (int, int)
        Kind (0 cogging, 1 friction) and index of the order, in `fit`, of each wave.
    """

    waves: tuple[Wave, ...] = ()
    findings: tuple[Finding, ...] = ()
    fit: HarmonicFit | None = None
    claimed: tuple[tuple[int, int], ...] = ()

    def torque(self, q: Array, dq: Array, period: float) -> Array:
        """Return the claimed torque as the drive reports it, with the delay of its
        signal, shape (N,) [N·m or N].

        A wave is left out where it is passed so fast that the samples, `period` [s]
        apart, do not measure it.
        """
        out = np.zeros(len(q))
        if self.fit is None:
            return out
        for kind, k in self.claimed:
            slow = np.abs(dq) * period * self.fit.orders[k] * SAMPLED <= 2.0 * np.pi
            out[slow] += self.fit.torque(q[slow], dq[slow], [(kind, k)])
        return out


def find_ripple(
    name: str, passages: Sequence[Passage], known: Sequence[float], unit: str, search: bool = True
) -> JointRipple:
    """Find the ripple of one joint.

    Parameters
    ----------
    name : str
        Name of the joint.
    passages : sequence of Passage
        Its passages.
    known : sequence of float
        Orders that the arm file gives [waves per turn].
    unit : str
        Unit of the torque.
    search : bool
        Whether to search for other orders.

    Returns
    -------
    JointRipple
    """
    if not passages:
        return JointRipple()
    why = {order: refusal(order, passages, _LEAST) for order in known}
    offered = [order for order, reason in why.items() if not reason]
    refused = tuple(
        Finding(name, "ripple", f"{name}: ripple of {order:.6g} waves a turn is {reason}")
        for order, reason in why.items()
        if reason
    )
    fit = fit_harmonics(passages, offered) if offered else None
    orders = (
        []
        if fit is None
        else sorted({offered[k] for _, k in _claims(fit, np.zeros(len(offered), dtype=bool), 0.0)})
    )
    found, tests = (
        _searched(passages, orders, [order for order in known if order >= LEAST_ORDER])
        if search
        else ([], 1.0)
    )
    everything = [*orders, *found]
    if not everything:
        return JointRipple((), refused)
    free = np.array([False] * len(orders) + [True] * len(found))
    fit = fit_harmonics(passages, everything, free)
    claims = () if fit is None else _claims(fit, free, tests)
    if fit is None or not claims:
        return JointRipple((), refused)
    kept = sorted({k for _, k in claims})
    if len(kept) < len(everything):
        everything, free = [everything[k] for k in kept], free[kept]
        fit = fit_harmonics(passages, everything, free)
        claims = () if fit is None else _claims(fit, free, tests)
        if fit is None or not claims:
            return JointRipple((), refused)
    waves = tuple(_wave(fit, kind, k, bool(free[k]), unit) for kind, k in claims)
    return JointRipple(waves, (*_told(name, waves), *refused), fit, claims)


def _claims(fit: HarmonicFit, free: np.ndarray, tests: float) -> tuple[tuple[int, int], ...]:
    """Return kind and index of the amplitudes above their thresholds."""
    out = []
    known = 2.0 * float(np.count_nonzero(~free))
    for k in range(len(fit.orders)):
        freedom = _BOTH * float(fit.freedom[k])
        least = (
            threshold(freedom, tests, SEARCHED_ORDER)
            if free[k]
            else threshold(freedom, known, KNOWN_ORDER)
        )
        out += [(kind, k) for kind in (0, 1) if fit.errors_away(kind, k) > least]
    return tuple(out)


def _searched(
    passages: Sequence[Passage], claimed: Sequence[float], known: Sequence[float]
) -> tuple[list[float], float]:
    """Return further orders, one after the other, and the number of tests of the search."""
    found: list[float] = []
    shadowed: list[float] = []
    tests = 1.0
    for _ in range(_MOST_FOUND):
        torques, orders = [one.fast(one.torque) for one in passages], [*claimed, *found]
        if orders:
            free = np.array([False] * len(claimed) + [True] * len(found))
            fit = fit_harmonics(passages, orders, free)
            if fit is None:
                break
            found = [float(order) for order in fit.orders[len(claimed) :]]
            every = [(kind, k) for kind in (0, 1) for k in range(len(orders))]
            torques = [one.fast(one.torque - fit.torque(one.q, one.dq, every)) for one in passages]
        searched = search_orders(
            passages, torques, LEAST_ORDER, [*known, *claimed, *found, *shadowed], _MOST_ORDER
        )
        if searched is None:
            break
        tests = searched.tests
        order, away = searched.greatest()
        if (
            away < _WORTH
            or (fit := _claimed_alone(passages, [*claimed, *found], order, searched)) is None
        ):
            break
        if _in_shadow(fit, passages):
            shadowed.append(order)
        else:
            found.append(order)
    return found, tests


def _claimed_alone(
    passages: Sequence[Passage], before: Sequence[float], order: float, searched: Searched
) -> HarmonicFit | None:
    """Return the fit of one more order beside those before; None unless it exceeds its
    threshold, about where it was seen.
    """
    free = np.array([False] * len(before) + [True])
    fit = fit_harmonics(passages, [*before, order], free)
    told = (
        fit is not None
        and abs(fit.orders[-1] - order) < searched.resolution
        and any(k == len(before) for _, k in _claims(fit, free, searched.tests))
    )
    return fit if told else None


def _in_shadow(fit: HarmonicFit, passages: Sequence[Passage]) -> bool:
    """Whether the last order is weak beside another one that most passages, being
    short, do not tell from it.

    Friction ripple differs from passage to passage, as friction does; what is left of it
    looks like weak neighbours.
    """
    last = len(fit.orders) - 1
    size = [max(fit.amplitude(0, k), fit.amplitude(1, k)) for k in range(last + 1)]
    resolving = [p.width for p in passages if p.resolves(float(fit.orders[last]))]
    resolution = 2.0 * np.pi / float(np.median(resolving))
    return any(
        abs(fit.orders[k] - fit.orders[last]) < resolution and size[last] < _SHADOW * size[k]
        for k in range(last)
    )


def _wave(fit: HarmonicFit, kind: int, k: int, found: bool, unit: str) -> Wave:
    """Return one claimed harmonic with its intervals."""
    cosine, sine = (fit.even, fit.odd)[kind][k]
    size, (error, turn) = fit.amplitude(kind, k), fit.error(kind, k)
    error, wide = max(error, float(fit.least[kind, k])), half_width(float(fit.freedom[k]))
    turn = max(turn, float(fit.least[kind, k]) / size)
    phase = float(np.arctan2(cosine, sine))
    low, high = max(0.0, size - wide * error), size + wide * error
    return Wave(
        float(fit.orders[k]),
        KINDS[kind],
        FOUND if found else KNOWN,
        size,
        error,
        low,
        high,
        phase,
        phase - wide * turn,
        phase + wide * turn,
        unit,
        verdict(size, low, high),
    )


def _told(name: str, waves: Sequence[Wave]) -> tuple[Finding, ...]:
    """Return the claims in words."""
    said = "; ".join(
        f"{wave.kind} {wave.amplitude:.3g} ± {(wave.high - wave.low) / 2.0:.2g} {wave.unit} with "
        f"{wave.order:.6g} "
        f"waves a turn ({'known' if wave.origin == KNOWN else 'found in the samples'})"
        for wave in waves
    )
    return (
        Finding(
            name,
            "ripple",
            f"{name}: torque ripples with position: {said}. It is taken out of the samples before "
            "friction is fitted",
        ),
    )
