"""Gravity end to end: an unknown payload, a wrong torque constant, several runs; the
simulated arm is the truth.
"""

import json
import re
import shutil
import tomllib
from dataclasses import replace

import numpy as np
import pytest
import tomlkit

from stribeck.drivers.simulation.simulated_arm import SimulatedArm
from stribeck.experiments.fit_runs import fit_runs, load_fitted
from stribeck.experiments.methods.one_joint_at_a_time import plan_constant_speed
from stribeck.experiments.methods.whole_arm import plan_whole_arm
from stribeck.experiments.plans.constant_speed_options import ConstantSpeed
from stribeck.experiments.recording.drive_plan import drive_plan
from stribeck.experiments.report import words
from stribeck.ident.arm.arm_file import load_arm
from stribeck.ident.arm.arm_tables import Tool
from stribeck.ident.arm.built_in import data_dir
from stribeck.ident.calibration.calibration import Calibration
from stribeck.ident.calibration.feedforward import Feedforward
from stribeck.ident.errors import InputError
from stribeck.ident.export.formats import export
from stribeck.ident.fit.joint.options import Options
from stribeck.ident.identify import identify
from stribeck.ident.log.run import arm_sha256
from stribeck.ident.model.loads import joint_loads
from tests.places import TEST_ARMS
from tests.recorded import Few
from tests.without_figures import without_figures

PAYLOAD = {"mass": 1.5, "com": [0.03, -0.02, 0.08]}
ARMS = TEST_ARMS
EFFICIENCY = 0.7
QUICK = {"gear_ratio": 400.0, "rotor_inertia": 2.5e-6}  # short strokes are sufficient
JOINTS = ("j2", "j3", "j5")
KNOWN = Options(law="stribeck")  # of the truth
CORRECTED = replace(KNOWN, torque_basis="gravity-corrected")
PLAIN = Options(law="coulomb-viscous", load="none")


@pytest.fixture
def brief():
    """Campaigns of one posture."""
    with Few(postures=1, speeds=5).used():
        yield


@pytest.fixture(scope="module")
def campaign(tmp_path_factory):
    """A short run of lab6 with a payload, the model's masses, and an error of 5 % in
    the torque constant of j3.
    """
    folder = tmp_path_factory.mktemp("lab6")
    shutil.copy(data_dir() / "arms" / "lab6" / "lab6.urdf", folder)
    table = tomllib.loads((data_dir() / "arms" / "lab6" / "lab6.toml").read_text(encoding="utf-8"))
    table["simulation"] |= {"payload": PAYLOAD, "mass_error": 0.0}
    table["driver"]["rate"] = 100.0
    (folder / "lab6.toml").write_text(tomlkit.dumps(table), encoding="utf-8")
    arm = load_arm(folder / "lab6.toml")
    drive_plan(arm, plan_whole_arm(arm, JOINTS, 4, ConstantSpeed(postures=4, speeds=4)), folder, 4)
    return folder


@pytest.fixture(scope="module")
def fitted(campaign, tmp_path_factory):
    with without_figures():
        return fit_runs(load_fitted([campaign]), tmp_path_factory.mktemp("drive"), KNOWN)


@pytest.fixture(scope="module")
def corrected(campaign, tmp_path_factory):
    with without_figures():
        return fit_runs(load_fitted([campaign]), tmp_path_factory.mktemp("corrected"), CORRECTED)


@pytest.fixture(scope="module")
def lossy(tmp_path_factory):
    """A run of the boom of `pair` with a gear that loses 30 %."""
    folder = tmp_path_factory.mktemp("lossy")
    shutil.copy(ARMS / "pair.urdf", folder)
    table = tomllib.loads((ARMS / "pair.toml").read_text(encoding="utf-8"))
    table["driver"]["rate"] = 100.0
    table["joints"]["lift"] |= QUICK
    table["simulation"] |= {"stroke_scatter": 0.005, "torque_noise": 0.02}
    table["simulation"]["joints"]["lift"] = {
        "coulomb": 0.5,
        "viscous": 0.4,
        "efficiency": EFFICIENCY,
    }
    (folder / "pair.toml").write_text(tomlkit.dumps(table), encoding="utf-8")
    arm = load_arm(folder / "pair.toml")
    drive_plan(
        arm, plan_constant_speed(arm, ("lift",), 1, ConstantSpeed(postures=3, speeds=4)), folder, 1
    )
    return folder


