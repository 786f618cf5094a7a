"""Grids on which nonlinear parameters of a law are searched; each parameter's own range stands with its law."""

import math
from collections.abc import Mapping

import numpy as np

from stribeck.ident.arrays import Array
from stribeck.ident.fit.points import FitPoints
from stribeck.ident.laws.law import Law

_MOST = 1000            # combinations that are tried; of laws with more, all axes are thinned alike,
_LEAST = 5              # to so many values at least
_NEAR, _FINE = 0.15, 13     # range of the logarithm around a known nonlinear parameter, and points in it, that are tried


def search_grid(data: FitPoints, law: Law) -> dict[str, Array]:
    """All combinations of nonlinear parameters worth trying, each shape (K,)."""
    return combined(search_axes(data, law))


def search_axes(data: FitPoints, law: Law) -> dict[str, Array]:
    """Values of each nonlinear parameter worth trying, ascending."""
    return {name: quantity.grid(data.w, _thinned(law, quantity.tried)) for name, quantity in law.searched.items()}


def grid_near(data: FitPoints, law: Law, at: Mapping[str, float]) -> dict[str, Array]:
    """The grid of the search, and with it a finer one around known nonlinear parameters."""
    fine = np.exp(_NEAR * np.linspace(-1.0, 1.0, _thinned(law, _FINE)))
    whole, close = search_grid(data, law), combined({name: at[name] * fine for name in law.searched})
    return {name: np.append(values, close[name]) for name, values in whole.items()}


def _thinned(law: Law, tried: int) -> int:
    """Values on an axis, of so many where the law has few combinations."""
    axes = [quantity.tried for quantity in law.searched.values()]
    thinner = (_MOST / math.prod(axes)) ** (1.0 / len(axes)) if axes else 1.0
    return min(tried, max(_LEAST, int(thinner * tried)))


def combined(axes: Mapping[str, Array]) -> dict[str, Array]:
    """All combinations of values on the axes, each shape (K,)."""
    return dict(zip(axes, (values.ravel() for values in np.meshgrid(*axes.values(), indexing="ij")), strict=True))
