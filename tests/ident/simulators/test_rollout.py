"""Simulated motion against logs of a pendulum that SciPy integrates, with known
gains, delay and friction.
"""

from dataclasses import replace
from functools import cache
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console
from scipy.integrate import solve_ivp

from stribeck.experiments.cli.screen.rollout_text import (
    rollout_lines,
    rollout_numbers,
    rollout_table,
)
from stribeck.ident.calibration.calibration import Calibration
from stribeck.ident.errors import FitError, InputError
from stribeck.ident.log.run import Run, load_run
from stribeck.ident.model.joint_parts import JointFriction
from stribeck.ident.simulators import rollout as module
from stribeck.ident.simulators.rollout import CALIBRATED, OWN, WITHOUT, Rollout, rollout
from tests.places import DATA
from tests.schemas import judge

GOLDEN = DATA / "golden"
KP, KD, LATE, RATE, SECONDS = 150.0, 12.0, 0.012, 200.0, 2.0
COULOMB, VISCOUS = 2.2, 2.9


@cache
def calibration() -> Calibration:
    """The golden calibration with a law whose friction anyone can compute, and without offset."""
    made = Calibration.load(GOLDEN)
    joint = made.joints["hinge"]
    numbers = {"coulomb": COULOMB, "viscous": VISCOUS}
    parameters = {
        name: replace(joint.parameters[name], value=value, std_error=0.0, low=value, high=value)
        for name, value in numbers.items()
    }
    return replace(
        made,
        joints={
            "hinge": replace(
                joint, law="coulomb-viscous", load="none", parameters=parameters, gravity={}
            )
        },
    )


@cache
def log(reference: float = 0.0) -> Run:
    """A pendulum that follows sines with a PD controller, integrated by SciPy; friction
    is smooth below 1 mrad/s.
    """
    made, recorded = calibration(), load_run(GOLDEN / "runs" / "constant-speed")
    m = made.mechanism
    length, arm = m.com[0], m.axis[0]
    inertia = float(
        arm @ m.inertia[0] @ arm
        + m.mass[0] * np.sum(np.cross(arm, length) ** 2)
        + recorded.rotor_inertia()[0, 0]
    )

    def gravity(q: float) -> float:
        turned = (
            length * np.cos(q)
            + np.cross(arm, length) * np.sin(q)
            + arm * (arm @ length) * (1.0 - np.cos(q))
        )
        return float(-arm @ np.cross(turned, m.mass[0] * m.gravity))

    def wanted(t):
        begins = 1.0 - np.exp(-((np.maximum(t, 0.0) / 0.3) ** 3))
        return 0.3 + begins * (0.5 * np.sin(1.3 * t) + 0.25 * np.sin(3.1 * t))

    def rate(t):
        return (wanted(t + 1e-5) - wanted(t - 1e-5)) / 2e-5

    def drive(t, q, w):
        return KP * (wanted(t - LATE) - q) + reference * rate(t - LATE) - KD * w

    def moves(t, state):
        q, w = state
        rubs = COULOMB * np.tanh(w / 1e-3) + VISCOUS * w
        return [w, (drive(t, q, w) - rubs - gravity(q)) / inertia]

    t = np.arange(round(SECONDS * RATE)) / RATE
    found = solve_ivp(
        moves, (0.0, t[-1]), [wanted(0.0), 0.0], "LSODA", t, rtol=1e-8, atol=1e-10, max_step=0.005
    ).y
    q, w = found[:, :, None]
    tau = np.array([drive(*one) for one in zip(t, q[:, 0], w[:, 0], strict=True)])[:, None]
    return replace(
        recorded,
        path=Path("log"),
        sha256="",
        t=t,
        segment=np.zeros(len(t), dtype=int),
        events=(),
        signals={"q": q, "tau": tau, "q_cmd": wanted(t)[:, None]},
    )


def without_references() -> Run:
    run = log()
    return replace(run, signals={name: run.signals[name] for name in ("q", "tau")})


@cache
def by_gains(reference: float = 0.0) -> Rollout:
    return rollout(log(reference), calibration(), {"hinge": (KP, KD, reference)})


@cache
def by_torques(horizon: float = 0.2) -> Rollout:
    return rollout(without_references(), calibration(), horizon=horizon)


