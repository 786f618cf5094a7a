"""Stage between reduction and friction: fit the inertia of the links, if requested or if
torques contradict the model.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from stribeck.ident.fit.fit_result import FitResult
from stribeck.ident.fit.inertia.even_parts import LoadDoubts, fit_first_moments
from stribeck.ident.fit.inertia.fit_inertia import (
    contradicted,
    coupled_motors,
    fit_inertia,
    unknown_passive,
)
from stribeck.ident.fit.inertia.identified_inertia import identified
from stribeck.ident.fit.inertia.inertial_fit import InertialFit
from stribeck.ident.fit.inertia.odd_parts import OddParts, fit_motor_friction, fit_passive_friction
from stribeck.ident.fit.inertia.passive_friction import NO_PASSIVE, PassiveFriction
from stribeck.ident.fit.joint.closed_loop import ClosedLoop
from stribeck.ident.fit.joint.model_doubt import Doubts, ModelDoubt
from stribeck.ident.identification.choose_runs import ChosenRuns
from stribeck.ident.identification.reduce_runs import ReducedRuns
from stribeck.ident.log.finding import Finding
from stribeck.ident.log.signal_checks import dead_torques, unrecorded_torques
from stribeck.ident.model.mechanism import Mechanism

_ROUNDS = 6  # most iterations: friction of passive joints, and loads with this friction
_SETTLED = 0.1  # of a standard error: smaller changes end the iteration


@dataclass(frozen=True)
class SoughtInertia:
    """Inertia of the links: identified, or the model's.

    Attributes
    ----------
    fit : InertialFit, optional
        None if the model's inertia was trusted.
    doubts : dict of str to callable
        Uncertainty of the rigid-body torque of each moving joint, see `Doubts`.
    findings : tuple of Finding
        Findings about the inertia.
    passive : PassiveFriction
        Friction of a closed chain's passive joints, if it was sought.
    loop : ClosedLoop, optional
        Closed-loop test of shared parameters, if they were sought from general motion.
    """

    fit: InertialFit | None = None
    doubts: Mapping[str, Doubts] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    passive: PassiveFriction = NO_PASSIVE
    loop: ClosedLoop | None = None


TRUSTED = SoughtInertia()


def identify_inertia(chosen: ChosenRuns, reduced: ReducedRuns) -> tuple[ReducedRuns, SoughtInertia]:
    """Identify the inertia of links and the friction that joints share, if requested, and
    put them into the models.
    """
    found, inertia = _identified(chosen, reduced)
    if (chain := reduced.mechanism.chain) is not None and not chain.classes:
        said = Finding(
            None,
            "passive joints",
            "the friction of each drive includes the friction of the passive joints that it "
            "moves; to separate them, name these joints in [passive] of the arm file",
        )
        inertia = replace(inertia, findings=(*inertia.findings, said))
    return found, inertia


def _identified(chosen: ChosenRuns, reduced: ReducedRuns) -> tuple[ReducedRuns, SoughtInertia]:
    wish = reduced.options.inertia
    trusts = (
        wish == "trust"
        and reduced.mechanism.transmission is None
        and not _unknown(reduced.mechanism)
    )
    if trusts or reduced.options.motion == "joint":
        return reduced, TRUSTED
    if reduced.options.motion == "none":
        # without round trips, the fit of friction says what is missing
        even = wish == "fit" and len(reduced.points) > 0
        moments = _by_round_trips(chosen, reduced) if even else (reduced, TRUSTED)
        return _motors_apart(*_passive_apart(chosen, *moments))
    log = reduced.log(chosen.runs, reduced.mechanisms)
    dead = {name for run in chosen.runs for name in (*dead_torques(run), *unrecorded_torques(run))}
    joints = [name for name in reduced.mechanism.names if name not in dead]
    of_links = wish == "fit" or (
        wish == "auto"
        and contradicted(
            log, reduced.mechanism, joints, reduced.options.law, reduced.options.growth
        )
    )
    passive = unknown_passive(log, reduced.mechanism)
    if not of_links and passive is None and coupled_motors(log, reduced.mechanism, joints) is None:
        return reduced, replace(TRUSTED, findings=_sums(reduced))
    fit, equations = fit_inertia(
        log, reduced.mechanism, joints, of_links, reduced.options.law, reduced.options.growth
    )
    doubts = {name: partial(equations.doubt, fit, name) for name in equations.motions}
    why = (
        "the torques contradict the model's masses"
        if wish == "auto"
        else "the links' inertia was fitted to the torques"
    )
    said = (*((_said(fit, why),) if of_links else ()), *_in_loop(fit))
    found = replace(
        reduced, mechanisms=tuple(map(fit.model, reduced.mechanisms)), motors=fit.motors
    )
    return found, SoughtInertia(
        fit if of_links else None, doubts, (*said, *_sums(found)), fit.passive, fit.loop
    )


def _unknown(mechanism: Mechanism) -> bool:
    """Return whether friction of passive joints is to be identified."""
    return mechanism.chain is not None and any(not one.stated for one in mechanism.chain.classes)


def _by_round_trips(chosen: ChosenRuns, reduced: ReducedRuns) -> tuple[ReducedRuns, SoughtInertia]:
    """Fit the first moments of the links to the even parts, and reduce the runs again with them."""
    fit = fit_first_moments(reduced.points, reduced.q, reduced.dq, reduced.mechanism)
    again = reduced.with_models(chosen.runs, tuple(map(fit.model, reduced.mechanisms)))
    doubts = {
        str(name): LoadDoubts(
            fit, again.mechanism, str(name), rows, again.q[rows.index], again.dq[rows.index]
        )
        for name, rows in again.points.groupby("joint", sort=False)
    }
    return again, SoughtInertia(
        fit, doubts, (_said(fit, "the links' first moments were fitted to the even parts"),)
    )


def _passive_apart(
    chosen: ChosenRuns, reduced: ReducedRuns, inertia: SoughtInertia
) -> tuple[ReducedRuns, SoughtInertia]:
    """Fit the friction of a closed chain's passive joints, if requested, and
    reduce the runs again with it.
    """
    fit = None
    for _ in range(_ROUNDS if _unknown(reduced.mechanism) else 0):
        odd = OddParts.of(reduced.points, reduced.q, reduced.dq, reduced.mechanism)
        if (fit := fit_passive_friction(odd, reduced.options.law, reduced.options.growth)) is None:
            break
        assert fit.shared.passive is not None
        before = fit.shared.passive.of(reduced.mechanism)
        reduced = reduced.with_models(chosen.runs, tuple(map(fit.model, reduced.mechanisms)))
        if (np.abs(fit.y - before) < _SETTLED * np.sqrt(np.diag(fit.covariance_of_y))).all():
            break
    if fit is None:
        return reduced, inertia
    doubts = dict(inertia.doubts)
    for name, own in (
        OddParts.of(reduced.points, reduced.q, reduced.dq, reduced.mechanism).doubts(fit).items()
    ):
        doubts[name] = own if name not in doubts else partial(_both, own, doubts[name])
    return reduced, replace(inertia, doubts=doubts, passive=fit.passive)


def _motors_apart(
    reduced: ReducedRuns, inertia: SoughtInertia
) -> tuple[ReducedRuns, SoughtInertia]:
    """Take the friction of shared motors out of the points, if the points can separate
    it from that of the joints.
    """
    odd = OddParts.of(reduced.points, reduced.q, reduced.dq, reduced.mechanism)
    fit = fit_motor_friction(odd, reduced.options.law)
    if fit is None:
        return reduced, replace(inertia, findings=(*inertia.findings, *_sums(reduced)))
    doubts = dict(inertia.doubts)
    for name, own in odd.doubts(fit).items():
        doubts[name] = own if name not in doubts else partial(_both, own, doubts[name])
    return reduced.without(fit.motors), replace(inertia, doubts=doubts)


def _sums(reduced: ReducedRuns) -> tuple[Finding, ...]:
    """Return findings about shared motors whose friction was not
    separated from that of the joints.
    """
    coupled, findings = reduced.mechanism.transmission, list[Finding]()
    if coupled is None:
        return ()
    for motor in coupled.shared:
        name, moved = (
            coupled.names[motor],
            [coupled.names[j] for j in np.flatnonzero(coupled.ratios[motor])],
        )
        if name not in reduced.motors.motors:
            remedy = (
                "Move both joints simultaneously, in opposite directions for part of the time"
                if len(moved) == 2
                else "A motor that moves more than two joints can never be separated: measure the "
                "joints one at a time "
                "(--method single), or the friction of each joint is a mixture"
            )
            findings.append(
                Finding(
                    None,
                    "shared motor",
                    f"the motor of {name} moves {' and '.join(moved)}, and this motion cannot "
                    "separate the friction of the motor from that of the joints: the friction of "
                    "each joint includes the motor's and is valid only while the other joints "
                    f"rest. {remedy}",
                )
            )
    return tuple(findings)


def _both(one: Doubts, other: Doubts, friction: FitResult | None) -> ModelDoubt:
    return one(friction) + other(friction)


def _in_loop(fit: InertialFit) -> tuple[Finding, ...]:
    """Return a finding if least squares of shared parameters are biased beyond their intervals."""
    if not (named := fit.loop.named):
        return ()
    clearest = min(named, key=lambda name: fit.loop.contrasts[name].p)
    one = fit.loop.contrasts[clearest]
    return (
        Finding(
            None,
            "closed loop",
            "the control loop feeds position noise or unmodelled torque back into the motion, "
            f"which biases least squares of shared parameters: {len(named)} of "
            f"{len(fit.loop.asked)} inertial or motor parameters beyond their intervals (clearest: "
            f"{clearest} by least squares {one.least_squares:.4g}, by instrumental variables "
            f"{one.instruments:.4g}). The calibration takes the estimates by instrumental "
            "variables, which follow the commanded motion. Faster and larger motion, a finer "
            "encoder and a stiffer loop reduce the bias",
        ),
    )


def _said(fit: InertialFit, why: str) -> Finding:
    """Return the finding about the identified inertia, with the combination that
    differs most from the model.
    """
    inertia = identified(fit)
    apart = inertia.differing(fit.base, fit.prior.mechanism)
    text = (
        f"{why}: this log identifies {inertia.told} of the {len(inertia.parameters)} combinations "
        "of masses, first moments "
        f"and inertias that torques depend on, and {len(apart)} differ from the model"
    )
    if apart:
        name, stated = next(iter(apart.items()))
        one = inertia.parameters[name]
        text += (
            f" (most clearly: {name} is {one.value:.4g} ± {one.half_width:.2g} {one.unit}, the "
            f"model states {stated:.4g})"
        )
    if factor := inertia.other_unit(apart):
        text += (
            f". The model's values are {factor:.3g} times as large in the median: check the units "
            "of the model (kg, m, kg·m²) and of the torques"
        )
    elif not inertia.constants:
        text += ", if torque constants are right"
    else:
        text += (
            f". Torque constants are assumed to be wrong by about {100.0 * inertia.constants:.0f} "
            "%, too"
        )
    if tool := fit.tool_mass:
        text += (
            f". An unstated tool of about {tool:.2g} kg on the last link would explain the "
            "difference"
        )
    return Finding(
        None,
        "inertia",
        f"{text}. Loads are computed with the identified inertia; --inertia trust uses the model's",
    )
