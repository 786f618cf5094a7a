r"""How friction differs between the directions, seen in the even part of round trips.

One direction of a round trip drives the load and the other is driven back by it, so that a difference between them is even, as is
one of viscous friction between forward and backward:

.. math:: (\tau_+ + \tau_-) / 2 = s\, \tau_g(q) + o + \Delta k_v |\omega| \quad\text{or}\quad
          s\, \tau_g(q) + o + \Delta c\, L \operatorname{sgn}(\tau_g)

With the transmitted torque as load, :math:`\Delta c` is a scale, and cannot be told from a torque constant.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pandas as pd

from stribeck.ident.arrays import Array, Groups
from stribeck.ident.errors import FitError
from stribeck.ident.fit.fit_result import FitResult
from stribeck.ident.fit.joint.gravity import beats, even_columns, even_noise, fit_gravity, held_out, shows_scale
from stribeck.ident.fit.residuals.white_residuals import Residuals
from stribeck.ident.laws.parameter import Parameter
from stribeck.ident.log.finding import Finding

DIFFERENCES = {"viscous": "viscous_difference", "driving": "driving_difference"}
_OF = {"viscous": "viscous", "driving": "coulomb_coefficient"}         # of which parameter directions have a value each
_TRIFLE = 0.02          # of friction, or of gravity: a smaller offset is no finding, a smaller error of the scale no word
_APART = 0.1            # part of the driving column that scale and offset must leave, or they look the same
_ROUND_TRIPS = 12       # fewer than these make no claim


def differing(points: pd.DataFrame, group: Groups, load: Array | None, wanted: str,
                prismatic: bool, viscous: float | None = None) -> tuple[str, dict[str, Parameter]]:
    """How the directions of round trips differ, and scale, offset and difference if they do.

    Parameters
    ----------
    points : DataFrame
        Of one joint.
    group : ndarray of int, shape (N,)
        Round trips.
    load : ndarray, shape (N,), optional
        The load of its friction.
    wanted : str
        "auto" lets the differences compete with none.
    prismatic : bool
        Whether the joint slides.
    viscous : float, optional
        Mean viscous friction of both directions, which half of a difference of viscous friction cannot exceed.

    Raises
    ------
    FitError
        If a difference is asked for that friction cannot have.
    """
    speed, even, gravity, odd = (points[key].to_numpy(dtype=float) for key in ("speed", "even", "gravity", "odd"))
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
        matters = wanted != "auto" or _matters(found[DIFFERENCES[chosen]], ways[chosen][DIFFERENCES[chosen]], odd)
        return (chosen, found) if matters else ("none", {})
    assert load is not None
    columns = {DIFFERENCES["driving"]: driving_column(gravity, load)}
    return chosen, fit_gravity(even, gravity, odd, group, prismatic, columns, scaled=False)


def even_residuals(points: pd.DataFrame, group: Groups, load: Array | None, directional: str) -> Residuals | None:
    """What scale, offset and the difference that was chosen leave of the even part of round trips; None where it is not known."""
    speed, even, gravity, odd = (points[key].to_numpy(dtype=float) for key in ("speed", "even", "gravity", "odd"))
    if not np.ptp(even) > 0.0:
        return None
    columns, target = even_columns(even, gravity, shows_scale(even, gravity),
                                   directions_on_offer(speed, gravity, load).get(directional, {}))
    return Residuals.of_least_squares(columns, target, even_noise(columns, target, odd, group), group)


def possible(viscous: float | None, half: Parameter) -> Parameter | None:
    """Half a difference with which viscous friction of neither direction is below zero.

    It cannot exceed the mean. Where the mean is within its interval, it is the mean, and one direction has none; else None: what
    differs so much is no friction.
    """
    if viscous is None or half.value is None or abs(half.value) <= viscous:
        return half
    least = float(np.copysign(viscous, half.value))
    if half.low is None or half.high is None or not half.low <= least <= half.high:
        return None
    return replace(half, value=least, note="limited to the mean viscous friction, so that friction of no direction is negative")


def friction_below_zero(viscous: float | None, half: Parameter) -> FitError:
    """The refusal of a difference that was asked for and that friction cannot have."""
    there, back = (f"{(viscous or 0.0) + sign * (half.value or 0.0):.4g}" for sign in (1.0, -1.0))
    return FitError(f"viscous friction would be {there} forward and {back} {half.unit} backward; friction cannot be negative, so "
                    "something else differs between the directions; leave --directional out")


def _matters(half: Parameter, column: Array, friction: Array) -> bool:
    """Whether half of a difference between directions is surely there, and more than a trifle of the friction somewhere."""
    return (half.value is not None and half.low is not None and half.high is not None and half.low * half.high > 0.0
            and abs(half.value) * float(np.abs(column).max()) >= _TRIFLE * float(np.median(friction)))


def directions_on_offer(speed: Array, gravity: Array, load: Array | None) -> dict[str, Mapping[str, Array]]:
    """Ways in which directions may differ: name -> columns of the even part, for `fit_gravity`.

    A driving difference that scale and offset explain as well is not on offer.
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
    """The even part of a unit of half the difference between driving and being driven back."""
    return np.asarray(load * np.sign(gravity))


