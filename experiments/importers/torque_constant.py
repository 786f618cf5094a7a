"""Torque constants of joints with current signals: from the arm file, or from a fit
of the current to gravity.
"""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from stribeck.ident.errors import FitError, InputError, TorqueReversed
from stribeck.ident.fit.joint.general_motion import fit_motion
from stribeck.ident.fit.joint.gravity import fit_gravity
from stribeck.ident.fit.law_fit import LEAST_ROUND_TRIPS
from stribeck.ident.laws.parameter import Parameter
from stribeck.ident.log.motion.filtered_motion import filtered
from stribeck.ident.log.motion.motion_points import reduce_motion
from stribeck.ident.log.reduction.round_trips import reduce_run, round_trips
from stribeck.ident.log.run import Run
from stribeck.ident.model.mechanism import Mechanism

SOURCES = ("arm file", "gravity")


def torque_constants(
    source: str, run: Run, mechanism: Mechanism, joints: Sequence[str]
) -> tuple[dict[str, dict[str, Any]], dict[str, str]]:
    """Return the torque at the joint per ampere, for joints whose torque is in ampere.

    Parameters
    ----------
    source : str
        "arm file": ``torque_constant`` times ``gear_ratio``; "gravity": fit of the current to
        gravity, and the arm file's value if this fit is not possible.
    run : Run
        Run with torques in ampere.
    mechanism : Mechanism
        Rigid-body model.
    joints : sequence of str
        Joints whose torque is in ampere.

    Returns
    -------
    found : dict of str to dict
        Joint -> `value` [N·m/A or N/A], `source`, and `std_error` of a fitted value.
    unknown : dict of str to str
        Joint -> reason why the fit to gravity is not possible, for joints without a
        constant in the arm file.

    Raises
    ------
    InputError
        If the arm file lacks a constant, or if no constant at all is known; the message names
        the joint and what to state.
    """
    points = reduce_run(run, mechanism).points if joints and source == "gravity" else None
    found: dict[str, dict[str, Any]] = {}
    unknown: dict[str, str] = {}
    for name in joints:
        table = run.arm.joint(name)
        if points is not None:
            told = _from_gravity(
                run, mechanism, name, points[points["joint"] == name].reset_index(drop=True)
            )
            if isinstance(told, dict):
                found[name] = told
                continue
            if table.torque_constant is None:
                unknown[name] = told
                continue
        if table.torque_constant is None:
            raise _missing(run, name, "", ", or fit it to gravity (--torque-constant gravity)")
        if table.gear_ratio is None:
            raise InputError(
                f"{run.path}: the torque of {name} is in A, and {run.arm.path.name} has "
                f"joints.{name}.torque_constant (at the motor) but no gear_ratio; state "
                f"joints.{name}.gear_ratio (1.0 without gear)"
            )
        found[name] = {"value": table.torque_constant * table.gear_ratio, "source": "arm file"}
    if unknown and len(unknown) == len(run.names):
        name, told = next(iter(unknown.items()))
        raise _missing(run, name, f", and a fit to gravity is not possible ({told})", "")
    return found, unknown


def _missing(run: Run, name: str, tried: str, also: str) -> InputError:
    return InputError(
        f"{run.path}: the torque of {name} is in A, and {run.arm.path.name} has no "
        f"joints.{name}.torque_constant (N·m/A at the motor){tried}; state this key, or a factor "
        f"in the column ([4.1 N·m/A], at the joint){also}"
    )


def _from_gravity(
    run: Run, mechanism: Mechanism, name: str, rows: pd.DataFrame
) -> dict[str, Any] | str:
    """Return the constant of a joint, or the reason why it cannot be fitted to gravity."""
    scale: Parameter | None
    try:
        if rows["segment"].nunique() >= LEAST_ROUND_TRIPS:
            even, gravity, odd = (
                rows[key].to_numpy(dtype=float) for key in ("even", "gravity", "odd")
            )
            scale = fit_gravity(even, gravity, odd, round_trips(rows))["scale"]
        else:
            scale = _from_motion(run, mechanism, name)
    except TorqueReversed as error:
        raise _missing(
            run, name, f", and a fit to gravity is not possible ({error})", ""
        ) from error
    except FitError as error:
        return str(error)
    if scale is None or scale.value is None or scale.verdict != "identified":
        return "the gravity torque hardly varies"
    if scale.value <= 0.0:
        raise InputError(
            f"{run.path}: the current of {name} has the opposite sign of the model's gravity "
            "torque; give the column a negative factor such as [-4.1 N·m/A], or check direction "
            "and zero_offset in the arm file"
        )
    relative = (scale.std_error or 0.0) / scale.value
    return {"value": 1.0 / scale.value, "source": "gravity", "std_error": relative / scale.value}


def _from_motion(run: Run, mechanism: Mechanism, name: str) -> Parameter | None:
    """Fit the ratio of current to the model's torque in general motion."""
    fit = fit_motion(
        reduce_motion(filtered([run], [mechanism]), name), "model", "coulomb-viscous", "none"
    )
    return fit.nuisance.get("scale")
