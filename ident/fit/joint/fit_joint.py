"""Fit of one joint to points of round trips: parameters, gravity check, candidates and findings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from stribeck.ident.arrays import Array, Groups, group_index
from stribeck.ident.errors import FitError, InputError
from stribeck.ident.fit.choice.selection import NOWHERE, select
from stribeck.ident.fit.choice.widening import AS_WELL
from stribeck.ident.fit.fit_result import FitResult
from stribeck.ident.fit.joint.advice import advised
from stribeck.ident.fit.joint.closed_loop import ClosedLoop
from stribeck.ident.fit.joint.directions import (
    differing,
    directions,
    even_residuals,
    gear_note,
    offset_finding,
)
from stribeck.ident.fit.joint.general_motion import DELAY
from stribeck.ident.fit.joint.gravity import fit_gravity, zero_shift
from stribeck.ident.fit.joint.misfit_words import misfit_findings, order_finding
from stribeck.ident.fit.joint.model_doubt import Doubts, ModelDoubt, of_its_load
from stribeck.ident.fit.joint.offered_loads import (
    MATTERS,
    excited_loads,
    offered_components,
    unidentifiable_coefficients,
)
from stribeck.ident.fit.joint.options import Options
from stribeck.ident.fit.joint.outliers import fit_robustly
from stribeck.ident.fit.joint.places import dry_part, harmonics, place_finding
from stribeck.ident.fit.joint.torque_basis import corrected, divided, divisor, uncertain
from stribeck.ident.fit.law_fit import LEAST_ROUND_TRIPS
from stribeck.ident.fit.points import FitPoints, worth
from stribeck.ident.fit.residuals.holding import with_lack_of_fit
from stribeck.ident.fit.residuals.lack_of_fit import growth_varies, uneven
from stribeck.ident.fit.residuals.levels_in_time import in_order
from stribeck.ident.laws.law_table import WITH_LOADED_VISCOUS, laws_on_offer
from stribeck.ident.laws.parameter import Parameter
from stribeck.ident.log.finding import Finding
from stribeck.ident.log.health.points_health import opposing
from stribeck.ident.log.reduction.round_trips import round_trips
from stribeck.ident.model.mechanism import Mechanism

# standard deviations of the priors; a warm arm drifts by a few per cent
PRIOR = {"delay": DELAY, "drift": 0.05}
_DELAY = 0.01  # s; a delay is fitted if this delay would shift friction
_DELAY_SHIFT = 0.01  # by this fraction
_DRIFT_ROUND_TRIPS = 12
# error of the reduction to round trips without noise
_REDUCTION = Parameter(1.0, 1e-3, 0.998, 1.002, "1", "identified")
_SHOWN = 5  # most round trips that a message lists


@dataclass(frozen=True)
class JointFit:
    """Result of the fit of one joint; its points are in the torque basis of the options."""

    points: pd.DataFrame
    fit: FitResult
    gravity: dict[str, Parameter]
    drift: Parameter | None
    findings: tuple[Finding, ...] = ()
    torque_scale: float | None = None
    directional: str = "none"
    loop: ClosedLoop | None = None  # test of general motion with feedback


def identify_joint(
    points: pd.DataFrame,
    mechanism: Mechanism,
    name: str,
    options: Options | None = None,
    beside: Mapping[str, Parameter] | None = None,
    q: Array | None = None,
    doubts: Doubts | None = None,
) -> JointFit:
    """Fit one joint's points of round trips: check gravity, then let laws and loads compete.

    Parameters
    ----------
    points : DataFrame
        Points of the joint, see `round_trips`.
    mechanism : Mechanism
        Rigid-body model.
    name : str
        Name of the joint.
    options : Options, optional
        Options of the fit.
    beside : mapping of str to Parameter, optional
        Scale and offset, if they were fitted together with an unknown tool.
    q : ndarray, shape (N, n), optional
        Positions of all joints at the points; needed for the advice which
        payload would vary a load.
    doubts : callable, optional
        Uncertainty of the rigid-body torque, see `Doubts`.

    Raises
    ------
    FitError
        If there are too few round trips or speeds, or torque opposes motion.
    """
    options = options or Options()
    check_options(options, mechanism, (name,))
    joint = mechanism.names.index(name)
    group = round_trips(points)
    odd = points["odd"].to_numpy(dtype=float)
    trips = int(group.max()) + 1
    if trips < LEAST_ROUND_TRIPS:
        raise FitError(f"{trips} round trip(s) found, at least {LEAST_ROUND_TRIPS} are needed")
    if against := opposing(points):
        raise FitError(against)
    gravity = {
        **fit_gravity(
            points["even"].to_numpy(dtype=float),
            points["gravity"].to_numpy(dtype=float),
            odd,
            group,
            bool(mechanism.prismatic[joint]),
        ),
        **(beside or {}),
    }
    scale = divisor(gravity["scale"]) if options.torque_basis == "gravity-corrected" else None
    if scale is not None:
        points, odd = corrected(points, scale), odd / scale
        gravity["offset"] = divided(gravity["offset"], scale)
    loads, still = excited_loads(points, options.growth)
    components, alike = offered_components(points, options, bool(mechanism.prismatic[joint]))
    if components:
        loads = {
            **({} if options.load == "components" else loads),
            "components": points[list(components)].to_numpy(dtype=float),
        }
    time = points.groupby(group)["t"].mean().to_numpy()
    run = pd.Series(pd.factorize(points["run"])[0]).groupby(group).first().to_numpy()
    ordered = in_order(points.groupby(group)["speed"].mean().to_numpy(), time, run)
    columns = nuisance(points, trips, options.drift == "auto", ordered)
    doubt = ModelDoubt.none(len(points)) if doubts is None else doubts(None)
    data = FitPoints(
        points["speed"].to_numpy(dtype=float),
        odd - doubt.shift,
        None,
        group,
        {**columns, **doubt.named},
        {column: PRIOR.get(column, 1.0) for column in (*columns, *doubt.named)},
        bool(mechanism.prismatic[joint]),
        time=time,
        run=run,
        count=worth(points["std"].to_numpy(dtype=float), group),
        constant=options.growth.constant,
    )
    laws = laws_on_offer(options.law)
    place = points["position"].to_numpy(dtype=float)
    width = points["width"].to_numpy(dtype=float) if "width" in points else np.zeros(len(points))

    def chosen(dry: Array | float = 1.0) -> tuple[FitResult, np.ndarray]:
        places = NOWHERE if data.prismatic else harmonics(place, dry=dry, width=width)
        if options.place != "auto":
            places = {options.place: places.get(options.place, {})}
        return fit_robustly(
            data,
            lambda some: select(
                some,
                loads,
                laws,
                components=components,
                places=places,
                uneven=lambda fit: uneven(fit, place),
            ),
            options.loss,
        )

    fit, wrong = chosen()
    pressing = loads.get("torque" if fit.load == "none" else fit.load)
    if options.law == "auto" and not fit.components and growth_varies(fit, pressing):
        laws = (*laws, *WITH_LOADED_VISCOUS)
        fit, wrong = chosen()
    if fit.place != "none":
        fit, wrong = min(
            (fit, wrong),
            chosen(dry_part(fit, data.w, loads[fit.load])),
            key=lambda one: one[0].held_out_rmse,
        )
    if doubts is not None:
        fit = of_its_load(fit, doubts)
    single = None if fit.components else loads[fit.load]
    directional, difference = differing(
        points, group, single, options.directional, data.prismatic, fit.values.get("viscous")
    )
    fit = with_lack_of_fit(
        fit,
        place,
        points["torque"].to_numpy(dtype=float),
        even_residuals(points, group, single, directional),
    )
    fit = uncertain(fit, _REDUCTION)
    if fit.load == "none" and still:
        fit = replace(
            fit,
            parameters={
                **fit.parameters,
                **unidentifiable_coefficients(
                    fit, still, mechanism, joint, q, MATTERS * float(np.median(odd))
                ),
            },
        )
    fit = advised(fit, data.w, loads[fit.load], trips, data.prismatic, options.law == "auto")
    gravity["delay"] = _explained(fit.nuisance.get("delay"))
    if scale is not None:
        fit = uncertain(fit, gravity["scale"])
    findings = [
        *misfit_findings(name, fit, float(np.median(odd)), data.prismatic, ordered),
        *order_finding(name, ordered),
    ]
    findings += place_finding(name, fit, float(np.median(odd)), place)
    findings += (
        [
            Finding(
                name,
                "torque basis",
                f"{name}: the torque is not corrected by gravity, because its scale against "
                f"gravity is {gravity['scale'].verdict}; add postures in which gravity varies more",
            )
        ]
        if options.torque_basis != "drive" and scale is None
        else []
    )
    if fit.serial > 0.0:
        findings.append(
            Finding(
                name,
                "correlation",
                f"{name}: friction drifted slowly: the friction levels of successive round trips "
                f"have an autocorrelation of {fit.serial:.2f}; the intervals are widened for it. "
                "Measure the speeds in another order, or in several runs (--repeats), to see "
                "whether the drift stays",
            )
        )
    findings += law_undecided(name, fit)
    findings += _outlying(name, points, group, wrong)
    if options.load == "components" and not components:
        findings.append(
            Finding(
                name,
                "components",
                f"{name}: {alike}; the fit has no load coefficient. Add postures in which "
                "these loads vary independently",
            )
        )
    if options.load not in ("auto", "none", "components") and options.load not in loads:
        values = points[options.load].to_numpy(dtype=float)
        met = (
            f"load {values.min():.3g} to {values.max():.3g}, median friction "
            f"{float(np.median(odd)):.3g}"
            if np.isfinite(values).all()
            else "load unknown: the arm file states no bearing, or the rigid-body model does not "
            "determine the load"
        )
        findings.append(
            Finding(
                name,
                "load",
                f"{name}: the requested {options.load} load varies too little, or is too small, "
                f"to show whether friction grows with it ({met}). The fit has no load "
                "coefficient; add postures or a payload that vary this load",
            )
        )
    known = {"scale"} if scale is not None else set()
    if directional != "driving":
        # their intervals include the uncertainty of the tool
        known |= set(beside or ())
    gravity |= {key: entry for key, entry in difference.items() if key not in known}
    if options.directional == "driving" != directional:
        findings.append(
            Finding(
                name,
                "directions",
                f"{name}: friction does not grow with a load, so it cannot differ between "
                "driving and back-driving; leave --directional driving out",
            )
        )
    if not data.prismatic:
        findings += _shifted(name, points, odd, group)
    findings += [*directions(name, directional, fit, gravity), *offset_finding(name, gravity, odd)]
    return JointFit(
        points,
        fit,
        gear_note(gravity, fit),
        _dated(fit.nuisance.get("drift"), points),
        tuple(findings),
        scale,
        directional,
    )


def law_undecided(name: str, fit: FitResult) -> tuple[Finding, ...]:
    """Return a finding if the data do not decide whether friction has a Stribeck effect."""
    if not fit.undecided:
        return ()
    alike = [
        f"{one.law} {one.share:.0%}"
        for one in sorted(fit.candidates, key=lambda one: -one.share)
        if (one.load, one.directional, one.place) == (fit.load, fit.directional, fit.place)
        and one.share >= AS_WELL
    ]
    return (
        Finding(
            name,
            "law",
            f"{name}: low-speed excess, shape undecided: a Stribeck effect is "
            f"{fit.stribeck_share:.0%} plausible (laws: {', '.join(alike)}). The friction band "
            "includes all these laws within the tested speeds; add round trips at low speeds to "
            "decide the shape",
        ),
    )


def _outlying(
    name: str, points: pd.DataFrame, group: Groups, wrong: np.ndarray
) -> tuple[Finding, ...]:
    """Return a finding if round trips are outliers."""
    if not wrong.any():
        return ()
    found = points.groupby(group)[["speed", "t"]].mean()[wrong].sort_values("speed")
    shown = ", ".join(f"{speed:.3g}" for speed in found["speed"][:_SHOWN]) + (
        ", ..." if len(found) > _SHOWN else ""
    )
    return (
        Finding(
            name,
            "outliers",
            f"{name}: {wrong.sum()} of {len(wrong)} round trips are outliers, at speeds {shown}; "
            "they count less in the fit. Find out what happened in them, or give all round trips "
            "the same weight with --loss squares",
            float(found["t"].min()),
        ),
    )


def _shifted(
    name: str, points: pd.DataFrame, friction: Array, group: Groups
) -> tuple[Finding, ...]:
    """Return a finding if the measured gravity torque fits shifted positions better."""
    even, gravity, rate, speed = (
        points[key].to_numpy(dtype=float) for key in ("even", "gravity", "gravity_rate", "speed")
    )
    shift = zero_shift(even, gravity, rate / speed, friction, group)
    if shift is None:
        return ()
    return (
        Finding(
            name,
            "zero",
            f"{name}: torque follows the model's gravity better with positions shifted by "
            f"{shift[0]:+.3f} ± {shift[1]:.3f} rad, so the computed loads are wrong, too. Check "
            "its zero_offset in the arm file and the model's centres of mass",
        ),
    )


def check_options(options: Options, mechanism: Mechanism, joints: Sequence[str]) -> None:
    """Refuse a normal load for joints without a bearing; the message names the missing keys."""
    for name in joints if options.load == "normal" else ():
        if name in mechanism.names and mechanism.bearings[mechanism.names.index(name)] is None:
            raise InputError(
                f'load = "normal" needs joints.{name}.bearing with pin_radius, friction_arm and '
                "bending_arm "
                "in the arm file"
            )


def nuisance(
    points: pd.DataFrame, trips: int, drift: bool = True, ordered: bool = False
) -> dict[str, Array]:
    """Return nuisance columns: effects of a delayed torque signal, and of a slow drift
    that is the same in all runs.

    Few round trips cannot identify a drift. If speeds were measured in order, the drift column is
    needed all the same, so that intervals include a possible drift.
    """
    odd, rate = points["odd"].to_numpy(dtype=float), points["gravity_rate"].to_numpy(dtype=float)
    columns = {}
    if np.max(np.abs(rate) * _DELAY / np.abs(odd)) > _DELAY_SHIFT:
        columns["delay"] = -rate
    run, t = group_index(points["run"].to_numpy()), points["t"].to_numpy(dtype=float)
    runs = [t[run == k] for k in range(run.max() + 1)]
    # beyond the first of each run
    if drift and (ordered or trips - len(runs) >= _DRIFT_ROUND_TRIPS - 1):
        middle, longest = (
            np.array([times.mean() for times in runs]),
            max(float(np.ptp(times)) for times in runs),
        )
        columns["drift"] = odd * (t - middle[run]) / longest
    return columns


def _dated(drift: Parameter | None, points: pd.DataFrame) -> Parameter | None:
    """Return the drift, with a note at which time the parameters hold."""
    if drift is None:
        return None
    where = (
        f"the run, t = {points['t'].mean():.0f} s" if points["run"].nunique() == 1 else "each run"
    )
    return replace(
        drift, note=f"removed from the fit; the parameters hold for the middle of {where}"
    )


def _explained(delay: Parameter | None) -> Parameter:
    """Return the torque delay, with the reason if it is not identified."""
    if delay is None:
        return Parameter(
            None,
            None,
            None,
            None,
            "s",
            "unidentifiable",
            "gravity changes too slowly along the strokes to show a delay",
        )
    if delay.verdict == "unidentifiable":
        return replace(
            delay,
            note="the slope of gravity is too similar in all postures to tell a delay from "
            "viscous friction",
        )
    return delay
