r"""Functions of temperature that multiply the Coulomb part or the viscous part of a friction law.

With :math:`\theta = T - T_0`, the temperature above the reference temperature, every function
is 1 at :math:`\theta = 0`:

.. math:: \text{linear: } 1 + a\theta, \qquad \text{quadratic: } 1 + a\theta + b\theta^2, \qquad
          \text{exponential: } r + (1 - r) e^{-\theta/T_d}

Friction never changes its direction with temperature, so a function that would be negative is 0.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from stribeck.ident.arrays import Array, Numbers, floats, library_of
from stribeck.ident.laws.law_table import unit

PARTS = ("coulomb", "viscous")
SLOPE, CURVATURE, DECAY, FLOOR = (
    "temperature_slope",
    "temperature_curvature",
    "temperature_decay",
    "temperature_floor",
)
# range of the decay temperature, in ranges of the measured temperature
_LEAST, _MOST = 0.1, 30.0


@dataclass(frozen=True)
class TemperatureLaw:
    """A function of the temperature above the reference temperature.

    Attributes
    ----------
    name : str
        Name in files and tables.
    quantities : tuple of str
        Its parameters, without the name of the part of friction.
    function : callable
        ``function(theta, *parameters)``: factor of the part of friction, shape (N,).
    starts : callable
        ``starts(width)``: starting points for data that cover a range of
        temperature of `width` [K].
    bounds : callable
        ``bounds(width)``: least and greatest value of each parameter.
    """

    name: str
    quantities: tuple[str, ...]
    function: Callable[..., Array]
    starts: Callable[[float], list[tuple[float, ...]]]
    bounds: Callable[[float], list[tuple[float, float]]]

    def parameters(self, part: str) -> tuple[str, ...]:
        """Names of the parameters for a part of friction, such as ``coulomb_temperature_slope``."""
        return tuple(f"{part}_{name}" for name in self.quantities)

    def factor(self, theta: Numbers, values: Mapping[str, float], part: str) -> Array:
        """Return the factor of a part of friction, shape (N,).

        Parameters
        ----------
        theta : array_like, shape (N,)
            Temperature above the reference temperature [K].
        values : mapping of str to float
            Parameters, by their names in `parameters`.
        part : str
            "coulomb" or "viscous".
        """
        theta = floats(theta)
        return library_of(theta).clip(
            self.function(theta, *(values[name] for name in self.parameters(part))), 0.0, None
        )


def _floored(theta: Array, decay: float, floor: float) -> Array:
    with np.errstate(over="ignore"):
        xp = library_of(theta)
        return floor + (1.0 - floor) * xp.exp(xp.clip(-theta / decay, None, 50.0))


_FREE = (-np.inf, np.inf)
NONE = TemperatureLaw("none", (), lambda theta: 1.0 + 0.0 * theta, lambda _: [()], lambda _: [])
LINEAR = TemperatureLaw(
    "linear", (SLOPE,), lambda theta, a: 1.0 + a * theta, lambda _: [(0.0,)], lambda _: [_FREE]
)
QUADRATIC = TemperatureLaw(
    "quadratic",
    (SLOPE, CURVATURE),
    lambda theta, a, b: 1.0 + a * theta + b * theta**2,
    lambda _: [(0.0, 0.0)],
    lambda _: [_FREE, _FREE],
)
EXPONENTIAL = TemperatureLaw(
    "exponential",
    (DECAY, FLOOR),
    _floored,
    lambda width: [(part * width, 0.3) for part in (0.5, 2.0)],
    lambda width: [(_LEAST * width, _MOST * width), (0.0, 1.0)],
)

TEMPERATURE_LAWS = {law.name: law for law in (NONE, LINEAR, QUADRATIC, EXPONENTIAL)}
SIMPLEST = dict.fromkeys(PARTS, (NONE, LINEAR))  # for a first choice
COMPETING = {
    "coulomb": (NONE, LINEAR, QUADRATIC),
    "viscous": (NONE, LINEAR, QUADRATIC, EXPONENTIAL),
}


def unit_of(name: str, degrees: bool = True) -> str:
    """Unit of a parameter such as ``coulomb_temperature_slope``; without degrees the temperature
    is a dimensionless state.
    """
    return unit(name) if degrees else "1"
