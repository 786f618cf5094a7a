"""The command line: exit codes, one sentence for invalid input, nothing lost or changed on disk."""

import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from importlib.metadata import EntryPoint

import numpy as np
import pyarrow as pa
import pytest

from stribeck.drivers.connect import DRIVERS
from stribeck.drivers.errors import DriverError
from stribeck.drivers.simulation.simulated_arm import SimulatedArm
from stribeck.experiments.cli import app
from stribeck.experiments.cli.app import _Ending, _explain
from stribeck.experiments.errors import RecordingFailed
from stribeck.experiments.exporters.run_formats import RUN_EXPORTS
from stribeck.experiments.methods.registry import EXPERIMENTS, METHODS
from stribeck.experiments.plans.plan import write_plan
from stribeck.experiments.recording.run_writer import RunWriter
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.export.formats import DESCRIPTIONS, NUMBERS
from stribeck.ident.fit.choice.selection import ORDER
from stribeck.ident.fit.joint.directions import DIFFERENCES
from stribeck.ident.log.campaign_folder import find_runs
from stribeck.ident.log.run import ARM, EVENTS, RECORD, SAMPLES, load_run
from tests.places import DATA

GOLDEN = DATA / "golden"
CLI = "stribeck.experiments.cli"
# typer and what it imports
PARSER = {
    "typer",
    "click",
    "annotated_doc",
    "attr",
    "markdown_it",
    "mdurl",
    "pygments",
    "rich",
    "shellingham",
}
COMMANDS = (
    "init",
    "calibrate",
    "plan",
    "run",
    "fit",
    "replay",
    "import",
    "export",
    "report",
    "loads",
    "simulate",
    "compare",
    "validate",
)


def tree(folder):
    """Digest of every file below a folder, and the folders."""
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        if path.is_file()
        else None
        for path in sorted(folder.rglob("*"))
    }


@pytest.fixture
def refused(cli, tmp_path):
    """Return a function that checks a refusal: code 2, one sentence with given words,
    and nothing changed on disk.
    """

    def command(arguments, *words):
        before = tree(tmp_path)
        outcome = cli(*arguments)
        assert outcome.code == 2, outcome
        assert outcome.err.startswith("stribeck: ")
        assert len(outcome.err.splitlines()) == 1, outcome.err
        for word in words:
            assert word in outcome.err
        assert tree(tmp_path) == before

    return command


@pytest.fixture
def golden(tmp_path):
    """A copy of the golden run that a test may damage."""
    shutil.copytree(GOLDEN / "runs" / "constant-speed", tmp_path / "golden")
    return tmp_path / "golden"


@pytest.fixture
def full(tmp_path):
    """A folder that is not empty."""
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.txt").write_text("precious", encoding="utf-8")
    return tmp_path / "full"


