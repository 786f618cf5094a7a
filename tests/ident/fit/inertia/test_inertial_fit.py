"""Inertia and friction in one fit: lab6 with masses that are wrong by up to 30 %;
Pinocchio moves the true arm.
"""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from benchmarks.inertia_logs import WrongModel
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.calibration.calibration import Calibration
from stribeck.ident.calibration.validation import validate
from stribeck.ident.errors import InputError
from stribeck.ident.fit.inertia.identified_inertia import identified
from stribeck.ident.fit.inertia.inertial_fit import InertialFit
from stribeck.ident.fit.joint.options import Options
from stribeck.ident.identify import Identification, identify
from stribeck.ident.log.run import Run
from stribeck.ident.model.base_parameters import base_parameters
from stribeck.ident.model.dynamics import inverse_dynamics
from stribeck.ident.model.regressor import inertial_parameters
from tests.ident.fit.inertia.fitted_links import calibrated_with_links

pytestmark = pytest.mark.slow  # whole fits

WRONG = WrongModel("lab6", 0)
LAB6 = WRONG.path


@cache
def recorded(case: WrongModel, seed: int = 0, seconds: float = 10.0) -> Run:
    pytest.importorskip("pinocchio", reason="Pinocchio (the package pin) moves the arm")
    return case.recorded(seconds, seed)


OPTIONS = Options(motion="model", law="coulomb-viscous", load="torque", inertia="auto")


@cache
def both() -> tuple[Identification, InertialFit]:
    """The calibration, and the fit of its links."""
    return calibrated_with_links([recorded(WRONG)], OPTIONS)


def fitted() -> InertialFit:
    return both()[1]


def found() -> Identification:
    return both()[0]


@cache
def trusted() -> Identification:
    return identify([recorded(WRONG)], replace(OPTIONS, inertia="trust"))


def test_intervals_cover_the_base_parameters() -> None:
    """All 36 base parameters of the arm."""
    model, fit = load_mechanism("lab6"), fitted()
    rows = base_parameters(model).combination
    off = rows @ (fit.change + inertial_parameters(model) - inertial_parameters(WRONG.truth))
    errors = off / np.sqrt(np.diag(rows @ fit.covariance @ rows.T))
    assert 0.03 < fit.scatter.of_masses < 0.4
    assert np.mean(np.abs(errors) < 1.96) >= 0.85
    assert np.sqrt(np.mean(np.square(errors))) < 1.4


def test_untested_closed_loop_bias_makes_carried_links_weak() -> None:
    model, fit = load_mechanism("lab6"), fitted()
    sure = identified(fit)
    unsure = sure.doubted(fit.base, model, ["j5"])
    changed = {name for name, one in sure.parameters.items() if unsure.parameters[name] != one}
    assert changed == {
        name
        for name, one in sure.parameters.items()
        if name[:2] in ("j5", "j6") and one.verdict == "identified"
    }
    assert changed
    for name in changed:
        assert unsure.parameters[name].verdict == "weak"
        assert "the closed loop biases least squares for j5" in unsure.parameters[name].note
    assert sure.doubted(fit.base, model, ["j5"], changed) == sure
    assert sure.doubted(fit.base, model, []) == sure


def test_friction_is_right_despite_wrong_masses() -> None:
    for k, ((name, joint), coulomb) in enumerate(
        zip(found().calibration.joints.items(), WRONG.coulomb, strict=True)
    ):
        parameters = joint.parameters
        assert parameters["coulomb"].value == pytest.approx(coulomb, rel=0.02), name
        assert parameters["viscous"].value == pytest.approx(0.6 * coulomb, rel=0.03), name
        # of the rotor
        assert joint.gravity["inertia"].value == pytest.approx(0.1 * coulomb, abs=0.03), name
        assert joint.gravity["scale"].value is None
        if k in (1, 2):  # whose loads are large
            assert parameters["coulomb_coefficient"].value == pytest.approx(WRONG.growth, rel=0.02)


def test_finding_names_the_wrong_masses_and_the_option_to_trust_the_model() -> None:
    (said,) = [finding.text for finding in found().findings if finding.kind == "inertia"]
    assert "contradict the model's masses" in said
    assert "--inertia trust" in said
    assert not [finding for finding in trusted().findings if finding.kind == "inertia"]
    assert trusted().calibration.model.inertia is None


def test_calibration_file_keeps_the_inertia(tmp_path) -> None:
    calibration = found().calibration
    (tmp_path / "lab6.urdf").write_bytes(LAB6.read_bytes())
    calibration.save(tmp_path / "calibration.toml")
    loaded = Calibration.load(tmp_path)
    _, q, dq, ddq = WRONG.motion(5, 4.0)
    models = WRONG.truth, loaded.stated_mechanism, loaded.mechanism
    true, stated, taken = (inverse_dynamics(one, q, dq, ddq) for one in models)
    assert np.sqrt(np.mean((taken - true) ** 2)) < 0.05 * np.sqrt(np.mean((stated - true) ** 2))
    again = loaded.model.inertia
    assert again is not None
    assert again.links.keys() == dict.fromkeys(loaded.names).keys()
    assert 20 <= again.told <= len(again.parameters) == 36
    assert "the model states" in again.parameters["j2.hx"].note


def test_identified_inertia_predicts_another_motion() -> None:
    other, beside = recorded(WRONG, 3, 12.0), {"folder": LAB6.parent}
    passed = validate(other, replace(found().calibration, **beside))
    assert not passed.failed
    beforehand = validate(other, replace(trusted().calibration, **beside))
    for name, joint in passed.joints.items():
        assert joint.error <= 1.05 * beforehand.joints[name].error, name
    assert passed.joints["j2"].error < 0.5 * beforehand.joints["j2"].error


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"inertia": "guess", "motion": "model"}, "auto, fit, trust"),
        ({"inertia": "fit", "motion": "joint"}, "the joint's own"),
    ],
)
def test_invalid_options_are_refused(options: dict[str, str], said: str) -> None:
    with pytest.raises(InputError, match=said):
        Options(**options)


def test_bending_coefficient_is_right_despite_wrong_masses() -> None:
    """Torques do not determine bending moments: the interval includes the remaining uncertainty."""
    case = replace(WRONG, seed=1, load="bending")
    result = identify(
        [recorded(case, 1)],
        Options(motion="model", law="coulomb-viscous", load="bending", inertia="fit"),
    )
    entries = {
        name: joint.parameters["coulomb_coefficient"]
        for name, joint in result.calibration.joints.items()
        if joint.load_part[1] > joint.parameters["coulomb"].value / 4.0
    }
    assert len(entries) >= 2
    for name, entry in entries.items():
        assert entry.value == pytest.approx(case.growth, rel=0.05), name
    assert (
        sum(entry.low <= case.growth <= entry.high for entry in entries.values())
        >= len(entries) - 1
    )
