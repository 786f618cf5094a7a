"""Inertia and friction in one fit: lab6 with masses that are wrong by up to 30 %; Pinocchio moves the true one."""

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from stribeck.ident.arm.arm_file import ArmFile, DriverTable, JointTable, Tool, Workspace
from stribeck.ident.arm.built_in import data_dir
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.calibration.calibration import Calibration
from stribeck.ident.calibration.validation import validate
from stribeck.ident.errors import InputError
from stribeck.ident.fit.inertia.inertial_fit import SURE, contradicted, fit_inertia
from stribeck.ident.fit.joint.options import Options
from stribeck.ident.identify import Identification, identify
from stribeck.ident.log.motion.filtered_motion import filtered
from stribeck.ident.log.run import Run
from stribeck.ident.model.base_parameters import base_parameters
from stribeck.ident.model.dynamics import inverse_dynamics
from stribeck.ident.model.mechanism import Mechanism
from stribeck.ident.model.regressor import inertial_parameters
from tests.judges import Pinocchio

LAB6 = data_dir() / "arms" / "lab6" / "lab6.urdf"
RATE, ROTOR, GROWTH = 250.0, 0.3, 0.1          # Hz, kg·m² at the joint, friction per transmitted torque
COULOMB, VISCOUS = np.array([2.0, 4.0, 2.5, 0.8, 0.6, 0.4]), np.array([1.5, 2.5, 1.2, 0.5, 0.3, 0.2])


def truth(seed: int, part: float = 0.3) -> Mechanism:
    """The arm as it is: masses, centres of mass and inertia of lab6's model, each wrong by up to a part."""
    rng, model = np.random.default_rng(seed), load_mechanism("lab6")
    masses = 1.0 + part * rng.uniform(-1.0, 1.0, 6)
    return replace(model, mass=model.mass * masses, com=model.com * (1.0 + part * rng.uniform(-1.0, 1.0, (6, 1))),
                   inertia=model.inertia * masses[:, None, None])


def motion(seed: int, seconds: float) -> tuple[np.ndarray, ...]:
    """Four sines a joint, at 1.3 rad/s at most."""
    rng = np.random.default_rng(seed)
    t = np.arange(round(seconds * RATE)) / RATE
    w = 2.0 * np.pi * np.array([0.11, 0.27, 0.43, 0.71]) * rng.uniform(0.9, 1.1, (6, 4))
    a, phase = rng.uniform(0.6, 1.0, (6, 4)) / w, rng.uniform(0.0, 2.0 * np.pi, (6, 4))
    a *= 1.3 / np.sum(a * w, axis=1, keepdims=True)
    turn = w * t[:, None, None] + phase
    return (t, *(np.sum(part, axis=-1) for part in (a * np.sin(turn), a * w * np.cos(turn), -a * w**2 * np.sin(turn))))


@cache
def recorded(arm_seed: int | None, seed: int = 0, seconds: float = 40.0) -> Run:
    """A log of the true arm, with lab6's model in its arm file."""
    pin = pytest.importorskip("pinocchio", reason="Pinocchio (the package pin) moves the arm")
    mechanism = load_mechanism("lab6") if arm_seed is None else truth(arm_seed)
    judge, rng = Pinocchio(pin, mechanism), np.random.default_rng([seed, 7])
    t, q, dq, ddq = motion(seed, seconds)
    rigid = np.array([judge(*row)[0] for row in zip(q, dq, ddq, strict=True)])
    tau = rigid + ROTOR * ddq + (COULOMB + GROWTH * np.abs(rigid)) * np.sign(dq) + VISCOUS * dq + 0.05 * COULOMB
    tau += 0.05 * COULOMB * rng.standard_normal(tau.shape)
    arm = ArmFile(Path("lab6.toml"), "lab6", LAB6, (0.0, 0.0, -9.81), "motor current", Tool(), Workspace(), DriverTable(),
                  {name: JointTable() for name in mechanism.names}, {})
    return Run(Path("log"), {"start": f"2026-01-0{seed + 1}T00:00:00+00:00"}, arm, (), mechanism.names, t,
               np.zeros(len(t), dtype=int), {"q": np.round(q / 1e-5) * 1e-5, "tau": tau}, f"{arm_seed} {seed}")