class TestReferences:
    @pytest.mark.slow
    @pytest.mark.parametrize("reference", [0.0, KD])
    def test_stated_gains_move_it_like_the_pendulum_and_show_the_delay(self, reference):
        found = by_gains(reference)
        assert found.by == "references"
        assert found.simulated[CALIBRATED].error[0] < 3e-4
        assert found.simulated[CALIBRATED].delay == pytest.approx(LATE, abs=1e-3)
        assert found.simulated[WITHOUT].error[0] > 30.0 * found.simulated[CALIBRATED].error[0]

    @pytest.mark.slow
    def test_the_log_shows_the_gains(self):
        found = rollout(log(), calibration())
        gains = found.gains["hinge"]
        assert gains.position == pytest.approx(KP, rel=0.02)
        assert gains.velocity == pytest.approx(KD, rel=0.02)
        # r(t - late) = r - late dr
        assert gains.reference == pytest.approx(-LATE * KP, rel=0.05)
        assert gains.explained > 0.98
        assert found.simulated[CALIBRATED].error[0] < 1e-3

    @pytest.mark.slow
    def test_a_wrong_zero_of_the_torque_signal_does_not_move_it(self):
        """The offset of the calibration is in the identified torque of the drive as well."""
        run = replace(log(), signals={**log().signals, "tau": log().signals["tau"] + 4.0})
        made = calibration()
        joint = made.joints["hinge"]
        offset = replace(joint.parameters["coulomb"], value=4.0, std_error=0.0, low=4.0, high=4.0)
        found = rollout(
            run, replace(made, joints={"hinge": replace(joint, gravity={"offset": offset})})
        )
        assert found.gains["hinge"].constant == pytest.approx(4.0, abs=0.05)
        assert found.simulated[CALIBRATED].error[0] < 1e-3

    @pytest.mark.slow
    def test_wrong_friction_moves_it_otherwise(self):
        made = calibration()
        joint = made.joints["hinge"]
        more = replace(joint.parameters["coulomb"], value=1.3 * COULOMB)
        wrong = replace(
            made, joints={"hinge": replace(joint, parameters=joint.parameters | {"coulomb": more})}
        )
        found = rollout(log(), wrong, {"default": (KP, KD, 0.0)})
        right, other = (one.simulated[CALIBRATED].error[0] for one in (by_gains(), found))
        assert other > 5.0 * right


class TestVelocities:
    @staticmethod
    def run() -> Run:
        """A PD controller with the velocity of the reference is a
        velocity loop with an integral.
        """
        made = log(KD)
        late = np.interp(made.t - LATE, made.t, made.signals["q_cmd"][:, 0])
        signals = {name: values for name, values in made.signals.items() if name != "q_cmd"}
        return replace(made, signals={**signals, "dq_cmd": np.gradient(late, made.t)[:, None]})

    @pytest.mark.slow
    def test_set_points_of_a_velocity_loop_move_it_like_the_pendulum(self):
        found = rollout(self.run(), calibration())
        assert found.by == "velocities"
        gains = found.gains["hinge"]
        assert (gains.position, gains.velocity, gains.reference) == pytest.approx(
            (KP, KD, KD), rel=0.03
        )
        assert found.simulated[CALIBRATED].error[0] < 2e-3
        assert found.simulated[WITHOUT].error[0] > 10.0 * found.simulated[CALIBRATED].error[0]
        assert "velocity set-points" in rollout_lines({"one": found})[0]

    @pytest.mark.slow
    def test_set_points_that_the_torque_does_not_follow_are_left_alone(self):
        run = self.run()
        wrong = replace(run, signals={**run.signals, "dq_cmd": run.signals["dq_cmd"][::-1]})
        assert rollout(wrong, calibration(), horizon=0.2).by == "torques"


