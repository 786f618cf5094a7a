"""Grids on which nonlinear parameters of a law are searched; each parameter's own range stands with its law."""

from collections.abc import Mapping

import numpy as np

from stribeck.ident.arrays import Array
from stribeck.ident.fit.points import FitPoints
from stribeck.ident.laws.law import Law


def search_grid(data: FitPoints, law: Law) -> dict[str, Array]:
    """All combinations of nonlinear parameters worth trying, each shape (K,)."""
    return combined(search_axes(data, law))


def search_axes(data: FitPoints, law: Law) -> dict[str, Array]:
    """Values of each nonlinear parameter worth trying, ascending."""
    return {name: quantity.grid(data.w) for name, quantity in law.searched.items()}


def combined(axes: Mapping[str, Array]) -> dict[str, Array]:
    """All combinations of values on the axes, each shape (K,)."""
    return dict(zip(axes, (values.ravel() for values in np.meshgrid(*axes.values(), indexing="ij")), strict=True))
