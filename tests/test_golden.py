"""Protection against silent changes: a stored run gives its stored calibration."""

from pathlib import Path

import pytest

from stribeck import Calibration
from stribeck.experiments.cli.app import run
from tests.places import DATA
from tests.printed import STORED

GOLDEN = DATA / "golden"


def test_golden_run_gives_the_golden_calibration(tmp_path: Path) -> None:
    folder = str(GOLDEN / "runs" / "constant-speed")
    assert run(["fit", folder, "--out", str(tmp_path / "out")]) == 0
    joint, golden = (
        Calibration.load(path).joints["hinge"]
        for path in (tmp_path / "out", GOLDEN / "calibration.toml")
    )
    assert (joint.law, joint.load) == (golden.law, golden.load) == ("stribeck", "torque")
    assert [(one.law, one.load, one.dismissed) for one in joint.candidates] == [
        (one.law, one.load, one.dismissed) for one in golden.candidates
    ]
    assert ("stribeck", "torque", "") in {
        (one.law, one.load, one.dismissed) for one in golden.candidates
    }
    for name, parameter in golden.parameters.items():
        new = joint.parameters[name]
        near = STORED * (parameter.high - parameter.low) / 2.0
        for end in ("value", "low", "high"):
            assert getattr(new, end) == pytest.approx(getattr(parameter, end), rel=0.0, abs=near)
        assert new.verdict == parameter.verdict