class TestPayload:
    @pytest.mark.slow
    def test_the_payload_is_found_and_its_intervals_contain_the_truth(self, fitted):
        unknown = fitted.calibration.model.unknown_tool
        assert unknown.status == "used"
        for name, truth in zip(
            ("mass", "moment_x", "moment_y", "moment_z"), (1.5, 0.045, -0.03, 0.12), strict=True
        ):
            assert unknown.parameters[name].low <= truth <= unknown.parameters[name].high, name
        assert unknown.parameters["mass"].verdict == "identified"

    @pytest.mark.slow
    def test_loads_and_friction_include_the_payload(self, campaign, fitted):
        """The coefficient of j2 belongs to the true load; its friction in a new
        posture equals the truth.
        """
        coefficient = fitted.calibration.joints["j2"].parameters["coulomb_coefficient"]
        assert coefficient.low <= 0.085 <= coefficient.high
        arm = SimulatedArm(load_arm(campaign / "lab6.toml"))
        q, dq = np.array([[0.3, 1.1, 0.2, 0.4, -0.5, 0.1]]), np.full((1, 6), 0.3)
        heavy = replace(fitted.calibration.mechanism, bearings=(None,) * 6)
        assert joint_loads(heavy, q).torque[0, 1] == pytest.approx(arm.loads(q)[0, 1], rel=0.01)
        assert fitted.calibration.friction(q, dq)[0, 1] == pytest.approx(
            arm.friction(q, dq)[0, 1], rel=0.03
        )

    @pytest.mark.slow
    def test_intervals_of_scales_contain_the_torque_constants(self, fitted):
        for joint, truth in (("j2", 1.0), ("j3", 0.95), ("j5", 1.0)):
            scale = fitted.calibration.joints[joint].gravity["scale"]
            assert scale.low <= truth <= scale.high, joint

    @pytest.mark.slow
    def test_an_export_reports_the_missing_payload(self, fitted):
        assert any(
            re.search(r"without the unknown tool of 1\.\d+ kg", loss) for loss in fitted.losses
        )

    @pytest.mark.slow
    def test_the_payload_is_reported(self, fitted):
        said = words.gravity_sentence(fitted.calibration)
        found = re.search(
            r"An unknown tool on the last link explains the measured gravity torque: 1\.\d+ ± "
            r"0\.\d+ kg "
            r"at \((0\.\d+), ",
            said,
        )
        assert found
        assert float(found[1]) == pytest.approx(PAYLOAD["com"][0], rel=0.1)
        assert "Unknown tool" in (fitted.calibration.folder / "report.html").read_text(
            encoding="utf-8"
        )

    @pytest.mark.slow
    def test_a_tool_in_the_arm_file_is_not_unknown(self, campaign, tmp_path):
        shutil.copytree(campaign / "runs", tmp_path / "known" / "runs")
        (run,) = (tmp_path / "known" / "runs").iterdir()
        table = tomllib.loads((run / "arm" / "lab6.toml").read_text(encoding="utf-8"))
        (run / "arm" / "lab6.toml").write_text(
            tomlkit.dumps(table | {"tool": PAYLOAD}), encoding="utf-8"
        )
        record_ = json.loads((run / "run.json").read_text(encoding="utf-8"))
        record_["arm_sha256"] = arm_sha256(
            load_arm(run / "arm" / "lab6.toml", model_dir=run / "arm")
        )
        (run / "run.json").write_text(json.dumps(record_), encoding="utf-8")
        runs = load_fitted([tmp_path / "known"])
        model = identify(runs, PLAIN).calibration.model
        assert model.tool == Tool(1.5, (0.03, -0.02, 0.08))
        assert model.unknown_tool.status == "none"

    @pytest.mark.parametrize(
        ("old", "new", "word"),
        [
            ('status = "used"', 'status = "stolen"', "model.unknown_tool.status"),
            ("mass = {value = 1.", "mass = {value = -1.", "is outside its interval"),
            ("moment_x = ", "moment_w = ", "moment_w"),
        ],
    )
    @pytest.mark.slow
    def test_a_calibration_with_an_impossible_tool_is_refused(
        self, fitted, tmp_path, old, new, word
    ):
        text = (fitted.calibration.folder / "calibration.toml").read_text(encoding="utf-8")
        assert old in text
        (tmp_path / "calibration.toml").write_text(text.replace(old, new), encoding="utf-8")
        with pytest.raises(InputError, match=word):
            Calibration.load(tmp_path)


