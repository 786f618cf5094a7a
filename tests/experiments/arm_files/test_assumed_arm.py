"""``stribeck calibrate my.urdf`` simulates an arm, prints every assumption,
and never moves hardware.
"""

import re
import shutil
import tomllib
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import numpy as np
import pytest

from benchmarks.arms import judge
from stribeck.drivers.connect import DRIVERS, connect
from stribeck.drivers.simulation.simulated_arm import SimulatedArm
from stribeck.experiments.arm_files.assumed_arm import assumed_arm, completed_arm
from stribeck.experiments.methods.registry import METHODS
from stribeck.ident.arm.arm_file import load_arm
from stribeck.ident.arm.built_in import data_dir
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.calibration.calibration import Calibration
from stribeck.ident.errors import InputError
from stribeck.ident.log.campaign_folder import find_runs
from stribeck.ident.log.run import load_run
from stribeck.ident.model.files.drive_ratings import rated_torques
from tests.looped_urdf import LOOPS, machine
from tests.model_texts import two_links, written
from tests.recorded import Few

LAB6 = data_dir() / "arms" / "lab6" / "lab6.urdf"
MJCF = """<mujoco model="two"><compiler angle="radian"/><worldbody>
  <body><joint name="turn" axis="0 1 0"/><geom size="0.1" pos="0.1 0 0"/>
    <body pos="0 0 0.5"><joint name="slide" type="slide" range="0.1 0.9" actuatorfrcrange="-90 90"/>
      <geom size="0.1"/></body></body>
</worldbody></mujoco>"""
KNOWN = ("--law", "stribeck", "--load", "none")  # of the truth
PUBLIC = (
    "ur_description/urdf/ur5_robot.urdf",
    "kinova_description/robots/kinova.urdf",
)


@pytest.fixture
def brief(monkeypatch):
    """Campaigns of one posture with short strokes."""
    for method, (plan, options) in METHODS.items():
        short = replace(options, longest_stroke=4.0, window_time=0.2)
        monkeypatch.setitem(METHODS, method, (plan, short))
    with Few(postures=1, speeds=5).used():
        yield


@pytest.fixture
def model(tmp_path):
    """A bare URDF with a blank in its name."""
    return Path(shutil.copy(LAB6, tmp_path / "my robot.urdf"))


@pytest.mark.usefixtures("brief")
@pytest.mark.slow
def test_a_bare_urdf_is_calibrated_and_every_assumption_is_printed(cli, model):
    outcome = cli("calibrate", model, "--joints", "j6", *KNOWN)
    assert outcome.code == 0, outcome.err
    said = " ".join(re.sub(r"\nassumed ", " ", outcome.out).split())
    before, after = said.split("held-out")
    out = Path("calibration-my_robot")
    arm = load_arm(out / "arm" / "my_robot.toml")
    for sentence in arm.assumed:
        assert " ".join(sentence.split()) in before
    assert f"not of your arm; the assumptions are in {out}/arm/my_robot.toml" in after
    calibration = Calibration.load(out)
    assert calibration.fit["assumed"] == list(arm.assumed)
    report = (out / "report.html").read_text(encoding="utf-8")
    assert all(sentence.split(":")[0] in report for sentence in arm.assumed)
    truth = tomllib.loads(arm.path.read_text(encoding="utf-8"))["simulation"]["joints"]
    assert calibration.joints["j6"].values["coulomb"] == pytest.approx(
        truth["j6"]["coulomb"], rel=0.05
    )
    assert load_run(find_runs(out)[0]).arm.assumed == arm.assumed, "the run stores the assumptions"
    assert [path.name for path in model.parent.iterdir() if path.name != "here"] == [
        "my robot.urdf"
    ]
    for path in out.iterdir():
        if path.name not in ("runs", "arm", "plan.toml"):
            path.unlink()
    again = cli("calibrate", model, "--resume")
    assert again.code == 0, again.err
    assert "all round trips are recorded already; nothing moves" in again.out


def test_assumptions_of_a_bare_mjcf_have_the_units_of_its_joints(tmp_path):
    (tmp_path / "two.xml").write_text(MJCF, encoding="utf-8")
    said = " ".join(assumed_arm(tmp_path / "two.xml", tmp_path / "out").assumed)
    for words in (
        "position from -3.142 to 3.142 rad: turn, because the model states none",
        "velocity 1 rad/s: turn",
        "velocity 0.25 m/s: slide",
        "N·m: turn, because the model states none",
        "slide at 0.5 m: zero is too close",
        "full speed in 0.5 s",
        "Coulomb",
        "gear: unknown",
    ):
        assert words in said
    assert " N: slide" not in said, "the model states it"


