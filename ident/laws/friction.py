r"""Friction laws: plain functions of velocity and load, and the table that names their parameters.

A law takes its data first and last, so that ``lmfit.Model(stribeck)`` works as it stands. Adding a law is one
function and one line in `LAWS`.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from stribeck.ident.arrays import Array
from stribeck.ident.errors import InputError, unknown_name

if TYPE_CHECKING:
    import pandas as pd

COMPONENTS = ("radial", "axial", "bending")     # parts of a bearing's load that may have coefficients of their own (Eqs. 43-46)


def coulomb_viscous(w: ArrayLike, coulomb: float, viscous: float, coulomb_coefficient: float = 0.0,
                    load: ArrayLike | None = None) -> Array:
    r"""Sliding friction of one joint without Stribeck effect.

    .. math:: \tau_f = (c_0 + c_1 L) \operatorname{sgn}(\omega) + k_v \omega

    Parameters
    ----------
    w : array_like, shape (N,)
        Joint velocity [rad/s].
    coulomb : float
        Load-independent Coulomb friction c_0 [N·m].
    viscous : float
        Viscous coefficient k_v [N·m·s/rad].
    coulomb_coefficient : float
        Coulomb friction per load, c_1.
    load : array_like, shape (N,), optional
        Load L that the coefficient multiplies [N·m]; None means no load part.

    Returns
    -------
    ndarray, shape (N,)
        Torque that the drive adds to the rigid-body torque [N·m]; zero at w = 0.

    References
    ----------
    Guo, Ju and Wang, Aerospace 11 (2024) 368, Eq. 42.
    """
    w = np.asarray(w, dtype=float)
    return np.asarray((coulomb + coulomb_coefficient * _load(load)) * np.sign(w) + viscous * w)


def stribeck(w: ArrayLike, coulomb: float, static: float, stribeck_velocity: float, viscous: float,
             coulomb_coefficient: float = 0.0, static_coefficient: float = 0.0, stribeck_exponent: float = 2.0,
             load: ArrayLike | None = None) -> Array:
    r"""Sliding friction of one joint with Stribeck effect.

    .. math:: \tau_f = [C + (S - C) e^{-|\omega/\omega_s|^\delta}] \operatorname{sgn}(\omega) + k_v \omega,
              \quad C = c_0 + c_1 L, \quad S = s_0 + s_1 L

    Parameters
    ----------
    w : array_like, shape (N,)
        Joint velocity [rad/s].
    coulomb, static : float
        Load-independent Coulomb and low-speed sliding friction, c_0 and s_0 [N·m].
    stribeck_velocity : float
        Velocity w_s at which the excess over Coulomb has faded to 1/e [rad/s].
    viscous : float
        Viscous coefficient k_v [N·m·s/rad].
    coulomb_coefficient, static_coefficient : float
        Friction per load, c_1 and s_1.
    stribeck_exponent : float
        Exponent delta.
    load : array_like, shape (N,), optional
        Load L that the coefficients multiply [N·m]; None means no load part.

    Returns
    -------
    ndarray, shape (N,)
        Torque that the drive adds to the rigid-body torque [N·m]; zero at w = 0.

    References
    ----------
    Bo and Pavelescu, Wear 82 (1982) 277; Guo, Ju and Wang, Aerospace 11 (2024) 368, Eq. 52.
    """
    w, load = np.asarray(w, dtype=float), _load(load)
    sliding = coulomb + coulomb_coefficient * load
    excess = static + static_coefficient * load - sliding
    fading = np.exp(-np.abs(w / stribeck_velocity) ** stribeck_exponent)
    return np.asarray((sliding + excess * fading) * np.sign(w) + viscous * w)


def tustin(w: ArrayLike, coulomb: float, static: float, stribeck_velocity: float, viscous: float,
           coulomb_coefficient: float = 0.0, static_coefficient: float = 0.0, load: ArrayLike | None = None) -> Array:
    """Sliding friction whose excess fades exponentially: `stribeck` with exponent 1, parameters as there.

    References
    ----------
    Tustin, J. IEE 94 (1947) 143; Rosyid and El-Khasawneh, Applied Sciences 10 (2020) 4820 (P2).
    """
    return stribeck(w, coulomb, static, stribeck_velocity, viscous, coulomb_coefficient, static_coefficient, 1.0, load)


def brown_mcphee(w: ArrayLike, coulomb: float, static: float, stribeck_velocity: float, viscous: float,
                 coulomb_coefficient: float = 0.0, static_coefficient: float = 0.0, load: ArrayLike | None = None) -> Array:
    r"""Friction that is smooth through zero velocity and greatest at the Stribeck velocity.

    .. math:: \tau_f = C \tanh(4 u) + (S - C) \frac{u}{(u^2/4 + 3/4)^2} + k_v \omega, \quad u = \omega / \omega_s

    Parameters as in `stribeck`, but w_s is where friction peaks: close to `static` [rad/s]. Made for simulation: below
    w_s it falls to zero at rest.

    References
    ----------
    Brown and McPhee, J. Computational and Nonlinear Dynamics 11 (2016) 054502, Eq. 7.
    """
    w, load = np.asarray(w, dtype=float), _load(load)
    sliding = coulomb + coulomb_coefficient * load
    excess = static + static_coefficient * load - sliding
    u = w / stribeck_velocity
    return np.asarray(sliding * np.tanh(4.0 * u) + excess * u / (0.25 * u**2 + 0.75) ** 2 + viscous * w)


def andersson(w: ArrayLike, coulomb: float, static: float, stribeck_velocity: float, tanh_velocity: float, viscous: float,
              coulomb_coefficient: float = 0.0, static_coefficient: float = 0.0, load: ArrayLike | None = None) -> Array:
    r"""`stribeck` with the jump at zero velocity made smooth: sgn(w) becomes tanh(w / w_t).

    .. math:: \tau_f = [C + (S - C) e^{-|\omega/\omega_s|^2}] \tanh(\omega / \omega_t) + k_v \omega

    Parameters as in `stribeck`; `tanh_velocity` w_t is where tanh has reached 0.76 [rad/s].

    References
    ----------
    Andersson, Söderberg and Björklund, Tribology International 40 (2007) 580, Eq. 6.
    """
    w, load = np.asarray(w, dtype=float), _load(load)
    sliding = coulomb + coulomb_coefficient * load
    excess = static + static_coefficient * load - sliding
    fading = np.exp(-((w / stribeck_velocity) ** 2))
    return np.asarray((sliding + excess * fading) * np.tanh(w / tanh_velocity) + viscous * w)


def quadratic_viscous(w: ArrayLike, coulomb: float, viscous: float, viscous_quadratic: float, coulomb_coefficient: float = 0.0,
                      load: ArrayLike | None = None) -> Array:
    r"""Coulomb and viscous friction with a part that grows with the square of velocity, as churned lubricant does.

    .. math:: \tau_f = (c_0 + c_1 L) \operatorname{sgn}(\omega) + k_v \omega + k_2 \omega |\omega|

    Parameters as in `coulomb_viscous`; `viscous_quadratic` is k_2 [N·m·s²/rad²].
    """
    w = np.asarray(w, dtype=float)
    sliding = coulomb + coulomb_coefficient * _load(load)
    return np.asarray(sliding * np.sign(w) + viscous * w + viscous_quadratic * w * np.abs(w))


def _load(load: ArrayLike | None) -> Array | float:
    return 0.0 if load is None else np.asarray(load, dtype=float)


@dataclass(frozen=True)
class Law:
    """A friction law and what is known about its parameters.

    Attributes
    ----------
    name : str
        As files and options call it.
    function : callable
        The law.
    linear : tuple of str
        Parameters in which it is linear and that do not need a load.
    with_load : tuple of str
        Further linear parameters that multiply the load.
    nonlinear : tuple of str
        The rest, found by search.
    """

    name: str
    function: Callable[..., Array]
    linear: tuple[str, ...]
    with_load: tuple[str, ...]
    nonlinear: tuple[str, ...] = ()

    def coefficients(self, components: tuple[str, ...] = ()) -> tuple[str, ...]:
        """Names of what multiplies the load, or each of its components."""
        return tuple(f"{name}_{part}" for name in self.with_load for part in components) if components else self.with_load

    def parameters(self, load: bool, components: tuple[str, ...] = ()) -> tuple[str, ...]:
        """Names of all free parameters, linear ones first."""
        return self.linear + (self.coefficients(components) if load else ()) + self.nonlinear

    def torque(self, w: ArrayLike, values: Mapping[str, Any], load: ArrayLike | None = None) -> Array:
        """Friction torque by parameter values, shape (N,) [N·m].

        Parameters
        ----------
        w : array_like, shape (N,)
            Joint velocity [rad/s].
        values : mapping of str to float
            Parameters. With coefficients of load components, each adds to the level that it is named after.
        load : array_like, shape (N,), optional
            Load [N·m]; shape (N, m) with a column for each of `components_of` the values.

        Raises
        ------
        InputError
            If the load has not one column for each component.
        """
        components = components_of(values)
        if not components:
            return self.function(w, **values, load=load)
        loads = np.asarray(load, dtype=float)
        if loads.ndim != 2 or loads.shape[1] != len(components):
            raise InputError(f"the load has shape {loads.shape}; this friction needs a column each for {', '.join(components)}, "
                             f"shape (N, {len(components)})")
        own = dict(values)
        for name in self.with_load:
            level = name.removesuffix("_coefficient")
            own[level] = own[level] + sum(own.pop(f"{name}_{part}") * on for part, on in zip(components, loads.T, strict=True))
        return self.function(w, **own)

    def columns(self, w: Array, load: Array | None, nonlinear: Mapping[str, ArrayLike],
                components: tuple[str, ...] = ()) -> Array:
        """The linear parameters' columns: each set to 1 and the others to 0.

        Shape (N, p); (K, N, p) where the nonlinear parameters are arrays of K values.
        """
        names = self.linear + (self.coefficients(components) if load is not None else ())
        linear = dict(zip(names, np.eye(len(names))[:, :, None], strict=True))
        at = {name: np.asarray(value, dtype=float)[..., None, None] for name, value in nonlinear.items()}
        return np.swapaxes(self.torque(w, {**linear, **at}, load), -1, -2)


LAWS: dict[str, Law] = {law.name: law for law in (
    Law("coulomb-viscous", coulomb_viscous, ("coulomb", "viscous"), ("coulomb_coefficient",)),
    Law("stribeck", stribeck, ("coulomb", "static", "viscous"), ("coulomb_coefficient", "static_coefficient"),
        ("stribeck_velocity",)),
    Law("stribeck-free", stribeck, ("coulomb", "static", "viscous"), ("coulomb_coefficient", "static_coefficient"),
        ("stribeck_velocity", "stribeck_exponent")),
    Law("tustin", tustin, ("coulomb", "static", "viscous"), ("coulomb_coefficient", "static_coefficient"),
        ("stribeck_velocity",)),
    Law("brown-mcphee", brown_mcphee, ("coulomb", "static", "viscous"), ("coulomb_coefficient", "static_coefficient"),
        ("stribeck_velocity",)),
    Law("andersson", andersson, ("coulomb", "static", "viscous"), ("coulomb_coefficient", "static_coefficient"),
        ("stribeck_velocity", "tanh_velocity")),
    Law("quadratic", quadratic_viscous, ("coulomb", "viscous", "viscous_quadratic"), ("coulomb_coefficient",)),
)}
AUTO = ("coulomb-viscous", "stribeck")      # laws that compete unless one is named

UNITS = {"coulomb": "{tau}", "static": "{tau}", "viscous": "{tau}·s/{q}", "viscous_quadratic": "{tau}·s²/{q}²",
         "stribeck_velocity": "{q}/s", "tanh_velocity": "{q}/s", "stribeck_exponent": "1", "coulomb_coefficient": "1",
         "static_coefficient": "1", "scale": "1", "offset": "{tau}", "delay": "s", "drift": "1",
         "viscous_difference": "{tau}·s/{q}", "driving_difference": "1", "inertia": "{tau}·s²/{q}",
         "gravity_sin": "{tau}", "gravity_cos": "{tau}",
         **{f"{level}_coefficient_{part}": "{per_moment}" if part == "bending" else "{per_force}"
            for level in ("coulomb", "static") for part in COMPONENTS}}


def unit(parameter: str, prismatic: bool = False) -> str:
    """Unit of a parameter for a revolute or prismatic joint."""
    slides = {"tau": "N", "q": "m", "per_force": "1", "per_moment": "1/m"}
    turns = {"tau": "N·m", "q": "rad", "per_force": "m", "per_moment": "1"}
    return UNITS[parameter].format(**(slides if prismatic else turns))


def components_of(names: Iterable[str]) -> tuple[str, ...]:
    """Components of the load that have a coefficient among these parameters; empty where one load has one."""
    return tuple(part for part in COMPONENTS if f"coulomb_coefficient_{part}" in names)


def load_at(points: "pd.DataFrame", load: str, parameters: Iterable[str]) -> Array | None:
    """Load at points as `Law.torque` takes it: one of their columns, (N,), or those of the components, (N, m); None for none."""
    parts = components_of(parameters)
    if parts:
        return np.column_stack([np.asarray(points[part], dtype=float) for part in parts])
    return None if load == "none" else np.asarray(points[load], dtype=float)


def load_part(values: Mapping[str, float], load: Array) -> Array:
    """The load's share of Coulomb friction, shape (N,) [N·m]; load as in `Law.torque`."""
    components = components_of(values)
    if not components:
        return values["coulomb_coefficient"] * load
    return np.asarray(load @ [values[f"coulomb_coefficient_{part}"] for part in components])


def law_named(name: str) -> Law:
    """Law by name.

    Raises
    ------
    InputError
        Lists the laws.
    """
    if name not in LAWS:
        raise unknown_name("law", name, LAWS)
    return LAWS[name]
