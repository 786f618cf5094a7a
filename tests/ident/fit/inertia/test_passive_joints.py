"""Friction of passive joints, and links of a closed chain: the planar 3-PRR,
moved by P2's own equations.
"""

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from benchmarks.parallel import friction_errors
from benchmarks.parallel_prr import WrongPRR
from benchmarks.three_prr import Slider, ThreePRR
from stribeck.experiments.motions.simulated_friction import moving
from stribeck.ident.arm.arm_file import load_arm
from stribeck.ident.arm.arm_tables import PassiveTable
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.calibration.calibration import Calibration
from stribeck.ident.calibration.validation import validate
from stribeck.ident.errors import InputError
from stribeck.ident.fit.inertia.echoes import compensated
from stribeck.ident.fit.joint.options import Options
from stribeck.ident.identify import Identification, identify
from stribeck.ident.model.base_parameters import base_parameters
from stribeck.ident.model.dynamics import inverse_dynamics
from stribeck.ident.model.loads import joint_loads
from stribeck.ident.model.mechanism import Mechanism, PassiveJoints
from stribeck.ident.model.regressor import changed, inertial_parameters, torque_regressor

RATE, PIN_VISCOUS = 250.0, 0.1  # Hz, N·m·s/rad
RUBBING = WrongPRR(1, 0.0, 0.002, RATE, pin_viscous=PIN_VISCOUS)
LAW = {"law": "tustin", "load": "normal", "motion": "model"}
MACHINES = {"planar-3-prr": (0.004, 13), "gough-stewart": (0.05, 10)}


@cache
def with_pins() -> Identification:
    return identify([RUBBING.recorded()], Options(**LAW, inertia="trust"))


@pytest.mark.slow
@pytest.mark.parametrize("name", MACHINES)
def test_torques_of_a_closed_chain_are_linear_in_inertial_parameters(name: str) -> None:
    far, rank = MACHINES[name]
    m, rng = load_mechanism(load_arm(name)), np.random.default_rng(1)
    q, dq, ddq = (rng.uniform(-size, size, (8, m.n)) for size in (far, 1.0, 3.0))
    tau = inverse_dynamics(m, q, dq, ddq)
    np.testing.assert_allclose(
        torque_regressor(m, q, dq, ddq) @ inertial_parameters(m),
        tau,
        atol=1e-11 * np.abs(tau).max(),
    )
    heavier = changed(m, 0.1 * inertial_parameters(m))
    np.testing.assert_allclose(
        inverse_dynamics(heavier, q, dq, ddq), 1.1 * tau, atol=1e-10 * np.abs(tau).max()
    )
    assert len(base_parameters(m).names) == rank


def test_pin_friction_equals_the_equations_of_p2() -> None:
    """Compares torques and normal forces with the independent equations of P2."""
    m, truth = load_mechanism(load_arm("planar-3-prr")), ThreePRR()
    t = np.linspace(0.05, 1.95, 40)
    w, size = np.pi * np.array([1.0, 2.0, 1.0]), np.array([0.05, 0.02, 0.10])
    pose = np.array([0.0, 0.28, 0.0]) + size * np.sin(w * t[:, None])
    moving = pose, size * w * np.cos(w * t[:, None]), -size * w**2 * np.sin(w * t[:, None])
    zero = np.zeros((1, 3))
    home = truth.forces(np.array([[0.0, 0.28, 0.0]]), zero, zero, Slider())[1]
    values = {"coulomb_coefficient": 0.002, "viscous": 0.05}
    pins = PassiveJoints("pins", ("link1", "link2", "link3"), values=values)
    rubbing = replace(m, chain=m.chain.with_classes([pins]))
    of_pins = Slider(coulomb=0.0, static=0.0, viscous=0.0, pin=0.002, pin_viscous=0.05)
    force, x, dx, ddx = truth.forces(*moving, of_pins)
    np.testing.assert_allclose(inverse_dynamics(rubbing, x - home, dx, ddx), force, atol=1e-9)
    with_load, *_ = truth.forces(*moving, replace(of_pins, coulomb=1.0, static=1.0))
    np.testing.assert_allclose(
        joint_loads(rubbing, x - home, dx, ddx).normal, np.abs(with_load - force), atol=1e-9
    )
    assert np.abs(joint_loads(m, x - home, dx, ddx).normal - np.abs(with_load - force)).max() > 1.0


