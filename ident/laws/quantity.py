"""Quantities that fits estimate: parameters of laws, and quantities fitted together with a law.

A quantity holds its name in files, its heading and unit in tables, its word and symbol in reports,
and its search range in fits.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from stribeck.ident.arrays import Array

# parts of a bearing's load that may have their own coefficients (Eqs. 43-46)
COMPONENTS = ("radial", "axial", "bending")
_TURNS = {"tau": "N·m", "q": "rad", "per_force": "m", "per_moment": "1"}
_SLIDES = {"tau": "N", "q": "m", "per_force": "1", "per_moment": "1/m"}
_PER_LOAD = "_coefficient"


@dataclass(frozen=True)
class Quantity:
    """Properties of a quantity that are known before it is estimated.

    Attributes
    ----------
    name : str
        Name in files, and as an argument of a law's function.
    unit : str
        SI unit; ``{tau}`` stands for N·m (N where the joint slides), ``{q}`` for rad (m).
    word : str
        Name in reports and messages.
    symbol : tuple of str
        Letter and subscript in equations.
    heading : str
        Short heading of its column in tables; without a heading it has no column.
    raises : str
        For a coefficient: the level that it raises with the load; "" for other quantities.
    search : callable, optional
        For a nonlinear parameter: function from the slowest and fastest measured speed to the least
        and greatest value of the search. Values are positive and evenly spaced in the logarithm.
    tried : int
        Number of values in the search.
    knee : bool
        Whether this is the speed at which a low-speed excess of friction has faded. Plots mark this
        speed; selection claims the excess only if friction falls with speed.
    """

    name: str
    unit: str
    word: str
    symbol: tuple[str, str] = ("", "")
    heading: str = ""
    raises: str = ""
    search: Callable[[float, float], tuple[float, float]] | None = None
    tried: int = 13
    knee: bool = False

    def unit_of(self, prismatic: bool = False) -> str:
        """Unit for a revolute or prismatic joint."""
        return self.unit.format(**(_SLIDES if prismatic else _TURNS))

    def grid(self, velocity: ArrayLike, tried: int | None = None) -> Array:
        """Return the values of the search for points at these velocities [rad/s],
        ascending, shape (tried,).
        """
        if self.search is None:
            raise ValueError(f"{self.name} has no search range, because laws are linear in it")
        speed = np.abs(np.asarray(velocity, dtype=float))
        low, high = self.search(float(speed.min()), float(speed.max()))
        return np.asarray(np.geomspace(low, max(high, 1.01 * low), tried or self.tried))

    def component(self, part: str) -> "Quantity":
        """Return the coefficient for one component of the load."""
        unit = ("{per_moment}" if part == "bending" else "{per_force}") + (
            f"·{self.unit}" if self.unit != "1" else ""
        )
        return replace(
            self,
            name=f"{self.name}_{part}",
            unit=unit,
            word=f"{self.word.removesuffix(' per load')} per {part} load",
            symbol=(self.symbol[0], part[0]),
            heading="",
        )


def per_load(level: Quantity, word: str, symbol: tuple[str, str], unit: str = "1") -> Quantity:
    """The coefficient that multiplies the load in a level of friction."""
    return Quantity(
        f"{level.name}{_PER_LOAD}", unit, word, symbol, f"{level.heading}/load", raises=level.name
    )


COULOMB = Quantity("coulomb", "{tau}", "Coulomb friction", ("c", "0"), "Coulomb")
STATIC = Quantity("static", "{tau}", "static friction", ("s", "0"), "static")
VISCOUS = Quantity("viscous", "{tau}·s/{q}", "viscous friction", ("k", "v"), "viscous")
VISCOUS_QUADRATIC = Quantity(
    "viscous_quadratic", "{tau}·s²/{q}²", "quadratic viscous friction", ("k", "2"), "quadratic"
)
VISCOUS_POWER = Quantity(
    "viscous_power", "{tau}", "viscous friction at unit speed", ("k", "p"), "viscous"
)
VISCOUS_EXPONENT = Quantity(
    "viscous_exponent",
    "1",
    "viscous exponent",
    ("p", ""),
    "power",
    search=lambda slowest, fastest: (0.3, 2.0),
)
VISCOUS_LEVEL = Quantity(
    "viscous_level", "{tau}", "viscous friction at saturation", ("k", "l"), "viscous"
)
SATURATION_VELOCITY = Quantity(
    "saturation_velocity",
    "{q}/s",
    "velocity of saturation",
    ("ω", "l"),
    "w_l",
    tried=16,
    search=lambda slowest, fastest: (slowest, 2.0 * fastest),
)
COULOMB_PER_LOAD = per_load(COULOMB, "Coulomb per load", ("c", "1"))
STATIC_PER_LOAD = per_load(STATIC, "static per load", ("s", "1"))
VISCOUS_PER_LOAD = per_load(VISCOUS, "viscous per load", ("k", "1"), "s/{q}")
VISCOUS_BEYOND = Quantity(
    "viscous_beyond", "{tau}·s/{q}", "viscous friction beyond the kink", ("k", "b"), "viscous"
)
KINK_VELOCITY = Quantity(
    "kink_velocity",
    "{q}/s",
    "velocity of the kink",
    ("ω", "k"),
    "w_k",
    tried=16,
    search=lambda slowest, fastest: (0.1 * fastest, 0.8 * fastest),
)
KINK_WIDTH = Quantity(
    "kink_width",
    "{q}/s",
    "width of the kink",
    ("ω", "r"),
    "w_r",
    tried=8,
    search=lambda slowest, fastest: (0.02 * fastest, 0.4 * fastest),
)
STRIBECK_VELOCITY = Quantity(
    "stribeck_velocity",
    "{q}/s",
    "Stribeck velocity",
    ("ω", "s"),
    "w_s",
    knee=True,
    tried=32,
    search=lambda slowest, fastest: (0.7 * slowest, 0.5 * fastest),
)
STRIBECK_EXPONENT = Quantity(
    "stribeck_exponent",
    "1",
    "Stribeck exponent",
    ("δ", ""),
    "exponent",
    search=lambda slowest, fastest: (0.4, 4.0),
)
TANH_VELOCITY = Quantity(
    "tanh_velocity",
    "{q}/s",
    "smoothing velocity",
    ("ω", "t"),
    "w_t",
    search=lambda slowest, fastest: (0.05 * slowest, 5.0 * slowest),
)

# parameters of friction with memory, see `ident.memory.states.memories`
DISTANCE = Quantity("presliding_distance", "{q}", "presliding distance", ("h", ""))
SECOND_DISTANCE = Quantity("second_distance", "{q}", "second presliding distance", ("h", "2"))
SHARE = Quantity("first_share", "1", "share of the first state", ("a", ""))
EXPONENT = Quantity("dahl_exponent", "1", "exponent of Dahl's law", ("i", ""))
STIFFNESS = Quantity("bristle_stiffness", "{tau}/{q}", "bristle stiffness", ("σ", "0"))
DAMPING = Quantity("bristle_damping", "{tau}·s/{q}", "bristle damping", ("σ", "1"))

PLAY = Quantity("play", "{q}", "play", ("b", ""))
LINK_FRICTION = Quantity("link_friction", "{tau}", "friction of the link", ("f", ""))

ELEMENTS = 8  # of Maxwell slip


def element_share(number: int) -> Quantity:
    """Return the share of one element of Maxwell slip, counted from 1."""
    return Quantity(f"share_{number}", "1", f"share of element {number}", ("a", str(number)))


def of_temperature(part: str, word: str, letter: str) -> tuple[Quantity, ...]:
    """Return the parameters of temperature laws for a part of friction; over the state of
    self-heating they have no unit.
    """
    return (
        Quantity(
            f"{part}_temperature_slope",
            "1/K",
            f"{word} part: slope over temperature",
            ("a", letter),
        ),
        Quantity(
            f"{part}_temperature_curvature",
            "1/K²",
            f"{word} part: curvature over temperature",
            ("b", letter),
        ),
        Quantity(
            f"{part}_temperature_decay",
            "K",
            f"{word} part: temperature of the decay",
            ("T", f"d,{letter}"),
        ),
        Quantity(
            f"{part}_temperature_floor", "1", f"{word} part: floor of the decay", ("r", letter)
        ),
    )


HEATING = (
    Quantity("time_constant", "s", "time constant of self-heating", ("τ", "")),
    Quantity("second_time_constant", "s", "second time constant", ("τ", "2")),
    Quantity("second_share", "1", "share of the second body", ("a", "2")),
    Quantity("power", "W", "power that heats to state 1", ("P", "0")),
)
TEMPERATURE = (
    *of_temperature("coulomb", "Coulomb", "c"),
    *of_temperature("viscous", "viscous", "v"),
    *HEATING,
)
MEMORY = (
    DISTANCE,
    SECOND_DISTANCE,
    SHARE,
    EXPONENT,
    STIFFNESS,
    DAMPING,
    *(element_share(k + 1) for k in range(ELEMENTS - 1)),
)

BESIDE = (  # fitted together with a law
    Quantity("scale", "1", "torque / gravity"),
    Quantity("offset", "{tau}", "torque offset"),
    Quantity("delay", "s", "torque delay"),
    Quantity("lag", "s", "time constant of the torque signal"),
    Quantity("drift", "1", "drift"),
    Quantity("viscous_difference", "{tau}·s/{q}", "viscous, half of forward minus backward"),
    Quantity("driving_difference", "1", "friction per load, half of driving minus back-driving"),
    Quantity("inertia", "{tau}·s²/{q}", "inertia"),
    Quantity("friction_arm", "m", "friction arm"),
    Quantity("stiffness", "{tau}/{q}", "stiffness of the joint"),
    PLAY,
    LINK_FRICTION,
    Quantity("torque_per_gain", "{tau}/{q}", "torque per gain and position error"),
    Quantity("servo_delay", "s", "delay of set-points"),
    Quantity("back_emf", "{tau}·s/{q}", "damping by the powered motor"),
    Quantity("place_sin_1", "{tau}", "friction with sin q"),
    Quantity("place_cos_1", "{tau}", "friction with cos q"),
    Quantity("place_sin_2", "{tau}", "friction with sin 2q"),
    Quantity("place_cos_2", "{tau}", "friction with cos 2q"),
    Quantity("gravity_sin", "{tau}", "gravity with sin q"),
    Quantity("gravity_cos", "{tau}", "gravity with cos q"),
)
