r"""Differences of friction between the directions, from the even part of round trips.

In one direction of a round trip the joint drives its load, in the other the load back-drives the
joint. A difference of friction between driving and back-driving is therefore even, like a
difference of viscous friction between forward and backward:

.. math:: (\tau_+ + \tau_-) / 2 = s\, \tau_g(q) + o + \Delta k_v |\omega| \quad\text{or}\quad
          s\, \tau_g(q) + o + \Delta c\, L \operatorname{sgn}(\tau_g)

With the transmitted torque as load, :math:`\Delta c` is a scale, and cannot be told from an
error of the torque constant.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pandas as pd

from stribeck.ident.arrays import Array, Groups
from stribeck.ident.errors import FitError
from stribeck.ident.fit.fit_result import FitResult
from stribeck.ident.fit.joint.gravity import (
    beats,
    even_columns,
    even_noise,
    fit_gravity,
    held_out,
    shows_scale,
)
from stribeck.ident.fit.residuals.white_residuals import Residuals
from stribeck.ident.laws.parameter import Parameter
from stribeck.ident.log.finding import Finding

DIFFERENCES = {"viscous": "viscous_difference", "driving": "driving_difference"}
# parameter with a value for each direction
_OF = {"viscous": "viscous", "driving": "coulomb_coefficient"}
_LEAST = 0.1  # quantile of friction that counts as its least
# part of friction below which an offset, and relative error below which a scale is not mentioned
_TRIFLE = 0.02
_APART = 0.1  # least part of the driving column that scale and offset must not explain
_ROUND_TRIPS = 12  # least number of round trips for claiming a difference


def differing(
    points: pd.DataFrame,
    group: Groups,
    load: Array | None,
    wanted: str,
    prismatic: bool,
    viscous: float | None = None,
) -> tuple[str, dict[str, Parameter]]:
    """Return how the directions of round trips differ, and scale, offset and difference if they do.

    Parameters
    ----------
    points : DataFrame
        Points of one joint.
    group : ndarray of int, shape (N,)
        Round trips.
    load : ndarray, shape (N,), optional
        Load with which its friction grows.
    wanted : str
        Requested difference; with "auto", the differences compete with none.
    prismatic : bool
        Whether the joint slides.
    viscous : float, optional
        Mean viscous friction of both directions: the upper limit for half of a
        difference of viscous friction.

    Raises
    ------
    FitError
        If the requested difference would make friction negative.
    """
    speed, even, gravity, odd = (
        points[key].to_numpy(dtype=float) for key in ("speed", "even", "gravity", "odd")
    )
    ways = directions_on_offer(speed, gravity, load)
    chosen = choose_direction(even, gravity, odd, group, ways) if wanted == "auto" else wanted
    if chosen == "none" or (load is None and chosen == "driving"):
        return "none", {}
    if chosen == "viscous":
        found = fit_gravity(even, gravity, odd, group, prismatic, ways[chosen])
        half = found[DIFFERENCES[chosen]]
        if wanted == "auto" and not _matters(half, speed, odd):
            return "none", {}
        if (nearest := possible(viscous, half)) is not None:
            return chosen, {**found, DIFFERENCES[chosen]: nearest}
        if wanted == "auto":
            return "none", {}
        raise friction_below_zero(viscous, half)
    if chosen in ways:
        found = fit_gravity(even, gravity, odd, group, prismatic, ways[chosen])
        matters = wanted != "auto" or _matters(
            found[DIFFERENCES[chosen]], ways[chosen][DIFFERENCES[chosen]], odd
        )
        return (chosen, found) if matters else ("none", {})
    assert load is not None
    columns = {DIFFERENCES["driving"]: driving_column(gravity, load)}
    return chosen, fit_gravity(even, gravity, odd, group, prismatic, columns, scaled=False)


def even_residuals(
    points: pd.DataFrame, group: Groups, load: Array | None, directional: str
) -> Residuals | None:
    """Return the residuals of the even part with scale, offset and the chosen difference; None if
    the even part is unknown.
    """
    speed, even, gravity, odd = (
        points[key].to_numpy(dtype=float) for key in ("speed", "even", "gravity", "odd")
    )
    if not np.ptp(even) > 0.0:
        return None
    columns, target = even_columns(
        even,
        gravity,
        shows_scale(even, gravity),
        directions_on_offer(speed, gravity, load).get(directional, {}),
    )
    return Residuals.of_least_squares(
        columns, target, even_noise(columns, target, odd, group), group
    )


def possible(viscous: float | None, half: Parameter) -> Parameter | None:
    """Limit half a difference so that viscous friction of no direction is negative.

    Half the difference cannot exceed the mean. If it does, but its interval includes the mean,
    return the mean: one direction then has no viscous friction. Otherwise return None: such a
    difference is not friction.
    """
    if viscous is None or half.value is None or abs(half.value) <= viscous:
        return half
    least = float(np.copysign(viscous, half.value))
    if half.low is None or half.high is None or not half.low <= least <= half.high:
        return None
    return replace(
        half,
        value=least,
        note="limited to the mean viscous friction, so that friction of no direction is negative",
    )


def friction_below_zero(viscous: float | None, half: Parameter) -> FitError:
    """Return the error for a requested difference that would make friction negative."""
    there, back = (f"{(viscous or 0.0) + sign * (half.value or 0.0):.4g}" for sign in (1.0, -1.0))
    return FitError(
        f"viscous friction would be {there} forward and {back} {half.unit} backward; friction "
        "cannot be negative, so "
        "something else differs between the directions; leave --directional out"
    )


def _matters(half: Parameter, column: Array, friction: Array) -> bool:
    """Return whether a difference between the directions is surely not zero, and not
    negligible against friction.
    """
    return (
        half.value is not None
        and half.low is not None
        and half.high is not None
        and half.low * half.high > 0.0
        and abs(half.value) * float(np.abs(column).max()) >= _TRIFLE * float(np.median(friction))
    )


def directions_on_offer(
    speed: Array, gravity: Array, load: Array | None
) -> dict[str, Mapping[str, Array]]:
    """Return the possible differences between the directions: name -> columns of the
    even part, for `fit_gravity`.

    A driving difference that scale and offset explain equally well is left out.
    """
    ways: dict[str, Mapping[str, Array]] = {"none": {}, "viscous": {DIFFERENCES["viscous"]: speed}}
    if load is not None:
        column = driving_column(gravity, load)
        explained = np.column_stack((gravity, np.ones_like(gravity)))
        left = column - explained @ np.linalg.lstsq(explained, column, rcond=None)[0]
        if np.linalg.norm(left) > _APART * np.linalg.norm(column):
            ways["driving"] = {DIFFERENCES["driving"]: column}
    return ways


def driving_column(gravity: Array, load: Array) -> Array:
    """Return the column of the even part for half the difference between
    driving and back-driving.
    """
    return np.asarray(load * np.sign(gravity))


def choose_direction(
    even: Array,
    gravity: Array,
    friction: Array,
    group: Groups,
    ways: Mapping[str, Mapping[str, Array]],
) -> str:
    """Return the difference that predicts left-out round trips best, if it beats "none"
    by `RIVAL` standard errors.
    """
    if group.max() + 1 < _ROUND_TRIPS:
        return "none"
    shows = shows_scale(even, gravity)
    richest = {name: column for way in ways.values() for name, column in way.items()}
    A, target = even_columns(even, gravity, shows, richest)
    # one noise model for all, so that their errors are comparable
    noise = even_noise(A, target, friction, group)
    errors = {}
    for name, way in ways.items():
        A, target = even_columns(even, gravity, shows, way)
        W, b = noise.whiten(A, group), noise.whiten(target, group)
        errors[name] = held_out(W, b - W @ np.linalg.lstsq(W, b, rcond=None)[0], group)
    better = [name for name in errors if name != "none" and beats(errors[name], errors["none"])]
    return min(better, key=lambda name: float(errors[name].mean()), default="none")


def directions(
    name: str, directional: str, fit: FitResult, differences: Mapping[str, Parameter]
) -> tuple[Finding, ...]:
    """Return a finding about the difference between the directions, if any; `differences`
    holds half the difference.
    """
    if directional == "none":
        return ()
    difference = differences[DIFFERENCES[directional]]
    mean, half = fit.parameters.get(_OF[directional]), difference.value or 0.0
    if mean is None:
        return (
            Finding(
                name,
                "directions",
                f"{name}: friction is greater "
                f"{'forward than backward' if directional == 'viscous' else 'when driving than when back-driven'}, "
                "by "
                f"{2.0 * half:.4g} {difference.unit} times the "
                f"{'speed' if directional == 'viscous' else 'load'}",
            ),
        )
    if mean.value is None:
        return ()
    there, back = (f"{mean.value + sign * half:.4g}" for sign in (1.0, -1.0))
    said = (
        f"viscous friction is {there} forward and {back} {mean.unit} backward"
        if directional == "viscous"
        else f"friction per load is {there} when driving and {back} when back-driven"
    )
    if directional == "driving" and abs(half) > mean.value:
        said += (
            "; friction cannot be negative: the torque constant or the masses, assumed right, are "
            "wrong"
        )
    return (Finding(name, "directions", f"{name}: {said}"),)


def offset_finding(
    name: str, gravity: Mapping[str, Parameter], odd: Array | float
) -> tuple[Finding, ...]:
    """Return a finding about a torque offset that is surely not negligible; different
    Coulomb friction may explain it.

    An offset counts against the least friction in `odd`, that of slow motion: viscous friction at
    high speed does not hide it.
    """
    offset, friction = gravity["offset"], float(np.median(odd))
    if (
        offset.value is None
        or offset.low is None
        or offset.high is None
        or offset.low * offset.high <= 0.0
        or (
            min(abs(offset.low), abs(offset.high))
            < _TRIFLE * max(float(np.quantile(odd, _LEAST)), 0.0)
        )
    ):
        return ()
    figure = (
        f"{name}: torque offset of {offset.value:.3g} ± {offset.half_width or 0.0:.2g} "
        f"{offset.unit}"
    )
    if abs(offset.value) > friction:
        return (
            Finding(
                name,
                "offset",
                f"{figure}, more than the friction: check the zero of the torque signal and the "
                "model's gravity",
            ),
        )
    return (
        Finding(
            name,
            "offset",
            f"{figure}: Coulomb friction is {2.0 * abs(offset.value):.2g} {offset.unit} greater "
            f"{'forward' if offset.value > 0.0 else 'backward'}, or the zero of the torque signal "
            "or the model's gravity is wrong. export --to c --offset adds the offset to the "
            f"friction{_beside_scaled(gravity.get('scale'))}",
        ),
    )


def _beside_scaled(scale: Parameter | None) -> str:
    """Return the sentence about the torque scale with which the offset was fitted, if
    the scale is surely not 1.
    """
    if (
        scale is None
        or scale.value is None
        or scale.low is None
        or scale.high is None
        or scale.low <= 1.0 <= scale.high
        or abs(scale.value - 1.0) < _TRIFLE
    ):
        return ""
    return (
        f". The offset was fitted together with a torque scale of {scale.value:.3g} times the "
        "model's gravity"
    )


def gear_note(gravity: dict[str, Parameter], fit: FitResult) -> dict[str, Parameter]:
    """Add a note to the torque scale: the friction when driving and back-driving, if the gear
    is the cause of the scale.
    """
    scale = gravity["scale"]
    if (
        fit.load != "torque"
        or scale.value is None
        or scale.low is None
        or scale.high is None
        or scale.low <= 1.0 <= scale.high
    ):
        return gravity
    mean, half = fit.values["coulomb_coefficient"], scale.value - 1.0
    note = (
        f"if torque constant and masses are right, friction per load is {mean + half:.3g} when "
        f"driving and {mean - half:.3g} when back-driven (--directional driving)"
    )
    return {**gravity, "scale": replace(scale, note=note)}
