"""Friction that varies with the position of a joint, as harmonics of its turn (waves).

Teeth of a gear that is not round are pressed harder in some positions than in others, once or twice
a turn. The load from gravity varies with position, too, so this friction looks as if it grew with
the load. Therefore harmonics compete with loads in the fit.
"""

from collections.abc import Callable, Mapping

import numpy as np

from stribeck.ident.arrays import Array
from stribeck.ident.fit.choice.selection import NOWHERE
from stribeck.ident.fit.fit_result import FitResult
from stribeck.ident.laws.law_table import law_named
from stribeck.ident.log.finding import Finding

_WAVES = {"once a turn": (1,), "twice a turn": (1, 2)}
_GAP = 1.0  # rad; widest gap between points over which waves are interpolated
_FINE = 501  # positions in the mean over a stretch
# rad; least range of positions, or any slow change of friction would look like a harmonic
_LEAST = 0.3
_TURNS = 3.0  # rad; least range of positions for which a variation is called a wave
_TRIFLE = 0.01  # part of friction below which a wave is not mentioned


def harmonics(
    position: Array,
    met: Array | None = None,
    view: Callable[[Array], Array] = lambda values: values,
    dry: Array | float = 1.0,
    width: Array | float = 0.0,
) -> Mapping[str, Mapping[str, Array]]:
    """Return the columns of possible waves, none, once a turn, and once and twice a turn,
    for `FitPoints.nuisance`.

    Parameters
    ----------
    position : ndarray, shape (M,)
        Positions of the samples [rad].
    met : ndarray, shape (N,), optional
        Positions of the points [rad]; by default the samples are the points.
    view : callable
        Filter from the samples to the points, see `FitPoints.view`.
    dry : ndarray, shape (M,), optional
        Relative size of the waves at the samples, see `dry_part`.
    width : ndarray, shape (N,), optional
        Length of the stroke of each point [rad]. A point is the mean over its stroke,
        and its position the middle.

    Returns
    -------
    mapping of str to mapping of str to ndarray, shape (N,)
        Columns with zero mean over the measured positions (each position counts once), so that
        levels of friction are means.
    """
    met = position if met is None else met
    ends = _stretches(met - np.asarray(width) / 2.0, met + np.asarray(width) / 2.0)
    length = np.ptp(ends, axis=1)
    if not length.sum() >= _LEAST:
        return NOWHERE
    places = ends[:, :1] + length[:, None] * (np.arange(_FINE) + 0.5) / _FINE

    def mean(values: Array) -> float:
        return float(length @ values.mean(axis=1) / length.sum())

    columns = {
        f"{name}_{order}": view(
            dry
            * (
                np.sinc(order * np.asarray(width) / (2.0 * np.pi)) * wave(order * position)
                - mean(wave(order * places))
            )
        )
        for order in (1, 2)
        for name, wave in (("place_sin", np.sin), ("place_cos", np.cos))
    }
    return {
        "none": {},
        **{
            word: {name: column for name, column in columns.items() if int(name[-1]) in orders}
            for word, orders in _WAVES.items()
        },
    }


def _stretches(low: Array, high: Array) -> Array:
    """Return the ends of the stretches that strokes from low to high cover, across gaps of
    up to `_GAP`, shape (K, 2).
    """
    order = np.argsort(low)
    low, far = low[order], np.maximum.accumulate(high[order])
    first = np.append(0, np.flatnonzero(low[1:] - far[:-1] > _GAP) + 1)
    return np.column_stack((low[first], far[np.append(first[1:], len(low)) - 1]))


def dry_part(fit: FitResult, speed: Array, load: Array | None) -> Array:
    """Return the friction of a fit without its viscous part, at speeds and loads,
    divided by its mean, shape (N,).

    Teeth and bearings that are not round press harder in some positions. Dry friction varies there,
    viscous friction does not.
    """
    values = {
        name: 0.0 if name.startswith("viscous") else value for name, value in fit.values.items()
    }
    dry = law_named(fit.law).torque(speed, values, load)
    return np.asarray(dry / dry.mean()) if dry.mean() > 0.0 else np.ones(len(speed))


def place_finding(
    name: str, fit: FitResult, friction: float, position: Array
) -> tuple[Finding, ...]:
    """Return a finding about waves of friction that the fit removed; `friction` is the
    median of the points [N·m].
    """
    if fit.place == "none" or fit.data is None:
        return ()
    waves = np.sign(fit.data.direction) * sum(
        (
            float(entry.value or 0.0) * fit.data.nuisance[key]
            for key, entry in fit.nuisance.items()
            if key.startswith("place_")
        ),
        np.zeros(len(fit.data.tau)),
    )
    low, high = float(waves.min()), float(waves.max())
    if max(-low, high) < _TRIFLE * friction:
        return ()
    how = (
        f"waves with position ({fit.place})"
        if np.ptp(position) > _TURNS
        else "changes with position"
    )
    return (
        Finding(
            name,
            "position",
            f"{name}: friction {how}, from {max(0.0, -low):.2g} N·m below to {max(0.0, high):.2g} "
            f"N·m above its mean (median {friction:.3g} N·m). The fit removes this variation: "
            "parameters, band and exports describe the mean over the measured positions",
        ),
    )
