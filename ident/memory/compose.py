"""Composition of a fit: parts are added one after the other, as long as they
predict left-out motion better.

In each round every part on offer is fitted together with everything before; the part with the least
error on left-out blocks joins, if it wins by the rule of `choose_memory`, and if delay or lag do
not end at their limits: such a torque signal would stand for something else. Ripple is sought in
the residuals when no other part wins any more.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from stribeck.ident.memory.composition import PLACES, Composition, Order, names_of
from stribeck.ident.memory.memory_data import GRAVITY, MemoryData
from stribeck.ident.memory.memory_fit import MemoryFit, refitted
from stribeck.ident.memory.torque_signal import DELAY, LAG
from stribeck.ident.ripple.find_ripple import find_ripple
from stribeck.ident.ripple.passages import of_samples
from stribeck.ident.ripple.wave import COGGING, FRICTION, KINDS

_ROUNDS = 8  # most rounds
_STARTS = 0.003, 0.02  # s; starts of delay and lag
_WAVE = {FRICTION: 1.5, COGGING: 4.0}  # rad; least part of a slow wave that the motion must show


@dataclass(frozen=True)
class Offers:
    """Parts that may compete.

    Attributes
    ----------
    difference : bool
        Viscous friction that differs between the directions.
    places : bool
        Friction and torque that wave once or twice a turn.
    load : bool
        Friction that grows with the torque of inertia and gravity.
    signal : bool
        Delay or lag of the torque signal.
    search : bool
        Ripple whose orders are sought.
    orders : tuple of float
        Orders of ripple that are known [waves per turn].
    """

    difference: bool = True
    places: bool = False
    load: bool = False
    signal: bool = False
    search: bool = False
    orders: tuple[float, ...] = ()


DIFFERENCES = Offers()

Grown = tuple[MemoryFit, Composition]
Judge = Callable[[MemoryFit, MemoryFit], bool]


def grown(
    base: MemoryData, fit: MemoryFit, composition: Composition, offers: Offers, beats: Judge
) -> Grown:
    """Return a fit with all parts that predict better, and its composition.

    Parameters
    ----------
    base : MemoryData
        Samples without any part.
    fit, composition : MemoryFit, Composition
        The fit so far, and its parts.
    offers : Offers
        Parts that may be added.
    beats : callable
        Whether one fit predicts better than another one.
    """
    sought, hopeless = False, set[str]()
    if not np.ptp(base.torque) > 0.0:
        return fit, composition
    for _ in range(_ROUNDS):
        tried = [
            (name, _refit(base, fit, more), more)
            for name, more in _more(base, fit, composition, offers)
            if name not in hopeless
        ]
        hopeless |= {name for name, one, _ in tried if one.held_out_rmse >= fit.held_out_rmse}
        better = [
            (one, more)
            for _, one, more in tried
            if set(one.data.signal) <= set(one.free) and beats(one, fit)
        ]
        if better:
            fit, composition = min(better, key=lambda pair: pair[0].held_out_rmse)
        elif sought or not (offers.search or offers.orders):
            break
        else:
            sought = True
            orders = _ripple(fit, composition, offers)
            more = composition.with_waves(*orders)
            if not orders or not beats(one := _refit(base, fit, more), fit):
                break
            fit, composition = one, more
    return fit, composition


def pruned(base: MemoryData, fit: MemoryFit, composition: Composition, beats: Judge) -> Grown:
    """Return a fit without those parts whose absence is not worse."""
    for less in tuple(_less(composition)):
        without = _refit(base, fit, less(composition))
        if not beats(fit, without):
            fit, composition = without, less(composition)
    return fit, composition


def _more(
    base: MemoryData, fit: MemoryFit, composition: Composition, offers: Offers
) -> Iterator[tuple[str, Composition]]:
    """Names of parts, and compositions with this part."""
    if offers.difference and not composition.difference:
        yield "difference", replace(composition, difference=True)
    if offers.signal and not composition.signal:
        yield from ((name, replace(composition, signal=(name,))) for name in (DELAY, LAG))
    if offers.places:
        yield from (
            ("_".join(names_of(*place)), composition.with_waves(place))
            for place in PLACES
            if place not in composition.waves and place[0] * np.ptp(base.position) > _WAVE[place[1]]
        )
    if (
        offers.load
        and base.load is None
        and not composition.load
        and fit.law.with_load
        and set(GRAVITY) <= set(base.beside)
    ):
        yield "load", composition.with_load_of(fit.values)


def _less(composition: Composition) -> Iterator[Callable[[Composition], Composition]]:
    """Changes that take one part away."""
    if composition.difference:
        yield lambda one: replace(one, difference=False)
    if composition.signal:
        yield lambda one: replace(one, signal=())
    if composition.load:
        yield lambda one: replace(one, load=())
    for wave in composition.waves:
        yield lambda one, own=wave: replace(
            one, waves=tuple(other for other in one.waves if other != own)
        )  # type: ignore[misc]


def _refit(base: MemoryData, fit: MemoryFit, composition: Composition) -> MemoryFit:
    """Return the fit of the same law and memory with other parts."""
    data = composition.applied(base)
    starts = (
        [{}]
        if set(data.signal) <= set(fit.values)
        else [dict.fromkeys(data.signal, start) for start in _STARTS]
    )
    return min((refitted(data, fit, start) for start in starts), key=lambda one: one.rmse)


def _ripple(fit: MemoryFit, composition: Composition, offers: Offers) -> Sequence[Order]:
    """Return orders and kinds of ripple in the residuals."""
    data = fit.data
    passages = of_samples(
        data.time,
        data.position,
        data.velocity,
        data.torque - fit.predict(data),
        data.used,
        data.path.begins,
    )
    found = find_ripple("joint", passages, offers.orders, "", offers.search)
    before = {order for order, _ in composition.waves}
    return [
        (wave.order, wave.kind)
        for wave in found.waves
        if wave.order not in before and wave.kind in KINDS
    ]