@cache
def found(inertia: str, arm_seed: int | None = 0) -> Identification:
    return identify([recorded(arm_seed)], Options(motion="model", law="coulomb-viscous", load="torque", inertia=inertia))


def test_a_right_model_is_trusted_and_a_wrong_one_contradicted() -> None:
    model = load_mechanism("lab6")
    assert contradicted(filtered([recorded(None)], [model]), model) < 0.0
    assert contradicted(filtered([recorded(1)], [model]), model) > 100.0 * SURE


def test_combinations_that_torques_tell_are_covered() -> None:
    """Of three arms, 36 each."""
    model, errors = load_mechanism("lab6"), []
    base = base_parameters(model)
    for seed in range(3):
        fit, _ = fit_inertia(filtered([recorded(seed, seed)], [model]), model)
        error = base.combination @ (fit.change + inertial_parameters(model) - inertial_parameters(truth(seed)))
        errors.append(error / np.sqrt(np.diag(base.combination @ fit.covariance @ base.combination.T)))
        assert 0.05 < fit.deviation < 0.3
    assert np.mean(np.abs(errors) < 1.96) >= 0.85
    assert np.sqrt(np.mean(np.square(errors))) < 1.4


def test_friction_is_that_of_the_truth_in_spite_of_wrong_masses() -> None:
    for k, (name, joint) in enumerate(found("auto").calibration.joints.items()):
        parameters = joint.parameters
        assert parameters["coulomb"].value == pytest.approx(COULOMB[k], rel=0.02), name
        assert parameters["viscous"].value == pytest.approx(VISCOUS[k], rel=0.03), name
        assert joint.gravity["inertia"].value == pytest.approx(ROTOR, abs=0.03), name
        assert joint.gravity["scale"].value is None
        if k in (1, 2):                     # whose loads are large
            assert parameters["coulomb_coefficient"].value == pytest.approx(GROWTH, rel=0.02)


def test_the_finding_says_how_far_the_model_is_off_and_how_to_trust_it() -> None:
    (said,) = [finding.text for finding in found("auto").findings if finding.kind == "inertia"]
    assert "contradict the model's masses" in said
    assert "--inertia trust" in said
    assert not [finding for finding in found("trust").findings if finding.kind == "inertia"]
    assert found("trust").calibration.model.inertia is None
    assert "fit" not in found("auto", None).findings[0].kind
    assert found("auto", None).calibration.model.inertia is None


def test_the_calibration_takes_the_inertia_home(tmp_path) -> None:
    calibration = found("auto").calibration
    (tmp_path / "lab6.urdf").write_bytes(LAB6.read_bytes())
    calibration.save(tmp_path / "calibration.toml")
    loaded = Calibration.load(tmp_path)
    _, q, dq, ddq = motion(5, 4.0)
    true, stated, taken = (inverse_dynamics(one, q, dq, ddq) for one in (truth(0), loaded.stated_mechanism, loaded.mechanism))
    assert np.sqrt(np.mean((taken - true) ** 2)) < 0.05 * np.sqrt(np.mean((stated - true) ** 2))
    again = loaded.model.inertia
    assert again is not None
    assert again.links.keys() == dict.fromkeys(loaded.names).keys()
    assert 20 <= again.told <= len(again.parameters) == 36
    assert "the model states" in again.parameters["j2.hx"].note


def test_another_motion_is_predicted_by_the_inertia_that_was_found() -> None:
    other, beside = recorded(0, 3, 20.0), {"folder": LAB6.parent}
    passed = validate(other, replace(found("auto").calibration, **beside))
    assert not passed.failed
    trusted = validate(other, replace(found("trust").calibration, **beside))
    for name, joint in passed.joints.items():
        assert joint.error <= 1.05 * trusted.joints[name].error, name
    assert passed.joints["j2"].error < 0.5 * trusted.joints["j2"].error


@pytest.mark.parametrize(("options", "said"), [
    ({"inertia": "guess", "motion": "model"}, "auto, fit, trust"), ({"inertia": "fit"}, "needs motion = \"model\"")])
def test_what_cannot_be_asked_for_is_refused(options: dict[str, str], said: str) -> None:
    with pytest.raises(InputError, match=said):
        Options(**options)