@pytest.mark.parametrize("robot", PUBLIC)
@pytest.mark.slow
def test_public_arms_have_a_plan(cli, tmp_path, robot):
    try:
        robots = Path(
            str(
                distribution("example-robot-data").locate_file(
                    "cmeel.prefix/share/example-robot-data/robots"
                )
            )
        )
    except PackageNotFoundError:
        pytest.skip("the package example-robot-data has the URDFs")
    arm = assumed_arm(Path(shutil.copy(robots / robot, tmp_path)), tmp_path / "out")
    assert arm.limits(load_mechanism(arm)).missing(load_mechanism(arm).names) == []
    outcome = cli("plan", arm.path)
    assert outcome.code == 0, outcome.err


class TestMissingLimits:
    """An unchanged arm file of `init`: in simulation, missing limits are assumed, and
    the assumptions are printed.
    """

    @pytest.fixture
    def file(self, cli, tmp_path):
        (tmp_path / "two.xml").write_text(MJCF, encoding="utf-8")
        assert cli("init", tmp_path / "two.xml").code == 0
        return tmp_path / "two.toml"

    @pytest.mark.usefixtures("brief", "no_figures")
    @pytest.mark.slow
    def test_an_unchanged_arm_file_of_init_is_calibrated(self, cli, file):
        before = file.read_bytes()
        outcome = cli("calibrate", file, *KNOWN, "--out", "out")
        assert outcome.code == 0, outcome.err
        assert file.read_bytes() == before
        said, arm = " ".join(outcome.out.split()), load_arm(Path("out/arm/two.toml"))
        for sentence in arm.assumed:
            assert sentence in said
        assert any(
            sentence.startswith("velocity 1 rad/s: turn, because two.toml states none")
            for sentence in arm.assumed
        )
        assert not any("N: slide" in sentence for sentence in arm.assumed), "the model states it"
        assert load_run(find_runs(Path("out"))[0]).arm.assumed == arm.assumed
        assert Calibration.load(Path("out")).fit["assumed"] == list(arm.assumed)
        error = judge(Path("out"))["error"]
        assert set(error) == {"turn", "slide"}
        assert max(error.values()) < 0.05

    def test_stated_limits_are_kept(self, file, tmp_path):
        text = (
            file.read_text(encoding="utf-8")
            .replace("# velocity =  ", "velocity = 0.3", 1)
            .replace("# acceleration =  ", "acceleration = 1.7", 1)
        )
        file.write_text(text, encoding="utf-8")
        given = load_arm(file)
        mechanism = load_mechanism(given)
        stated, limits = (
            given.limits(mechanism),
            completed_arm(given, tmp_path / "out").limits(mechanism),
        )
        for key in ("position", "velocity", "acceleration", "torque"):
            known = np.isfinite(getattr(stated, key))
            assert (getattr(limits, key)[known] == getattr(stated, key)[known]).all()
            assert np.isfinite(getattr(limits, key)).all()
        assert (np.isfinite(stated.velocity).sum(), np.isfinite(stated.acceleration).sum()) == (
            1,
            1,
        )

    @pytest.mark.parametrize("chain", [False, True])
    @pytest.mark.slow
    def test_what_the_model_states_of_drives_counts_where_the_file_is_silent(self, chain, tmp_path):
        """Effort and velocity of a URDF, of a serial arm and of driven joints in loops alike;
        what the file states stays.
        """
        if chain:
            path = machine(tmp_path, LOOPS["pin"], tables="[joints.drive]\nvelocity = 1.0\n")
        else:
            written(tmp_path, two_links(), "two.urdf")
            text = (
                'schema = 1\nname = "two"\nmodel = "two.urdf"\n[joints.shoulder]\nvelocity = 0.5\n'
            )
            path = written(tmp_path, text, "two.toml")
        given = load_arm(path)
        arm, mechanism = completed_arm(given, tmp_path / "out"), load_mechanism(given)
        limits, rated = arm.limits(mechanism), rated_torques(given.model, mechanism.names)
        assert limits.torque.tolist() == [rated[name] for name in mechanism.names]
        assert limits.velocity[0] == given.joint(mechanism.names[0]).velocity
        assert f"torque of {', '.join(mechanism.names)}: the model's" in arm.assumed
        assert not any(said.startswith("torque") and "states none" in said for said in arm.assumed)

    def test_one_that_lacks_nothing_is_left_alone(self, tmp_path):
        arm = load_arm("lab6")
        assert completed_arm(arm, tmp_path / "out") is arm
        assert not (tmp_path / "out").exists()

    @pytest.mark.slow
    def test_hardware_with_missing_limits_is_refused(self, cli, file, monkeypatch):
        monkeypatch.setitem(DRIVERS, "bench", lambda arm, seed: SimulatedArm(arm, seed=seed))
        file.write_text(
            file.read_text(encoding="utf-8").replace('kind = "simulated"', 'kind = "bench"'),
            encoding="utf-8",
        )
        refused = cli("calibrate", file, "--yes", "--out", "out")
        assert (refused.code, "is missing; no joint moves without this limit" in refused.err) == (
            2,
            True,
        ), refused.err


