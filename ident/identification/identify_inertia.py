"""Between reduction and friction: the links' inertia, where general motion contradicts the model's."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial

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
    if reduced.options.motion != "model" or wish == "trust":
        return reduced, TRUSTED
    log = filtered(chosen.runs, reduced.mechanisms)
    if wish == "auto" and contradicted(log, reduced.mechanism) < SURE:
        return reduced, TRUSTED
    fit, equations = fit_inertia(log, reduced.mechanism)
    doubts = {name: partial(equations.doubt, fit, name) for name in equations.motions}
    why = "the torques contradict the model's masses" if wish == "auto" else "the links' inertia was fitted along"
    off = f"{100.0 * fit.scatter.of_masses:.0f} %"
    said = Finding(None, "inertia", f"{why}, which are off by about {off}; loads and friction are those of the inertia that was "
                                    "found (model.inertia in the calibration). --inertia trust takes the model's")
    return replace(reduced, mechanisms=tuple(map(fit.model, reduced.mechanisms))), SoughtInertia(fit, doubts, (said,))
