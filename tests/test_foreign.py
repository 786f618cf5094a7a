"""An independent simulator drives an arm along our exported plan; a small benchmark `foreign`."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.foreign import fitted_case, read_set_points, write_log
from benchmarks.foreign_cases import CASES
from benchmarks.foreign_judge import judge, says_misfit
from benchmarks.foreign_physics import RATE, Gear, JointTruth, Log, drive
from stribeck.experiments.plans.constant_speed_options import ConstantSpeed

SMALL = ConstantSpeed(postures=2, speeds=4, longest_stroke=2.0)
BY_NAME = {case.name: case for case in CASES}
JOINTS = 3
STROKE, WINDOW = 1.0, slice(150, 380)  # s of a stroke, and rows at constant speed


def driven(arm, speed=0.3):
    """Drive the shoulder at constant speed after a ramp, other joints held; return log and
    commanded positions and speeds.
    """
    pytest.importorskip("pinocchio")
    t = np.arange(round(STROKE * 400.0) + 1) / 400.0
    dq = np.zeros((len(t), JOINTS))
    dq[:, 1] = speed * np.clip(t / 0.1, 0.0, 1.0)
    q = np.array([0.1, -0.2, 0.5]) + np.cumsum(dq, axis=0) / 400.0 - dq / 800.0
    return drive(arm, t, np.zeros(len(t), dtype=np.int64), q, dq, 0), q, dq


def inverse_dynamics(arm, log, dq):
    """Signed model torque along a log at constant speeds; `loads` has the magnitude only."""
    import pinocchio as pin

    model = arm.model()
    return np.array(
        [
            pin.rnea(model, model.createData(), *state, np.zeros(JOINTS))
            for state in zip(log.q, dq, strict=True)
        ]
    )


class TestPhysics:
    """Check of the simulator: at constant speed its torque is model torque plus true friction."""

    @pytest.mark.parametrize(
        "name",
        [
            "ideal law",
            "LuGre, 1 mrad",
            "viscous power 0.6",
            "gear elasticity, 20 Hz",
            "asymmetry 20 %",
        ],
    )
    @pytest.mark.parametrize("speed", [0.3, -0.3, 0.04])
    def test_torque_at_constant_speed_is_rigid_torque_and_true_friction(self, name, speed):
        arm = replace(BY_NAME[name].foreign_arm(), torque_noise=0.0, encoder_step=1e-9)
        log, q, dq = driven(arm, speed)
        friction = log.tau - inverse_dynamics(arm, log, dq)
        true = [
            np.sign(speed)
            * arm.truths["shoulder"].friction(abs(speed), load, np.sign(speed), place, 0.0)
            for load, place in zip(arm.loads(log.q, dq)[:, 1], log.q[:, 1], strict=True)
        ]
        np.testing.assert_allclose(friction[WINDOW, 1], true[WINDOW], rtol=0.01)
        np.testing.assert_allclose(log.q[WINDOW], q[WINDOW], atol=3e-3)

    def test_without_friction_the_logged_torque_is_the_model_torque(self):
        """Inertia of links and rotors, Coriolis forces and gravity, all joints swinging; by
        Pinocchio's inverse dynamics.
        """
        pin = pytest.importorskip("pinocchio")
        arm = BY_NAME["ideal law"].foreign_arm()
        arm = replace(
            arm,
            truths=dict.fromkeys(arm.truths, JointTruth(1e-9, 0.0)),
            torque_noise=0.0,
            encoder_step=1e-12,
        )
        t = np.arange(801) / 400.0
        swing = np.array([1.0, -0.7, 0.8])
        angle = 2.0 * np.pi * t[:, None] * [0.5, 0.5, 1.0]
        rate = np.pi * np.array([1.0, 1.0, 2.0])
        log = drive(
            arm,
            t,
            np.zeros(len(t), dtype=np.int64),
            swing * (1.0 - np.cos(angle)),
            swing * rate * np.sin(angle),
            0,
        )
        model = arm.model()
        model.armature = np.array(arm.armature)
        data, h = model.createData(), t[1]
        dq, ddq = (
            (log.q[2:] - log.q[:-2]) / (2.0 * h),
            (log.q[2:] - 2.0 * log.q[1:-1] + log.q[:-2]) / h**2,
        )
        needed = np.array(
            [
                pin.rnea(model, data, *state).copy()
                for state in zip(log.q[1:-1], dq, ddq, strict=True)
            ]
        )
        later = slice(200, None)  # the drive has caught up with a start at full acceleration
        np.testing.assert_allclose(
            log.tau[1:-1][later], needed[later], atol=0.02 * float(np.abs(needed).max())
        )
        assert (
            np.abs(
                needed - [pin.rnea(model, data, q, 0.0 * q, 0.0 * q).copy() for q in log.q[1:-1]]
            ).max()
            > 3.0
        )

    def test_joints_with_dry_friction_stay_at_rest(self):
        arm = replace(BY_NAME["ideal law"].foreign_arm(), torque_noise=0.0, encoder_step=1e-9)
        log, _, _ = driven(arm)
        assert np.ptp(log.q[WINDOW, 0]) < 1e-5
        assert np.ptp(log.q[WINDOW, 2]) < 1e-5

    @pytest.mark.slow
    def test_a_motor_turns_through_the_backlash_of_its_gear(self):
        """The encoder is on the motor: link and motor differ by half of the
        backlash, on the loaded side.
        """
        arm = replace(
            BY_NAME["ideal law"].foreign_arm(),
            gear=Gear(40.0, 3e-3),
            torque_noise=0.0,
            encoder_step=1e-9,
        )
        log, q, dq = driven(arm)
        carried = inverse_dynamics(arm, Log(log.t, q, log.tau), dq)[WINDOW, 1]
        assert np.abs(carried).min() > 1.0
        np.testing.assert_allclose(log.q[WINDOW, 1], q[WINDOW, 1], atol=3e-3)
        still = drive(
            arm,
            log.t,
            np.zeros(len(log.t), dtype=np.int64),
            np.tile(q[0], (len(q), 1)),
            0.0 * dq,
            0,
        )
        np.testing.assert_allclose(still.q[WINDOW, 1], q[0, 1], atol=2e-3)

    @pytest.mark.slow
    def test_a_wrong_torque_constant_scales_the_logged_torque(self):
        arm = replace(BY_NAME["ideal law"].foreign_arm(), torque_noise=0.0)
        (right, _, _), (wrong, _, _) = (
            driven(arm),
            driven(replace(arm, torque_scale={"shoulder": 1.07})),
        )
        np.testing.assert_allclose(wrong.tau[:, 1], 1.07 * right.tau[:, 1])
        np.testing.assert_allclose(wrong.tau[:, ::2], right.tau[:, ::2])


class TestTruth:
    def test_every_dependence_changes_friction(self):
        plain = JointTruth(2.0, 3.0)
        assert plain.friction(0.5, 9.0, 1.0, 0.0, 0.0) == pytest.approx(3.5)
        assert replace(plain, static=4.0).friction(1e-9, 0.0, 1.0, 0.0, 0.0) == pytest.approx(4.0)
        assert replace(plain, static=4.0, stribeck_exponent=1.0).friction(
            0.05, 0.0, 1.0, 0.0, 0.0
        ) == pytest.approx(2.0 + 2.0 * np.exp(-1.0) + 0.15)
        assert replace(plain, viscous_power=0.5).friction(
            0.25, 0.0, 1.0, 0.0, 0.0
        ) == pytest.approx(3.5)
        loaded = replace(plain, coulomb_coefficient=0.1, viscous_coefficient=0.2)
        assert loaded.friction(1.0, 5.0, 1.0, 0.0, 0.0) == pytest.approx(2.5 + 6.0)
        forward, backward = (
            replace(plain, asymmetry=0.2).friction(0.0, 0.0, turn, 0.0, 0.0) for turn in (1.0, -1.0)
        )
        assert (forward, backward) == pytest.approx((2.2, 1.8))
        assert replace(plain, warm_up=0.5, warm_up_time=10.0).friction(
            1.0, 0.0, 1.0, 0.0, 10.0
        ) == pytest.approx(5.0 * (1.0 + 0.5 * np.exp(-1.0)))


@pytest.mark.slow
class TestCampaigns:
    """Plan, export, drive with the independent simulator, import and fit; the truth of
    the case judges the result. The benchmark has the other causes.
    """

    @pytest.fixture(autouse=True)
    def _judge(self):
        pytest.importorskip("pinocchio")

    def test_only_the_ideal_truth_is_found_claimed_and_covered_by_bands(self, tmp_path):
        case = BY_NAME["ideal law"]
        arm = case.foreign_arm()
        fitted = fitted_case(case, arm, 1, tmp_path, SMALL)
        joints = judge(arm, *fitted)
        assert [joint.joint for joint in joints] == list(arm.truths)
        assert max(joint.error for joint in joints) < 0.01
        # bands cover single states, not all states simultaneously
        assert np.mean([joint.held for joint in joints]) >= 0.9
        assert [(joint.false, joint.missed) for joint in joints] == [((), ())] * JOINTS
        assert all(joint.identified for joint in joints)
        others = {
            "turn": {"static": 0.0},
            "shoulder": {"coulomb_coefficient": 0.0, "static_coefficient": 0.0},
            "elbow": {"static": 3.2},
        }
        changed = {
            name: replace(
                truth, coulomb=1.05 * truth.coulomb, viscous=1.05 * truth.viscous, **others[name]
            )
            for name, truth in arm.truths.items()
        }
        wrong = judge(replace(arm, truths=changed), *fitted)
        assert min(joint.error for joint in wrong) > 0.03
        assert max(joint.held for joint in wrong) < 0.5
        assert [(joint.false, joint.missed) for joint in wrong] == [
            (("drop",), ()),
            (("load",), ()),
            ((), ("drop",)),
        ]
        assert not any({"coulomb", "viscous"} & set(joint.covered) for joint in wrong)


def test_a_misfit_is_read_from_the_calibration_file(tmp_path: Path):
    file = tmp_path / "calibration.toml"
    file.write_text('[fit]\nlaw = "auto"\n', encoding="utf-8")
    assert says_misfit(file) == {}
    file.write_text(
        '[fit.lack_of_fit]\nj1 = "residuals in runs over speed"\nj2 = false\n', encoding="utf-8"
    )
    assert says_misfit(file) == {"j1": True, "j2": False}


def test_set_points_and_log_are_files_in_common_formats(tmp_path: Path):
    plan, log = tmp_path / "plan.csv", tmp_path / "log.csv"
    plan.write_text("t,segment,q.a,dq.a\n0,0,0.5,0\n0.01,1,0.6,2\n", encoding="utf-8")
    t, segment, q, dq = read_set_points(plan)
    assert (t.tolist(), segment.tolist(), q.tolist(), dq.tolist()) == (
        [0.0, 0.01],
        [0, 1],
        [[0.5], [0.6]],
        [[0.0], [2.0]],
    )
    write_log(Log(t, q, 3.0 * q), log, ["a"])
    assert log.read_text(encoding="utf-8").splitlines()[:2] == [
        "time_ms;q_a;tau_a",
        "0;28.6478898;1.5",
    ]


def test_physics_runs_at_two_kilohertz_or_more():
    assert RATE >= 2000.0
