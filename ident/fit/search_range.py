"""Where nonlinear parameters are searched."""

from collections.abc import Mapping

import numpy as np

from stribeck.ident.arrays import Array
from stribeck.ident.fit.points import FitPoints
from stribeck.ident.laws.friction import Law

GRID = 32               # Stribeck velocities tried
_STRIBECK_RANGE = (0.7, 0.5)    # lowest and highest w_s, as multiples of the slowest and fastest speed
_EXPONENT_RANGE = (0.4, 4.0)    # of the Stribeck exponent
_TANH_RANGE = (0.05, 5.0)       # of the velocity that makes sgn smooth, as multiples of the slowest speed
_EXPONENTS = 13         # values tried of either


def search_grid(data: FitPoints, law: Law) -> dict[str, Array]:
    """All combinations of nonlinear parameters worth trying."""
    return combined({name: nonlinear_grid(data, name) for name in law.nonlinear})


def combined(axes: Mapping[str, Array]) -> dict[str, Array]:
    """All combinations of values on the axes, each shape (K,)."""
    return dict(zip(axes, (values.ravel() for values in np.meshgrid(*axes.values(), indexing="ij")), strict=True))


def nonlinear_grid(data: FitPoints, name: str) -> Array:
    """Values of a nonlinear parameter worth trying, ascending: Stribeck velocities beyond the measured speeds are none."""
    if name == "stribeck_exponent":
        return np.asarray(np.geomspace(*_EXPONENT_RANGE, _EXPONENTS))
    speed = np.abs(data.w)
    if name == "tanh_velocity":
        return np.asarray(np.geomspace(_TANH_RANGE[0] * speed.min(), _TANH_RANGE[1] * speed.min(), _EXPONENTS))
    low, high = _STRIBECK_RANGE[0] * speed.min(), _STRIBECK_RANGE[1] * speed.max()
    return np.asarray(np.geomspace(low, max(high, 1.01 * low), GRID))
