"""The import says which fit a log allows, and which data are missing."""

import re
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import numpy as np
import pytest

from stribeck.experiments.cli.app import run
from stribeck.experiments.importers.outlook import outlook
from stribeck.ident.arm.arm_file import load_arm
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.calibration.calibration import Calibration
from stribeck.ident.log.run import SIGNALS, load_run
from stribeck.ident.model.dynamics import inverse_dynamics
from tests.places import DATA, TEST_ARMS
from tests.without_figures import without_figures

GOLDEN = DATA / "golden"
SCALED = ("--torque-constant", "gravity", "--yes", "-o")
FIT = ("--motion", "model", "--law", "coulomb-viscous", "-o")


@pytest.fixture(scope="module")
def general():
    """Time, positions and torques of half a minute of general motion of the
    pair, with known friction.
    """
    arm = load_arm(TEST_ARMS / "pair.toml")
    t = np.arange(0.0, 30.0, 1.0 / 100.0)
    phase, rate = np.array([0.9, 0.61]), np.array([2.3, 1.7])
    q = 1.1 * np.sin(phase * t[:, None]) + 0.2 * np.sin(rate * t[:, None])
    dq = 1.1 * phase * np.cos(phase * t[:, None]) + 0.2 * rate * np.cos(rate * t[:, None])
    ddq = -1.1 * phase**2 * np.sin(phase * t[:, None]) - 0.2 * rate**2 * np.sin(rate * t[:, None])
    tau = (
        np.asarray(inverse_dynamics(load_mechanism(arm), q, dq, ddq))
        + 0.4 * ddq
        + [3.0, 2.0] * np.sign(dq)
        + [2.0, 1.5] * dq
    )
    return t, q, tau + np.random.default_rng(0).normal(0.0, 0.05, q.shape)


@pytest.fixture(scope="module")
def known(make_arm, general, tmp_path_factory):
    """Folder with the imported log, whose torque constant is stated for turn and comes from gravity
    for lift, in `campaign`, and its fit in `out`; and what the import printed.
    """
    t, q, tau = general
    folder = tmp_path_factory.mktemp("known")
    arm = make_arm({"joints": {"turn": {"torque_constant": 0.04}}})
    np.savez(folder / "log.npz", t=t, q=q, current=tau / 4.0)
    campaign, out = str(folder / "campaign"), str(folder / "out")
    with redirect_stdout(StringIO()) as printed, without_figures():
        assert (
            run(["import", str(folder / "log.npz"), "--arm", str(arm.path), *SCALED, campaign]) == 0
        )
        said = printed.getvalue()
        assert run(["fit", campaign, *FIT, out]) == 0
    return folder, said