class TestBadArm:
    """Errors of the arm file are reported before any motion and before any file is written."""

    @pytest.mark.parametrize("command", ["calibrate", "run", "plan", "loads"])
    @pytest.mark.parametrize(
        ("arm", "words"),
        [
            ("nosuch.toml", ["nosuch.toml: no such file"]),
            ("some/where/arm.urdf", ["some/where/arm.urdf: no such file"]),
            ("lab7", ["unknown arm 'lab7'", "did you mean 'lab6'"]),
        ],
    )
    def test_an_arm_that_is_not_there(self, refused, command, arm, words):
        refused([command, arm], *words)

    @pytest.mark.parametrize("command", ["calibrate", "run", "plan"])
    @pytest.mark.parametrize(
        ("changes", "words"),
        [
            ({"joint": {}}, ["unknown key 'joint'", "did you mean 'joints'"]),
            (
                {"joints": {"lift": {"positon": [0.0, 1.0]}}},
                ["joints.lift.positon", "did you mean 'position'"],
            ),
            (
                {"joints": {"turn": {"bearing": {"pin_radus": 0.1}}}},
                ["pin_radus", "did you mean 'pin_radius'"],
            ),
            (
                {"joints": {"elbow": {"velocity": 1.0}}},
                ["[joints.elbow]", "unknown joint 'elbow'", "turn, lift"],
            ),
            (
                {"joints": {"turn": {"position": [-3.0, 2.0]}}},
                ["joints.turn.position", "exceeds the model's range [-2.6, 2.6]"],
            ),
            ({"joints": {"turn": {"position": [1.0, -1.0]}}}, ["joints.turn.position"]),
            ({"joints": {"turn": {"velocity": -1.0}}}, ["joints.turn.velocity", "-1.0"]),
            ({"workspace": {"home": [0.0]}}, ["workspace.home has 1 values"]),
            ({"workspace": {"home": [0.0, 1.55]}}, ["workspace.home puts lift at 1.55"]),
            ({"torque_signal": "joint sensor"}, ["joint sensor"]),
        ],
        ids=lambda value: "" if isinstance(value, dict) else value[0],
    )
    def test_invalid_arm_file(self, refused, make_arm, command, changes, words):
        arm = make_arm()
        rewrite(arm, make_arm, changes)
        refused([command, arm.path, "-o", "new"], str(arm.path), *words)

    @pytest.mark.parametrize("command", ["calibrate", "run"])
    @pytest.mark.parametrize(
        ("changes", "words"),
        [
            (
                {"driver": {"kind": "simulatd"}},
                ["unknown driver kind 'simulatd'", "did you mean 'simulated'"],
            ),
            (
                {"simulation": {"torqe_noise": 0.1}},
                ["simulation.torqe_noise", "did you mean 'torque_noise'"],
            ),
            ({"simulation": {"joints": {"elbow": {}}}}, ["unknown joint 'elbow'"]),
            (
                {"simulation": {"joints": {"turn": {"load": "normal", "bearing": None}}}},
                ["needs a bearing"],
            ),
        ],
        ids=lambda value: "" if isinstance(value, dict) else value[0],
    )
    def test_invalid_driver(self, refused, make_arm, command, changes, words):
        refused([command, make_arm(changes).path, "-o", "new"], *words)

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("schema = 2\n", ["schema 2 is newer"]),
            ("name = 'x'\n", ["schema"]),
            ("schema = \n", ["not a TOML file"]),
            ("", ["schema"]),
            ("schema = 1\nname = 'x'\nmodel = 'nosuch.urdf'\n", ["nosuch.urdf"]),
            ("schema = 1\nname = 'x'\nmodel = 'garbage.urdf'\n", ["garbage.urdf"]),
        ],
    )
    def test_file_that_is_no_arm_file(self, refused, tmp_path, text, words):
        (tmp_path / "arm.toml").write_text(text, encoding="utf-8")
        (tmp_path / "garbage.urdf").write_text("<robot", encoding="utf-8")
        refused(["run", tmp_path / "arm.toml"], *words)

    def test_a_mechanism_is_no_arm(self, refused):
        refused(["run", "five-axis-tree"], "this is a mechanism")

    @pytest.mark.parametrize("command", ["run", "plan"])
    def test_missing_limits_must_be_stated(self, refused, make_arm, command):
        """Only `calibrate` of a simulated arm assumes them."""
        refused(
            [command, make_arm({"joints": {"turn": {"velocity": None}}}).path],
            "joints.turn.velocity is missing",
        )

    def test_model_without_limits_does_not_move(self, refused, make_arm):
        refused(
            ["run", make_arm().model], "turn.velocity is missing; no joint moves without this limit"
        )


