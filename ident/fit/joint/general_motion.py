r"""General motion: friction from any logged motion, by inverse dynamics.

The torque of one joint along a motion is also linear in the terms besides friction:

.. math:: \tau = \tau_f(\dot q) + J \ddot q + g_s \sin q + g_c \cos q + o + \Delta k_v |\dot q|

Inertia and gravity are fitted as the joint's own terms (`"joint"`, if the other joints stand
still), or come from the model (`"model"`, with a scale if gravity varies enough). Both sides pass
the same filter, see `motion_points`.

Directions: a constant difference is part of the offset o, together with the offset of the drive's
torque. :math:`\Delta k_v` is half the difference of viscous friction: Coulomb friction is C ± o,
viscous friction k_v ± Δk_v.

References
----------
Gautier, IEEE ICRA (1997) 3279; Janot, Gautier and Brunot, Nonlinear System
Identification Benchmarks (2019).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from stribeck.ident.arrays import Array, group_index
from stribeck.ident.errors import FitError, TorqueReversed, unknown_name
from stribeck.ident.fit.choice.selection import NOWHERE, select
from stribeck.ident.fit.fit_result import FitResult
from stribeck.ident.fit.joint.directions import friction_below_zero, possible
from stribeck.ident.fit.joint.model_doubt import ModelDoubt
from stribeck.ident.fit.joint.places import dry_part, harmonics
from stribeck.ident.fit.law_fit import check_groups
from stribeck.ident.fit.points import DOUBT, FitPoints
from stribeck.ident.fit.residuals.lack_of_fit import uneven
from stribeck.ident.laws.law_table import LAWS, law_named, laws_on_offer
from stribeck.ident.laws.parameter import Parameter, verdict
from stribeck.ident.log.finding import Finding
from stribeck.ident.log.motion.motion_points import Motion
from stribeck.ident.log.reduction.round_trips import COLUMNS

RIGID = ("model", "joint")
# least variation of gravity, as a part of the remaining torque, for which a scale is fitted
_SHOWS = 0.1
_ALIKE = 0.8  # weights of points above this part count as equal
DELAY = 0.005  # s; torque signals lag by milliseconds
_BOTH = 0.1  # least part of the points in each direction for comparing directions
# nuisance columns from the motion and its derivatives
OF_MOTION: Mapping[str, Callable[[Motion], Array]] = {
    "inertia": lambda motion: motion.view(motion.ddq),
    "scale": lambda motion: motion.view(motion.rigid),
    "delay": lambda motion: -motion.view(np.gradient(motion.rigid, motion.dt)),
    "viscous_difference": lambda motion: motion.view(np.abs(motion.dq)),
}
# least mean direction, after the filter, with which a point counts as motion in one direction
ONE_WAY = 0.98


def fit_motion(
    motion: Motion,
    rigid: str = "joint",
    law: str = "auto",
    directional: str = "auto",
    loads: Sequence[str] = ("none",),
    further: tuple[str, ...] = (),
    doubt: ModelDoubt | None = None,
    whole: bool = True,
    constant: bool = True,
) -> FitResult:
    """Fit friction to general motion: laws, loads, differences between directions and waves
    compete on left-out passes.

    A pass between two reversals is a group, like a round trip at constant speed: its samples share
    ripple and a level of friction, and a reversal changes both.

    Parameters
    ----------
    motion : Motion
        See `reduce_motion`.
    rigid : str
        "joint": inertia and gravity of the joint are fitted, too; "model": the
        model's torque is subtracted.
    law : str
        A name in `LAWS`, or "auto".
    directional : str
        "none", "viscous" or "auto".
    loads : sequence of str
        Loads that compete, "none" for no load part.
    further : tuple of str
        Further laws that compete.
    doubt : ModelDoubt, optional
        Uncertainty of the model's torque, fitted instead of a scale.
    whole : bool
        Whether the torque includes all friction at the joint, so that
        friction must oppose the motion.
    constant : bool
        Whether levels of friction that grow with a load have a constant part, too.

    Returns
    -------
    FitResult
        Its `nuisance` holds inertia, gravity, scale, offset and difference between the directions.

    Raises
    ------
    FitError
        If there are too few passes, other joints move although the model is not used, torque
        opposes motion, or the requested difference between the directions does not show in the
        motion or would make friction negative.
    """
    if rigid not in RIGID:
        raise unknown_name("rigid-body torque", rigid, RIGID)
    ways = {"none": {}, "viscous": {"viscous_difference": OF_MOTION["viscous_difference"](motion)}}
    if directional not in ("auto", *ways):
        raise unknown_name("directional", directional, ("auto", *ways))
    if rigid == "joint" and motion.others_move:
        raise FitError(
            "other joints move at the same time, and the inertia and gravity of one joint cannot "
            "describe their torque; use the model's rigid-body torque"
        )
    data = replace(motion_data(motion, rigid, doubt), constant=constant)
    check_groups(data)
    if whole:
        check_sign(data)
    laws, offered = (
        (*laws_on_offer(law), *further),
        {load: None if load == "none" else motion.loads[load] for load in loads},
    )
    position = motion.q[motion.points]

    def chosen(ways: Mapping[str, Mapping[str, Array]]) -> FitResult:
        fit = weighed(ways)
        if fit.place == "none":
            return fit
        return min(
            fit,
            weighed(ways, dry_part(fit, motion.speed, offered[fit.load])),
            key=lambda one: one.held_out_rmse,
        )

    def weighed(ways: Mapping[str, Mapping[str, Array]], dry: Array | float = 1.0) -> FitResult:
        places = (
            NOWHERE
            if motion.prismatic
            else harmonics(
                motion.q, position, lambda wave: motion.view(np.sign(motion.dq) * wave), dry
            )
        )
        return select(
            data, offered, laws, ways, places=places, uneven=lambda fit: uneven(fit, position)
        )

    if directional == "none" or (directional == "auto" and not _both_ways(motion)):
        return chosen({"none": {}})
    if not _both_ways(motion):
        raise FitError(
            "the joint hardly moves at the same speeds in both directions, so the directions "
            "cannot be compared; leave --directional out"
        )
    selected = chosen(ways if directional == "auto" else {directional: ways[directional]})
    if (found := _possible(selected)) is not None:
        return found
    if directional != "auto":
        raise friction_below_zero(
            selected.values.get("viscous"), selected.nuisance["viscous_difference"]
        )
    return chosen({"none": {}})


def _possible(fit: FitResult) -> FitResult | None:
    """Return the fit with nonnegative viscous friction in both directions; None if the
    directions differ by too much.
    """
    name = "viscous_difference"
    if (half := fit.nuisance.get(name)) is None:
        return fit
    nearest = possible(fit.values.get("viscous"), half)
    return None if nearest is None else replace(fit, nuisance={**fit.nuisance, name: nearest})


def _both_ways(motion: Motion) -> bool:
    """Return whether each direction has enough points at the speeds of the
    other to show a difference.
    """
    dq = motion.dq[motion.points]
    speed = [np.abs(dq[dq > 0.0]), np.abs(dq[dq < 0.0])]
    if min(map(len, speed)) == 0:
        return False
    low, high = max(own.min() for own in speed), min(own.max() for own in speed)
    return all(
        np.mean((own >= low) & (own <= high)) > 0.5 and len(own) > _BOTH * len(dq) for own in speed
    )


def motion_data(motion: Motion, rigid: str, doubt: ModelDoubt | None = None) -> FitPoints:
    """Return the points of general motion, with nuisance columns for
    the torque besides friction.
    """
    tau, columns = motion.view(motion.tau), dict(_rigid_columns(motion, rigid))
    prior = {"delay": DELAY} if "delay" in columns else {}
    if doubt is not None:
        if doubt.of_links:
            columns.pop("scale", None)
        tau = tau - doubt.shift
        columns |= doubt.named
        prior |= dict.fromkeys(doubt.named, 1.0)
    if rigid == "model" and "scale" not in columns:
        tau = tau - motion.view(motion.rigid)
    elif rigid == "joint" and motion.prismatic:
        # a constant, which would look like an offset of the torque
        tau = tau - motion.view(motion.gravity)
    return FitPoints(
        motion.speed,
        tau,
        None,
        group_index(motion.between_reversals[motion.points]),
        columns,
        prior,
        motion.prismatic,
        count=_worth(motion) if rigid == "model" else None,
        seen=motion.seen,
    )


def _worth(motion: Motion) -> Array | None:
    """Return the weight of each point, at most 1; None if the position noise in the model's
    torque is small at every point.

    The mask lets noise of accelerations into the points whose filter window includes
    a rest or a slow reversal.
    """
    left = np.diff(motion.view(motion.tau - motion.rigid), 2) / np.sqrt(6.0)
    square = motion.noise**2
    of_torque = (
        max(float(np.median(square)), (1.4826 * float(np.median(np.abs(left)))) ** 2)
        if len(left)
        else np.inf
    )
    weight = 1.0 / (1.0 + square / of_torque)
    return None if weight.min() > _ALIKE else np.asarray(weight / weight.max())


def law_torque(motion: Motion, fit: FitResult) -> Array:
    """Return the friction of a fit at the points, after the filter, shape (N,) [N·m or N]."""
    return motion.view(fit.predict(motion.speed, motion.loads.get(fit.load)))


def motion_points(motion: Motion, friction: Array) -> tuple[pd.DataFrame, np.ndarray]:
    """Return the points as a table like that of round trips; passes take the place of round trips.

    Points whose filter window includes a reversal have friction of both directions; they are
    fitted, but not in the table.

    Parameters
    ----------
    motion : Motion
        See `reduce_motion`.
    friction : ndarray, shape (N,)
        Friction of the points; `odd` is friction in the direction of motion,
        `even` the rest of the torque.

    Returns
    -------
    table : DataFrame
        Columns as in `round_trips.COLUMNS`.
    rows : ndarray of bool, shape (N,)
        Which points are in the table.

    Raises
    ------
    FitError
        If the table would be empty: the joint always reverses within the filter window.
    """
    direction = motion.view(np.sign(motion.dq))
    rows = np.abs(direction) > ONE_WAY
    if not rows.any():
        raise FitError(
            f"{motion.joint} reverses too soon: it always reverses within the length of the "
            "filter; record longer strokes"
        )
    sign = np.sign(direction)
    # the filter overshoots
    seen = {load: np.maximum(motion.view(values), 0.0) for load, values in motion.loads.items()}
    values = {
        "segment": motion.between_reversals[motion.points],
        "speed": np.maximum(motion.view(np.abs(motion.dq)), motion.least),
        "position": motion.q[motion.points],
        "odd": sign * friction,
        "even": motion.view(motion.tau) - friction,
        "gravity": motion.view(motion.rigid),
        **seen,
        "t": motion.t[motion.points],
        "run": motion.run,
    }
    constant = {
        "joint": motion.joint,
        "posture": 0,
        "gravity_rate": np.nan,
        "n": 1,
        "std": np.nan,
        "temperature": np.nan,
        "reference": False,
        "width": 0.0,
    }
    return pd.DataFrame({**values, **constant})[rows][list(COLUMNS)].reset_index(drop=True), rows


def _rigid_columns(motion: Motion, rigid: str) -> Mapping[str, Array]:
    """Return the columns of the rigid-body torque and of the offset."""
    offset = {"offset": np.ones(len(motion.points))}
    gravity = motion.view(motion.gravity)
    if rigid == "joint":
        swings = not motion.prismatic and np.ptp(gravity) > 0.0
        turning = (
            {
                "gravity_sin": motion.view(np.sin(motion.q)),
                "gravity_cos": motion.view(np.cos(motion.q)),
            }
            if swings
            else {}
        )
        return {"inertia": OF_MOTION["inertia"](motion), **turning, **offset}
    rest = motion.view(motion.tau - motion.rigid)
    names = (*(("scale",) if np.ptp(gravity) > _SHOWS * np.ptp(rest) else ()), "delay", "inertia")
    # inertia: missing from model and stated rotor
    return {**{name: OF_MOTION[name](motion) for name in names}, **offset}


def check_sign(data: FitPoints) -> None:
    """Refuse torque whose friction part has the wrong sign; a fit with bounded
    parameters would hide it.
    """
    law = LAWS["coulomb-viscous"]
    columns = data.view(law.columns(data.w, None, {}))
    A = np.column_stack([columns, *data.nuisance.values()])
    friction = columns @ np.linalg.lstsq(A, data.tau, rcond=None)[0][:2]
    if np.mean(friction * columns[:, 0]) <= 0.0:
        raise TorqueReversed(
            "the torque without inertia and gravity opposes the motion; the sign of the torque "
            "signal is wrong (in an import, give it a negative factor, or set direction = -1 if "
            "the position is reversed too)"
        )


def beside_friction(fit: FitResult, friction: float) -> dict[str, Parameter]:
    """Return the nuisance parameters of general motion; scale and delay have a
    note if they were not fitted.
    """
    absent = Parameter(
        None, None, None, None, "1", "unidentifiable", "not fitted to this general motion"
    )
    delay = replace(absent, unit="s")
    offset = fit.nuisance["offset"]
    half = offset.half_width or 0.0
    beside = {
        name: entry
        for name, entry in fit.nuisance.items()
        if not name.startswith(("place_", DOUBT))
    }
    return {
        "scale": absent,
        "delay": delay,
        **beside,
        "offset": replace(offset, verdict=verdict(friction, -half, half)),
    }


def agreement(name: str, motion: FitResult, constant: FitResult) -> Finding:
    """Return the finding that compares the fits of general motion and of constant speed,
    for the parameters of both.

    Parameters agree if their difference is within the root sum of squares of both half widths.
    Friction levels fitted with different loads are not compared.
    """
    apart_by_load = motion.load != constant.load
    levels = (
        [name.removesuffix("_coefficient") for name in law_named(motion.law).with_load]
        if apart_by_load
        else []
    )
    said, apart = [], []
    for key, one in motion.parameters.items():
        if key in levels:
            continue
        other = constant.parameters.get(key)
        if (
            other is None
            or one.value is None
            or other.value is None
            or one.half_width is None
            or other.half_width is None
        ):
            continue
        unit = "" if one.unit == "1" else f" {one.unit}"
        said.append(
            f"{key} {one.value:.4g} ± {one.half_width:.2g}, "
            f"constant speed {other.value:.4g} ± {other.half_width:.2g}{unit}"
        )
        if abs(one.value - other.value) > np.hypot(one.half_width, other.half_width):
            apart.append(key)
    if not said:
        return Finding(
            name,
            "agreement",
            f"{name}: general motion and constant speed share no parameter with an interval",
        )
    word = (
        f"they differ beyond their intervals in {', '.join(apart)}"
        if apart
        else "they agree within their intervals"
    )
    word += (
        f"; friction levels fitted with different loads ({motion.load}, {constant.load}) cannot "
        "be compared"
        if apart_by_load
        else ""
    )
    return Finding(
        name,
        "disagreement" if apart else "agreement",
        f"{name}: general motion gives {'; '.join(said)}; {word}",
    )
