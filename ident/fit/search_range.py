"""Search grids for the nonlinear parameters of a law; the range of each
parameter is defined with its law.
"""

import math
from collections.abc import Mapping

import numpy as np

from stribeck.ident.arrays import Array
from stribeck.ident.fit.points import FitPoints
from stribeck.ident.laws.law import Law

# largest number of combinations; for more, all axes are thinned by the same factor,
_MOST = 1000
_LEAST = 5  # to at least this many values
# half range (in the logarithm) and number of points of the finer grid around known parameters
_NEAR, _FINE = 0.15, 13


def search_grid(data: FitPoints, law: Law) -> dict[str, Array]:
    """Return all combinations of nonlinear parameters in the search, each shape (K,)."""
    return combined(search_axes(data, law))


def search_axes(data: FitPoints, law: Law) -> dict[str, Array]:
    """Return the values of each nonlinear parameter in the search, ascending."""
    return {
        name: quantity.grid(data.w, _thinned(law, quantity.tried))
        for name, quantity in law.searched.items()
    }


def grid_near(data: FitPoints, law: Law, at: Mapping[str, float]) -> dict[str, Array]:
    """Return the search grid plus a finer grid around known nonlinear parameters."""
    fine = np.exp(_NEAR * np.linspace(-1.0, 1.0, _thinned(law, _FINE)))
    whole, close = (
        search_grid(data, law),
        combined({name: at[name] * fine for name in law.searched}),
    )
    return {name: np.append(values, close[name]) for name, values in whole.items()}


def _thinned(law: Law, tried: int) -> int:
    """Return the number of values on an axis: `tried`, or fewer for a
    law with many combinations.
    """
    axes = [quantity.tried for quantity in law.searched.values()]
    thinner = (_MOST / math.prod(axes)) ** (1.0 / len(axes)) if axes else 1.0
    return min(tried, max(_LEAST, int(thinner * tried)))


def combined(axes: Mapping[str, Array]) -> dict[str, Array]:
    """Return all combinations of values on the axes, each shape (K,)."""
    return dict(
        zip(
            axes,
            (values.ravel() for values in np.meshgrid(*axes.values(), indexing="ij")),
            strict=True,
        )
    )
