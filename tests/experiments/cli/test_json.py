"""``--json``: one object on standard output, as the schema of the command describes it, with the
paths of what was written.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from jsonschema import Draft202012Validator, ValidationError

from stribeck.experiments.cli.app import COMMANDS, FLEET
from stribeck.experiments.cli.common import print_json
from stribeck.experiments.excitation import search
from stribeck.experiments.plans.plan import write_plan
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.log.run import load_run
from tests.experiments.cli.test_cli import MAP, write_log
from tests.places import DATA, DOCS
from tests.schemas import SCHEMAS, judge

GOLDEN = DATA / "golden"
RUN = GOLDEN / "runs" / "constant-speed"
PARTS = {"common", "calibration"}  # schemas that others refer to
WITHOUT = {"emulate"}  # commands without a result
SMALL = {
    "calibrate": {
        "robot_time_s": 1.0,
        "losses": [],
        "calibration": {
            "schema": 1,
            "arm": "a",
            "created": "2026-01-01T00:00:00+00:00",
            "method": "",
            "torque_basis": "drive",
            "runs": [],
            "model": {
                "file": "a.urdf",
                "sha256": "",
                "gravity": [0.0, 0.0, -9.81],
                "tool": {"mass": 0.0, "com": [0.0, 0.0, 0.0]},
                "unknown_tool": {"status": "none", "parameters": {}},
                "inertia": None,
                "transmission": {},
                "drives": [],
                "loops": [],
                "passive": {},
            },
            "fit": {},
            "joints": {},
        },
        "files": [],
    },
    "export": {"losses": [], "files": []},
}


def files(folder: Path) -> set[Path]:
    return {path.resolve() for path in folder.rglob("*") if path.is_file()}


def parts(schema: object, where: str = "") -> Iterator[tuple[str, dict]]:
    """Every schema within a schema, with its place."""
    if isinstance(schema, dict):
        yield where, schema
        for group in ("properties", "$defs"):
            for key, part in schema.get(group, {}).items():
                yield from parts(part, f"{where}.{key}")
        for key in ("items", "additionalProperties"):
            yield from parts(schema.get(key), f"{where}[]")
        for part in schema.get("oneOf", ()):
            yield from parts(part, where)


@pytest.fixture
def as_json(cli, tmp_path):
    """Runs a command with --json; its files must be those that appeared
    in the folder of the test.
    """

    def command(*arguments, code=0):
        before = files(tmp_path)
        outcome = cli(*arguments, "--json")
        assert outcome.code == code, outcome.err
        table = json.loads(outcome.out)
        assert {Path(path).resolve() for path in table["files"]} == files(tmp_path) - before
        return table, outcome.err

    return command


class TestSchemas:
    def test_every_command_has_one(self):
        commands = {
            command.__name__.strip("_")
            for group in (*COMMANDS.values(), FLEET)
            for command in group
        }
        assert SCHEMAS.keys() == commands - WITHOUT | PARTS

    @pytest.mark.parametrize("name", SCHEMAS)
    def test_it_is_a_schema_that_describes_every_key(self, name):
        schema = SCHEMAS[name]
        Draft202012Validator.check_schema(schema)
        assert schema["$id"] == f"{name}.schema.json"
        for where, part in parts(schema):
            # options of the fit, which versions may add to
            if "properties" in part and where != ".fit":
                assert part["additionalProperties"] is False, where
            for key, inner in part.get("properties", {}).items():
                assert len(inner["description"]) > 4, f"{where}.{key}"
                kinds = inner.get("type", "")
                if {"number", "integer"} & ({kinds} if isinstance(kinds, str) else set(kinds)):
                    assert inner["description"].endswith("]"), f"{where}.{key} has no unit"

    def test_the_page_links_every_schema(self):
        page = (DOCS / "manual" / "commands.md").read_text(encoding="utf-8")
        assert set(re.findall(r"data/schemas/(\w+)\.schema\.json\)", page)) == SCHEMAS.keys()

    def test_every_command_names_its_files(self):
        for name in SCHEMAS.keys() - PARTS - {"replay"}:
            shapes = SCHEMAS[name].get("oneOf", [SCHEMAS[name]])
            assert all("files" in shape.get("required", ["files"]) for shape in shapes), name

    @pytest.mark.parametrize("command", SMALL)
    def test_another_key_or_a_lost_key_fails(self, command):
        judge(command, SMALL[command])
        with pytest.raises(ValidationError, match="'speed' was unexpected"):
            judge(command, SMALL[command] | {"speed": 1.0})
        with pytest.raises(ValidationError, match="'files' is a required property"):
            judge(command, {key: value for key, value in SMALL[command].items() if key != "files"})
        with pytest.raises(ValidationError, match="is not of type 'array'"):
            judge(command, SMALL[command] | {"files": "here"})

    def test_another_key_deep_inside_fails(self):
        table = json.loads(json.dumps(SMALL["calibrate"]))
        table["calibration"]["model"]["tool"]["colour"] = "red"
        with pytest.raises(ValidationError, match="'colour' was unexpected"):
            judge("replay", table)
        with pytest.raises(ValidationError):
            judge("fit", table)


class TestOutput:
    def test_numbers_that_json_lacks_become_null(self, capsys):
        print_json(
            {"ends": [float("nan"), (1.0, -np.inf)], "deep": {"value": np.float64("inf")}},
            [Path("a")],
        )
        assert json.loads(capsys.readouterr().out, parse_constant=pytest.fail) == {
            "ends": [None, [1.0, None]],
            "deep": {"value": None},
            "files": ["a"],
        }

    def test_nothing_is_on_standard_output_after_an_error(self, cli):
        outcome = cli("loads", "lab7", "--json")
        assert outcome.code == 2
        assert outcome.out == ""

    @pytest.mark.slow
    def test_init(self, as_json, make_arm, tmp_path):
        model = make_arm().path.with_name("pair.urdf")
        table, err = as_json("init", model, "-o", tmp_path / "my" / "arm.toml")
        assert table["joints"] == ["turn", "lift"]
        assert "acceleration" in table["needed"]
        assert "wrote" in err
        assert (
            as_json("init", "--joint", "motor", "-o", tmp_path / "motor.toml")[0]["arm"] == "motor"
        )

    def test_check(self, as_json, make_arm):
        table, err = as_json("check", make_arm().path)
        assert table["pages"]["limits in force"]["lift"]["torque"] == "40 N·m"
        assert "pair: 2 joints" in err

    @pytest.mark.slow
    def test_plan(self, as_json, make_arm, tmp_path):
        table, err = as_json("plan", make_arm().path, "-o", tmp_path / "plan.toml")
        assert 60.0 < table["robot_time_s"] < 1200.0
        assert table["load_spread"]["lift"]["torque"][1] > 4.0
        assert "of robot time" in err

    def test_loads(self, as_json, make_arm):
        table, err = as_json("loads", make_arm().path, "--q", "0,0")
        assert table["q"] == [0.0, 0.0]
        assert table["loads"]["lift"]["torque"] == pytest.approx(2.0 * 9.81 * 0.25)
        # its bearing is not known: left out, not nan
        assert "normal" not in table["loads"]["lift"]
        assert "lift" in err

    @pytest.mark.parametrize(
        "name",
        [
            "five-axis-tree",
            "three-loop-chain",
            "six-cylinders",
            "planar-3-prr",
            "gough-stewart",
            "flexible-arm",
        ],
    )
    def test_loads_of_every_mechanism(self, cli, as_json, name):
        table, _ = as_json("loads", name)
        printed = cli("loads", name).out
        assert set(table["loads"]) == set(load_mechanism(name).names)
        for joint, row in table["loads"].items():
            (line,) = [
                line for line in printed.splitlines() if line.strip().startswith(f"{joint}  ")
            ]
            assert f"{row['radial']:.3f}" in line
        assert (
            ("cut_joints" in table)
            == bool(load_mechanism(name).closures)
            == ("loops closed" in printed)
        )

    def test_posture_outside_the_range_is_noted(self, cli, as_json, make_arm):
        arm = make_arm().path
        assert as_json("loads", arm, "--q", "0,1.7")[0]["outside_range"] == ["lift"]
        assert (
            "note: lift = 1.7000 rad is outside its range, -1.6000 to 1.6000 rad"
            in cli("loads", arm, "--q", "0,1.7").out
        )
        assert "note" not in cli("loads", arm, "--q", "0,1.6").out

    def test_loads_in_motion(self, as_json):
        table, _ = as_json("loads", "three-loop-chain", "--q", "1.0", "--dq", "0.1")
        assert table["friction"]["1''"] == pytest.approx(0.515121, abs=1e-6)
        assert table["tau"] == {"1''": pytest.approx(0.888484 + 0.515121, abs=1e-6)}

    @pytest.mark.slow
    def test_tables_of_motion_and_torque(self, as_json, make_arm, tmp_path):
        t = np.linspace(0.0, 1.0, 21)
        for name, columns in (("motion", "q"), ("torque", "tau")):
            np.savetxt(
                tmp_path / f"{name}.csv",
                np.column_stack((t, 0.1 * t**2, 0.2 * t**2)),
                delimiter=",",
                comments="",
                header=f"t,{columns}.turn,{columns}.lift",
            )
        model = make_arm().path
        along, _ = as_json("loads", model, "--motion", tmp_path / "motion.csv")
        assert set(along["ranges"]) >= {"torque.turn", "bending.lift"}
        needed, err = as_json(
            "simulate", model, "--motion", tmp_path / "motion.csv", "-o", "needed.csv"
        )
        assert needed["largest"]["lift"] > 4.0
        assert "wrote     needed.csv" in err
        moved, _ = as_json(
            "simulate", model, "--torque", tmp_path / "torque.csv", "-o", "moved.csv"
        )
        assert moved["rows"] == 21

    @pytest.mark.slow
    def test_run_and_import(self, as_json, make_arm, make_plan, tmp_path):
        arm = make_arm()
        write_plan(make_plan(arm), tmp_path / "plan.toml")
        table, err = as_json(
            "run", arm.path, "--plan", tmp_path / "plan.toml", "-o", tmp_path / "out"
        )
        assert load_run(Path(table["run"])).closed
        assert table["robot_time_s"] > 1.0
        assert "wrote" in err
        log = write_log(tmp_path / "log.csv")
        table, _ = as_json(
            "import", log, "--arm", arm.path, *MAP, "--yes", "-o", tmp_path / "imported"
        )
        assert len(load_run(Path(table["run"])).t) == 40

    @pytest.mark.parametrize(
        "words", [("fit", "--law", "stribeck", "--load", "torque"), ("replay",)]
    )
    @pytest.mark.slow
    def test_fit_and_replay(self, as_json, tmp_path, words):
        command, *options = words
        table, err = as_json(command, RUN, *options, "-o", tmp_path / "out")
        assert table["robot_time_s"] > 60.0
        assert table["calibration"]["joints"]["hinge"]["law"] == "stribeck"
        assert table["losses"]
        assert "wrote" in err

    @pytest.mark.slow
    def test_fit_of_a_table(self, as_json, tmp_path):
        speed = np.geomspace(0.01, 1.0, 20)
        np.savetxt(
            tmp_path / "table.csv",
            np.column_stack((speed, 2.0 + np.exp(-speed / 0.05) + speed)),
            delimiter=",",
            header="speed [rad/s],torque [Nm]",
            comments="",
        )
        assert as_json("fit", "--table", tmp_path / "table.csv")[0]["calibration"]["joints"]

    @pytest.mark.usefixtures("small_plans")
    @pytest.mark.slow
    def test_the_main_job_and_its_judgement(self, as_json, make_arm, tmp_path):
        """A fast little joint, so that the whole job takes seconds."""
        arm = make_arm(
            {
                "driver": {"rate": 100.0},
                "joints": {"turn": {"gear_ratio": 400.0, "rotor_inertia": 2.5e-6}},
            }
        )
        table, _ = as_json("calibrate", arm.path, "--joints", "turn", "-o", tmp_path / "out")
        parameters = table["calibration"]["joints"]["turn"]["parameters"]
        for name, value in {
            "coulomb": 3.0,
            "static": 4.5,
            "viscous": 2.0,
            "stribeck_velocity": 0.08,
        }.items():
            assert parameters[name]["value"] == pytest.approx(value, rel=0.02)
        assert table["robot_time_s"] > 30.0
        as_json("report", tmp_path / "out", "-o", tmp_path / "page")
        assert not as_json("show", tmp_path / "page")[0]["opened"]
        run, _ = as_json(
            "run",
            arm.path,
            "--joints",
            "turn",
            "--experiment",
            "validation",
            "-o",
            tmp_path / "unseen",
        )
        judged, _ = as_json(
            "validate", run["run"], tmp_path / "out", "-o", tmp_path / "torques.svg"
        )
        assert judged["passed"]

    @pytest.mark.slow
    def test_excitation(self, as_json, make_arm, tmp_path, monkeypatch):
        for turns in ("_TRIAL_TURNS", "_TURNS"):
            monkeypatch.setattr(search, turns, 6)
        told, _ = as_json(
            "run",
            make_arm().path,
            "--experiment",
            "excitation",
            "--budget",
            "10s",
            "-o",
            tmp_path / "waves",
        )
        assert told["friction"][0]["joint"] == "turn"
        assert 0.0 < told["room"]["velocity"]["free"] < 0.5

    @pytest.mark.slow
    def test_presliding(self, as_json, make_arm):
        options = (
            "--experiment",
            "presliding",
            "--joints",
            "turn",
            "--places",
            "1",
            "--amplitudes",
            "0.001,0.004,0.01,0.03",
        )
        told, err = as_json("plan", make_arm().path, *options)
        assert told["amplitudes"] == {"turn": [0.001, 0.004, 0.01, 0.03]}
        assert 20.0 < told["robot_time_s"] < 100.0
        assert "half amplitudes from 0.001 to 0.03 rad" in err

    @pytest.mark.slow
    def test_lowest_speed(self, as_json, make_arm, tmp_path):
        arm = make_arm(
            {
                "driver": {"rate": 50.0},
                "joints": {"turn": {"gear_ratio": 400.0, "rotor_inertia": 2.5e-6}},
            }
        )
        lowest, _ = as_json(
            "run",
            arm.path,
            "--joints",
            "turn",
            "--experiment",
            "lowest-speed",
            "-o",
            tmp_path / "lowest",
        )
        assert lowest["lowest_speeds"].keys() == {"turn"}

    def test_compare(self, as_json, tmp_path):
        assert not as_json("compare", GOLDEN, GOLDEN, "-o", tmp_path / "curves.svg")[0]["changed"]

    @pytest.mark.parametrize("target", ["json", "csv", "mcap"])
    @pytest.mark.slow
    def test_export(self, as_json, tmp_path, target):
        source = GOLDEN if target == "json" else RUN
        table, err = as_json("export", source, "--to", target, "-o", tmp_path / f"out.{target}")
        assert bool(table["losses"]) == (target == "csv")
        assert "wrote" in err

    def test_the_json_export_is_what_a_calibration_is_as_json(self, cli, tmp_path):
        assert cli("export", GOLDEN, "--to", "json", "-o", tmp_path / "out.json").code == 0
        judge("calibration", json.loads((tmp_path / "out.json").read_text(encoding="utf-8")))
