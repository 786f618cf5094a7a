"""Friction of motors that move several joints, separated from friction of these
joints; Pinocchio moves the arm.
"""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from benchmarks.inertia_logs import WrongModel
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.calibration.calibration import Calibration
from stribeck.ident.fit.inertia.coupled_motors import CoupledMotor, CoupledMotors
from stribeck.ident.fit.inertia.fit_inertia import fit_inertia
from stribeck.ident.fit.inertia.odd_parts import OddParts, fit_motor_friction
from stribeck.ident.fit.joint.options import Options
from stribeck.ident.fit.points import Growth
from stribeck.ident.identify import Identification, identify
from stribeck.ident.laws.law_table import law_named
from stribeck.ident.log.motion.filtered_motion import filtered
from stribeck.ident.log.run import Run
from stribeck.ident.model.transmission import Transmission

pytestmark = pytest.mark.slow  # whole fits

WRIST = {"j6": {"j5": 1.0}}
COULOMB, VISCOUS, INERTIA = 0.8, 0.5, 0.02
RIGHT = WrongModel("lab6", 3, part=0.0)
SECONDS = 18.0


def coupled(run: Run, pairs=WRIST) -> Run:
    return replace(run, arm=replace(run.arm, transmission=pairs))


@pytest.fixture(scope="module")
def log() -> Run:
    """General motion of lab6 with motor 6 mounted behind axis 5."""
    pytest.importorskip("pinocchio", reason="Pinocchio (the package pin) moves the arm")
    run = RIGHT.recorded(SECONDS)
    dq = np.gradient(run.signals["q"], run.t, axis=0)
    rate = dq[:, 4] + dq[:, 5]
    more = COULOMB * np.sign(rate) + VISCOUS * rate + INERTIA * np.gradient(rate, run.t)
    tau = run.signals["tau"].copy()
    tau[:, 4:] += more[:, None]
    return replace(run, signals={**run.signals, "tau": tau})


@pytest.fixture(scope="module")
def found(log: Run) -> Identification:
    return identify(
        [coupled(log)],
        Options(motion="model", law="coulomb-viscous", load="torque", inertia="trust"),
    )


def test_general_motion_separates_motor_and_joint_friction(found: Identification) -> None:
    motor = found.calibration.motors.motors["j6"]
    for name, value in (("coulomb", COULOMB), ("viscous", VISCOUS), ("inertia", INERTIA)):
        one = motor.parameters[name]
        assert one.low <= value <= one.high
        assert one.verdict == "identified"
    for name, coulomb in zip(("j5", "j6"), RIGHT.coulomb[4:], strict=True):
        own = found.calibration.joints[name].parameters["coulomb"]
        assert own.value == pytest.approx(coulomb, rel=0.05)
        assert own.low <= coulomb <= own.high


def test_motor_friction_is_tested_by_instruments(log: Run) -> None:
    run = coupled(
        replace(log, signals={**log.signals, "q_cmd": RIGHT.motion(RIGHT.seed, SECONDS)[1]})
    )
    mechanism = load_mechanism(run.arm)
    fit, _ = fit_inertia(
        filtered([run], [mechanism]),
        mechanism,
        mechanism.names,
        False,
        "coulomb-viscous",
        Growth("torque"),
    )
    assert fit.loop.verdict == "clean"
    assert fit.loop.asked == (
        "motor of j6: coulomb",
        "motor of j6: viscous",
        "motor of j6: inertia",
    )
    for name, value in (("coulomb", COULOMB), ("viscous", VISCOUS), ("inertia", INERTIA)):
        assert fit.loop.contrasts[f"motor of j6: {name}"].instruments == pytest.approx(
            value, rel=0.1
        )


def test_wrong_torque_scale_of_a_joint_widens_the_motors_interval(log: Run) -> None:
    tau = log.signals["tau"].copy()
    tau[:, 4] *= 0.85
    run = coupled(replace(log, signals={**log.signals, "tau": tau}))
    made = identify(
        [run], Options(motion="model", law="coulomb-viscous", load="torque", inertia="trust")
    ).calibration
    motor = made.motors.motors["j6"].parameters
    for name, value in (("coulomb", COULOMB), ("viscous", VISCOUS)):
        assert motor[name].low <= value <= motor[name].high
        assert motor[name].verdict == "weak"
        assert "(j5: 0.8" in motor[name].note


def test_without_transmission_the_wrist_has_large_residuals(
    log: Run, found: Identification
) -> None:
    plain = identify(
        [log], Options(motion="model", law="coulomb-viscous", load="torque", inertia="trust")
    ).calibration
    assert all(
        plain.joints[name].held_out_rmse > 3.0 * found.calibration.joints[name].held_out_rmse
        for name in ("j5", "j6")
    )


def test_friction_of_a_motor_of_three_joints_is_not_separated(log: Run) -> None:
    few = slice(0, 1500)
    signals = {name: values[few] for name, values in log.signals.items()}
    short = replace(log, t=log.t[few], segment=log.segment[few], signals=signals)
    run = coupled(short, {"j6": {"j5": 1.0, "j4": 0.5}})
    made = identify([run], Options(motion="model", law="coulomb-viscous", inertia="trust"))
    assert not made.calibration.motors.motors
    assert made.calibration.model.transmission == {"j6": {"j4": 0.5, "j5": 1.0, "j6": 1.0}}
    (text,) = [finding.text for finding in made.findings if finding.kind == "shared motor"]
    assert "the motor of j6 moves j4 and j5 and j6" in text


