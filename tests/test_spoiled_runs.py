"""Spoiled runs of the arm `pair`: each fault is named with its joint, and the friction of
other joints is unchanged.
"""

from pathlib import Path

import numpy as np
import pytest

from benchmarks import spoiled
from benchmarks.spoiled import HEAVY, SCENARIOS, Spoiled, changed, judge, record_base
from stribeck.ident.log.run import Run


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return record_base(tmp_path_factory.mktemp("campaigns") / "pair", 1)


@pytest.mark.parametrize(
    "name", [name for name, (spoil, _) in SCENARIOS.items() if spoil is not spoiled.weak]
)
def test_a_fault_is_named_and_other_joints_are_unchanged(name: str, recorded: Path) -> None:
    """With one draw of each fault; the benchmark of spoiled runs has more."""
    assert judge(name, recorded, 1) == ""


def test_a_weak_drive_is_named(tmp_path: Path) -> None:
    assert (
        judge("drive too weak (simulated)", record_base(tmp_path / "weak", 2, weak=True), 0) == ""
    )


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
    spoil, wrong: str, recorded: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(SCENARIOS, "a test", (spoil, ""))
    assert wrong in judge("a test", recorded, 0)
