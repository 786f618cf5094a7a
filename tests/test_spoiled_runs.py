"""Spoiled runs of the arm `pair`: each fault is named with its joint, and the friction of
other joints is unchanged.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks import spoiled
from benchmarks.spoiled import HEAVY, SCENARIOS, Spoiled, changed, judge, record_base
from stribeck.ident.log.campaign_folder import find_runs
from stribeck.ident.log.run import Run
from tests.recorded import Recorded

pytestmark = pytest.mark.slow

FEW = replace(spoiled.SHORT, postures=2, speeds=5)
# minutes of computing: the benchmark `spoiled` has these, and more draws of the others
ELSEWHERE = {
    "drive too weak (simulated)",
    "torque 40 to 200 ms late",
    "more noise",
    "torque in amperes",
    "answers 40 to 200 ms late",
    "gaps",
    # tests of the log's health have these
    "samples that repeat",
    "strokes in which a joint stuck",
    "torque clipped at its limit",
}


def record(folder: Path) -> None:
    record_base(folder / "pair", 1, options=FEW)


@pytest.fixture(scope="module")
def run_folder(recorded: Recorded) -> Path:
    """A short run of the arm with random friction."""
    (folder,) = find_runs(recorded.folder(record) / "pair")
    return folder


@pytest.mark.parametrize("name", sorted(SCENARIOS.keys() - ELSEWHERE))
def test_a_fault_is_named_and_other_joints_are_unchanged(name: str, run_folder: Path) -> None:
    """With one draw of each fault."""
    assert judge(name, run_folder, 1) == ""


def unseen(run: Run, rng: np.random.Generator) -> Spoiled:
    """Nothing to see."""
    return Spoiled(run, {(HEAVY, "never moved")})


def unnamed(run: Run, rng: np.random.Generator) -> Spoiled:
    """The judge detects friction that is 5 % too great without a finding."""
    return Spoiled(changed(run, tau=1.05 * run.signals["tau"]))


@pytest.mark.parametrize(
    ("spoil", "wrong"), [(unseen, "missing findings"), (unnamed, "half widths wrong")]
)
def test_the_judge_can_fail(
    spoil, wrong: str, run_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(SCENARIOS, "a test", (spoil, ""))
    assert wrong in judge("a test", run_folder, 0)
