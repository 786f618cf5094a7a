"""Each installed simulator moves lab6 with calibrated friction: it slides with the friction of
the law, and holds at rest.
"""

import argparse
from collections.abc import Callable

import numpy as np
import pytest

from benchmarks.consumers import FUNCTIONS, MUJOCO, OTHERS, Consumer, installed
from benchmarks.simulators import judged, of_function, rest
from stribeck import Calibration
from tests.ident.export.conftest import made_joint

WHOLE = [one for one in (MUJOCO[0], *OTHERS) if "export" not in one.name]
FILES = [one for one in OTHERS if "export" in one.name]
OPTIONS = argparse.Namespace(postures=1, seconds=1.5, seed=1)
LOADS = "normal", "torque", "none", "bending", "none", "torque"


@pytest.fixture
def made(make_calibration: Callable[..., Calibration]) -> Calibration:
    laws = (
        "stribeck",
        "stribeck",
        "tustin",
        "coulomb-viscous",
        "stribeck-power",
        "stribeck-loaded-viscous",
    )
    kinds = zip(laws, LOADS, strict=True)
    return make_calibration(
        joints={f"j{k + 1}": made_joint(law, load, k) for k, (law, load) in enumerate(kinds)}
    )


def needed(one: Consumer) -> Consumer:
    """Skip the test where a package of the simulator is not installed."""
    if one.missing:
        pytest.skip(f"{', '.join(one.missing)} is not installed")
    return one


@pytest.mark.slow
@pytest.mark.parametrize(
    ("one", "dt"),
    [(WHOLE[0], 0.001), *((one, 0.005) for one in WHOLE)],
    ids=lambda of: getattr(of, "name", of),
)
def test_a_simulator_has_the_whole_law(one: Consumer, dt: float, made: Calibration) -> None:
    found = judged(needed(one), made, dt, OPTIONS)
    assert found["without_load"] < 0.1  # % of friction
    assert found["with_load"] < 0.1
    assert found["first"] < 1e-3  # rad, while the torque rises
    assert found["drift"] < 1e-4  # rad/s at 0.9 of static friction


@pytest.mark.parametrize("one", FILES, ids=lambda one: one.name)
def test_a_file_alone_loses_what_it_says(one: Consumer, made: Calibration) -> None:
    """The drift shows that static friction is lost."""
    _, drift, _ = rest(needed(one), made, 0.002, 3.0)
    assert np.abs(drift).max() > 1e-3


@pytest.mark.parametrize(("name", "library"), FUNCTIONS.items())
def test_functions_of_the_law(name: str, library: str, made: Calibration) -> None:
    if not installed(library):
        pytest.skip(f"{library} is not installed")
    found = of_function(name, library, made, OPTIONS)
    assert max(found["without_load"], found["with_load"]) < 1e-3