@pytest.mark.slow
def test_friction_of_sliders_and_pins_is_separated() -> None:
    """Coulomb and viscous friction of both; noise of the seeds 0 to 3 makes errors of up to 5 % of
    the pins' and 2.3 % of the sliders' friction.
    """
    found = with_pins()
    pins = found.calibration.model.passive.classes["pins"].parameters
    for name, true in (("coulomb_coefficient", 0.002), ("viscous", PIN_VISCOUS)):
        assert pins[name].verdict == "identified"
        assert abs(pins[name].value - true) < min(0.1 * true, 1.5 * pins[name].half_width)
    assert pins["coulomb"].high < 0.01
    for name in ("slider1", "slider2", "slider3"):
        parameters = found.calibration.joints[name].parameters
        assert parameters["coulomb_coefficient"].value == pytest.approx(0.08, rel=0.02)
        assert parameters["viscous"].value == pytest.approx(15.0, rel=0.03)


@pytest.mark.slow
def test_masses_wrong_by_30_percent_are_identified_together_with_friction() -> None:
    case = WrongPRR(2, 0.3, rate=RATE)
    found = identify([case.recorded()], Options(**LAW, inertia="fit"))
    assert found.calibration.model.inertia is not None
    base, truth = base_parameters(case.mechanism), inertial_parameters(case.mechanism)
    held = [
        one.low <= value <= one.high
        for one, value in zip(
            found.calibration.model.inertia.parameters.values(),
            (base.combination @ truth).tolist(),
            strict=True,
        )
    ]
    assert np.mean(held) > 0.75
    # a friction constant that replaced the mean of the load would make them 7 % wrong
    assert max(friction_errors(found, case).values()) < 0.02


@pytest.mark.slow
def test_calibration_file_keeps_pin_friction(tmp_path: Path) -> None:
    """Feed-forward and validation include the friction of pins after the file is read again."""
    found = with_pins()
    (tmp_path / "planar-3-prr.mechanism.toml").write_bytes(RUBBING.arm.model.read_bytes())
    found.calibration.save(tmp_path / "calibration.toml")
    again = Calibration.load(tmp_path)
    pins, kept = (one.model.passive.classes["pins"] for one in (found.calibration, again))
    assert kept.joints == pins.joints
    assert kept.values == pytest.approx(pins.values, rel=1e-5)
    q = np.array([[0.001, 0.0, 0.002]])
    there, back = (inverse_dynamics(again.mechanism, q, way * q) for way in (5.0, -5.0))
    plain, _ = (inverse_dynamics(again.stated_mechanism, q, way * q) for way in (5.0, -5.0))
    np.testing.assert_allclose((there + back) / 2.0, plain, atol=1e-2)
    assert np.abs(there - back).max() > 0.1
    other = validate(replace(RUBBING, seed=2).recorded(), again).joints
    assert all(joint.error < 1.2 * max(joint.noise, 0.1) for joint in other.values())


class TestNoise:
    """Position noise in the regression columns."""

    def test_bias_by_noise_in_a_column_is_removed(self) -> None:
        """One column is half noise, and the torque of the model has the same noise."""
        rng, size = np.random.default_rng(0), 4000
        motion, noise = rng.normal(size=(2, size))
        slope, off = np.column_stack((motion + noise, rng.normal(size=size))), -3.0 * noise
        left = 2.0 * motion - 2.0 * noise + off + 0.1 * rng.normal(size=size) + 2.0 * noise
        matrix, moment = slope.T @ slope, slope.T @ left
        dS = np.column_stack((noise, np.zeros(size)))
        found = np.linalg.solve(*compensated(matrix, dS.T @ dS, moment + dS.T @ -off))
        assert np.linalg.solve(matrix, moment)[0] < 1.0
        np.testing.assert_allclose(found, [2.0, 0.0], atol=0.15)

    def test_column_of_noise_alone_carries_no_information(self) -> None:
        noise = np.random.default_rng(0).normal(size=(500, 1))
        matrix, moment = compensated(noise.T @ noise, noise.T @ noise, noise[:, 0] @ noise)
        assert abs(matrix[0, 0]) < 1e-9
        assert abs(moment[0]) < 1e-9


