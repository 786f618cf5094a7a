"""Friction that waves with the position of a joint: harmonics of its turn, so that neither load nor time is taken for them.

A gear that is not round presses harder in some positions than in others, once or twice a turn. Where gravity's load waves with
position, too, such friction looks as if it grew with the load; harmonics that compete with loads and stand beside them tell.
"""

from collections.abc import Callable, Mapping

import numpy as np

from stribeck.ident.arrays import Array
from stribeck.ident.fit.choice.selection import NOWHERE
from stribeck.ident.fit.fit_result import FitResult
from stribeck.ident.laws.law_table import law_named
from stribeck.ident.log.finding import Finding

_WAVES = {"once a turn": (1,), "twice a turn": (1, 2)}
_GAP = 1.0              # rad between points, up to which waves are known in the places between them, too
_FINE = 501             # places that a mean over a stretch is taken of
_LEAST = 0.3            # rad of places that a joint has to see, or any slow change of friction would look like a harmonic
_TURNS = 3.0            # rad of positions over which a change with position can be told to be a wave
_TRIFLE = 0.01          # of the friction, below which a wave is not worth a word


def harmonics(position: Array, met: Array | None = None, view: Callable[[Array], Array] = lambda values: values,
              dry: Array | float = 1.0, width: Array | float = 0.0) -> Mapping[str, Mapping[str, Array]]:
    """Waves on offer: none, once, and once and twice a turn, as columns of `FitPoints.nuisance`.

    Parameters
    ----------
    position : ndarray, shape (M,)
        Of the samples [rad].
    met : ndarray, shape (N,), optional
        Of the points [rad]; by default the samples are the points.
    view : callable
        From the samples to friction as the points see it, see `FitPoints.view`.
    dry : ndarray, shape (M,), optional
        Size of the waves at the samples, see `dry_part`.
    width : ndarray, shape (N,), optional
        Way of each point [rad], whose mean it is; the position is in its middle.

    Returns
    -------
    mapping of str to mapping of str to ndarray, shape (N,)
        Columns are zero in the mean over the places that were met, however often: levels of friction stand for that.
    """
    met = position if met is None else met
    ends = _stretches(met - np.asarray(width) / 2.0, met + np.asarray(width) / 2.0)
    length = np.ptp(ends, axis=1)
    if not length.sum() >= _LEAST:
        return NOWHERE
    places = ends[:, :1] + length[:, None] * (np.arange(_FINE) + 0.5) / _FINE

    def mean(values: Array) -> float:
        return float(length @ values.mean(axis=1) / length.sum())

    columns = {f"{name}_{order}": view(dry * (np.sinc(order * np.asarray(width) / (2.0 * np.pi)) * wave(order * position)
                                              - mean(wave(order * places)))) for order in (1, 2)
               for name, wave in (("place_sin", np.sin), ("place_cos", np.cos))}
    return {"none": {}, **{word: {name: column for name, column in columns.items() if int(name[-1]) in orders}
                           for word, orders in _WAVES.items()}}


def _stretches(low: Array, high: Array) -> Array:
    """Ends of the stretches that ways from low to high cover, gaps of up to `_GAP` with them, shape (K, 2)."""
    order = np.argsort(low)
    low, far = low[order], np.maximum.accumulate(high[order])
    first = np.append(0, np.flatnonzero(low[1:] - far[:-1] > _GAP) + 1)
    return np.column_stack((low[first], far[np.append(first[1:], len(low)) - 1]))


def dry_part(fit: FitResult, speed: Array, load: Array | None) -> Array:
    """Friction of a fit less what is viscous of it, at speeds and loads, over its mean, shape (N,).

    Teeth and bearings that are not round press harder in some positions: dry friction waves there, the lubricant's does not.
    """
    values = {name: 0.0 if name.startswith("viscous") else value for name, value in fit.values.items()}
    dry = law_named(fit.law).torque(speed, values, load)
    return np.asarray(dry / dry.mean()) if dry.mean() > 0.0 else np.ones(len(speed))


def place_finding(name: str, fit: FitResult, friction: float, position: Array) -> tuple[Finding, ...]:
    """A word about waves of friction that were taken out; `friction` is the median of the points [N·m]."""
    if fit.place == "none" or fit.data is None:
        return ()
    waves = np.sign(fit.data.direction) * sum((float(entry.value or 0.0) * fit.data.nuisance[key]
                                               for key, entry in fit.nuisance.items() if key.startswith("place_")),
                                              np.zeros(len(fit.data.tau)))
    low, high = float(waves.min()), float(waves.max())
    if max(-low, high) < _TRIFLE * friction:
        return ()
    how = f"waves with position ({fit.place})" if np.ptp(position) > _TURNS else "changes with position"
    return (Finding(name, "position", f"{name}: friction {how}, from {max(0.0, -low):.2g} N·m below to "
                    f"{max(0.0, high):.2g} N·m above its mean (median {friction:.3g} N·m). The fit removes this variation: "
                    "parameters, band and exports describe the mean over the measured positions"),)
