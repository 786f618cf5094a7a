"""Fit of one joint, to points of round trips or to general motion: parameters, gravity
check, candidates and findings.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from stribeck.ident.arrays import Array, Groups, group_index
from stribeck.ident.errors import FitError, InputError
from stribeck.ident.fit.choice.selection import NOWHERE, select
from stribeck.ident.fit.choice.widening import AS_WELL
from stribeck.ident.fit.fit_result import FitResult
from stribeck.ident.fit.joint.advice import VARIED, advised, vary_load
from stribeck.ident.fit.joint.closed_loop import NO_COMMANDS, ClosedLoop, closed_loop, loop_findings
from stribeck.ident.fit.joint.directions import (
    differing,
    directions,
    even_residuals,
    gear_note,
    offset_finding,
)
from stribeck.ident.fit.joint.general_motion import (
    DELAY,
    beside_friction,
    fit_motion,
    law_torque,
    motion_points,
)
from stribeck.ident.fit.joint.gravity import fit_gravity, zero_shift
from stribeck.ident.fit.joint.misfit_words import misfit_findings, order_finding
from stribeck.ident.fit.joint.model_doubt import Doubts, ModelDoubt, of_its_load
from stribeck.ident.fit.joint.options import Options
from stribeck.ident.fit.joint.outliers import fit_robustly
from stribeck.ident.fit.joint.places import dry_part, harmonics, place_finding
from stribeck.ident.fit.joint.torque_basis import corrected, divided, divisor, uncertain
from stribeck.ident.fit.law_fit import LEAST_ROUND_TRIPS
from stribeck.ident.fit.misfit import GROWTH
from stribeck.ident.fit.points import ANY, FitPoints, Growth, worth
from stribeck.ident.fit.residuals.holding import with_lack_of_fit
from stribeck.ident.fit.residuals.lack_of_fit import growth_varies, uneven
from stribeck.ident.fit.residuals.levels_in_time import in_order
from stribeck.ident.laws.law_table import WITH_LOADED_VISCOUS, law_named, laws_on_offer, unit
from stribeck.ident.laws.load_components import load_at
from stribeck.ident.laws.parameter import Parameter
from stribeck.ident.laws.quantity import COMPONENTS
from stribeck.ident.log.finding import Finding
from stribeck.ident.log.health.points_health import opposing
from stribeck.ident.log.motion.commanded_motion import along
from stribeck.ident.log.motion.filtered_motion import Log
from stribeck.ident.log.motion.motion_points import reduce_motion
from stribeck.ident.log.reduction.round_trips import round_trips
from stribeck.ident.model.mechanism import Mechanism

# of `VARIED`: a load that the user asks for needs less excitation, and its
# interval tells what is known
_ASKED = 0.1
MATTERS = 0.05  # least load, as a part of friction, that is worth a coefficient
# standard deviations of the priors; a warm arm drifts by a few per cent
PRIOR = {"delay": DELAY, "drift": 0.05}
_DELAY = 0.01  # s; a delay is fitted if this delay would shift friction
_DELAY_SHIFT = 0.01  # by this fraction
_DRIFT_ROUND_TRIPS = 12
# error of the reduction to round trips without noise
_REDUCTION = Parameter(1.0, 1e-3, 0.998, 1.002, "1", "identified")
_SHOWN = 5  # most round trips that a message lists
_LOADS = ("normal", "torque", "bending")
_ARM = 0.1  # m; longest lever arm with which a bearing turns a force into friction
# least part of a component's variation that other components must not explain
_APART = 0.1


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
    components, alike = _components(points, options, bool(mechanism.prismatic[joint]))
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
                **_unidentifiable(fit, still, mechanism, joint, q, MATTERS * float(np.median(odd))),
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
    findings += _undecided(name, fit)
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


def identify_motion(
    log: Log,
    mechanism: Mechanism,
    name: str,
    options: Options,
    doubts: Doubts | None = None,
    whole: bool = True,
    reference: Log | None = None,
) -> JointFit:
    """Fit one joint's general motion: laws, loads and differences between the directions compete.

    With `doubts`, the uncertainty of the model's torque is fitted as nuisance parameters. `whole`:
    see `fit_motion`. With a `reference`, the log along the commanded motion, bias from the closed
    loop is detected and removed.

    Raises
    ------
    FitError
        If the joint moves too little, too slowly or in one direction, or torque opposes motion.
    """
    check_options(options, mechanism, (name,))
    motion = reduce_motion(log, name)
    offered: dict[str, Array | None] = {"none": None}
    still: dict[str, tuple[float, float]] = {}
    if options.motion == "model":
        offered, still = excited_loads(
            motion_points(motion, motion.view(motion.tau - motion.rigid))[0], options.growth
        )

    def tested(further: tuple[str, ...] = ()) -> tuple[FitResult, FitResult]:
        doubt = None if doubts is None else doubts(None)
        found = fit_motion(
            motion,
            options.motion,
            options.law,
            options.directional,
            tuple(offered),
            further,
            doubt,
            whole,
            options.growth.constant,
        )
        if doubts is not None:
            found = of_its_load(found, doubts)
        return found, with_lack_of_fit(
            found,
            motion.q[motion.points],
            motion.view(motion.loads["torque"]),
            time=motion.t[motion.points],
        )

    selected, fit = tested()
    if (
        options.law == "auto"
        and len(offered) > 1
        and any(misfit.over in (GROWTH, "load") for misfit in fit.lack_of_fit)
    ):
        selected, fit = tested(WITH_LOADED_VISCOUS)
    loop = (
        NO_COMMANDS
        if reference is None
        else closed_loop(fit, along(motion, reference, mechanism.names))
    )
    fit = loop.corrected(fit)
    points, rows = motion_points(motion, law_torque(motion, fit) + fit.residual)
    sign = np.sign(motion.view(np.sign(motion.dq)))
    fit = replace(fit, residual=(sign * fit.residual)[rows])
    if fit.load == "none" and still:
        fit = replace(
            fit,
            parameters={
                **fit.parameters,
                **_unidentifiable(fit, still, mechanism, mechanism.names.index(name)),
            },
        )
    load = load_at(points, fit.load, fit.values)
    fit = advised(
        fit,
        points["speed"].to_numpy(dtype=float),
        load,
        points["segment"].nunique(),
        motion.prismatic,
        options.law == "auto",
        "passes",
    )
    return JointFit(
        points,
        fit,
        beside_friction(fit, float(points["odd"].median())),
        None,
        (
            *loop_findings(name, loop, fit),
            *misfit_findings(name, fit, float(points["odd"].median()), motion.prismatic),
            *place_finding(name, selected, float(points["odd"].median()), motion.q[motion.points]),
            Finding(name, "motion", motion.left_out),
            *_undecided(name, fit),
            *directions(name, fit.directional, fit, fit.nuisance),
            *offset_finding(name, fit.nuisance, points["odd"].to_numpy(dtype=float)),
        ),
        directional=fit.directional,
        loop=loop,
    )


def _undecided(name: str, fit: FitResult) -> tuple[Finding, ...]:
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


def _components(
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


def _unidentifiable(
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
