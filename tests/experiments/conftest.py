"""Small arms and plans for tests of experiments, and the command line in this process."""

import shutil
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tomlkit

from experiments.cli.app import run
from experiments.plan import Plan, Segment, with_robot_time
from ident.armfile import ArmFile, load_arm
from ident.run import arm_sha256

ARMS = Path(__file__).parent.parent / "arms"


@pytest.fixture
def make_arm(tmp_path: Path) -> Callable[..., ArmFile]:
    """Makes an arm file from a small one and changes to its tables; None removes a key."""
    made = iter(range(1000))

    def make(changes: dict[str, Any] | None = None, base: str = "pair") -> ArmFile:
        folder = tmp_path / f"arm-{next(made)}"
        folder.mkdir()
        shutil.copy(ARMS / f"{base}.urdf", folder)
        table = tomllib.loads((ARMS / f"{base}.toml").read_text(encoding="utf-8"))
        (folder / f"{base}.toml").write_text(tomlkit.dumps(_merged(table, changes or {})), encoding="utf-8")
        return load_arm(folder / f"{base}.toml")

    return make


@pytest.fixture
def make_plan() -> Callable[..., Plan]:
    """Makes a plan of round trips of one joint: a pair of strokes for every speed, after a move to a posture."""

    def make(arm: ArmFile, joint: int = 0, speeds: tuple[float, ...] = (0.4,), way: float = 0.3,
             posture: tuple[float, ...] = (0.2, 0.3), names: tuple[str, ...] = ("turn", "lift")) -> Plan:
        there = np.array(posture)
        there[joint] += way
        segments = [Segment(0, "move", posture, 1)]
        for speed in speeds:
            k = len(segments)
            segments.append(Segment(k, "stroke", tuple(there.tolist()), 1, names[joint], speed))
            segments.append(Segment(k + 1, "stroke", posture, 1, names[joint], speed, k))
        plan = Plan(arm.name, arm_sha256(arm), "a test", 0, names, (0.0,) * len(names), tuple(segments))
        return with_robot_time(plan, arm)

    return make


@dataclass(frozen=True)
class Outcome:
    """What a command gave: exit code, standard output, standard error."""

    code: int
    out: str
    err: str


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Outcome]:
    """Runs the command line in this process, in an empty folder of its own."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")

    def command(*arguments: Any) -> Outcome:
        capsys.readouterr()
        code = run([str(argument) for argument in arguments])
        return Outcome(code, *capsys.readouterr())

    return command


def _merged(table: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    for key, value in changes.items():
        if value is None:
            table.pop(key, None)
        elif isinstance(value, dict) and isinstance(table.get(key), dict):
            _merged(table[key], value)
        else:
            table[key] = value
    return table
