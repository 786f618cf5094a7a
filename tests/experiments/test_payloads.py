"""Runs of one arm with different payloads fitted together, and runs that repeat each other.

The lift turns about a level axis: no posture varies the load on its bearing, a payload does.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from stribeck.experiments.fit_runs import fit_runs, load_fitted
from stribeck.experiments.plans.plan import Plan
from stribeck.experiments.recording.drive_plan import drive_plan
from stribeck.ident.arm.arm_file import ArmFile
from stribeck.ident.errors import InputError
from stribeck.ident.fit.joint.options import Options
from stribeck.ident.identify import identify
from stribeck.ident.log.run import Run, load_run

BEARING = {"pin_radius": 0.04, "friction_arm": 0.03, "bending_arm": 0.08}
TRUTH = {"coulomb": 1.0, "coulomb_coefficient": 0.5, "viscous": 1.5}
SPEEDS = (0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9)
LAW = Options(law="coulomb-viscous")  # of the truth
PLAIN = replace(LAW, load="none")


@pytest.fixture(scope="module")
def campaign(
    make_arm: Callable[..., ArmFile],
    make_plan: Callable[..., Plan],
    tmp_path_factory: pytest.TempPathFactory,
) -> Callable[..., Run]:
    """Record round trips of the lift with a payload in the arm file."""

    def make(mass: float, seed: int = 1, noise: float = 0.05, **knobs: float) -> Run:
        arm = make_arm(
            {
                "driver": {"rate": 100.0},
                "joints": {"lift": {"bearing": BEARING}},
                "tool": {"mass": mass, "com": [0.3, 0.1, 0.0]},
                "simulation": {
                    "torque_noise": noise,
                    **knobs,
                    "joints": {"lift": TRUTH | {"load": "normal", "bearing": BEARING}},
                },
            }
        )
        plan = make_plan(arm, 1, SPEEDS, 0.4)
        return load_run(drive_plan(arm, plan, tmp_path_factory.mktemp("campaign"), seed))

    return make


@pytest.fixture(scope="module")
def two(campaign: Callable[..., Run]) -> list[Run]:
    return [
        campaign(mass, seed, stroke_scatter=0.01) for seed, mass in enumerate((0.0, 3.0), start=4)
    ]


@pytest.mark.slow
def test_a_payload_identifies_friction_of_a_load_that_postures_do_not_vary(
    two: list[Run], tmp_path: Path
) -> None:
    for run in two:
        alone = identify([run], LAW).calibration.joints["lift"]
        assert alone.load == "none"
        assert alone.parameters["coulomb_coefficient"].verdict == "unidentifiable"
    delivery = fit_runs(load_fitted([run.path for run in two]), tmp_path / "both", LAW)
    joint = delivery.calibration.joints["lift"]
    assert joint.load == "normal"
    for name, truth in TRUTH.items():
        entry = joint.parameters[name]
        assert entry.verdict == "identified"
        assert entry.low <= truth <= entry.high
    # each run against its own gravity
    assert joint.gravity["scale"].value == pytest.approx(1.0, abs=0.01)
    said = [finding.text for finding in delivery.result.findings if finding.kind == "payload"]
    assert len(said) == 1
    assert "lift: the normal load varies only between runs with different payloads" in said[0]
    assert [run.get("tool", {"mass": 0.0})["mass"] for run in delivery.calibration.runs] == [
        0.0,
        3.0,
    ]


@pytest.mark.slow
def test_the_calibration_takes_the_tool_of_the_first_run(two: list[Run]) -> None:
    models = [identify(runs, PLAIN).calibration.model for runs in (two, two[::-1])]
    assert [model.tool.mass for model in models] == [0.0, 3.0]


@pytest.mark.slow
def test_general_motion_reduces_each_run_with_its_own_payload(two: list[Run]) -> None:
    joint = identify(two, replace(LAW, motion="model", load="normal")).calibration.joints["lift"]
    # with the first payload for both runs: 1.9
    assert joint.gravity["scale"].value == pytest.approx(1.0, abs=0.05)
    assert joint.parameters["coulomb_coefficient"].value == pytest.approx(
        TRUTH["coulomb_coefficient"], rel=0.1
    )


@pytest.mark.slow
def test_runs_with_equal_names_are_refused(two: list[Run]) -> None:
    """Two logs imported in the same second into two folders, for example."""
    other = replace(
        two[1], path=two[1].path.parent.parent / "elsewhere" / "runs" / two[0].path.name
    )
    with pytest.raises(
        InputError, match=r"another of the given runs has the same name, .*; rename one"
    ):
        identify([two[0], other])


@pytest.mark.slow
def test_runs_with_other_differences_than_the_tool_are_refused(
    two: list[Run], tmp_path: Path
) -> None:
    model = tmp_path / "another.urdf"
    model.write_text("another model")
    other = replace(
        two[1],
        record={**two[1].record, "arm_sha256": "another"},
        arm=replace(two[1].arm, model=model),
    )
    with pytest.raises(
        InputError,
        match=r"another arm file or model than .*; runs fitted together may differ only in the "
        r"tool",
    ):
        identify([two[0], other])


@pytest.mark.slow
def test_identical_runs_count_once(two: list[Run]) -> None:
    """As a simulated arm without noise records them."""
    one = two[0]
    again = replace(
        one,
        path=one.path.with_name(f"{one.path.name}-2"),
        record={**one.record, "start": "2026-01-01T00:00:00+00:00"},
    )
    result, alone = identify([one, again], PLAIN), identify([one], PLAIN)
    said = [finding.text for finding in result.findings if finding.kind == "repeats"]
    assert len(said) == 1
    assert said[0].startswith(f"{again.label} equals {one.label} in every sample")
    assert (
        result.calibration.joints["lift"].parameters == alone.calibration.joints["lift"].parameters
    )
    assert len(result.calibration.runs) == 1


@pytest.mark.slow
def test_a_run_given_twice_is_refused(two: list[Run]) -> None:
    run = two[0]
    with pytest.raises(
        InputError,
        match=r"is the same run as .*; counted twice, it would make the intervals too narrow",
    ):
        identify([run, run])