class TestBadOption:
    @pytest.mark.parametrize("command", ["calibrate", "run", "plan"])
    def test_a_joint_that_the_arm_lacks(self, refused, make_arm, command):
        refused(
            [command, make_arm().path, "--joints", "turn,lft"],
            "unknown joint 'lft'",
            "did you mean 'lift'",
        )

    def test_a_joint_named_twice(self, refused, make_arm):
        refused(
            ["plan", make_arm().path, "--joints", "turn,turn"],
            "--joints 'turn,turn' names turn twice",
        )

    @pytest.mark.parametrize(
        "option", [("--joints", "turn"), ("--method", "single"), ("--experiment", "validation")]
    )
    def test_plan_file_excludes_options_of_a_new_plan(self, refused, make_arm, tmp_path, option):
        refused(
            ["run", make_arm().path, "--plan", "plan.toml", *option, "-o", "new"],
            "plan.toml states the motion",
        )

    @pytest.mark.parametrize("command", ["calibrate", "fit", "import", "export", "report"])
    def test_empty_output_path_is_refused(self, cli, tmp_path, command):
        """An unset variable of the shell gives an empty path, which
        would mean the present folder.
        """
        before = tree(tmp_path)
        outcome = cli(command, "lab6", "--out", "")
        assert outcome.code == 2
        assert "the path is empty" in outcome.err
        assert tree(tmp_path) == before

    @pytest.mark.parametrize("command", ["calibrate", "run", "plan"])
    def test_invalid_seed(self, cli, make_arm, tmp_path, command):
        before = tree(tmp_path)
        arm = make_arm().path
        outcome = cli(command, arm, "--seed", "-1")
        assert outcome.code == 2
        assert "seed" in outcome.err
        assert "Traceback" not in outcome.err
        assert tree(tmp_path) == before

    @pytest.mark.parametrize(
        ("option", "value", "words"),
        [
            ("--law", "strbeck", ["unknown law 'strbeck'", "did you mean 'stribeck'"]),
            ("--load", "weight", ["unknown load 'weight'", "torque, bending"]),
            ("--drift", "nun", ["unknown drift option 'nun'", "auto, none"]),
        ],
    )
    @pytest.mark.parametrize("command", ["calibrate", "fit"])
    def test_unknown_law_or_load(self, refused, make_arm, golden, command, option, value, words):
        """The refusal comes before the robot moves."""
        what = golden if command == "fit" else make_arm().path
        refused([command, what, option, value, "-o", "new"], *words)

    @pytest.mark.slow
    def test_a_normal_load_without_a_bearing(self, refused, golden, make_arm):
        refused(
            ["fit", golden, "--load", "normal", "-o", "new"], "joints.hinge.bearing", "pin_radius"
        )
        refused(
            ["calibrate", make_arm().path, "--load", "normal", "-o", "new"],
            "joints.lift.bearing",
            "pin_radius",
        )

    @pytest.mark.parametrize(
        ("q", "words"),
        [
            ("1", ["--q has 1 values", "turn, lift"]),
            ("1,2,3", ["--q has 3 values"]),
            ("a,b", ["--q a,b", "numbers"]),
            ("nan,0", ["--q nan,0", "finite"]),
            ("0,inf", ["--q 0,inf"]),
            ("0,,1", ["--q 0,,1"]),
        ],
    )
    def test_invalid_posture(self, refused, make_arm, q, words):
        refused(["loads", make_arm().path, "--q", q], *words)

    @pytest.mark.parametrize(
        ("target", "words"),
        [
            ("sdff", ["unknown export format 'sdff'", "did you mean 'sdf'", "urdf, mjcf"]),
            ("URDFF", ["URDFF"]),
        ],
    )
    def test_unknown_export_format(self, refused, target, words):
        refused(["export", GOLDEN / "calibration.toml", "--to", target, "-o", "new"], *words)

    def test_offset_in_a_format_without_offset(self, refused):
        refused(
            ["export", GOLDEN / "calibration.toml", "--to", "urdf", "--offset", "-o", "new"],
            "urdf cannot include",
        )

    @pytest.mark.parametrize("content", [None, "", "schema = 1\n", "schema = ", "schema = 9\n"])
    def test_invalid_calibration_file(self, refused, tmp_path, content):
        if content is not None:
            (tmp_path / "calibration.toml").write_text(content, encoding="utf-8")
        refused(["export", tmp_path / "calibration.toml", "--to", "json"], "calibration.toml")

    @pytest.mark.parametrize(
        "arguments",
        [
            ["fitt"],
            ["run", "--nosuch"],
            ["replay"],
            ["run", "--seed", "many"],
            ["--nosuch"],
            ["loads"],
            ["export", "x"],
            ["import", "x.csv"],
        ],
    )
    def test_invalid_command_line(self, cli, tmp_path, arguments):
        before = tree(tmp_path)
        outcome = cli(*arguments)
        assert outcome.code == 2
        assert outcome.out == ""
        assert outcome.err.startswith("stribeck: ")
        assert len(outcome.err.splitlines()) == 1
        assert tree(tmp_path) == before | {"here": None}


class TestBadPlace:
    """Results are never mixed with existing files."""

    @pytest.mark.slow
    def test_a_folder_that_is_not_empty(self, refused, make_arm, golden, full):
        arm = make_arm().path
        log = write_log(full.parent / "log.csv")
        for arguments in (
            ["calibrate", arm],
            ["run", arm],
            ["fit", golden],
            ["replay", golden],
            ["import", log, "--arm", arm, *MAP],
        ):
            refused([*arguments, "-o", full], f"{full} exists and is not empty")

    @pytest.mark.slow
    def test_output_path_is_a_file(self, refused, make_arm, golden, full):
        for arguments in (["run", make_arm().path], ["fit", golden]):
            refused([*arguments, "-o", full / "thesis.txt"], "thesis.txt")
            refused([*arguments, "-o", full / "thesis.txt" / "below"], "thesis.txt")

    def test_default_output_folder_that_is_not_empty(self, refused, make_arm, tmp_path):
        (tmp_path / "here" / "campaign-pair").mkdir()
        (tmp_path / "here" / "campaign-pair" / "old").write_text("precious", encoding="utf-8")
        refused(["run", make_arm().path], "campaign-pair exists and is not empty")

    def test_existing_plan_or_export_is_not_overwritten(self, refused, make_arm, full):
        refused(["plan", make_arm().path, "-o", full / "thesis.txt"], "thesis.txt exists")
        refused(
            ["export", GOLDEN / "calibration.toml", "--to", "json", "-o", full / "thesis.txt"],
            "thesis.txt exists",
        )

    def test_export_into_a_missing_folder(self, refused, tmp_path):
        refused(
            [
                "export",
                GOLDEN / "calibration.toml",
                "--to",
                "json",
                "-o",
                tmp_path / "nowhere" / "joints.json",
            ],
            "joints.json",
            "the folder",
            "nowhere does not exist; create it first",
        )


