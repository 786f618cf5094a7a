"""Small arms for tests of drivers, written to where a test may change them."""

import shutil
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tomlkit

from drivers import Arm, Command, JointSample
from drivers.simulated import SimulatedArm
from ident.armfile import ArmFile, load_arm

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
def simulate(make_arm: Callable[..., ArmFile]) -> Callable[..., SimulatedArm]:
    """Makes an enabled simulated arm whose ``[simulation]`` table has these changes."""

    def make(simulation: dict[str, Any] | None = None, base: str = "pair", seed: int | None = None) -> SimulatedArm:
        arm = SimulatedArm(make_arm({"simulation": simulation or {}}, base), seed=seed)
        arm.enable()
        return arm

    return make


@pytest.fixture
def drive() -> Callable[..., dict[str, np.ndarray]]:
    """Drives an arm through velocity commands, (N, n); gives t, q, dq and tau with one row per command."""

    def run(arm: Arm, velocity: np.ndarray) -> dict[str, np.ndarray]:
        samples: list[JointSample] = [arm.step(Command(row)) for row in np.asarray(velocity, dtype=float)]
        return {key: np.array([getattr(sample, key) for sample in samples]) for key in ("t", "q", "dq", "tau")}

    return run


def _merged(table: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    for key, value in changes.items():
        if value is None:
            table.pop(key, None)
        elif isinstance(value, dict) and isinstance(table.get(key), dict):
            _merged(table[key], value)
        else:
            table[key] = value
    return table