def test_calibration_file_keeps_motor_friction(found: Identification, tmp_path) -> None:
    made = replace(found.calibration, folder=RIGHT.path.parent)
    made.save(tmp_path / "calibration.toml")
    read = replace(Calibration.load(tmp_path / "calibration.toml"), folder=RIGHT.path.parent)
    assert read.model.transmission == made.model.transmission
    q, dq = np.random.default_rng(0).normal(size=(2, 20, 6))
    np.testing.assert_allclose(read.friction(q, dq), made.friction(q, dq), rtol=1e-5, atol=1e-5)
    alone = replace(made, motors=type(made.motors)({})).friction(q, dq)
    rate = dq[:, 4] + dq[:, 5]
    values = made.motors.motors["j6"].values
    np.testing.assert_allclose(
        made.friction(q, dq) - alone,
        np.multiply.outer(
            values["coulomb"] * np.sign(rate) + values["viscous"] * rate, [0, 0, 0, 0, 1, 1]
        ),
        atol=1e-12,
    )


def odd_parts(signs: float, scatter: float = 0.005) -> OddParts:
    """Round trips at 14 speeds, the second joint at half speed; `signs`: share of
    trips in opposite directions.
    """
    rng, speeds = np.random.default_rng(1), np.geomspace(0.01, 1.5, 14)
    truth = {
        "j5": {"coulomb": 1.6, "static": 2.4, "w_s": 0.08, "viscous": 1.7},
        "j6": {"coulomb": 1.1, "static": 1.7, "w_s": 0.09, "viscous": 1.2},
        "motor": {"coulomb": 1.5, "static": 2.0, "w_s": 0.05, "viscous": 0.8},
    }

    def law(w, coulomb, static, w_s, viscous):
        return (coulomb + (static - coulomb) * np.exp(-((w / w_s) ** 2))) * np.sign(w) + viscous * w

    rows, rates = [], []
    for trip, (speed, way) in enumerate((speed, way) for way in (0.5, 0.55) for speed in speeds):
        dq = np.array(
            [0.0, 0.0, 0.0, 0.0, speed, way * speed * (-1.0 if rng.random() < signs else 1.0)]
        )
        level = 1.0 + scatter * rng.standard_normal(2)
        for j, name in ((4, "j5"), (5, "j6")):
            own = np.sign(dq[j]) * dq
            odd = level[j - 4] * law(abs(dq[j]), **truth[name]) + law(
                own[4] + own[5], **truth["motor"]
            )
            rows.append(
                {
                    "joint": name,
                    "segment": trip,
                    "speed": abs(dq[j]),
                    "odd": odd + 0.003 * rng.standard_normal(),
                    "std": 0.02,
                    "t": 10.0 * trip,
                    "run": "r",
                    "normal": np.nan,
                    **dict.fromkeys(("torque", "bending", "radial", "axial"), 1.0),
                }
            )
            rates.append(own)
    mechanism = replace(RIGHT.model, transmission=Transmission.of_pairs(RIGHT.model.names, WRIST))
    return OddParts.of(
        pd.DataFrame(rows), np.zeros((len(rows), mechanism.n)), np.array(rates), mechanism
    )


def test_round_trips_separate_a_stribeck_motor_from_its_joints() -> None:
    fit = fit_motor_friction(odd_parts(0.5))
    assert fit is not None
    motor = fit.motors.motors["j6"]
    assert motor.law == "stribeck"
    for name, value in (
        ("coulomb", 1.5),
        ("static", 2.0),
        ("viscous", 0.8),
        ("stribeck_velocity", 0.05),
    ):
        assert motor.parameters[name].value == pytest.approx(value, rel=0.1)
        assert abs(motor.parameters[name].value - value) < 2.5 * motor.parameters[name].std_error
    assert motor.parameters["inertia"].value is None


def test_joints_that_move_in_step_do_not_separate_motor_friction() -> None:
    assert fit_motor_friction(odd_parts(0.0)) is None


def test_law_without_visible_effect_is_replaced_by_the_simplest() -> None:
    """Otherwise unknown parameters count as known: a differential determines
    viscous friction only in sums.
    """
    coupled_ = Transmission.of_pairs(("a", "b"), {"b": {"a": 1.0}})
    bent, flat, rising = (
        CoupledMotor(
            1, law_named(law), dict.fromkeys(law_named(law).parameters(False), 0.5), (1.0, 1.0, 1.0)
        )
        for law in ("power", "power", "stribeck")
    )
    motors = CoupledMotors(coupled_, (bent, flat, rising), ((0.01, 1.0),) * 3, ((0.02, 0.5),) * 3)
    # of the last, static below Coulomb
    y = np.array([0.5, 0.5, 0.0, 0.0, 0.5, 0.0, 0.0, 0.0, 1.0, 0.0, 0.1, 0.0, 0.0])
    assert motors.plain(y).laws == ["power", "coulomb-viscous", "coulomb-viscous"]
