"""A friction law: function, parameters, equation, C code, and when it competes."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from stribeck.ident.arrays import Array, Numbers, floats, library_of
from stribeck.ident.errors import InputError
from stribeck.ident.laws.load_components import components_of
from stribeck.ident.laws.quantity import COULOMB, VISCOUS, Quantity


@dataclass(frozen=True)
class Law:
    """A friction law. Files, fits, tables, reports and exports read all
    properties of a law from here.

    Attributes
    ----------
    name : str
        Name in files and options.
    function : callable
        ``function(w, *parameters, load=None)``: friction torque at velocities w [rad/s] and loads
        [N·m], shape (N,) each. Coefficients of the load have the default 0.
    quantities : tuple of Quantity
        Parameters: linear parameters, coefficients that multiply the load (`Quantity.raises`), and
        nonlinear parameters, which are searched (`Quantity.search`).
    equation : str
        HTML for the report: a format string with ``{lhs}``, ``{w}`` and the names of the
        parameters, which are replaced by their values; C and S stand for the levels with their load
        parts. Without an equation, the report only names the law.
    c : str
        Function in C99 for the C header: `double` and ``@_`` stand for the type and the prefix of
        the header. Its name is ``@_`` followed by the name of `function`, with the arguments of
        `function` in their order.
    no_c : str
        Why the law has no C code.
    loses : tuple of str
        Effects of the law, besides growth with the load, that Coulomb and
        viscous friction cannot express.
    competes : bool
        Whether the law competes when no law is named.
    needs : tuple of str
        Names of simpler laws that must be plausible, taken together, before this law competes;
        empty: it always competes.

    Raises
    ------
    InputError
        If `coulomb` is not among the parameters, the function does not take all parameters or
        needs others, a coefficient has no level to raise, or the function is not linear in a
        parameter without a search range.
    """

    name: str
    function: Callable[..., Array]
    quantities: tuple[Quantity, ...]
    equation: str = ""
    c: str = ""
    no_c: str = "nobody has written it in C"
    loses: tuple[str, ...] = ()
    competes: bool = False
    needs: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        names = [quantity.name for quantity in self.quantities]
        if COULOMB.name not in self.linear:
            raise InputError(
                f"the law {self.name} has no parameter coulomb; exports use this parameter as the "
                "constant part of friction"
            )
        taken = list(inspect.signature(self.function).parameters)
        if taken[:1] != ["w"] or taken[-1:] != ["load"]:
            raise InputError(
                f"the function of the law {self.name} takes ({', '.join(taken)}); its first "
                "argument must be w, its last load"
            )
        if missing := [name for name in names if name not in taken]:
            raise InputError(
                f"the function of the law {self.name} does not take the parameter(s) "
                f"{', '.join(missing)}; add them to its arguments"
            )
        needed = [
            name
            for name, argument in inspect.signature(self.function).parameters.items()
            if argument.default is inspect.Parameter.empty and name not in ("w", "load", *names)
        ]
        if needed:
            raise InputError(
                f"the function of the law {self.name} needs {', '.join(needed)}, which the law "
                "does not list among its quantities"
            )
        for quantity in self.quantities:
            if quantity.raises and (
                quantity.raises not in self.linear
                or quantity.name != f"{quantity.raises}_coefficient"
            ):
                raise InputError(
                    f"the law {self.name} has the coefficient {quantity.name}, which raises "
                    f"{quantity.raises} with the load; the law needs the linear parameter "
                    f"{quantity.raises}, and the coefficient must be called "
                    f"{quantity.raises}_coefficient"
                )
        if bent := self._bent():
            raise InputError(
                f"the law {self.name} is not linear in {bent}; state its search range "
                "(Quantity.search)"
            )

    def _bent(self) -> str:
        """Return a parameter that is not searched although the function is not linear in it
        (tested at three values), or "".
        """
        w, values = (
            np.array([0.1, 1.0]),
            dict.fromkeys((quantity.name for quantity in self.quantities), 1.0),
        )
        for name in (*self.linear, *self.with_load):
            low, middle, high = (
                self.function(w, **{**values, name: value}, load=np.ones(2))
                for value in (1.0, 2.0, 3.0)
            )
            if not np.allclose(high - middle, middle - low, rtol=1e-6, atol=1e-9):
                return name
        return ""

    @cached_property
    def linear(self) -> tuple[str, ...]:
        """Names of the linear parameters that do not multiply a load."""
        return tuple(
            quantity.name
            for quantity in self.quantities
            if quantity.search is None and not quantity.raises
        )

    @cached_property
    def with_load(self) -> tuple[str, ...]:
        """Names of the parameters that multiply the load."""
        return tuple(quantity.name for quantity in self.quantities if quantity.raises)

    @cached_property
    def nonlinear(self) -> tuple[str, ...]:
        """Names of the nonlinear parameters, which are searched."""
        return tuple(quantity.name for quantity in self.quantities if quantity.search is not None)

    @cached_property
    def searched(self) -> Mapping[str, Quantity]:
        """The nonlinear parameters, which are searched, by name."""
        return {
            quantity.name: quantity for quantity in self.quantities if quantity.search is not None
        }

    @cached_property
    def knee(self) -> str:
        """Name of the velocity parameter at which the low-speed excess has faded; "" for a law
        without a low-speed excess.
        """
        return next((quantity.name for quantity in self.quantities if quantity.knee), "")

    @cached_property
    def lost(self) -> tuple[str, ...]:
        """Effects of the law that Coulomb and viscous friction cannot express; never empty if
        it has further parameters.
        """
        beyond = [
            quantity.word
            for quantity in self.quantities
            if not quantity.raises and quantity.name not in (COULOMB.name, VISCOUS.name)
        ]
        return self.loses or (
            (f"the other parameters of the law {self.name} ({', '.join(beyond)})",)
            if beyond
            else ()
        )

    def coefficients(self, components: tuple[str, ...] = ()) -> tuple[str, ...]:
        """Names of the coefficients that multiply the load, or each of its components."""
        return (
            tuple(f"{name}_{part}" for name in self.with_load for part in components)
            if components
            else self.with_load
        )

    def parameters(self, load: bool, components: tuple[str, ...] = ()) -> tuple[str, ...]:
        """Names of all free parameters, linear ones first."""
        return self.linear + (self.coefficients(components) if load else ()) + self.nonlinear

    def torque(self, w: Numbers, values: Mapping[str, Any], load: Numbers | None = None) -> Array:
        """Return the friction torque for parameter values, shape (N,) [N·m].

        Parameters
        ----------
        w : array_like, shape (N,)
            Joint velocity [rad/s].
        values : mapping of str to float
            Parameters. Each coefficient of a load component adds to the
            level that it is named after.
        load : array_like, shape (N,), optional
            Load [N·m]; shape (N, m) with a column for each of `components_of` the values.

        Raises
        ------
        InputError
            If the load does not have one column for each component, or the function of a plug-in
            computes with NumPy only.
        """
        components = components_of(values)
        if not components:
            return self._of_library(w, self.function(w, **values, load=load))
        loads: Any = floats(load)
        if loads.ndim < 2 or loads.shape[-1] != len(components):
            raise InputError(
                f"the load has shape {loads.shape}; this friction needs one column for each of "
                f"{', '.join(components)}, shape (N, {len(components)})"
            )
        own = dict(values)
        for name in self.with_load:
            level = name.removesuffix("_coefficient")
            own[level] = own[level] + sum(
                own.pop(f"{name}_{part}") * loads[..., k] for k, part in enumerate(components)
            )
        return self._of_library(w, self.function(w, **own))

    def _of_library(self, w: Numbers, torque: Numbers) -> Array:
        """Refuse torques that the function computed with another library
        than that of the velocities.
        """
        own, wanted = library_of(torque), library_of(w)
        if own is not wanted:
            raise InputError(
                f"the law {self.name} computes with {own.__name__}, but the velocities are of "
                f"{wanted.__name__}; its function needs library_of(w) of stribeck.ident.arrays"
            )
        return torque

    def columns(
        self,
        w: Array,
        load: Array | None,
        nonlinear: Mapping[str, Numbers],
        components: tuple[str, ...] = (),
    ) -> Array:
        """Return the columns of the linear parameters: the torque with one parameter
        at 1 and the others at 0.

        Shape (N, p); (K, N, p) if the nonlinear parameters are arrays of K values.
        """
        names = self.linear + (self.coefficients(components) if load is not None else ())
        linear = dict(zip(names, np.eye(len(names))[:, :, None], strict=True))
        at = {
            name: np.asarray(value, dtype=float)[..., None, None]
            for name, value in nonlinear.items()
        }
        return np.swapaxes(self.torque(w, {**linear, **at}, load), -1, -2)
