"""Loads that friction of a joint may grow with: which vary enough for a coefficient, and the words
for those that do not.
"""

import numpy as np
import pandas as pd

from stribeck.ident.arrays import Array
from stribeck.ident.fit.fit_result import FitResult
from stribeck.ident.fit.joint.advice import VARIED, vary_load
from stribeck.ident.fit.joint.options import Options
from stribeck.ident.fit.points import ANY, Growth
from stribeck.ident.laws.law_table import law_named, unit
from stribeck.ident.laws.parameter import Parameter
from stribeck.ident.laws.quantity import COMPONENTS
from stribeck.ident.model.mechanism import Mechanism

# of `VARIED`: a load that the user asks for needs less excitation, and its
# interval tells what is known
_ASKED = 0.1
MATTERS = 0.05  # least load, as a part of friction, that is worth a coefficient
_LOADS = ("normal", "torque", "bending")
_ARM = 0.1  # m; longest lever arm with which a bearing turns a force into friction
# least part of a component's variation that other components must not explain
_APART = 0.1


def excited_loads(
    points: pd.DataFrame, growth: Growth = ANY
) -> tuple[dict[str, Array | None], dict[str, tuple[float, float]]]:
    """Return the loads that vary enough for a coefficient, and the ranges of loads that are
    large enough but do not vary.
    """
    friction = float(points["odd"].median())
    offered: dict[str, Array | None] = {"none": None}
    still: dict[str, tuple[float, float]] = {}
    wanted = growth.load
    for load in _LOADS:
        values = points[load].to_numpy(dtype=float)
        if (
            not np.isfinite(values).all()
            or values.max() < MATTERS * friction
            or wanted not in ("auto", load)
        ):
            continue
        if np.ptp(values) > max(
            VARIED * (1.0 if wanted == "auto" else _ASKED) * values.max(), MATTERS * friction
        ):
            offered[load] = values
        elif load != "bending":
            still[load] = (float(values.min()), float(values.max()))
    if len(offered) > 1 and (wanted not in ("auto", "none") or not growth.constant):
        del offered["none"]
    return offered, still


def offered_components(
    points: pd.DataFrame, options: Options, prismatic: bool
) -> tuple[tuple[str, ...], str]:
    """Return the load components that can have their own coefficients, or the
    reason if there are none.

    A component must meet three conditions. It varies, also at low speed (centrifugal loads do not).
    With a lever arm of `_ARM`, its effect on friction is not negligible. It is not a combination of
    the other components and a constant.
    """
    if options.load not in ("auto", "components") or options.directional == "driving":
        return (), ""
    friction, slow = (
        float(points["odd"].median()),
        (points["speed"] <= points["speed"].median()).to_numpy(),
    )
    varied = {}
    for name in COMPONENTS:
        values = points[name].to_numpy(dtype=float)
        reach = (
            (1.0 if name != "bending" else 1.0 / _ARM)
            if prismatic
            else (1.0 if name == "bending" else _ARM)
        )
        if prismatic and name == "axial":
            continue  # the axial force is the force of the drive
        if np.isfinite(values).all() and np.ptp(values[slow]) > max(
            VARIED * values.max(), MATTERS * friction / reach
        ):
            varied[name] = (values - values.mean()) / np.std(values)
    if tuple(varied) in ((), ("bending",)):
        return (), "neither the radial nor the axial load of its bearing varies enough"
    for name, column in varied.items():
        others = np.column_stack(
            [np.ones_like(column), *(other for key, other in varied.items() if key != name)]
        )
        left = column - others @ np.linalg.lstsq(others, column, rcond=None)[0]
        if np.std(left) < _APART:
            return (), (
                f"the {' and '.join(varied)} loads of its bearing vary together, so their parts of "
                "friction cannot be separated"
            )
    return tuple(varied), ""


def unidentifiable_coefficients(
    fit: FitResult,
    still: dict[str, tuple[float, float]],
    mechanism: Mechanism,
    joint: int,
    q: Array | None = None,
    least: float = 0.0,
) -> dict[str, Parameter]:
    """Return load coefficients that the data cannot identify, because the load hardly varied."""
    prismatic = bool(mechanism.prismatic[joint])
    load, (low, high) = max(still.items(), key=lambda item: item[1][1])
    word = (
        "normal load"
        if load == "normal"
        else "transmitted force"
        if prismatic
        else "transmitted torque"
    )
    tau = unit("coulomb", prismatic)
    found = (
        f"is {high:.3g} {tau} everywhere"
        if high - low < 0.01 * high
        else f"stays between {low:.3g} and {high:.3g} {tau}"
    )
    settle = (
        "a known payload at another distance from the axis would vary the load"
        if q is None
        else vary_load(mechanism, joint, load, q, least)
    )
    note = (
        f"the {word} {found}; coulomb is the friction level at this load. "
        f"{settle[0].upper()}{settle[1:]}"
    )
    return {
        name: Parameter(None, None, None, None, unit(name, prismatic, load), "unidentifiable", note)
        for name in law_named(fit.law).with_load
    }
