"""Loads that friction grows with: one column of the points, or several components with a coefficient each."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from stribeck.ident.arrays import Array
from stribeck.ident.laws.quantity import COMPONENTS

if TYPE_CHECKING:
    import pandas as pd


def components_of(names: Iterable[str]) -> tuple[str, ...]:
    """Components of the load that have a coefficient among these parameters; empty where one load has one."""
    return tuple(part for part in COMPONENTS if f"coulomb_coefficient_{part}" in names)


def load_unit(load: str, prismatic: bool = False) -> str:
    """Return the unit of a load."""
    return "N" if load in ("radial", "axial") or (prismatic and load in ("torque", "normal")) else "N·m"


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


def load_level(load: ArrayLike | None) -> Array | float:
    """The load as the functions of laws take it, shape (N,) [N·m]; zero where there is none."""
    return 0.0 if load is None else np.asarray(load, dtype=float)
