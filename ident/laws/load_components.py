"""Loads with which friction grows: one column of the points, or several components, each
with its own coefficient.
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from stribeck.ident.arrays import Array, Numbers, floats
from stribeck.ident.laws.quantity import COMPONENTS

if TYPE_CHECKING:
    import pandas as pd


def components_of(names: Iterable[str]) -> tuple[str, ...]:
    """Return the load components with a coefficient among these
    parameters; empty for a single load.
    """
    return tuple(part for part in COMPONENTS if f"coulomb_coefficient_{part}" in names)


def load_unit(load: str, prismatic: bool = False) -> str:
    """Return the unit of a load."""
    return (
        "N"
        if load in ("radial", "axial") or (prismatic and load in ("torque", "normal"))
        else "N·m"
    )


def load_at(points: "pd.DataFrame", load: str, parameters: Iterable[str]) -> Array | None:
    """Return the load at points for `Law.torque`: one column (N,), columns of components (N,
    m), or None without load.
    """
    parts = components_of(parameters)
    if parts:
        return np.column_stack([np.asarray(points[part], dtype=float) for part in parts])
    return None if load == "none" else np.asarray(points[load], dtype=float)


def load_part(values: Mapping[str, float], load: Array) -> Array:
    """Return the part of Coulomb friction that comes from the load, shape (N,)
    [N·m]; load as in `Law.torque`.
    """
    components = components_of(values)
    if not components:
        return values["coulomb_coefficient"] * load
    return np.asarray(load @ [values[f"coulomb_coefficient_{part}"] for part in components])


def load_level(load: Numbers | None) -> Array | float:
    """Return the load for the function of a law, shape (N,) [N·m]; zero without load."""
    return 0.0 if load is None else floats(load)