class TestFolder:
    def test_resume_without_a_folder_is_refused(self, cli, model):
        refused = cli("calibrate", model, "--seed", "1", "--out", "out", "--resume")
        assert (refused.code, "no such folder" in refused.err) == (2, True), refused.err
        assert not Path("out").exists()

    def test_existing_files_are_not_replaced(self, cli, model):
        Path("out").mkdir()
        Path("out/thesis.txt").touch()
        refused = cli("calibrate", model, "--out", "out")
        assert (refused.code, "not empty" in refused.err) == (2, True)
        assert [path.name for path in Path("out").iterdir()] == ["thesis.txt"]

    def test_an_edited_arm_file_is_not_replaced(self, model, tmp_path):
        arm = assumed_arm(model, tmp_path / "out")
        assert assumed_arm(model, tmp_path / "out") == arm
        arm.path.write_text(
            arm.path.read_text(encoding="utf-8").replace("torque = 28.0", "torque = 20.0"),
            encoding="utf-8",
        )
        words = (
            r"differs from the arm file that would be assumed for .*; to use it unchanged, run "
            r"stribeck calibrate "
        )
        with pytest.raises(InputError, match=words):
            assumed_arm(model, tmp_path / "out")

    def test_a_joint_named_default_is_refused(self, cli, model):
        model.write_text(
            model.read_text(encoding="utf-8").replace('"j3"', '"default"'), encoding="utf-8"
        )
        refused = cli("calibrate", model)
        assert (refused.code, "the model has a joint named default" in refused.err) == (2, True)


class TestNoHardware:
    """Assumed limits never move hardware."""

    @pytest.fixture
    def wired(self, model, tmp_path):
        arm = assumed_arm(model, tmp_path / "out")
        text = arm.path.read_text(encoding="utf-8")
        arm.path.write_text(text.replace('kind = "simulated"', 'kind = "bench"'), encoding="utf-8")
        return arm.path

    @pytest.mark.parametrize(
        "command",
        [
            ("check",),
            ("run", "--yes"),
            ("calibrate", "--yes"),
            ("run", "--yes", "--experiment", "warm-up"),
        ],
    )
    @pytest.mark.slow
    def test_assumed_limits_are_refused_for_hardware(self, cli, wired, monkeypatch, command):
        connected = []
        monkeypatch.setitem(
            DRIVERS,
            "bench",
            lambda arm, seed: connected.append(arm) or SimulatedArm(arm, seed=seed),
        )
        refused = cli(command[0], wired, *command[1:])
        assert refused.code == 2
        assert "its key `assumed` says that limits are assumptions" in refused.err
        assert "check every limit and remove this key" in refused.err
        assert connected == []
        stated = re.sub(
            r"^assumed = \[.*?^\]\n",
            "",
            wired.read_text(encoding="utf-8"),
            flags=re.DOTALL | re.MULTILINE,
        )
        wired.write_text(stated, encoding="utf-8")
        connect(load_arm(wired))
        assert len(connected) == 1, "without the key assumed, hardware may move"

    @pytest.mark.usefixtures("brief")
    @pytest.mark.parametrize("suffix", [".csv", ".json"])
    @pytest.mark.slow
    def test_plans_with_assumed_limits_are_not_exported(self, cli, model, tmp_path, suffix):
        arm = assumed_arm(model, tmp_path / "out")
        refused = cli("plan", arm.path, "-o", f"plan{suffix}")
        assert (
            refused.code,
            "its key `assumed` says that limits are assumptions" in refused.err,
        ) == (2, True)
        assert not Path(f"plan{suffix}").exists()

    @pytest.mark.parametrize("command", ["plan", "run"])
    @pytest.mark.slow
    def test_other_commands_need_an_arm_file(self, cli, model, command):
        refused = cli(command, model)
        assert (refused.code, "writes an arm file to fill in" in refused.err) == (2, True)
