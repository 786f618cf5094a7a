"""Small arms for tests of drivers, in files that a test may change."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from stribeck.drivers.arm import Arm, Command, JointSample
from stribeck.drivers.simulation.simulated_arm import SimulatedArm
from stribeck.ident.arm.arm_file import ArmFile
from tests.drivers.virtual import Bench, benches


def pytest_itemcollected(item: pytest.Item) -> None:
    """Tests with emulated drives belong to the slow half."""
    if "bench" in getattr(item, "fixturenames", ()):
        item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="module")
def bench(make_arm: Callable[..., ArmFile]) -> Iterator[Callable[..., Bench]]:
    """Make emulated drives in virtual time: ``bench(kind, changes)``; `connect` finds them by the
    bus that an arm file names.
    """
    with benches(make_arm) as start:
        yield start


@pytest.fixture
def simulate(make_arm: Callable[..., ArmFile]) -> Callable[..., SimulatedArm]:
    """Make an enabled simulated arm whose ``[simulation]`` table has these changes."""

    def make(
        simulation: dict[str, Any] | None = None, base: str = "pair", seed: int | None = None
    ) -> SimulatedArm:
        arm = SimulatedArm(make_arm({"simulation": simulation or {}}, base), seed=seed)
        arm.enable()
        return arm

    return make


@pytest.fixture
def drive() -> Callable[..., dict[str, np.ndarray]]:
    """Drive an arm through velocity commands, (N, n); return t, q, dq and tau
    with one row per command.
    """

    def run(arm: Arm, velocity: np.ndarray) -> dict[str, np.ndarray]:
        samples: list[JointSample] = [
            arm.step(Command(row)) for row in np.asarray(velocity, dtype=float)
        ]
        return {
            key: np.array([getattr(sample, key) for sample in samples])
            for key in ("t", "q", "dq", "tau")
        }

    return run
