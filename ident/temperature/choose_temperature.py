"""Choice of the temperature laws: pairs for the Coulomb and viscous part compete by errors on
left-out blocks of round trips.

The simplest pair wins that no other beats: the errors of the blocks must differ by two standard
errors of their signed ranks, and by 2.6 against a law without temperature. If an exponential decay
and a parabola predict equally well, the decay wins: outside the measured temperatures a parabola
turns around. Blocks are consecutive round trips, so a slow change of friction with another cause
does not count many times.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from stribeck.ident.arrays import Array, Groups, group_index
from stribeck.ident.errors import FitError, unknown_name
from stribeck.ident.fit.choice.signed_ranks import excess_ranks
from stribeck.ident.laws.law import Law
from stribeck.ident.temperature.temperature_fit import (
    TemperatureData,
    TemperatureFit,
    fit_temperature_law,
)
from stribeck.ident.temperature.temperature_laws import (
    COMPETING,
    QUADRATIC,
    TEMPERATURE_LAWS,
    TemperatureLaw,
)

BLOCKS = 24  # most blocks of round trips
FEWEST = 12  # least number of round trips
_RIVAL = 2.0  # standard errors of the signed ranks by which a richer pair must win
_CLAIM = 2.6  # and by which it must win against a law without temperature


@dataclass(frozen=True)
class TemperatureCandidate:
    """A pair of temperature laws that competed.

    Attributes
    ----------
    coulomb, viscous : str
        Temperature laws of the Coulomb and the viscous part.
    held_out_rmse : float
        Root mean square error of blocks of round trips that were left out of the fit [N·m or N].
    parameters : int
        Number of temperature parameters.
    """

    coulomb: str
    viscous: str
    held_out_rmse: float
    parameters: int


@dataclass(frozen=True)
class TemperatureChoice:
    """The chosen fit, and those that compete with it.

    Attributes
    ----------
    fit : TemperatureFit
    rivals : tuple of TemperatureFit
        Other fits that the chosen one does not beat.
    candidates : tuple of TemperatureCandidate
        All pairs that competed.
    static_rmse : float
        Error on left-out blocks without temperature [N·m or N].
    """

    fit: TemperatureFit
    rivals: tuple[TemperatureFit, ...]
    candidates: tuple[TemperatureCandidate, ...]
    static_rmse: float

    @property
    def claimed(self) -> bool:
        """Whether friction depends on temperature."""
        return bool(_count(self.fit))

    def half_width(self, speed: Array, theta: Array, load: Array | None = None) -> Array:
        """Return the half width of the band of the chosen fit, shape (N,) [N·m or N].

        The band covers the 95 % intervals of the chosen fit and of its rivals.
        """
        at = self.fit.predict(speed, theta, load)
        return np.asarray(
            np.max(
                [
                    np.abs(one.predict(speed, theta, load) - at)
                    + one.half_width(speed, theta, load)
                    for one in (self.fit, *self.rivals)
                ],
                axis=0,
            )
        )


def choose_temperature(
    data: TemperatureData,
    law: Law,
    start: Mapping[str, float],
    coulomb: str = "auto",
    viscous: str = "auto",
    competing: Mapping[str, tuple[TemperatureLaw, ...]] = COMPETING,
) -> TemperatureChoice:
    """Fit the competing pairs of temperature laws, and return the chosen one.

    Parameters
    ----------
    data : TemperatureData
    law : Law
    start : mapping of str to float
        Values of the law's parameters, without temperature.
    coulomb, viscous : str
        Names of temperature laws, or "auto" to let all of `competing` compete.
    competing : mapping of str to tuple of TemperatureLaw
        Laws that compete for each part.

    Raises
    ------
    InputError
        If a name is unknown.
    """
    pairs = [
        (one, other)
        for one in _offered(competing["coulomb"], coulomb)
        for other in _offered(competing["viscous"], viscous)
    ]
    fits = sorted(
        (fit_temperature_law(data, law, start, *pair) for pair in pairs),
        key=lambda fit: (_count(fit), fit.viscous.name == QUADRATIC.name, fit.held_out_rmse),
    )
    best = next(
        (fit for fit in fits if not any(_beats(other, fit) for other in fits)),
        min(fits, key=lambda fit: fit.held_out_rmse),
    )
    none = next((fit for fit in fits if not _count(fit)), None)
    rivals = tuple(fit for fit in fits if fit is not best and _count(fit) and not _beats(best, fit))
    return TemperatureChoice(
        best,
        rivals,
        tuple(
            TemperatureCandidate(fit.coulomb.name, fit.viscous.name, fit.held_out_rmse, _count(fit))
            for fit in fits
        ),
        (none or best).held_out_rmse,
    )


def blocks(group: Groups, time: Array | None = None) -> Groups:
    """Return the block of each point: consecutive round trips, shape (N,).

    Parameters
    ----------
    group : ndarray, shape (N,)
        Round trip of each point.
    time : ndarray, shape (N,), optional
        Time of each point; by default round trips are in the order in which they first appear.

    Raises
    ------
    FitError
        If there are too few round trips.
    """
    trips = group_index(group)
    count = int(trips.max()) + 1
    if count < FEWEST:
        raise FitError(f"temperature needs at least {FEWEST} round trips, found {count}")
    when = np.arange(len(trips), dtype=float) if time is None else time
    first = np.array([when[trips == k].min() for k in range(count)])
    order = np.empty(count, dtype=np.int64)
    order[np.argsort(first, kind="stable")] = np.arange(count)
    return np.asarray(order[trips] * min(BLOCKS, count) // count)


def _offered(competing: tuple[TemperatureLaw, ...], name: str) -> tuple[TemperatureLaw, ...]:
    if name == "auto":
        return competing
    if name not in TEMPERATURE_LAWS:
        raise unknown_name("temperature law", name, ("auto", *TEMPERATURE_LAWS))
    return (TEMPERATURE_LAWS[name],)


def _count(fit: TemperatureFit) -> int:
    return len(fit.coulomb.quantities) + len(fit.viscous.quantities)


def _beats(one: TemperatureFit, other: TemperatureFit) -> bool:
    """Return whether a fit predicts left-out blocks better than another, beyond chance
    and in the mean over all.
    """
    margin = _RIVAL if _count(one) and _count(other) else _CLAIM
    return (
        one.held_out_rmse < other.held_out_rmse
        and excess_ranks(np.maximum(one.held_out, 1e-300), np.maximum(other.held_out, 1e-300))
        > margin
    )
