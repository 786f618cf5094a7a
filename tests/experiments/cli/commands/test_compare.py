"""``stribeck compare``: exit code, table, data and plot."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stribeck import Calibration
from stribeck.ident.arm.built_in import data_dir

GOLDEN = data_dir() / "golden" / "calibration.toml"


@pytest.fixture
def serviced(tmp_path: Path) -> Path:
    """The golden calibration with 20 % less Coulomb friction and at another temperature."""
    (tmp_path / "serviced").mkdir()
    text = GOLDEN.read_text(encoding="utf-8")
    (old,) = re.findall(r"^coulomb = .*$", text, flags=re.MULTILINE)
    numbers = re.sub(r"\d+\.\d+", lambda match: f"{0.8 * float(match[0]):.6g}", old)
    text = re.sub(
        r"^temperature_range = .*$",
        "temperature_range = [40.0, 44.0]",
        text.replace(old, numbers),
        flags=re.MULTILINE,
    )
    (tmp_path / "serviced" / "calibration.toml").write_text(text, encoding="utf-8")
    return tmp_path / "serviced"


def test_unchanged_is_zero_and_changed_is_one(
    cli: Callable[..., Any], serviced: Path, tmp_path: Path
) -> None:
    shutil.copy(GOLDEN, tmp_path / "again.toml")
    same = cli("compare", GOLDEN, tmp_path / "again.toml")
    assert same.code == 0, same.err
    assert "agree within" in same.out
    other = cli("compare", GOLDEN, serviced)
    assert other.code == 1
    assert other.err == ""
    (row,) = [line for line in other.out.splitlines() if line.split()[:2] == ["hinge", "coulomb"]]
    was = Calibration.load(GOLDEN).joints["hinge"].values["coulomb"]
    for value in (was, 0.8 * was):
        assert f"{value:.3f}" in row
    assert row.strip().endswith("changed")
    assert "25 … 27 °C" in other.out
    assert "40 … 44 °C" in other.out
    assert "temperature may explain a change" in other.out
    assert re.search(r"changed +friction of hinge \(\d+\.\d % rms\)", other.out)


def test_each_is_compared_with_the_first(cli: Callable[..., Any], serviced: Path) -> None:
    outcome = cli("compare", GOLDEN, serviced, GOLDEN, "--json")
    assert outcome.code == 1
    table = json.loads(outcome.out)
    assert [entry["changed"] for entry in table["others"]] == [True, False]
    assert table["changed"]
    hinge = table["others"][0]["joints"]["hinge"]
    coulomb = Calibration.load(GOLDEN).joints["hinge"].values["coulomb"]
    assert hinge["parameters"]["coulomb"]["difference"] == pytest.approx(-0.2 * coulomb, rel=1e-4)
    assert hinge["parameters"]["coulomb"]["changed"]
    assert not hinge["parameters"]["viscous"]["changed"]
    assert hinge["friction"]["changed"]
    assert hinge["temperature"][1] == [40.0, 44.0]
    assert not hinge["traded"]


def test_values_without_comparison_are_not_called_unchanged(
    cli: Callable[..., Any], serviced: Path
) -> None:
    file = serviced / "calibration.toml"
    text = re.sub(
        r"^velocity_range = .*$",
        "velocity_range = [40.0, 50.0]",
        file.read_text(encoding="utf-8"),
        flags=re.MULTILINE,
    )
    file.write_text(
        re.sub(r"^law = .*$", 'law = "stribeck"', text, flags=re.MULTILINE), encoding="utf-8"
    )
    outcome = cli("compare", GOLDEN, serviced)
    assert "not compared: friction of hinge" in outcome.out
    assert "agree within" not in outcome.out


@pytest.mark.parametrize("suffix", [".png", ".svg"])
@pytest.mark.slow
def test_the_plot(cli: Callable[..., Any], serviced: Path, tmp_path: Path, suffix: str) -> None:
    target = tmp_path / f"plot{suffix}"
    assert cli("compare", GOLDEN, serviced, "-o", target).code == 1
    data = target.read_bytes()
    assert data.startswith(b"\x89PNG") if suffix == ".png" else b"<svg" in data
    assert len(data) > 5000
    again = cli("compare", GOLDEN, serviced, "-o", target)
    assert again.code == 2
    assert target.read_bytes() == data


@pytest.mark.slow
def test_the_page(cli: Callable[..., Any], serviced: Path, tmp_path: Path) -> None:
    target = tmp_path / "page.html"
    outcome = cli("compare", GOLDEN, serviced, "-o", target, "--json")
    assert outcome.code == 1
    assert json.loads(outcome.out)["files"] == [str(target)]
    page = target.read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>")
    for words in (
        "hinge",
        "serviced",
        "coulomb",
        "tolerance (95 %)",
        "40 … 44 °C",
        "changed",
        'class="still"',
    ):
        assert words in page
    again = cli("compare", GOLDEN, serviced, "-o", target)
    assert again.code == 2
    assert "exists" in again.err
    assert target.read_text(encoding="utf-8") == page


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([GOLDEN], "needs at least two calibrations"),
        ([GOLDEN, "nosuch.toml"], "nosuch.toml: no such file"),
        (
            [GOLDEN, GOLDEN, "-o", "plot.txt"],
            "plot.txt: unknown plot format '.txt'; the file name must end in .html, .png, .svg",
        ),
    ],
)
def test_invalid_comparison(cli: Callable[..., Any], arguments: list[Any], words: str) -> None:
    outcome = cli("compare", *arguments)
    assert outcome.code == 2
    assert outcome.err.startswith("stribeck: ")
    assert words in outcome.err
    assert len(outcome.err.splitlines()) == 1
