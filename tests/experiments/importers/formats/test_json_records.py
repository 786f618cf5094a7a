"""The usual forms of JSON logs give the same run; other JSON files are refused."""

import json

import numpy as np
import pytest

from stribeck.experiments.arm_files.bare_joints import bare_joints
from stribeck.experiments.importers.readers import open_log
from stribeck.ident.errors import InputError
from stribeck.ident.log.run import load_run
from stribeck.ident.servo.servo_commands import servo_commands
from tests.experiments.importers.logged_motion import TAU, Q, T, assert_is_the_log
from tests.places import SHARED

RECORDS = [
    {
        "timestamp": t,
        "position": {"turn": q[0], "lift": q[1]},
        "torque": list(tau),
        "enabled": True,
        "mode": "run",
    }
    for t, q, tau in zip(T.tolist(), Q.tolist(), TAU.tolist(), strict=True)
]
LISTS = {
    "times": T.tolist(),
    "q": Q.tolist(),
    "tau": TAU.tolist(),
    "robot": "two",
    "gains": [1.0, 2.0],
}


@pytest.mark.parametrize(
    "content",
    [
        RECORDS,
        {"robot": "two", "dt": 0.01, "entries": RECORDS},
        LISTS,
        {"log": {key: LISTS[key] for key in ("times", "q", "tau")}},
    ],
)
def test_records_and_lists(bring, tmp_path, content):
    path = tmp_path / "log.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    assert_is_the_log(bring(path))


def test_json_lines(bring, tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join(map(json.dumps, RECORDS)), encoding="utf-8")
    assert_is_the_log(bring(path))


def test_metadata_are_kept_in_a_note(bring, tmp_path):
    path = tmp_path / "log.json"
    path.write_text(json.dumps({"robot": "two", "dt": 0.01, "entries": RECORDS}), encoding="utf-8")
    assert any("robot = two, dt = 0.01" in note for note in bring(path).record["import"]["notes"])


def test_booleans_and_texts_are_not_columns(tmp_path):
    path = tmp_path / "log.json"
    path.write_text(json.dumps(RECORDS), encoding="utf-8")
    table = open_log(path)
    assert set(table.names) == {
        "timestamp",
        "position.turn",
        "position.lift",
        "torque.0",
        "torque.1",
    }
    assert table.flags == ("enabled",)  # only for the signal "on"
    assert set(table.read(["enabled"])["enabled"]) <= {0.0, 1.0}


def test_missing_entries_are_nan(tmp_path):
    path = tmp_path / "log.json"
    path.write_text(
        json.dumps([{"t": 0.0, "q": 1.0}, {"t": 0.1}, {"t": 0.2, "q": None}]), encoding="utf-8"
    )
    np.testing.assert_array_equal(open_log(path).read(["q"])["q"], [1.0, np.nan, np.nan])


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "3",
        "[]",
        "[1, 2]",
        "{}",
        '{"a": "b"}',
        '[{"t": "x"}]',
        "[" * 100_000,
        '{"a": [1]}',
        '[{"t": 1}, 2]',
    ],
)
def test_json_without_a_table_is_refused(tmp_path, text):
    path = tmp_path / "log.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match="cannot be read as a JSON table"):
        open_log(path)


@pytest.mark.skipif(
    not (SHARED / "xl330").is_dir(), reason="the measured XL330 logs are not part of the project"
)
@pytest.mark.slow
def test_a_servo_on_a_pendulum(cli, tmp_path):
    """The servo's load is a pulse width, not a torque; import says so and accepts a factor."""
    arm = tmp_path / "arm.toml"
    arm.write_text('schema = 1\nname = "servo"\nmodel = "servo.urdf"\n', encoding="utf-8")
    (tmp_path / "servo.urdf").write_text(
        bare_joints(["servo"], mass=0.49, lever=0.1), encoding="utf-8"
    )
    log = sorted((SHARED / "xl330").glob("*.json"))[0]
    refused = cli("import", log, "--arm", arm, "--yes")
    assert refused.code == 2
    assert "load: a servo's pulse width, not a torque" in refused.err
    assert (
        cli("import", log, "--arm", arm, "--yes", "--column", "tau.servo=load[0.01 Nm]").code == 0
    )


class TestServos:
    """Logs without torque: set-points, and whether the servo was powered."""

    def log(self, folder, **changes):
        t = np.arange(400) / 100.0
        q, goal, on = 0.5 * np.sin(t), 0.6 * np.sin(t) + 0.1, t < 3.0
        path = folder / "servo.json"
        path.write_text(
            json.dumps(
                [
                    {"t": a, "position": b, "goal": c, "powered": bool(d), **changes}
                    for a, b, c, d in zip(t, q, goal, on, strict=True)
                ]
            ),
            encoding="utf-8",
        )
        (folder / "servo.urdf").write_text(
            bare_joints(["servo"], mass=0.49, lever=0.1), encoding="utf-8"
        )
        return path, t, q, goal, on

    def options(self, path, folder, *further):
        return (
            "import",
            path,
            "--arm",
            folder / "servo.urdf",
            "--column",
            "q_cmd.servo=goal[rad]",
            "--yes",
            "--out",
            folder / "campaign",
            *further,
        )

    def test_gain_and_power_reach_the_run(self, cli, tmp_path):
        path, _, q, goal, on = self.log(tmp_path)
        outcome = cli(
            *self.options(path, tmp_path, "--servo", "servo=200", "--column", "on.servo=powered")
        )
        assert outcome.code == 0, outcome.err
        assert "--signal commands" in outcome.out
        run = load_run(next((tmp_path / "campaign" / "runs").iterdir()), ("q", "tau", "q_cmd"))
        assert run.record["import"]["torque_signal"] == "position error"
        np.testing.assert_allclose(
            run.signals["tau"][:, 0], np.where(on, 200.0 * (goal - q), 0.0), atol=1e-9
        )
        commands = servo_commands(run)
        np.testing.assert_array_equal(commands.gains[:, 0], np.where(on, 200.0, 0.0))
        np.testing.assert_allclose(commands.goals[on, 0], goal[on])
        assert set(commands.goals[~on, 0]) == {goal[on][-1]}

    @pytest.mark.parametrize(
        ("further", "words"),
        [
            (("--servo", "servo"), "JOINT=GAIN"),
            (("--servo", "servo=0"), "positive"),
            (("--servo", "other=3"), "servo"),
            (("--servo", "servo=200", "--column", "on.servo=goal2"), "goal2"),
            (("--servo", "servo=200", "--motors"), "--motors"),
        ],
    )
    def test_wrong_options_are_refused(self, cli, tmp_path, further, words):
        path, *_ = self.log(tmp_path)
        outcome = cli(*self.options(path, tmp_path, *further))
        assert outcome.code == 2
        assert words in outcome.err

    def test_set_points_are_needed(self, cli, tmp_path):
        path, *_ = self.log(tmp_path)
        outcome = cli(
            "import", path, "--arm", tmp_path / "servo.urdf", "--servo", "servo=200", "--yes"
        )
        assert outcome.code == 2
        assert "q_cmd.servo" in outcome.err
