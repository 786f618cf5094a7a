"""Between reduction and friction: the links' inertia, where it is asked for or general motion contradicts the model's."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from stribeck.ident.errors import InputError
from stribeck.ident.fit.inertia.even_parts import LoadDoubts, fit_first_moments
from stribeck.ident.fit.inertia.identified_inertia import identified
from stribeck.ident.fit.inertia.inertial_fit import InertialFit, contradicted, fit_inertia
from stribeck.ident.fit.joint.model_doubt import Doubts
from stribeck.ident.identification.choose_runs import ChosenRuns
from stribeck.ident.identification.reduce_runs import ReducedRuns
from stribeck.ident.log.finding import Finding
from stribeck.ident.log.motion.filtered_motion import filtered
from stribeck.ident.log.signal_checks import dead_torques, unrecorded_torques


@dataclass(frozen=True)
class SoughtInertia:
    """The links' inertia.

    Attributes
    ----------
    fit : InertialFit, optional
        None where the model's was trusted.
    doubts : dict of str to callable
        What it leaves open of the torque of each joint that moves, see `Doubts`.
    findings : tuple of Finding
        What there is to say of it.
    """

    fit: InertialFit | None = None
    doubts: Mapping[str, Doubts] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()


TRUSTED = SoughtInertia()


def identify_inertia(chosen: ChosenRuns, reduced: ReducedRuns) -> tuple[ReducedRuns, SoughtInertia]:
    """The runs with models of the inertia that was found, where one was sought."""
    wish = reduced.options.inertia
    if reduced.mechanism.chain is not None:
        if wish == "fit":
            raise InputError(f"inertia = \"fit\": {reduced.mechanism.name} is a closed chain, the inertia of whose links is not "
                             "identified yet; take \"trust\", which takes the masses that its model states")
        return reduced, TRUSTED
    if wish == "trust" or reduced.options.motion == "joint":
        return reduced, TRUSTED
    if reduced.options.motion == "none":
        return _by_round_trips(chosen, reduced) if wish == "fit" else (reduced, TRUSTED)
    log = filtered(chosen.runs, reduced.mechanisms)
    dead = {name for run in chosen.runs for name in (*dead_torques(run), *unrecorded_torques(run))}
    joints = [name for name in reduced.mechanism.names if name not in dead]
    if wish == "auto" and not contradicted(log, reduced.mechanism, joints):
        return reduced, TRUSTED
    fit, equations = fit_inertia(log, reduced.mechanism, joints)
    doubts = {name: partial(equations.doubt, fit, name) for name in equations.motions}
    why = "the torques contradict the model's masses" if wish == "auto" else "the links' inertia was fitted to the torques"
    said = _said(fit, why)
    return replace(reduced, mechanisms=tuple(map(fit.model, reduced.mechanisms))), SoughtInertia(fit, doubts, (said,))


def _by_round_trips(chosen: ChosenRuns, reduced: ReducedRuns) -> tuple[ReducedRuns, SoughtInertia]:
    """Runs reduced once more, with the first moments that the even parts tell."""
    fit = fit_first_moments(reduced.points, reduced.q, reduced.dq, reduced.mechanism)
    again = reduced.with_models(chosen.runs, tuple(map(fit.model, reduced.mechanisms)))
    doubts = {str(name): LoadDoubts(fit, again.mechanism, str(name), rows, again.q[rows.index], again.dq[rows.index])
              for name, rows in again.points.groupby("joint", sort=False)}
    return again, SoughtInertia(fit, doubts, (_said(fit, "the links' first moments were fitted to the even parts"),))


def _said(fit: InertialFit, why: str) -> Finding:
    """What was found, by the combination that lies farthest from what the model states."""
    inertia = identified(fit)
    apart = inertia.differing(fit.base, fit.prior.mechanism)
    text = (f"{why}: of the {len(inertia.parameters)} combinations of masses, first moments and inertias that torques can tell, "
            f"this log tells {inertia.told}, and {len(apart)} are not what the model states")
    if apart:
        name, stated = next(iter(apart.items()))
        one = inertia.parameters[name]
        text += f" (the clearest: {name} is {one.value:.4g} ± {one.half_width:.2g} {one.unit}, stated {stated:.4g})"
    if not inertia.constants:
        text += ", if torque constants are right"
    else:
        text += f". Torque constants are taken to be off by about {100.0 * inertia.constants:.0f} %, too"
    if tool := fit.tool_mass:
        text += f". A tool of about {tool:.2g} kg on the last link that the arm file does not state would explain it"
    return Finding(None, "inertia", f"{text}. Loads are those of the inertia that was found; --inertia trust takes the model's")