class TestTorques:
    @pytest.mark.slow
    def test_without_references_torques_drive_it(self):
        found = by_torques()
        assert found.by == "torques"
        assert "no position references" in found.reason
        assert found.simulated[CALIBRATED].error[0] < 1.5e-3
        assert found.simulated[WITHOUT].error[0] > 30.0 * found.simulated[CALIBRATED].error[0]

    @pytest.mark.slow
    def test_a_joint_without_references_is_named(self):
        told = log().signals["q_cmd"].copy()
        told[3] = np.nan
        found = rollout(
            replace(log(), signals={**log().signals, "q_cmd": told}), calibration(), horizon=0.2
        )
        assert found.by == "torques"
        assert "(q_cmd) of hinge" in found.reason

    @pytest.mark.slow
    def test_errors_grow_with_the_horizon(self):
        short, long = (by_torques(horizon).simulated[WITHOUT].error[0] for horizon in (0.05, 0.2))
        assert long > 8.0 * short  # with the square

    @pytest.mark.slow
    def test_a_stiff_drive_shows_no_gains(self):
        """The recorded run: a velocity loop of high gain, whose position error
        drowns in the encoder's steps.
        """
        run = load_run(GOLDEN / "runs" / "constant-speed")
        rows = run.t < 5.0
        short = replace(
            run,
            sha256="a part of it",
            t=run.t[rows],
            segment=run.segment[rows],
            signals={name: one[rows] for name, one in run.signals.items()},
        )
        found = rollout(short, Calibration.load(GOLDEN))
        assert found.by == "torques"
        assert "R²" in found.reason
        assert found.simulated[WITHOUT].error[0] > 5.0 * found.simulated[CALIBRATED].error[0]


@pytest.mark.slow
def test_the_friction_of_the_models_file_competes(monkeypatch):
    """As if the URDF stated friction that is half the pendulum's."""
    stated = {
        0: JointFriction(
            "coulomb-viscous", "none", {"coulomb": 0.5 * COULOMB, "viscous": 0.5 * VISCOUS}
        )
    }
    recorded = module.as_recorded
    monkeypatch.setattr(module, "as_recorded", lambda *of: replace(recorded(*of), friction=stated))
    found = rollout(log(), calibration(), {"hinge": (KP, KD, 0.0)}).simulated
    errors = [float(found[name].error[0]) for name in (WITHOUT, OWN, CALIBRATED)]
    assert errors[0] > 1.5 * errors[1] > 15.0 * errors[2]


class TestRefusals:
    def test_a_run_that_was_fitted_proves_nothing(self):
        with pytest.raises(InputError, match="was fitted to this run"):
            rollout(load_run(GOLDEN / "runs" / "constant-speed"), Calibration.load(GOLDEN))

    def test_gains_need_references(self):
        with pytest.raises(InputError, match="no position references"):
            rollout(without_references(), calibration(), {"hinge": (KP, KD)})

    @pytest.mark.parametrize(
        ("gains", "words"),
        [
            ({"hing": (1.0, 1.0)}, "hinge"),
            ({"hinge": (1.0,)}, "two or three"),
            ({"hinge": (1.0, -1.0)}, "not negative"),
            ({"hinge": (1.0, np.nan)}, "two or three"),
            ({}, "have no gains"),
        ],
    )
    def test_wrong_gains_are_named(self, gains, words):
        with pytest.raises(InputError, match=words):
            rollout(log(), calibration(), gains)

    @pytest.mark.parametrize("horizon", [0.0, -1.0, np.nan, np.inf, 1e-3])
    def test_a_horizon_is_a_time(self, horizon):
        with pytest.raises(InputError, match="horizon"):
            rollout(without_references(), calibration(), horizon=horizon)

    def test_gains_that_are_too_high_for_the_steps_are_said(self):
        with pytest.raises(FitError, match="hinge: its simulated motion diverges"):
            rollout(log(), calibration(), {"hinge": (1e9, 0.0)})


@pytest.mark.slow
@pytest.mark.parametrize("simulated", [by_gains, by_torques])
def test_json_and_table_tell_the_same(simulated):
    found = dict.fromkeys(("a/calibration", "b"), simulated())
    told = rollout_numbers(found)
    judge(
        "validate",
        {
            "run": "r",
            "tolerance": 0.1,
            "passed": True,
            "calibrations": [],
            "rollout": told,
            "files": [],
        },
    )
    assert list(told["simulated"]) == [WITHOUT, "a/calibration", "b"]
    console = Console(width=100, record=True, file=StringIO())
    console.print(rollout_table(found))
    text = console.export_text()
    for one in told["simulated"].values():
        assert f"{1e3 * one['joints']['hinge']:.2f}" in text
    assert ("delay" in text) == (simulated is by_gains)
    assert rollout_lines(found)[-1].startswith(
        "gains" if simulated is by_gains else "rollout   recorded torques"
    )
