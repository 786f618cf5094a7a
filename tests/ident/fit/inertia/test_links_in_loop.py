"""Links in closed loops: MuJoCo moves lab6, whose masses are up to 30 % off, under controllers
that see noisy positions.
"""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from benchmarks.arm_in_loop import ArmLoop
from benchmarks.inertia_logs import WrongModel
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.fit.inertia.fit_inertia import fit_inertia
from stribeck.ident.fit.inertia.inertial_fit import InertialFit
from stribeck.ident.fit.joint.options import Options
from stribeck.ident.fit.points import Growth
from stribeck.ident.identify import Identification
from stribeck.ident.log.motion.filtered_motion import filtered
from stribeck.ident.log.run import Run
from stribeck.ident.model.regressor import inertial_parameters
from tests.ident.fit.inertia.fitted_links import calibrated_with_links

pytestmark = pytest.mark.slow  # whole fits

LAB6 = load_mechanism("lab6")
STIFF = ArmLoop(WrongModel("lab6", 0, noise=0.02))
NOISY = replace(STIFF, encoder=3e-4, jitter=1e-4)


@cache
def simulated(loop: ArmLoop) -> Run:
    return loop.recorded()


def recorded(loop: ArmLoop, **signals: np.ndarray | None) -> Run:
    run = simulated(loop)
    changed = {
        name: values for name, values in {**run.signals, **signals}.items() if values is not None
    }
    return replace(run, signals=changed)


def fitted(run: Run) -> InertialFit:
    return fit_inertia(
        filtered([run], [LAB6]), LAB6, LAB6.names, law="coulomb-viscous", growth=Growth("none")
    )[0]


@cache
def calibrated() -> tuple[Identification, InertialFit]:
    """The calibration from the noisy log, and the fit of its links."""
    return calibrated_with_links(
        [recorded(NOISY)],
        Options(motion="model", law="coulomb-viscous", load="none", inertia="fit"),
    )


@cache
def without_references() -> InertialFit:
    return fitted(recorded(NOISY, q_cmd=None))


def errors(fit: InertialFit, loop: ArmLoop) -> np.ndarray:
    """Errors of base parameters, in standard errors."""
    rows = fit.base.combination
    off = rows @ (fit.change + inertial_parameters(LAB6) - inertial_parameters(loop.case.truth))
    return off / np.sqrt(np.diag(rows @ fit.covariance @ rows.T))


def test_clean_log_keeps_the_least_squares_estimate() -> None:
    fit = fitted(recorded(replace(STIFF, seconds=16.0)))
    assert (fit.loop.verdict, fit.loop.named) == ("clean", ())
    assert set(fit.loop.asked) == set(fit.base.names)
    least_squares = [fit.loop.contrasts[name].least_squares for name in fit.base.names]
    values = fit.base.combination @ (fit.change + inertial_parameters(LAB6))
    np.testing.assert_allclose(least_squares, values, rtol=0.02, atol=2e-3)


def test_bias_by_noise_in_the_loop_is_detected_and_removed() -> None:
    now, before = calibrated()[1], without_references()
    assert now.loop.verdict == "biased"
    assert before.loop.verdict == "not tested"
    assert now.loop.named
    assert np.mean(np.abs(errors(now, NOISY)) < 1.96) >= 0.94
    assert np.mean(np.abs(errors(before, NOISY)) < 1.96) < 0.9
    assert np.sqrt(np.mean(errors(now, NOISY) ** 2)) < 0.5 * np.sqrt(
        np.mean(errors(before, NOISY) ** 2)
    )


def test_contrasts_state_the_estimates_of_both_fits() -> None:
    now, before = calibrated()[1], without_references()
    for fit, key in ((now, "instruments"), (before, "least_squares")):
        values = fit.base.combination @ (fit.change + inertial_parameters(LAB6))
        said = [getattr(now.loop.contrasts[name], key) for name in fit.base.names]
        np.testing.assert_allclose(said, values, rtol=0.02, atol=2e-3)


def test_references_of_another_log_report_no_bias() -> None:
    """Such references are independent of the noise and nearly of the motion, so many
    parameters are not tested.
    """
    loop = fitted(recorded(NOISY, q_cmd=NOISY.case.motion(1, NOISY.seconds)[1])).loop
    assert len(loop.asked) < 0.75 * len(loop.contrasts)
    assert not loop.biased


def test_calibration_records_the_bias_and_tested_parameters_have_no_note() -> None:
    found, _ = calibrated()
    made = found.calibration
    (said,) = [
        finding.text
        for finding in found.findings
        if finding.kind == "closed loop" and finding.joint is None
    ]
    assert "inertial or motor parameters beyond their intervals" in said
    record = made.fit["closed_loop_shared"]
    assert record["verdict"] == "biased"
    assert made.model.inertia is not None
    assert set(record["parameters"]) <= set(made.model.inertia.parameters)
    assert not [
        name
        for name, one in made.model.inertia.parameters.items()
        if name in record["parameters"] and "too weak" in one.note
    ]