class TestTorqueBasis:
    @pytest.mark.slow
    def test_torque_is_divided_by_the_scale(self, fitted, corrected):
        """Friction of j3 is in true N·m, although its drive reports 5 % too little."""
        drive, true = (delivery.calibration.joints["j3"] for delivery in (fitted, corrected))
        assert corrected.calibration.torque_basis == "gravity-corrected"
        assert drive.torque_scale is None
        assert true.torque_scale == pytest.approx(drive.gravity["scale"].value, rel=1e-5)
        for name in ("coulomb", "static", "viscous"):
            assert true.values[name] == pytest.approx(
                drive.values[name] / true.torque_scale, rel=1e-3
            )
        assert true.values["stribeck_velocity"] == pytest.approx(
            drive.values["stribeck_velocity"], rel=1e-3
        )
        assert true.parameters["viscous"].low <= 6.5 <= true.parameters["viscous"].high

    @pytest.mark.slow
    def test_intervals_include_the_uncertainty_of_the_scale(self, fitted, corrected):
        drive, true = (delivery.calibration.joints["j3"] for delivery in (fitted, corrected))
        for name in ("coulomb", "static"):
            part = [
                joint.parameters[name].half_width / joint.values[name] for joint in (drive, true)
            ]
            scale = true.gravity["scale"].half_width / true.gravity["scale"].value
            assert part[1] == pytest.approx(np.hypot(part[0], scale), rel=0.02)
        middle = 0.0 if drive.load == "none" else np.mean(drive.load_range)
        w, load = np.full(1, 0.01), np.full(1, middle)
        part = [joint.band(w, load) / joint.torque(w, load) for joint in (drive, true)]
        assert part[1][0] > part[0][0]

    @pytest.mark.slow
    def test_file_and_report_state_the_torque_basis(self, corrected):
        table = tomllib.loads(
            (corrected.calibration.folder / "calibration.toml").read_text(encoding="utf-8")
        )
        assert table["torque_basis"] == "gravity-corrected"
        assert (
            table["joints"]["j3"]["torque_scale"] == corrected.calibration.joints["j3"].torque_scale
        )
        assert "scaled to the model" in (corrected.calibration.folder / "report.html").read_text(
            encoding="utf-8"
        )

    @pytest.mark.usefixtures("brief", "no_figures")
    @pytest.mark.slow
    def test_a_joint_without_a_scale_keeps_the_drives_torque_and_is_reported(
        self, cli, make_arm, tmp_path
    ):
        arm = make_arm({"joints": {"turn": QUICK}, "driver": {"rate": 100.0}}).path
        outcome = cli(
            "calibrate",
            arm,
            "--joints",
            "turn",
            "--torque-basis",
            "gravity-corrected",
            "--law",
            "coulomb-viscous",
            "-o",
            tmp_path / "out",
        )
        assert outcome.code == 0
        assert "turn: the torque is not corrected by gravity" in " ".join(outcome.out.split())
        assert Calibration.load(tmp_path / "out").joints["turn"].torque_scale is None

    @pytest.mark.parametrize(
        ("options", "said"),
        [
            (["--torque-basis", "motor"], "unknown torque basis 'motor'"),
            (["--torque-basis", "gravity-corrected", "--motion", "joint"], "round trips"),
        ],
    )
    @pytest.mark.slow
    def test_an_impossible_torque_basis_is_refused(self, cli, campaign, tmp_path, options, said):
        outcome = cli("fit", campaign, *options, "-o", tmp_path / "out")
        assert outcome.code == 2
        assert said in outcome.err
        assert not (tmp_path / "out").exists()


