"""Friction that waves with the position of a joint: harmonics of its turn, so that neither load nor time is taken for them.

A gear that is not round presses harder in some positions than in others, once or twice a turn. Where gravity's load waves with
position, too, such friction looks as if it grew with the load; harmonics that compete with loads and stand beside them tell.
"""

from collections.abc import Callable, Mapping

import numpy as np

from stribeck.ident.arrays import Array
from stribeck.ident.fit.choice.selection import NOWHERE
from stribeck.ident.fit.fit_result import FitResult
from stribeck.ident.fit.residuals.lack_of_fit import lack_of_fit
from stribeck.ident.log.finding import Finding

_WAVES = {"once a turn": (1,), "twice a turn": (1, 2)}
_EVEN = 1001            # positions that a mean over a range is taken of
_LEAST = 0.3            # rad that a joint has to turn, or any slow change of friction would look like a harmonic


def harmonics(position: Array, view: Callable[[Array], Array] = lambda values: values) -> Mapping[str, Mapping[str, Array]]:
    """Waves on offer: none, once, and once and twice a turn, as columns of `FitPoints.nuisance`.

    Parameters
    ----------
    position : ndarray, shape (M,)
        Of the samples [rad].
    view : callable
        From the samples to friction as the points see it, see `FitPoints.view`.

    Returns
    -------
    mapping of str to mapping of str to ndarray, shape (N,)
        Columns are zero in the mean over the range of positions: levels of friction stand for that.
    """
    low, high = float(position.min()), float(position.max())
    if high - low < _LEAST:
        return NOWHERE
    range_ = np.linspace(low, high, _EVEN)
    columns = {f"{name}_{order}": view(wave(order * position) - wave(order * range_).mean()) for order in (1, 2)
               for name, wave in (("place_sin", np.sin), ("place_cos", np.cos))}
    return {"none": {}, **{word: {name: column for name, column in columns.items() if int(name[-1]) in orders}
                           for word, orders in _WAVES.items()}}


def waves_matter(fit: FitResult, position: Array) -> bool:
    """Whether waves have to compete: where friction is said to grow with a load, or residuals show structure over position."""
    return fit.load != "none" or any(misfit.over == "position" for misfit in lack_of_fit(fit, position)[0])


def place_finding(name: str, fit: FitResult, friction: float) -> tuple[Finding, ...]:
    """A word about waves of friction that were taken out."""
    if fit.place == "none" or fit.data is None:
        return ()
    direction = np.sign(fit.data.direction)
    waves = direction * sum((float(entry.value or 0.0) * fit.data.nuisance[key] for key, entry in fit.nuisance.items()
                 if key.startswith("place_")), np.zeros(len(fit.data.tau)))
    low, high = float(waves.min()), float(waves.max())
    return (Finding(name, "position", f"{name}: friction waves with position, {fit.place}: from {low:+.2g} to {high:+.2g} of "
                    f"{friction:.3g} N·m. That is taken out; parameters, band and exports hold the mean over the range of "
                    "positions that was met"),)
