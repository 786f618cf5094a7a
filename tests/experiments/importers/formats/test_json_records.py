"""JSON of any of the usual shapes gives the same run; what is no table is refused in one sentence."""

import json

import numpy as np
import pytest

from stribeck.experiments.arm_files.bare_joints import bare_joints
from stribeck.experiments.importers.readers import open_log
from stribeck.ident.errors import InputError
from tests.experiments.importers.logged_motion import TAU, Q, T, assert_is_the_log
from tests.places import SHARED

RECORDS = [{"timestamp": t, "position": {"turn": q[0], "lift": q[1]}, "torque": list(tau), "enabled": True, "mode": "run"}
           for t, q, tau in zip(T.tolist(), Q.tolist(), TAU.tolist(), strict=True)]
LISTS = {"times": T.tolist(), "q": Q.tolist(), "tau": TAU.tolist(), "robot": "two", "gains": [1.0, 2.0]}


@pytest.mark.parametrize("content", [RECORDS, {"robot": "two", "dt": 0.01, "entries": RECORDS}, LISTS,
                                     {"log": {key: LISTS[key] for key in ("times", "q", "tau")}}])
def test_shapes(bring, tmp_path, content):
    path = tmp_path / "log.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    assert_is_the_log(bring(path))


def test_a_record_a_line(bring, tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join(map(json.dumps, RECORDS)), encoding="utf-8")
    assert_is_the_log(bring(path))


def test_what_the_log_says_of_itself_is_kept(bring, tmp_path):
    path = tmp_path / "log.json"
    path.write_text(json.dumps({"robot": "two", "dt": 0.01, "entries": RECORDS}), encoding="utf-8")
    assert any("robot = two, dt = 0.01" in note for note in bring(path).record["import"]["notes"])


def test_truths_and_words_are_no_columns(tmp_path):
    path = tmp_path / "log.json"
    path.write_text(json.dumps(RECORDS), encoding="utf-8")
    assert set(open_log(path).names) == {"timestamp", "position.turn", "position.lift", "torque.0", "torque.1"}


def test_what_a_record_lacks_is_unknown(tmp_path):
    path = tmp_path / "log.json"
    path.write_text(json.dumps([{"t": 0.0, "q": 1.0}, {"t": 0.1}, {"t": 0.2, "q": None}]), encoding="utf-8")
    np.testing.assert_array_equal(open_log(path).read(["q"])["q"], [1.0, np.nan, np.nan])


@pytest.mark.parametrize("text", ["", "{", "3", "[]", "[1, 2]", "{}", '{"a": "b"}', '[{"t": "x"}]', "[" * 100_000, '{"a": [1]}',
                                  '[{"t": 1}, 2]'])
def test_what_is_no_table(tmp_path, text):
    path = tmp_path / "log.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match="not a table in JSON"):
        open_log(path)


@pytest.mark.skipif(not (SHARED / "xl330").is_dir(), reason="the XL330 logs are not on this computer")
def test_a_servo_on_a_pendulum(cli, tmp_path):
    """Its load is pulse width and no torque: said, and the factor that the message names is taken."""
    arm = tmp_path / "arm.toml"
    arm.write_text('schema = 1\nname = "servo"\nmodel = "servo.urdf"\n', encoding="utf-8")
    (tmp_path / "servo.urdf").write_text(
        bare_joints(["servo"], mass=0.49, lever=0.1), encoding="utf-8")
    log = sorted((SHARED / "xl330").glob("*.json"))[0]
    refused = cli("import", log, "--arm", arm, "--yes")
    assert refused.code == 2
    assert "load: a servo's pulse width, not a torque" in refused.err
    assert cli("import", log, "--arm", arm, "--yes", "--column", "tau.servo=load[0.01 Nm]").code == 0
