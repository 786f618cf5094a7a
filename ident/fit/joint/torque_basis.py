"""Torque basis "gravity-corrected": the drive's torque divided by its scale
against the model's gravity.

The scale is the product of errors of torque constant, gear efficiency and model masses. The
division is right if the torque constant is the cause. The uncertainty of the scale adds to every
parameter that is proportional to torque.
"""

from dataclasses import replace

import numpy as np
import pandas as pd

from stribeck.ident.fit.fit_result import FitResult
from stribeck.ident.laws.law_table import law_named
from stribeck.ident.laws.parameter import Parameter, verdict

BASES = ("drive", "gravity-corrected")
_TORQUES = ("odd", "even", "std")


def divisor(scale: Parameter) -> float | None:
    """Return the divisor of the drive's torque; None if the scale is not identified."""
    return (
        scale.value
        if scale.verdict == "identified" and scale.value is not None and scale.value > 0.0
        else None
    )


def corrected(points: pd.DataFrame, scale: float) -> pd.DataFrame:
    """Return the points of a joint with torques divided by the scale."""
    return points.assign(**{column: points[column] / scale for column in _TORQUES})


def divided(torque: Parameter, scale: float) -> Parameter:
    """Return an estimated torque in the corrected basis."""
    value, error, low, high = (
        None if part is None else part / scale
        for part in (torque.value, torque.std_error, torque.low, torque.high)
    )
    return replace(torque, value=value, std_error=error, low=low, high=high)


def uncertain(fit: FitResult, scale: Parameter) -> FitResult:
    """Add the uncertainty of a scale to the parameters of a fit that are proportional to torque."""
    error, half = (
        (scale.std_error or 0.0) / abs(scale.value or 1.0),
        (scale.half_width or 0.0) / abs(scale.value or 1.0),
    )
    shape = law_named(fit.law).nonlinear
    parameters = {
        name: entry if name in shape else _widened(entry, error, half)
        for name, entry in fit.parameters.items()
    }
    values = np.array([0.0 if name in shape else fit.values[name] for name in fit.names])
    return replace(
        fit, parameters=parameters, covariance=fit.covariance + error**2 * np.outer(values, values)
    )


def _widened(parameter: Parameter, error: float, half: float) -> Parameter:
    """Add a relative error and half width to a parameter of a law, which cannot be negative."""
    if (
        parameter.value is None
        or parameter.std_error is None
        or parameter.low is None
        or parameter.high is None
    ):
        return parameter
    low, high = (
        parameter.value + sign * float(np.hypot(end - parameter.value, half * parameter.value))
        for sign, end in ((-1.0, parameter.low), (1.0, parameter.high))
    )
    word = (
        parameter.verdict
        if parameter.verdict == "at bound"
        else verdict(parameter.value, low, high)
    )
    return replace(
        parameter,
        std_error=float(np.hypot(parameter.std_error, error * parameter.value)),
        low=max(0.0, low),
        high=high,
        verdict=word,
    )
