"""Friction that drifts while an arm warms up: one slope for all runs, over the time of each run."""

import numpy as np
import pandas as pd
import pytest

from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.fit.joint.fit_joint import JointFit, identify_joint
from stribeck.ident.fit.joint.options import Options
from tests.coverage import fewest

SPEEDS = np.geomspace(0.01, 1.5, 8)
COULOMB, VISCOUS = 5.0, 2.0


def points(trips: int, drift: float, *runs: str, seed: int = 0) -> pd.DataFrame:
    """Runs of so many round trips each, whose time begins anew; friction grows by `drift` from
    a run's first to its last.
    """
    rng = np.random.default_rng(seed)
    rows = []
    for r, run in enumerate(runs):
        for trip in range(trips):
            w = SPEEDS[(trip + r) % len(SPEEDS)]
            part = trip / max(trips - 1, 1) - 0.5
            level = (1.0 + drift * part) * (1.0 + 0.003 * rng.standard_normal())
            for place in range(2):
                rows.append(
                    {
                        "joint": "j4",
                        "segment": trip,
                        "posture": 0,
                        "speed": w,
                        "position": float(place),
                        "odd": level * (COULOMB + VISCOUS * w) + 0.01 * rng.standard_normal(),
                        "even": 0.0,
                        "gravity": 0.0,
                        "gravity_rate": 0.0,
                        "torque": 10.0,
                        "bending": 10.0,
                        "radial": 10.0,
                        "axial": 10.0,
                        "normal": np.nan,
                        "n": 100,
                        "std": 0.1,
                        "t": 20.0 * trip + place,
                        "temperature": np.nan,
                        "reference": False,
                        "run": run,
                    }
                )
    return pd.DataFrame(rows)


def identified(table: pd.DataFrame) -> JointFit:
    return identify_joint(table, load_mechanism("lab6"), "j4")


@pytest.mark.slow
@pytest.mark.parametrize(("trips", "runs"), [(24, ("one",)), (8, ("one", "two", "three"))])
def test_a_drift_is_found_and_taken_out(trips: int, runs: tuple[str, ...]) -> None:
    held = []
    for seed in range(3):
        found = identified(points(trips, 0.1, *runs, seed=seed))
        assert found.drift.value == pytest.approx(0.1, abs=0.02)
        held += [found.drift.low <= 0.1 <= found.drift.high]
        held += [
            found.fit.parameters[name].low <= truth <= found.fit.parameters[name].high
            for name, truth in (("coulomb", COULOMB), ("viscous", VISCOUS))
        ]
    assert sum(held) >= fewest(len(held))


def test_a_requested_load_that_does_not_vary_is_reported() -> None:
    """The table's torque is the same everywhere."""
    (finding,) = [
        finding
        for finding in identify_joint(
            points(24, 0.0, "one"), load_mechanism("lab6"), "j4", Options(load="torque")
        ).findings
        if finding.kind == "load"
    ]
    assert "j4: the requested torque load varies too little" in finding.text
    assert "load 10 to 10, median friction" in finding.text


@pytest.mark.parametrize("trips", [1, 2])
def test_short_runs_do_not_fit_drift(trips: int) -> None:
    """Sixteen runs of one round trip each say nothing of what happens within a
    run, two of each too little.
    """
    runs = [f"run {k}" for k in range(16 // trips)]
    found = identified(points(trips, 0.0, *runs))
    assert found.drift is None
    assert found.fit.parameters["coulomb"].value == pytest.approx(COULOMB, rel=0.01)
