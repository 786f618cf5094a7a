"""Whether what goes round the control loop biases the fit of a joint's general motion, by the motion that was commanded.

See `durbin_wu_hausman`. The law's nonlinear parameters are held; its linear ones, inertia, scale of the torque and difference
between the directions are told by instruments: the same columns along the commanded motion. Bias counts where it is beyond chance
and moves a parameter by half of its interval's half width or more; the fit then takes the estimates by instruments. It is worth a
word where it is beyond the interval.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from stribeck.ident.fit.fit_result import FitResult
from stribeck.ident.fit.joint.general_motion import OF_MOTION
from stribeck.ident.fit.law_on_points import law_columns, predicted
from stribeck.ident.fit.residuals.durbin_wu_hausman import Contrast, compare
from stribeck.ident.fit.residuals.holding import moved_out
from stribeck.ident.laws.law_table import law_named
from stribeck.ident.laws.parameter import Parameter
from stribeck.ident.log.finding import Finding
from stribeck.ident.log.motion.motion_points import Motion
from stribeck.ident.log.strokes import REST_TOLERANCE

CLEAN, BIASED, UNTESTED = "clean", "biased", "not tested"
LEVEL = 0.01            # chance that a joint without bias is called biased
MATTERS, NAMED = 0.5, 1.0       # of the half width of a parameter's interval, from which bias counts, and is worth a word
_WEAK = 23.0            # first-stage F below which bias of instruments may exceed a tenth of that of least squares
_SHARED_REST = "; parameters that joints share (links, motors) remain least-squares estimates"


@dataclass(frozen=True)
class ClosedLoop:
    """What instruments say of a fit by least squares.

    Attributes
    ----------
    verdict : str
        "clean", "biased" or "not tested".
    note : str
        Why it was not tested, or needs no test.
    first_stage : float, optional
        Least F of the first stages.
    contrasts : dict of str to Contrast
        Estimates of each linear parameter side by side.
    asked : tuple of str
        Parameters whose columns may go with the error.
    biased, named : tuple of str
        Those of which bias counts, and is worth a word.
    """

    verdict: str
    note: str = ""
    first_stage: float | None = None
    contrasts: Mapping[str, Contrast] = field(default_factory=dict)
    asked: tuple[str, ...] = ()
    biased: tuple[str, ...] = ()
    named: tuple[str, ...] = ()

    @property
    def record(self) -> dict[str, Any]:
        """What a calibration keeps of it."""
        parameters = {name: {"least_squares": one.least_squares, "instruments": one.instruments, "std_error": one.std_error,
                             "p": one.p} for name in self.asked for one in (self.contrasts[name],)}
        return {"verdict": self.verdict, **({"note": self.note} if self.note else {}),
                **({"biased": list(self.biased)} if self.biased else {}),
                **({} if self.first_stage is None else {"first_stage": self.first_stage, "parameters": parameters})}

    def corrected(self, fit: FitResult) -> FitResult:
        """A fit by least squares as instruments have it, where it is biased.

        Intervals move along and are as much wider as instruments are less sure; they still hold misfit and other laws.
        """
        if self.verdict != BIASED:
            return fit
        data, law = fit.data, law_named(fit.law)
        assert data is not None
        wider = np.array([self.contrasts[name].wider if name in self.contrasts else 1.0 for name in fit.names])
        moved = replace(fit, parameters={name: self._of(name, entry, 0.0) for name, entry in fit.parameters.items()},
                        nuisance={name: self._of(name, entry, -np.inf) for name, entry in fit.nuisance.items()},
                        covariance=fit.covariance * np.outer(wider, wider))
        return replace(moved, residual=data.tau - predicted(data, law, moved.all_values))

    def _of(self, name: str, entry: Parameter, least: float) -> Parameter:
        one = self.contrasts.get(name)
        if one is None or entry.value is None or entry.low is None or entry.high is None:
            return entry
        value, low, high = (max(least, end - one.bias) for end in (entry.value, entry.low, entry.high))
        return moved_out(replace(entry, value=value, low=low, high=high), one.wider, least)


NO_COMMANDS = ClosedLoop(UNTESTED, "no position references (q_cmd) in the log, or a closed chain")


def closed_loop(fit: FitResult, commanded: Motion) -> ClosedLoop:
    """Hold a fit of general motion against instruments along the motion that was commanded, at the same points."""
    data, law = fit.data, law_named(fit.law)
    assert data is not None
    if np.ptp(commanded.q) < REST_TOLERANCE:
        return ClosedLoop(UNTESTED, "the reference stands still while the joint moves")
    at = {name: fit.values[name] for name in law.nonlinear}
    load = None if data.load is None else commanded.loads[fit.load]
    columns = law_columns(replace(data, w=commanded.speed, load=load).condensed(), law,
                          {name: np.array([value]) for name, value in at.items()})[0]
    linear = law.linear + (law.coefficients() if load is not None else ())
    found = compare(data, law, at, {**dict(zip(linear, columns.T, strict=True)),
                                    **{name: column(commanded) for name, column in OF_MOTION.items() if name in data.nuisance}})
    if found is None:
        return ClosedLoop(CLEAN, "the measured motion is the commanded one")
    if found.first_stage < _WEAK:
        return ClosedLoop(UNTESTED, "the joint follows its reference too loosely", found.first_stage, found.contrasts,
                          found.asked)
    biased, named = (tuple(name for name in found.asked if found.contrasts[name].p < LEVEL
                           and abs(found.contrasts[name].bias) > part * _half_width(_parameter(fit, name)))
                     for part in (MATTERS, NAMED))
    return ClosedLoop(BIASED if biased else CLEAN, "", found.first_stage, found.contrasts, found.asked, biased, named)


def loop_findings(joint: str, test: ClosedLoop, fit: FitResult, beside_links: bool) -> tuple[Finding, ...]:
    """A word where least squares are biased beyond their intervals; `fit` is as instruments have it.

    `beside_links`: whether the links' inertia, or a motor of several joints, was sought by least squares before.
    """
    if not test.named:
        return ()
    said = "; ".join(f"{name} by least squares {test.contrasts[name].least_squares:.4g}, by instrumental variables "
                     f"{now.value:.4g} ± {now.half_width or 0.0:.2g}{'' if now.unit == '1' else f' {now.unit}'}"
                     for name in test.named for now in (_parameter(fit, name),))
    return (Finding(joint, "closed loop", f"{joint}: the control loop feeds position noise or unmodelled torque back into the "
                    f"motion, which biases least squares: {said}. The calibration takes the estimates by instrumental variables, "
                    f"which follow the commanded motion{_SHARED_REST if beside_links else ''}. Faster and larger motion, a finer "
                    "encoder and a stiffer loop reduce the bias"),)


def _parameter(fit: FitResult, name: str) -> Parameter:
    return fit.parameters[name] if name in fit.parameters else fit.nuisance[name]


def _half_width(entry: Parameter) -> float:
    return np.inf if entry.half_width is None else entry.half_width