class TestGeneralMotion:
    @pytest.mark.slow
    def test_a_log_of_positions_and_currents_can_be_fitted(self, known):
        """The log has no velocity, and one torque constant comes from gravity; the
        advised fit finds the friction.
        """
        folder, printed = known
        assert f"next      stribeck fit {folder / 'campaign'} --motion model\n" in printed
        assert "the log has no velocity: it is computed" in printed
        assert "turn: 4 N·m/A at the joint (arm file)" in printed
        record = load_run(next((folder / "campaign" / "runs").iterdir())).record
        lift = record["import"]["torque_constants"]["lift"]
        assert lift["source"] == "gravity"
        assert lift["value"] == pytest.approx(4.0, abs=5.0 * lift["std_error"])
        assert lift["value"] == pytest.approx(4.0, rel=0.005)
        joints = Calibration.load(folder / "out" / "calibration.toml").joints
        for name, coulomb, viscous in (("turn", 3.0, 2.0), ("lift", 2.0, 1.5)):
            assert joints[name].values["coulomb"] == pytest.approx(coulomb, rel=0.02)
            assert joints[name].values["viscous"] == pytest.approx(viscous, rel=0.02)

    @pytest.mark.usefixtures("no_figures")
    @pytest.mark.slow
    def test_a_joint_without_gravity_does_not_stop_the_others(
        self, cli, arm, general, known, tmp_path
    ):
        """The torque of this joint is left out. The fit and the validation use the other joint."""
        t, q, tau = general
        np.savez(tmp_path / "log.npz", t=t, q=q, current=tau / 4.0)
        outcome = cli("import", tmp_path / "log.npz", "--arm", arm.path, *SCALED, "campaign")
        assert outcome.code == 0, outcome.err
        said = " ".join(outcome.out.split())
        assert (
            "note turn: the torque is in A and the torque constant cannot be fitted to gravity "
            "(the gravity torque hardly varies)"
        ) in said
        assert "State joints.turn.torque_constant in the arm file" in said
        assert "the torque is constant" not in said
        (folder,) = Path("campaign/runs").iterdir()
        imported = load_run(folder, SIGNALS)
        assert np.isnan(imported.signals["tau"][:, 0]).all()
        assert imported.record["import"]["torque_constants"].keys() == {"lift"}
        # the currents are kept
        np.testing.assert_allclose(imported.signals["raw"], tau / 4.0)
        fitted = cli("fit", "campaign", *FIT, "out")
        assert fitted.code == 0, fitted.err
        assert "the torque of turn was not recorded" in " ".join(fitted.out.split())
        joints = Calibration.load(Path("out/calibration.toml")).joints
        assert joints.keys() == {"lift"}
        assert joints["lift"].values["coulomb"] == pytest.approx(2.0, rel=0.02)
        assert joints["lift"].values["viscous"] == pytest.approx(1.5, rel=0.02)
        assert cli("export", folder, "--to", "csv", "-o", "log.csv").code == 0
        judged = cli("validate", "campaign", known[0] / "out", "--tolerance", "0.9")
        assert judged.code == 0, judged.out + judged.err
        assert "the torque of turn was not recorded" in " ".join(judged.out.split())

    @pytest.mark.slow
    def test_current_against_gravity_is_refused(self, make_arm, cli, general, tmp_path):
        t, q, tau = general
        np.savez(tmp_path / "log.npz", t=t[:4000], q=q[:4000], current=tau[:4000] * [1.0, -1.0])
        arm = make_arm({"joints": {"turn": {"torque_constant": 0.01}}})
        outcome = cli(
            "import",
            tmp_path / "log.npz",
            "--arm",
            arm.path,
            "--torque-constant",
            "gravity",
            "--yes",
            "-o",
            tmp_path / "out",
        )
        assert outcome.code == 2
        assert "lift" in outcome.err
        assert not (tmp_path / "out").exists()

    @pytest.mark.slow
    def test_round_trips_and_joints_at_rest_are_detected(self, cli, tmp_path):
        run = load_run(next((GOLDEN / "runs").iterdir()))
        np.savez(tmp_path / "log.npz", t=run.t, q=run.signals["q"], tau=run.signals["tau"])
        outcome = cli(
            "import",
            tmp_path / "log.npz",
            "--arm",
            GOLDEN / "pendulum.toml",
            "--yes",
            "-o",
            "campaign",
        )
        assert "next      stribeck fit campaign\n" in outcome.out
        assert "round trips" not in outcome.out
        np.savez(tmp_path / "turned.npz", t=run.t, q=run.signals["q"], tau=-run.signals["tau"])
        outcome = cli(
            "import",
            tmp_path / "turned.npz",
            "--arm",
            GOLDEN / "pendulum.toml",
            "--yes",
            "-o",
            "turned",
        )
        (again,) = re.findall(r'--column "([^"]*)"\n', outcome.out.split("next ")[1])
        outcome = cli(
            "import",
            tmp_path / "turned.npz",
            "--arm",
            GOLDEN / "pendulum.toml",
            "--yes",
            "-o",
            "right",
            "--column",
            again,
        )
        assert "next      stribeck fit right\n" in outcome.out
        np.savez(tmp_path / "still.npz", t=run.t, q=np.zeros(len(run.t)), tau=run.signals["tau"])
        outcome = cli(
            "import",
            tmp_path / "still.npz",
            "--arm",
            GOLDEN / "pendulum.toml",
            "--yes",
            "-o",
            "still",
        )
        assert "hinge: no motion in this log; not calibrated" in outcome.out
        assert "this log cannot be fitted" in outcome.out

    @pytest.mark.parametrize(
        ("factor", "words"),
        [
            (0.01, "times the model's gravity torque: the torque may be in amperes"),
            (-1.0, "hinge: torque opposes motion in 100% of the points"),
        ],
    )
    @pytest.mark.slow
    def test_a_wrong_unit_or_sign_of_torque_is_reported_by_the_import(
        self, cli, tmp_path, factor, words
    ):
        run = load_run(next((GOLDEN / "runs").iterdir()))
        np.savez(tmp_path / "log.npz", t=run.t, q=run.signals["q"], tau=factor * run.signals["tau"])
        outcome = cli(
            "import",
            tmp_path / "log.npz",
            "--arm",
            GOLDEN / "pendulum.toml",
            "--yes",
            "-o",
            "campaign",
        )
        assert (outcome.code, words in outcome.out.replace("\n", " ")) == (0, True)

    @pytest.mark.slow
    def test_round_trips_at_a_single_speed_are_reported_as_too_few(self, arm, bring, tmp_path):
        t = np.arange(0.0, 40.0, 0.01)
        way = np.abs((t % 4.0) - 2.0)
        tau = np.sign(np.gradient(way))[:, None] * [3.0, 2.0]
        np.savez(tmp_path / "log.npz", t=t, q=np.column_stack((way, 0.5 * way)), tau=tau)
        seen = outlook(bring(tmp_path / "log.npz"), load_mechanism(arm))
        assert seen.options == " --motion model"
        assert any(
            "turn, lift: round trips at fewer than 3 speeds" in sentence
            for sentence in seen.sentences
        )

    @pytest.mark.slow
    def test_a_joint_that_only_moves_to_a_posture_does_not_change_the_advised_fit(
        self, arm, bring, tmp_path
    ):
        t, (way, tau), leg = np.arange(0.0, 42.0, 0.01), np.zeros((2, 4200)), 200
        for k, speed in enumerate(np.repeat(np.geomspace(0.1, 0.5, 10), 2)):
            rows, sign = slice(k * leg, (k + 1) * leg), (-1.0) ** k
            way[rows] = speed * (sign * (t[rows] - t[rows][0]) + (2.0 if sign < 0.0 else 0.0))
            tau[rows] = sign * (3.0 + speed)
        q = np.column_stack((way, np.maximum(0.0, 0.1 * (t - 40.5))))
        np.savez(tmp_path / "log.npz", t=t, q=q, tau=np.column_stack((tau, tau)))
        seen = outlook(bring(tmp_path / "log.npz"), load_mechanism(arm))
        assert seen.options == ""
        assert any(
            sentence.startswith("lift: fewer than 4 round trips")
            and "--motion model fits" in sentence
            for sentence in seen.sentences
        )
        assert not any(
            "is low for" in sentence or "masses" in sentence for sentence in seen.sentences
        )
