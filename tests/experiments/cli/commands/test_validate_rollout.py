"""`validate --rollout` on the golden log: what it writes, and refusals
before anything is simulated.
"""

import json
import shutil
from dataclasses import replace

import pytest

from stribeck import Calibration
from tests.places import DATA
from tests.short_runs import shortened

GOLDEN = DATA / "golden"
RUN = GOLDEN / "runs" / "constant-speed"


@pytest.fixture
def other(tmp_path):
    """The golden calibration, as if it were fitted to other runs."""
    shutil.copy(GOLDEN / Calibration.load(GOLDEN).model.file, tmp_path)
    replace(Calibration.load(GOLDEN), runs=()).save(tmp_path / "calibration.toml")
    return tmp_path


@pytest.mark.slow
def test_json_and_plot(cli, other, tmp_path):
    out, run = tmp_path / "motion.svg", shortened(RUN, tmp_path / "short", 400)
    outcome = cli("validate", run, other, "--rollout", "--json", "--out", out)
    told = json.loads(outcome.out)
    assert set(told["rollout"]["simulated"]) == {"without friction", str(other)}
    assert "simulated minus measured position" in outcome.err
    assert out.read_text().lstrip().startswith("<?xml")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--gains", "hinge=1,1"), "add it, or leave them out"),
        (("--rollout", "--gains", "hinge=one"), "JOINT=KP,KD"),
        (
            ("--rollout", "--gains", "hinge=1,1", "--gains", "hinge=2,1"),
            "hinge is stated more than once",
        ),
        (("--rollout", "--gains", "elbow=1,1"), "unknown joint"),
        (("--rollout", "--horizon", "0"), "above 0"),
        (("--rollout", "--out", "nowhere/motion.svg"), "does not exist"),
        (("--rollout", "--out", "motion.jpg"), ".html, .png, .svg, .pdf"),
    ],
)
def test_refusals(cli, other, options, words):
    outcome = cli("validate", RUN, other, *options)
    assert (outcome.code, outcome.out) == (2, ""), outcome
    assert words in outcome.err


@pytest.mark.slow
def test_another_serial_number_is_told(cli, other, tmp_path):
    """A calibration or a run that states none may be of the same arm."""
    run = tmp_path / "run"
    shutil.copytree(RUN, run)
    record = json.loads((run / "run.json").read_text(encoding="utf-8"))
    (run / "run.json").write_text(json.dumps(record | {"serial": "B-2"}), encoding="utf-8")
    made = Calibration.load(other)
    for serial, told in (("A-7", True), ("B-2", False), ("", False)):
        replace(made, serial=serial).save(other / "calibration.toml")
        said = " ".join(cli("validate", run, other).out.split())
        assert ("it is of the arm with the serial number A-7, and the run of B-2" in said) is told