def classes(**tables: PassiveTable) -> Mechanism:
    return load_mechanism(replace(load_arm("gough-stewart"), passive=tables))


def test_impossible_classes_are_refused_by_name() -> None:
    with pytest.raises(
        InputError,
        match=r"toml: \[passive\]: pins: unknown joint without a drive 'leg9' .valid: hip1, hip2",
    ):
        classes(pins=PassiveTable(("leg9",)))
    with pytest.raises(InputError, match="hip1 belongs to a already"):
        classes(a=PassiveTable(("hip1",)), b=PassiveTable(("hip2", "hip1")))
    with pytest.raises(InputError, match="unknown parameter 'coulomb'"):
        classes(a=PassiveTable(("hip1",), friction={"coulomb": 1.0}))
    with pytest.raises(
        InputError, match="lab6 has no closed chain and therefore no passive joints"
    ):
        load_mechanism(replace(load_arm("lab6"), passive={"a": PassiveTable(("j1",))}))


def test_stated_friction_of_spherical_joints_opposes_the_motion() -> None:
    """P4's legs: drives must work against hips with a friction arm."""
    hips = tuple(f"hip{k}" for k in range(1, 7))
    plain, rubbing = (
        load_mechanism(load_arm("gough-stewart")),
        classes(hips=PassiveTable(hips, friction={"friction_arm": 0.01})),
    )
    q, dq = np.full((1, 6), 0.02), np.array([[0.1, -0.1, 0.05, 0.0, 0.1, -0.05]])
    more = inverse_dynamics(rubbing, q, dq) - inverse_dynamics(plain, q, dq)
    assert float(np.sum(more * dq)) > 0.0
    np.testing.assert_allclose(inverse_dynamics(rubbing, q), inverse_dynamics(plain, q), atol=1e-9)


def test_relative_rate_of_pins_that_do_not_turn_is_zero() -> None:
    """If all sliders move equally, the platform moves with them and no pin turns."""
    m = load_mechanism(WrongPRR(0, pin=0.002).arm)
    dq = np.array([[0.1, 0.1, 0.1], [0.1, -0.1, 0.1]])
    still, turning = np.abs(m.chain.rubbing_rates(m, np.zeros((2, 3)), dq))
    assert still.max() < 1e-12
    assert turning.min() > 0.1


def test_changed_link_has_no_negative_inertia() -> None:
    """Sliders are points without inertia, so a decrease must leave zero."""
    m = load_mechanism(load_arm("planar-3-prr"))
    slider = m.link_tree.names.index("slider1")
    change = np.zeros(10 * m.link_tree.n)
    change[[10 * slider + k for k in (4, 7, 9)]] = -1e-5
    tree = changed(m, change).link_tree
    assert np.linalg.eigvalsh(tree.inertia[slider])[0] >= 0.0
    assert tree.mass[slider] == 2.0


def test_simulation_includes_stated_and_identified_pin_friction() -> None:
    """Friction comes from the arm file or from the calibration."""
    arm = load_arm("planar-3-prr")
    stated = PassiveTable(("link1", "link2", "link3"), friction={"coulomb_coefficient": 0.002})
    m = load_mechanism(replace(arm, passive={"pins": stated}))
    found = moving(m)
    assert all(
        found.friction[name].parameters["coulomb_coefficient"] == 0.002 for name in stated.joints
    )
    assert all(found.source[name] == "arm file" for name in stated.joints)
    assert all(name not in moving(load_mechanism(arm)).friction for name in stated.joints)
