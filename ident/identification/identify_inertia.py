"""Between reduction and friction: the links' inertia, where it is asked for or general motion contradicts the model's."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from stribeck.ident.fit.inertia.even_parts import LoadDoubts, fit_first_moments
from stribeck.ident.fit.inertia.inertial_fit import SURE, InertialFit, contradicted, fit_inertia
from stribeck.ident.fit.joint.model_doubt import Doubts
from stribeck.ident.identification.choose_runs import ChosenRuns
from stribeck.ident.identification.reduce_runs import ReducedRuns
from stribeck.ident.log.finding import Finding
from stribeck.ident.log.motion.filtered_motion import filtered


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
    if wish == "trust" or reduced.options.motion == "joint":
        return reduced, TRUSTED
    if reduced.options.motion == "none":
        return _by_round_trips(chosen, reduced) if wish == "fit" else (reduced, TRUSTED)
    log = filtered(chosen.runs, reduced.mechanisms)
    if wish == "auto" and contradicted(log, reduced.mechanism) < SURE:
        return reduced, TRUSTED
    fit, equations = fit_inertia(log, reduced.mechanism)
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
    off = f"{100.0 * fit.scatter.of_masses:.0f} %"
    return Finding(None, "inertia", f"{why}: if the torque constants are right, the model's masses are off by about {off}; loads "
                                    "are those of the inertia that was found (model.inertia in the calibration). --inertia trust "
                                    "takes the model's")