class TestBadPlan:
    @pytest.mark.parametrize(
        ("damage", "words"),
        [
            (
                lambda text: text.replace("0.5, 0.3", "2.6, 0.3"),
                ["segment 1 takes turn to 2.600 rad", "[-2.5, 2.5]"],
            ),
            (
                lambda text: text.replace("speed = 0.4", "speed = 4.0"),
                ["segment 1 moves turn at 4 rad/s, limit 2 rad/s"],
            ),
            (
                lambda text: text.replace('joint = "turn"', 'joint = "trn"'),
                ["unknown joint 'trn'", "did you mean 'turn'"],
            ),
            (lambda text: text.replace("speed =", "sped ="), ["did you mean 'speed'"]),
            (lambda text: text[: text.index("segments")], ["segments is missing"]),
            (lambda text: text[: len(text) // 2], ["plan.toml"]),
            (lambda text: "", ["plan.toml"]),
        ],
    )
    def test_a_plan_that_the_arm_cannot_follow(
        self, refused, make_arm, make_plan, tmp_path, damage, words
    ):
        arm = make_arm()
        write_plan(make_plan(arm), tmp_path / "plan.toml")
        text = (tmp_path / "plan.toml").read_text(encoding="utf-8")
        assert damage(text) != text
        (tmp_path / "plan.toml").write_text(damage(text), encoding="utf-8")
        refused(["run", arm.path, "--plan", tmp_path / "plan.toml", "-o", "new"], *words)

    def test_a_plan_for_another_arm(self, refused, make_arm, make_plan, tmp_path):
        write_plan(make_plan(make_arm()), tmp_path / "plan.toml")
        refused(
            ["run", "lab6", "--plan", tmp_path / "plan.toml", "-o", "new"],
            "the plan is for joints turn, lift",
        )

    def test_missing_plan_file(self, refused, make_arm):
        refused(["run", make_arm().path, "--plan", "nosuch.toml"], "nosuch.toml: no such file")


class TestBadRun:
    @pytest.mark.parametrize("command", ["fit", "replay"])
    @pytest.mark.parametrize(
        ("damage", "words"),
        [
            (lambda run: shutil.rmtree(run), ["no such folder"]),
            (lambda run: (run / RECORD).unlink(), ["neither a run folder nor a campaign"]),
            (lambda run: (run / RECORD).write_text("{"), ["run.json", "not a JSON file"]),
            (lambda run: (run / SAMPLES).unlink(), ["samples.arrows", "no samples"]),
            (lambda run: (run / SAMPLES).write_bytes(b""), ["samples.arrows"]),
            (
                lambda run: (run / SAMPLES).write_bytes((run / SAMPLES).read_bytes()[:300]),
                ["samples.arrows"],
            ),
            (lambda run: (run / SAMPLES).write_bytes(b"garbage" * 1000), ["samples.arrows"]),
            (lambda run: shutil.rmtree(run / ARM), ["no such file"]),
            (
                lambda run: change_arm(run, "velocity = 1.5", "velocity = 1.4"),
                ["changed after the recording"],
            ),
            (
                lambda run: change_arm(run, "velocity = 1.5", "velocty = 1.5"),
                ["velocty", "did you mean 'velocity'"],
            ),
            (lambda run: change_column(run, "tau.hinge", None), ["tau.hinge is missing"]),
        ],
    )
    def test_unreadable_run(self, refused, golden, command, damage, words):
        damage(golden)
        refused([command, golden, "-o", "new"], *words)

    @pytest.mark.parametrize(
        ("column", "change", "words"),
        [
            (
                "q.hinge",
                lambda x: np.where(np.arange(len(x)) == 5000, np.nan, x),
                ["q of hinge is not a finite number in row 5000"],
            ),
            (
                "tau.hinge",
                lambda x: np.where(np.arange(len(x)) == 7, np.inf, x),
                ["tau of hinge is not a finite number in row 7"],
            ),
            ("t", lambda x: x[::-1], ["time must increase"]),
            (
                "t",
                lambda x: np.where(np.arange(len(x)) == 100, x[98], x),
                ["time must increase", "after row 99"],
            ),
        ],
    )
    def test_invalid_numbers_in_a_run(self, refused, golden, column, change, words):
        change_column(golden, column, change)
        refused(["fit", golden, "-o", "new"], *words)

    def test_a_run_in_which_nothing_moved(self, refused, tmp_path, make_arm):
        make_rest_run(make_arm(), tmp_path / "rest")
        refused(["fit", tmp_path / "rest", "-o", "new"], "no joint can be calibrated")

    def test_runs_of_different_arms(self, refused, golden, make_arm, tmp_path):
        make_rest_run(make_arm(), tmp_path / "rest")
        refused(["fit", golden, tmp_path / "rest", "-o", "new"], "another arm file")

    def test_a_folder_without_runs_has_nothing_to_report(self, refused, full):
        refused(
            ["report", full],
            "neither a run folder nor a campaign with runs/; give a folder with run.json",
        )
        (full / "calibration.toml").touch()
        refused(["report", full], "it has the results of a fit: give the folder that was fitted")


MAP = (
    "--column",
    "t=t",
    "--column",
    "q.turn=q1",
    "--column",
    "q.lift=q2",
    "--column",
    "tau.turn=x1",
    "--column",
    "tau.lift=x2",
)


class TestBadLog:
    @pytest.mark.parametrize(
        ("damage", "words"),
        [
            (lambda log: log.unlink(), ["log.csv: no such file"]),
            (lambda log: log.write_text(""), ["cannot be read as a CSV table"]),
            (
                lambda log: log.write_text(log.read_text().replace("q2", "q3")),
                ["unknown column 'q2'", "t, q1, q3, x1, x2"],
            ),
            (
                lambda log: edit_row(log, 20, "nan,1,2,3,4"),
                ["time is not a finite number in row 19"],
            ),
            (
                lambda log: edit_row(log, 20, "0.19,1,,3,4"),
                ["q of lift is not a finite number in row 19"],
            ),
            (
                lambda log: edit_row(log, 20, "0.19,1,fault,3,4"),
                ["q of lift is not a finite number in row 19"],
            ),
            (lambda log: edit_row(log, 20, "0.1,1,2,3,4"), ["time must increase"]),
            (
                lambda log: edit_row(log, 40, "7e6,1,2,3,4\n7000000.01,1,2,3,4"),
                ["a gap of 7e+06 s"],
            ),
        ],
    )
    def test_invalid_log(self, refused, make_arm, tmp_path, damage, words):
        damage(write_log(tmp_path / "log.csv"))
        refused(
            ["import", tmp_path / "log.csv", "--arm", make_arm().path, *MAP, "--yes", "-o", "new"],
            *words,
        )

    @pytest.mark.parametrize(
        ("columns", "words"),
        [
            (["t=t[deg]", *MAP[3::2]], ["unknown unit 'deg'"]),
            (["t=t", "q.elbow=q1"], ["unknown joint 'elbow'", "turn, lift"]),
            (["t=t", "q.turn=q1"], ["no column is given for tau.turn"]),
            (["time"], ["signal.joint=column[unit]"]),
        ],
    )
    def test_invalid_column_map(self, refused, make_arm, tmp_path, columns, words):
        log = write_log(tmp_path / "log.csv")
        options = [part for column in columns for part in ("--column", column)]
        refused(["import", log, "--arm", make_arm().path, *options, "-o", "new"], *words)

    def test_an_arm_that_is_not_there(self, refused, tmp_path):
        refused(
            ["import", write_log(tmp_path / "log.csv"), "--arm", "lab7", *MAP], "unknown arm 'lab7'"
        )


def test_repeated_signal_ends_the_program_once():
    ending = _Ending()
    with pytest.raises(KeyboardInterrupt):
        ending(signal.SIGTERM, None)
    # while the first is on its way to those who stop the arm
    ending(signal.SIGTERM, None)
    ending.forget()
    with pytest.raises(KeyboardInterrupt):
        ending(signal.SIGINT, None)


@pytest.mark.skipif(sys.platform == "win32", reason="has no such signals")
@pytest.mark.parametrize("ending", ["SIGINT", "SIGTERM"])
def test_signal_during_imports_prints_no_traceback(ending):
    code = f"""
import os, signal, sys
from stribeck.experiments.cli.entry import main

class Interrupts:
    def find_spec(self, name, path, target=None):
        if name == "stribeck.experiments.cli.app":
            os.kill(os.getpid(), signal.{ending})

sys.meta_path.insert(0, Interrupts())
main(["--help"])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (
        3,
        "",
        "stribeck: stopped by the operator\n",
    )


@pytest.mark.skipif(sys.platform == "win32", reason="has no such signals")
@pytest.mark.parametrize(
    ("module", "becomes"),
    [
        ("stribeck.experiments.cli.app", "pass"),
        ("stribeck.ident.arm.load_mechanism", "raise"),
        ("stribeck.ident.arm.load_mechanism", "raise ImportError('initialization failed')"),
    ],
)
@pytest.mark.slow
def test_ctrl_c_during_the_import_of_a_module(tmp_path, module, becomes):
    """C extensions may raise any error or none; Python ends as killed if an
    interrupt passes through `exec`.
    """
    (tmp_path / "interrupted.py").write_text(
        f"""
import sys

class Interrupts:
    def find_spec(self, name, path, target=None):
        if name == {module!r}:
            try:
                exec("import os, signal; os.kill(os.getpid(), signal.SIGINT); [None for _ in range(1000)]")
            except KeyboardInterrupt:
                {becomes}

sys.meta_path.insert(0, Interrupts())
from stribeck.experiments.cli.entry import main
main(["loads", "lab6", "--q", "0,0,0,0,0,0"])
""",
        encoding="utf-8",
    )
    done = subprocess.run(
        [sys.executable, "-m", "interrupted"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (
        3,
        "",
        "stribeck: stopped by the operator\n",
    )


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="has no such signal")
@pytest.mark.parametrize(("start", "endings"), [("", 3), ("trap '' HUP; ", 2)])
def test_nohup_ignores_the_end_of_the_terminal(start, endings):
    code = "from stribeck.experiments.cli.endings import ENDINGS; print(len(ENDINGS))"
    done = subprocess.run(
        f'{start}exec "{sys.executable}" -c "{code}"',
        shell=True,
        capture_output=True,
        text=True,
        check=True,
    )
    assert int(done.stdout) == endings


@pytest.mark.skipif(sys.platform == "win32", reason="has no such pipes")
@pytest.mark.slow
def test_closed_pipe_is_no_failure():
    """`head` closes its pipe early."""
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-m", "stribeck", "loads", "lab6", "--q", "0,0,0,0,0,0"],
        stdout=write,
        stderr=subprocess.PIPE,
        timeout=120,
        check=False,
    )
    os.close(write)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("again", [0.001, 0.0])
def test_ctrl_c_in_a_finaliser_is_not_lost(again, monkeypatch):
    """Python only prints exceptions of a finaliser and of the hook that reports them,
    where Ctrl-C may come again.
    """

    class Ends:
        def __del__(self):
            raise KeyboardInterrupt

    def ended():
        Ends()
        for _ in range(1000):
            time.sleep(0.01)

    monkeypatch.setattr(app, "_AGAIN", again)
    monkeypatch.setattr(sys, "unraisablehook", app._not_lost)
    for _ in range(20):
        with pytest.raises(KeyboardInterrupt):
            ended()


@pytest.mark.slow
class TestDone:
    def test_plan_then_run_then_fit(self, cli, make_arm, make_plan, tmp_path):
        """The steps of a calibration one by one, each from the file of the step before."""
        arm = make_arm({"simulation": {"torque_noise": 0.05, "encoder_step": 1e-5}})
        write_plan(make_plan(arm, speeds=(0.8, 0.4, 0.2, 0.1) * 2, way=0.2), tmp_path / "plan.toml")
        ran = cli(
            "run",
            arm.path,
            "--plan",
            tmp_path / "plan.toml",
            "-o",
            tmp_path / "out",
            "--note",
            "tea",
            "--seed",
            "4",
        )
        assert ran.code == 0, ran.err
        (run,) = [load_run(path) for path in find_runs(tmp_path / "out")]
        assert (run.record["note"], run.record["seed"]) == ("tea", 4)
        assert str(run.path) in ran.out
        before = tree(tmp_path / "out")
        law = ("--law", "coulomb-viscous")
        fitted = cli("fit", tmp_path / "out", *law, "-o", tmp_path / "fit")
        assert fitted.code == 0, fitted.err
        assert {"calibration.toml", "points.csv", "report.html", "pair.calibrated.urdf"} <= set(
            tree(tmp_path / "fit")
        )
        assert tree(tmp_path / "out") == before  # a run is never rewritten

    def test_failed_start_leaves_the_folder_free(
        self, cli, make_arm, make_plan, monkeypatch, tmp_path
    ):
        arm = make_arm()
        write_plan(make_plan(arm), tmp_path / "plan.toml")
        command = ("run", arm.path, "--plan", tmp_path / "plan.toml", "-o", tmp_path / "out")
        with monkeypatch.context() as patch:
            patch.setattr(
                SimulatedArm,
                "enable",
                lambda _: (_ for _ in ()).throw(DriverError("the drive of turn has a fault")),
            )
            failed = cli(*command)
        assert failed.code == 3
        (empty,) = (tmp_path / "out" / "runs").iterdir()
        before = tree(empty)
        assert cli(*command).code == 0
        (run,) = find_runs(tmp_path / "out")
        assert run != empty
        assert tree(empty) == before
        assert cli(*command).code == 2

    def test_run_accepts_the_plan_file_of_plan(self, cli, make_arm, tmp_path):
        arm = make_arm().path
        assert cli("plan", arm, "-o", tmp_path / "plan.toml", "--seed", "3").code == 0
        text = (tmp_path / "plan.toml").read_text(encoding="utf-8")
        assert "seed = 3" in text
        assert cli("plan", arm, "-o", tmp_path / "again.toml", "--seed", "3").code == 0
        assert (tmp_path / "again.toml").read_text(encoding="utf-8") == text

    def test_robot_time_is_computed_from_the_plan_file(self, cli, make_arm, make_plan, tmp_path):
        arm = make_arm()
        made = make_plan(arm, speeds=(0.8,))
        write_plan(replace(made, robot_time=7200.0), tmp_path / "plan.toml")
        done = json.loads(
            cli(
                "run", arm.path, "--plan", tmp_path / "plan.toml", "-o", tmp_path / "out", "--json"
            ).out
        )
        assert done["robot_time_s"] == pytest.approx(made.robot_time, abs=1e-3)

    def test_plan_and_loads_write_nothing(self, cli, make_arm, tmp_path):
        arm = make_arm().path
        before = tree(tmp_path)
        for arguments in (
            ["plan", arm],
            ["loads", arm],
            ["loads", arm, "--q", "0.1,0.2"],
            ["loads", "five-axis-tree"],
        ):
            assert cli(*arguments).code == 0
        assert tree(tmp_path) == before

    def test_truncated_run_is_reported_and_fitted(self, cli, golden, tmp_path):
        whole = (golden / SAMPLES).read_bytes()
        (golden / SAMPLES).write_bytes(whole[: 9 * len(whole) // 10])
        (golden / EVENTS).unlink()
        outcome = cli("fit", golden, "--law", "stribeck", "-o", tmp_path / "out")
        assert outcome.code == 0, outcome.err
        assert "cut off" in outcome.out

    def test_export_is_written_beside_the_calibration_and_names_losses(self, cli, tmp_path):
        for path in ("calibration.toml", "pendulum.urdf"):
            shutil.copy(GOLDEN / path, tmp_path)
        outcome = cli("export", tmp_path, "--to", "urdf")
        assert outcome.code == 0, outcome.err
        assert (tmp_path / "pendulum.calibrated.urdf").is_file()
        assert "export" in outcome.out

    def test_names_with_brackets_are_printed_as_they_are(
        self, cli, make_arm, make_plan, golden, tmp_path
    ):
        """Users can copy a printed path to the next command."""
        arm, name = make_arm(), "[bold]out[red]"
        write_plan(make_plan(arm, speeds=(0.8,)), tmp_path / "plan.toml")
        for command, options in (("plan", ()), ("run", ("--plan", tmp_path / "plan.toml"))):
            outcome = cli(command, arm.path, *options, "-o", tmp_path / f"{name} {command}")
            assert outcome.code == 0, outcome.err
            assert str(tmp_path / f"{name} {command}") in outcome.out
        fitted = cli("fit", golden, "--law", "stribeck", "-o", tmp_path / name)
        assert str(tmp_path / name) in fitted.out


class TestUnknownDriver:
    @pytest.mark.parametrize("command", ["plan", "calibrate", "run"])
    @pytest.mark.parametrize("options", [(), ("--experiment", "lowest-speed")])
    def test_unknown_driver_kind_is_refused(self, refused, make_arm, command, options):
        if command != "calibrate" or not options:
            arm = make_arm({"driver": {"kind": "canopn"}})
            refused(
                [command, arm.path, *options],
                f"{arm.path.name}: driver.kind: unknown driver kind 'canopn'",
                "did you mean 'canopen'?",
            )

    @pytest.mark.slow
    def test_plug_in_that_cannot_be_loaded_allows_plans(self, cli, make_arm, monkeypatch):
        entry = EntryPoint("bench", "no.such.module:connect", "stribeck.drivers")
        monkeypatch.setattr("importlib.metadata.entry_points", lambda group: [entry])
        arm = make_arm({"driver": {"kind": "bench"}, "workspace": {"box": [[-1.0, 1.0]] * 3}})
        outcome = cli("plan", arm.path)
        assert outcome.code == 0, outcome.err


@pytest.mark.slow
class TestStopped:
    def test_exceeded_limit_ends_with_code_three_and_names_the_data(
        self, cli, make_arm, make_plan, tmp_path
    ):
        arm = make_arm(
            {"joints": {"lift": {"temperature": 28.0}}, "simulation": {"warm_up_time": 25.0}}
        )
        write_plan(make_plan(arm, speeds=(0.4,) * 6), tmp_path / "plan.toml")
        outcome = cli("run", arm.path, "--plan", tmp_path / "plan.toml", "-o", tmp_path / "out")
        assert outcome.code == 3
        run = load_run(find_runs(tmp_path / "out")[0])
        for word in ("temperature of lift is 28", "limit 28 °C", str(run.path)):
            assert word in outcome.err
        assert "Traceback" not in outcome.err
        assert "temperature of lift" in run.closed["reason"]
        assert len(run.t) > 500

    @pytest.fixture
    def hardware(self, monkeypatch, make_arm, make_plan, tmp_path):
        """Arguments of a run on an arm whose driver is not a simulation."""
        monkeypatch.setitem(DRIVERS, "bench", lambda arm, seed: SimulatedArm(arm, seed=seed))
        arm = make_arm({"driver": {"kind": "bench"}, "workspace": {"box": [[-1.0, 1.0]] * 3}})
        write_plan(make_plan(arm, speeds=(0.8,)), tmp_path / "plan.toml")
        return ["run", arm.path, "--plan", tmp_path / "plan.toml", "-o", tmp_path / "out"]

    def test_hardware_without_a_terminal_moves_only_with_yes(self, refused, cli, hardware):
        refused(hardware, "--yes")
        assert cli(*hardware, "--yes").code == 0

    @pytest.mark.parametrize(("answer", "code"), [(True, 0), (False, 3)])
    def test_terminal_asks_before_motion(self, cli, hardware, monkeypatch, tmp_path, answer, code):
        asked = []
        monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
        monkeypatch.setattr("typer.confirm", lambda text, **options: asked.append(text) or answer)
        outcome = cli(*hardware)
        assert outcome.code == code, outcome.err
        assert asked
        assert (tmp_path / "out").exists() == answer

    def test_disk_failure_during_a_stop_keeps_the_reason_of_the_stop(self, capsys):
        def fails():
            try:
                raise DriverError("turn has not replied for 53 ms")
            finally:
                raise RecordingFailed("events.jsonl: No space left on device")

        with pytest.raises(RecordingFailed) as caught:
            fails()
        assert _explain(caught.value) == 3
        assert capsys.readouterr().err.splitlines() == [
            "stribeck: events.jsonl: No space left on device",
            "stribeck: before that, turn has not replied for 53 ms",
        ]


class TestHelp:
    def test_help_loads_only_the_command_line(self):
        """Help is quick because it imports the parser and no more; commands import the rest."""
        code = """
import sys
before = set(sys.modules)
from stribeck.experiments.cli.app import run
assert run(["--help"]) == 0
print("LOADED", *sorted(set(sys.modules) - before))
"""
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
        loaded = done.stdout.splitlines()[-1].split()[1:]
        packages = {name.partition(".")[0] for name in loaded} - sys.stdlib_module_names
        assert packages <= {"stribeck", *PARSER}
        of_stribeck = {name for name in loaded if name.startswith("stribeck.")}
        assert {name for name in of_stribeck if not name.startswith(CLI)} == {
            "stribeck.experiments"
        }
        for command in COMMANDS:
            assert command in done.stdout

    def test_every_command_explains_itself(self, cli):
        outcomes = {command: cli(command, "--help") for command in COMMANDS}
        assert [
            command
            for command, outcome in outcomes.items()
            if outcome.code != 0 or "Usage" not in outcome.out
        ] == []

    @pytest.mark.parametrize(
        ("command", "names"),
        [
            ("export", (*DESCRIPTIONS, *NUMBERS, *RUN_EXPORTS)),
            ("run", (*METHODS, *EXPERIMENTS)),
            ("fit", ("auto", *DIFFERENCES, *ORDER[:-1])),
        ],
    )
    def test_help_names_all_choices(self, cli, command, names):
        """Help texts are written by hand, because help must not load the tables."""
        said = re.sub(r"[\s│]+", "", cli(command, "--help").out)
        assert [name for name in names if name not in said] == []

    def test_version(self, cli):
        from importlib.metadata import version

        assert cli("--version").out.strip() == f"stribeck {version('stribeck')}"

    def test_program_without_a_command_prints_help(self, cli):
        outcome = cli()
        assert outcome.code == 2
        assert "calibrate" in outcome.out + outcome.err
        assert "Traceback" not in outcome.err


def rewrite(arm, make_arm, changes):
    """Change an arm file in place; the result may be invalid."""
    import tomllib

    import tomlkit

    def merge(table, changes):
        for key, value in changes.items():
            if value is None:
                del table[key]
            elif isinstance(value, dict) and isinstance(table.get(key), dict):
                merge(table[key], value)
            else:
                table[key] = value
        return table

    table = merge(tomllib.loads(arm.path.read_text(encoding="utf-8")), changes)
    arm.path.write_text(tomlkit.dumps(table), encoding="utf-8")


def write_log(path):
    t = np.arange(40) / 100.0
    rows = np.column_stack((t, np.sin(t), np.cos(t), 3.0 + t, 2.0 + t))
    np.savetxt(path, rows, delimiter=",", header="t,q1,q2,x1,x2", comments="")
    return path


def edit_row(log, row, text):
    """Replace a row of a log, counted from the header."""
    lines = log.read_text(encoding="utf-8").splitlines()
    lines[row] = text
    log.write_text("\n".join(lines) + "\n", encoding="utf-8")


def change_arm(run, old, new):
    path = run / ARM / "pendulum.toml"
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def change_column(run, name, change):
    """Rewrite one column of a run, or drop it."""
    table = pa.ipc.open_stream((run / SAMPLES).read_bytes()).read_all()
    place = table.column_names.index(name)
    if change is None:
        table = table.remove_column(place)
    else:
        table = table.set_column(
            place, table.schema.field(name), pa.array(change(table[name].to_numpy()))
        )
    with pa.ipc.new_stream(str(run / SAMPLES), table.schema) as writer:
        writer.write_table(table)


def make_rest_run(arm, folder):
    """A run in which nothing moves."""
    from stribeck.drivers.arm import JointSample

    with RunWriter(folder, arm, load_mechanism(arm), "a test", 100.0) as writer:
        for k in range(300):
            t, zero = k / 100.0, np.zeros(2)
            writer.sample(
                JointSample(t, zero, zero, zero, np.full(2, t), None, np.zeros(2, dtype=np.int64)),
                zero,
                zero,
                0,
            )
