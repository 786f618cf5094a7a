"""Plans for drivers of other packages: speeds that their drives can hold,
and room for their overrun.
"""

from collections.abc import Callable
from dataclasses import replace
from importlib.metadata import EntryPoint
from types import ModuleType

import numpy as np
import pytest

from stribeck.drivers.simulation.simulated_arm import SimulatedArm
from stribeck.experiments.methods.registry import plan_method
from stribeck.experiments.plans.margins import silence
from stribeck.ident.arm.arm_file import ArmFile

STEP = 0.013


@pytest.fixture
def connect_coarse(monkeypatch: pytest.MonkeyPatch) -> Callable[..., SimulatedArm]:
    """The function of an installed plug-in "coarse", whose drives have a velocity resolution."""

    def made(arm: ArmFile, seed: int | None) -> SimulatedArm:
        found = SimulatedArm(arm, seed=seed)
        found.resolution = replace(found.resolution, velocity_step=np.full(len(found.names), STEP))
        return found

    module = ModuleType("coarse_drives")
    module.connect = made
    monkeypatch.setitem(__import__("sys").modules, "coarse_drives", module)
    entry = EntryPoint("coarse", "coarse_drives:connect", "stribeck.drivers")
    monkeypatch.setattr(
        "importlib.metadata.entry_points",
        lambda group: [entry] if group == "stribeck.drivers" else [],
    )
    return made


@pytest.mark.slow
def test_speeds_are_multiples_of_the_drives_resolution(connect_coarse, make_arm):
    arm = make_arm(
        {"driver": {"kind": "coarse", "watchdog": 0.1}, "workspace": {"box": [[-1.0, 1.0]] * 3}}
    )
    steps = (
        np.array(
            [
                segment.speed
                for segment in plan_method("single", arm).segments
                if segment.kind == "stroke"
            ]
        )
        / STEP
    )
    assert len(steps) > 20
    np.testing.assert_allclose(steps, np.round(steps), atol=1e-6)


def test_drives_that_hold_without_commands_need_no_room_for_brakes(connect_coarse, make_arm):
    arm = make_arm({"driver": {"kind": "coarse", "watchdog": 0.5}})
    losing_power = silence(arm)
    connect_coarse.holding = True
    assert silence(arm) < losing_power