def choose_direction(even: Array, gravity: Array, friction: Array, group: Groups, ways: Mapping[str, Mapping[str, Array]]) -> str:
    """How directions differ: the way that predicts round trips left out best, if it beats "none" by `RIVAL` standard errors."""
    if group.max() + 1 < _ROUND_TRIPS:
        return "none"
    shows = shows_scale(even, gravity)
    richest = {name: column for way in ways.values() for name, column in way.items()}
    A, target = even_columns(even, gravity, shows, richest)
    noise = even_noise(A, target, friction, group)                      # one noise model, so that errors compare
    errors = {}
    for name, way in ways.items():
        A, target = even_columns(even, gravity, shows, way)
        W, b = noise.whiten(A, group), noise.whiten(target, group)
        errors[name] = held_out(W, b - W @ np.linalg.lstsq(W, b, rcond=None)[0], group)
    better = [name for name in errors if name != "none" and beats(errors[name], errors["none"])]
    return min(better, key=lambda name: float(errors[name].mean()), default="none")


def directions(name: str, directional: str, fit: FitResult, differences: Mapping[str, Parameter]) -> tuple[Finding, ...]:
    """How friction differs between the directions, if it does; `differences` holds half of it."""
    if directional == "none":
        return ()
    difference = differences[DIFFERENCES[directional]]
    mean, half = fit.parameters.get(_OF[directional]), difference.value or 0.0
    if mean is None:
        return (Finding(name, "directions", f"{name}: friction is {2.0 * half:.4g} {difference.unit} times "
                        f"{'speed greater forward than backward' if directional == 'viscous' else 'load greater when driving'}"),)
    if mean.value is None:
        return ()
    there, back = (f"{mean.value + sign * half:.4g}" for sign in (1.0, -1.0))
    said = (f"viscous friction is {there} forward and {back} {mean.unit} backward" if directional == "viscous" else
            f"friction per load is {there} when driving and {back} when back-driven")
    if directional == "driving" and abs(half) > mean.value:
        said += "; friction cannot be negative: the torque constant or the masses, assumed right, are wrong"
    return (Finding(name, "directions", f"{name}: {said}"),)


def offset_finding(name: str, gravity: Mapping[str, Parameter], friction: float) -> tuple[Finding, ...]:
    """A torque offset that is surely more than a trifle of the friction, which Coulomb friction of one direction may be."""
    offset = gravity["offset"]
    if offset.value is None or offset.low is None or offset.high is None or offset.low * offset.high <= 0.0 or (
            min(abs(offset.low), abs(offset.high)) < _TRIFLE * friction):
        return ()
    figure = f"{name}: torque offset of {offset.value:.3g} ± {offset.half_width or 0.0:.2g} {offset.unit}"
    if abs(offset.value) > friction:
        return (Finding(name, "offset", f"{figure}, more than the friction: check the zero of the torque signal and the model's "
                        "gravity"),)
    return (Finding(name, "offset", f"{figure}: Coulomb friction is {2.0 * abs(offset.value):.2g} {offset.unit} greater "
                    f"{'forward' if offset.value > 0.0 else 'backward'}, or the zero of the torque signal or the model's gravity "
                    f"is wrong. export --offset adds the offset to the friction{_beside_scaled(gravity.get('scale'))}"),)


def _beside_scaled(scale: Parameter | None) -> str:
    """Beside which gravity the offset was fitted, where that is surely not the model's."""
    if (scale is None or scale.value is None or scale.low is None or scale.high is None or scale.low <= 1.0 <= scale.high
            or abs(scale.value - 1.0) < _TRIFLE):
        return ""
    return f". The offset was fitted together with a torque scale of {scale.value:.3g} times the model's gravity"


def gear_note(gravity: dict[str, Parameter], fit: FitResult) -> dict[str, Parameter]:
    """A scale that may come from the gear says what the gear would then be like."""
    scale = gravity["scale"]
    if fit.load != "torque" or scale.value is None or scale.low is None or scale.high is None or scale.low <= 1.0 <= scale.high:
        return gravity
    mean, half = fit.values["coulomb_coefficient"], scale.value - 1.0
    note = (f"if torque constant and masses are right, friction per load is {mean + half:.3g} when driving and {mean - half:.3g} "
            "when back-driven (--directional driving)")
    return {**gravity, "scale": replace(scale, note=note)}
