"""``stribeck compare`` of three and more calibrations, and ``stribeck validate --fleet``."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from benchmarks.fleet_truth import Truth, simulated
from stribeck import Calibration
from tests.places import DATA
from tests.schemas import judge

GOLDEN = DATA / "golden"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A fleet of ten arms on two days; the newest j1 of A003 has 40 % more friction."""
    place = tmp_path_factory.mktemp("fleet")
    for name, one in simulated(
        Truth(arms=10, days=2, joints=2), np.random.default_rng(5)
    ).calibrations.items():
        (place / "arms" / name).mkdir(parents=True)
        if name == "A003-01":
            worn = one.joints["j1"]
            values = {
                key: replace(p, value=1.4 * p.value, low=1.4 * p.low, high=1.4 * p.high)
                for key, p in worn.parameters.items()
            }
            one = replace(one, joints={**one.joints, "j1": replace(worn, parameters=values)})
        one.save(place / "arms" / name / "calibration.toml")
    return place / "arms"


@pytest.mark.slow
def test_ten_lines_say_what_is_normal_and_what_differs(cli, folder):
    outcome = cli("compare", folder)
    assert outcome.code == 1, outcome.err
    lines = [line for line in outcome.out.splitlines() if line.strip()]
    assert len(lines) <= 10
    assert lines[0].startswith("fleet     six: 10 arms, 20 calibrations, 2 days an arm")
    (row,) = [line for line in lines if line.split()[0] == "j2"]
    assert row.count("%") == 3
    assert any(line.startswith("differs   1 of 20 joints") for line in lines)
    (first,) = [line for line in lines if line.startswith("1 ")]
    assert "A003 j1: +39 %" in first
    assert "from its own history" in first


def test_an_unchanged_fleet_ends_with_zero(cli, folder):
    outcome = cli(
        "compare", *(path for path in sorted(folder.iterdir()) if "A003" not in path.name)
    )
    assert outcome.code == 0, outcome.err
    assert "differs   0 of 18" in outcome.out


@pytest.mark.slow
def test_json_table_and_pictures(cli, folder, tmp_path):
    outcome = cli("compare", folder, "--json", "-o", tmp_path / "fleet.csv")
    table = json.loads(outcome.out)
    judge("compare", table)
    assert table["changed"]
    assert (table["arms"], table["days"]) == (10, 20)
    assert {(one["arm"], one["joint"]) for one in table["findings"] if one["found"]} == {
        ("A003", "j1")
    }
    assert table["files"] == [str(tmp_path / "fleet.csv")]
    rows = pd.read_csv(tmp_path / "fleet.csv")
    assert len(rows) == len(table["calibrations"]) == 40
    assert rows.loc[rows["ratio"].idxmax(), "calibration"] == "A003-01"
    assert cli("compare", folder, "-o", tmp_path / "fleet.png").code == 1
    assert (tmp_path / "fleet.png").read_bytes().startswith(b"\x89PNG")
    assert cli("compare", folder, "-o", tmp_path / "fleet.html").code == 1
    page = (tmp_path / "fleet.html").read_text(encoding="utf-8")
    for words in (
        "A003",
        "Joints × arms",
        "Benjamini",
        "from its own history",
        "normal for a new arm",
    ):
        assert words in page
    for name, words in (
        ("fleet.csv", "exists"),
        ("fleet.html", "exists"),
        ("fleet.txt", ".html, .csv, .png"),
    ):
        refused = cli("compare", folder, "-o", tmp_path / name)
        assert refused.code == 2
        assert words in refused.err


def test_an_empty_folder_and_a_single_calibration_are_refused(cli, tmp_path):
    (tmp_path / "empty").mkdir()
    refused = cli("compare", tmp_path / "empty", GOLDEN)
    assert refused.code == 2
    assert "no calibration.toml" in refused.err
    assert cli("compare", GOLDEN).code == 2


def test_two_of_a_folder_are_compared_as_before(cli, folder, tmp_path):
    for name in ("A000-00", "A000-01"):
        shutil.copytree(folder / name, tmp_path / "pair" / name)
    pair, listed = (
        cli("compare", tmp_path / "pair"),
        cli("compare", folder / "A000-00", folder / "A000-01"),
    )
    assert pair.out == listed.out
    assert "tolerance" in pair.out


@pytest.fixture(scope="module")
def pendulums(tmp_path_factory):
    """Twelve arms like the golden one, with 5 % scatter of friction."""
    place, rng = tmp_path_factory.mktemp("pendulums"), np.random.default_rng(0)
    golden = Calibration.load(GOLDEN)
    for k, factor in enumerate(np.exp(0.05 * rng.normal(size=12))):
        joint = golden.joints["hinge"]
        values = {
            name: p
            if p.value is None or name == "stribeck_velocity"
            else replace(p, value=factor * p.value, low=factor * p.low, high=factor * p.high)
            for name, p in joint.parameters.items()
        }
        (place / f"P{k}").mkdir()
        replace(
            golden,
            serial=f"P{k}",
            runs=({"path": "run", "sha256": f"{k:064x}"},),
            joints={"hinge": replace(joint, parameters=values)},
        ).save(place / f"P{k}" / "calibration.toml")
    return place


@pytest.mark.slow
def test_validate_says_whether_a_new_arm_is_in_family(cli, pendulums, tmp_path):
    run, golden = GOLDEN / "runs" / "constant-speed", Calibration.load(GOLDEN)
    for name, factor in (("new", 1.0), ("worn", 1.5)):
        joint = golden.joints["hinge"]
        values = {
            key: p
            if p.value is None or key == "stribeck_velocity"
            else replace(p, value=factor * p.value, low=factor * p.low, high=factor * p.high)
            for key, p in joint.parameters.items()
        }
        shutil.copytree(
            GOLDEN, tmp_path / name, ignore=shutil.ignore_patterns("runs", "calibration.toml")
        )
        replace(
            golden,
            joints={"hinge": replace(joint, parameters=values)},
            runs=({"path": "other", "sha256": "f" * 64},),
        ).save(tmp_path / name / "calibration.toml")
    inside = cli("validate", run, tmp_path / "new", "--fleet", pendulums, "--tolerance", "10")
    assert inside.code == 0, inside.err
    assert "all joints in family" in inside.out
    outside = cli(
        "validate", run, tmp_path / "worn", "--fleet", pendulums, "--tolerance", "10", "--json"
    )
    assert outside.code == 1
    table = json.loads(outside.out)
    judge("validate", table)
    found = table["fleet"][str(tmp_path / "worn")]["hinge"]
    assert not found["inside"]
    assert found["friction"] > found["normal"][1]
    assert "out of family: hinge" in outside.err


@pytest.mark.slow
def test_a_fleet_is_refused_with_external(cli, pendulums):
    refused = cli(
        "validate", GOLDEN / "runs" / "constant-speed", GOLDEN, "--external", "--fleet", pendulums
    )
    assert refused.code == 2
    assert "--fleet" in refused.err