class TestRepeats:
    @pytest.mark.usefixtures("brief", "no_figures")
    @pytest.mark.slow
    def test_run_to_run_scatter_is_shown_beside_the_interval(self, cli, make_arm, tmp_path):
        arm = make_arm(
            {
                "driver": {"rate": 100.0},
                "joints": {"lift": QUICK},
                "simulation": {"stroke_scatter": 0.01, "torque_noise": 0.05},
            }
        )
        outcome = cli(
            "calibrate",
            arm.path,
            "--joints",
            "lift",
            "--repeats",
            "2",
            "--law",
            "coulomb-viscous",
            "-o",
            tmp_path / "out",
            "--json",
        )
        assert outcome.code == 0, outcome.err
        assert len(list((tmp_path / "out" / "runs").iterdir())) == 2
        parameters = json.loads(outcome.out)["calibration"]["joints"]["lift"]["parameters"]
        alone = []
        for run in sorted((tmp_path / "out" / "runs").iterdir()):
            alone.append(identify(load_fitted([run]), PLAIN).calibration)
        for name in ("coulomb", "viscous"):
            one, two = (calibration.joints["lift"].values[name] for calibration in alone)
            assert parameters[name]["repeat_deviation"] == pytest.approx(
                abs(one - two) / np.sqrt(2.0), rel=0.02
            )
            assert all(
                calibration.joints["lift"].parameters[name].repeat_deviation is None
                for calibration in alone
            )
        assert re.search(
            r"repeats +Estimates of 2 single runs scatter with a standard deviation of at most",
            outcome.err,
        )

    @pytest.mark.parametrize(
        ("deviation", "said"),
        [
            (0.5, "no more than their intervals predict"),
            (10.0, "more than their intervals predict: viscous of j2"),
        ],
    )
    @pytest.mark.slow
    def test_parameters_with_more_scatter_than_predicted_are_named(self, fitted, deviation, said):
        """Expected scatter of two runs is sqrt(2) times the standard error of the joint fit."""
        joint = fitted.calibration.joints["j2"]
        viscous = joint.parameters["viscous"]
        apart = replace(viscous, repeat_deviation=deviation * viscous.std_error)
        two = replace(
            fitted.calibration,
            runs=fitted.calibration.runs * 2,
            joints={"j2": replace(joint, parameters={**joint.parameters, "viscous": apart})},
        )
        assert said in words.repeat_sentence(two)
        assert words.repeat_sentence(fitted.calibration) == ""

    def test_zero_repeats_are_refused(self, cli, make_arm):
        outcome = cli("calibrate", make_arm().path, "--repeats", "0")
        assert outcome.code == 2
        assert "repeats" in outcome.err


class TestDirections:
    MEAN, HALF = (1.0 / EFFICIENCY - EFFICIENCY) / 2.0, (1.0 / EFFICIENCY + EFFICIENCY) / 2.0 - 1.0

    @pytest.mark.slow
    def test_driving_and_back_driving_are_separated_if_the_torque_is_right(self, lossy):
        calibration = identify(
            load_fitted([lossy]),
            Options(law="coulomb-viscous", load="torque", directional="driving"),
        ).calibration
        joint = calibration.joints["lift"]
        mean, half = joint.parameters["coulomb_coefficient"], joint.gravity["driving_difference"]
        assert joint.directional == "driving"
        assert mean.low <= self.MEAN <= mean.high
        assert half.low <= self.HALF <= half.high
        assert half.verdict == "identified"
        q, way = np.array([[0.0, 0.4], [0.0, 0.4]]), np.array([[0.0, 0.3], [0.0, -0.3]])
        truth = SimulatedArm(load_arm(lossy / "pair.toml")).friction(q, way)[:, 1]
        np.testing.assert_allclose(calibration.friction(q, way)[:, 1], truth, rtol=0.02)
        # friction differs between the directions
        assert abs(truth[0] + truth[1]) > 0.5
        feedforward = Feedforward(calibration.mechanism, calibration)
        for state in zip(q, way, strict=True):
            np.testing.assert_allclose(
                feedforward(*state),
                calibration.friction(*(part[None] for part in state))[0],
                rtol=1e-9,
            )
        assert any(
            "difference between the directions (lift)" in loss
            for loss in export(calibration, "urdf").losses
        )

    @pytest.mark.slow
    def test_without_the_option_direction_dependence_is_a_note_only(self, lossy):
        """A wrong torque constant would have the same effect."""
        joint = identify(
            load_fitted([lossy]), Options(law="coulomb-viscous", load="torque")
        ).calibration.joints["lift"]
        assert joint.directional == "none"
        assert joint.gravity["scale"].low <= 1.0 + self.HALF <= joint.gravity["scale"].high
        said = r"friction per load is ([\d.]+) when driving and ([\d.]+) when back-driven"
        numbers = re.search(said, joint.gravity["scale"].note)
        assert float(numbers[1]) == pytest.approx(1.0 / EFFICIENCY - 1.0, rel=0.05)
        assert float(numbers[2]) == pytest.approx(1.0 - EFFICIENCY, rel=0.05)

    @pytest.mark.slow
    def test_directional_friction_excludes_a_corrected_torque_basis(self, cli, lossy, tmp_path):
        outcome = cli(
            "fit",
            lossy,
            "--directional",
            "driving",
            "--torque-basis",
            "gravity-corrected",
            "-o",
            tmp_path / "out",
        )
        assert outcome.code == 2
        assert "choose one" in outcome.err
        assert cli("fit", lossy, "--directional", "sideways", "-o", tmp_path / "out").code == 2
