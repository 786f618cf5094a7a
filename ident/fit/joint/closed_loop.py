"""Test whether feedback through the control loop biases the fit of a joint's general motion,
with the commanded motion.

See `durbin_wu_hausman`. The law's nonlinear parameters are fixed. Its linear parameters, inertia,
torque scale and difference between the directions are also estimated by instrumental variables: the
same columns along the commanded motion. Bias counts if it is beyond chance and moves a parameter by
at least half of its interval's half width; the fit then uses the estimates by instrumental
variables. A finding reports bias beyond the interval.
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
LEVEL = 0.01  # probability that a joint without bias is called biased
MATTERS, NAMED = 0.5, 1.0  # least bias over half width that counts, and that a finding reports
# first-stage F below which bias by instruments may exceed a tenth of the bias of least squares
WEAK = 23.0


@dataclass(frozen=True)
class ClosedLoop:
    """Test of a least-squares fit with instrumental variables.

    Attributes
    ----------
    verdict : str
        "clean", "biased" or "not tested".
    note : str
        Why the fit was not tested, or needs no test.
    first_stage : float, optional
        Least F statistic of the first stages.
    contrasts : dict of str to Contrast
        Both estimates of each linear parameter.
    asked : tuple of str
        Parameters whose columns may correlate with the error.
    biased, named : tuple of str
        Parameters whose bias counts, and parameters whose bias a finding reports.
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
        """Entries of the test in a calibration file."""
        parameters = {
            name: {
                "least_squares": one.least_squares,
                "instruments": one.instruments,
                "std_error": one.std_error,
                "p": one.p,
            }
            for name in self.asked
            for one in (self.contrasts[name],)
        }
        return {
            "verdict": self.verdict,
            **({"note": self.note} if self.note else {}),
            **({"biased": list(self.biased)} if self.biased else {}),
            **(
                {}
                if self.first_stage is None
                else {"first_stage": self.first_stage, "parameters": parameters}
            ),
        }

    def corrected(self, fit: FitResult) -> FitResult:
        """Replace the estimates of a biased fit by those of instrumental variables.

        Intervals move with the estimates and are widened by the ratio of the standard errors; they
        still include misfit and other laws.
        """
        if self.verdict != BIASED:
            return fit
        data, law = fit.data, law_named(fit.law)
        assert data is not None
        wider = np.array(
            [self.contrasts[name].wider if name in self.contrasts else 1.0 for name in fit.names]
        )
        moved = replace(
            fit,
            parameters={name: self._of(name, entry, 0.0) for name, entry in fit.parameters.items()},
            nuisance={name: self._of(name, entry, -np.inf) for name, entry in fit.nuisance.items()},
            covariance=fit.covariance * np.outer(wider, wider),
        )
        return replace(moved, residual=data.tau - predicted(data, law, moved.all_values))

    def _of(self, name: str, entry: Parameter, least: float) -> Parameter:
        one = self.contrasts.get(name)
        if one is None or entry.value is None or entry.low is None or entry.high is None:
            return entry
        value, low, high = (
            max(least, end - one.bias) for end in (entry.value, entry.low, entry.high)
        )
        return moved_out(replace(entry, value=value, low=low, high=high), one.wider, least)


NO_COMMANDS = ClosedLoop(UNTESTED, "no position references (q_cmd) in the log, or a closed chain")


def closed_loop(fit: FitResult, commanded: Motion) -> ClosedLoop:
    """Test a fit of general motion with instruments along the commanded
    motion, at the same points.
    """
    data, law = fit.data, law_named(fit.law)
    assert data is not None
    if np.ptp(commanded.q) < REST_TOLERANCE:
        return ClosedLoop(UNTESTED, "the reference stands still while the joint moves")
    at = {name: fit.values[name] for name in law.nonlinear}
    load = None if data.load is None else commanded.loads[fit.load]
    columns = law_columns(
        replace(data, w=commanded.speed, load=load).condensed(),
        law,
        {name: np.array([value]) for name, value in at.items()},
    )[0]
    linear = law.linear + (law.coefficients() if load is not None else ())
    found = compare(
        data,
        law,
        at,
        {
            **dict(zip(linear, columns.T, strict=True)),
            **{
                name: column(commanded)
                for name, column in OF_MOTION.items()
                if name in data.nuisance
            },
        },
    )
    if found is None:
        return ClosedLoop(CLEAN, "the measured motion is the commanded one")
    if found.first_stage < WEAK:
        return ClosedLoop(
            UNTESTED,
            "the joint follows its reference too loosely",
            found.first_stage,
            found.contrasts,
            found.asked,
        )
    biased, named = (
        tuple(
            name
            for name in found.asked
            if found.contrasts[name].p < LEVEL
            and abs(found.contrasts[name].bias) > part * _half_width(_parameter(fit, name))
        )
        for part in (MATTERS, NAMED)
    )
    return ClosedLoop(
        BIASED if biased else CLEAN,
        "",
        found.first_stage,
        found.contrasts,
        found.asked,
        biased,
        named,
    )


def loop_findings(joint: str, test: ClosedLoop, fit: FitResult) -> tuple[Finding, ...]:
    """Return a finding if least squares are biased beyond their intervals; `fit` has the
    estimates by instruments.
    """
    if not test.named:
        return ()
    said = "; ".join(
        f"{name} by least squares {test.contrasts[name].least_squares:.4g}, by instrumental "
        "variables "
        f"{now.value:.4g} ± {now.half_width or 0.0:.2g}{'' if now.unit == '1' else f' {now.unit}'}"
        for name in test.named
        for now in (_parameter(fit, name),)
    )
    return (
        Finding(
            joint,
            "closed loop",
            f"{joint}: the control loop feeds position noise or unmodelled torque back into the "
            f"motion, which biases least squares: {said}. The calibration takes the estimates by "
            "instrumental variables, which follow the commanded motion. Faster and larger motion, "
            "a finer encoder and a stiffer loop reduce the bias",
        ),
    )


def _parameter(fit: FitResult, name: str) -> Parameter:
    return fit.parameters[name] if name in fit.parameters else fit.nuisance[name]


def _half_width(entry: Parameter) -> float:
    return np.inf if entry.half_width is None else entry.half_width
