"""Comparison of friction measured with the whole arm and friction measured joint by
joint, under disturbed torques.
"""

import argparse
import tempfile
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.judge import Verdict, coldness, judge_parameters
from benchmarks.main_job import motions_of_points
from benchmarks.page import Table
from stribeck.drivers.simulation.simulated_arm import SimulatedArm
from stribeck.experiments.methods.registry import plan_method
from stribeck.experiments.recording.drive_plan import drive_plan
from stribeck.ident.arm.arm_file import ArmFile, load_arm
from stribeck.ident.fit.joint.fit_joint import JointFit
from stribeck.ident.identify import Identification, identify
from stribeck.ident.laws.load_components import load_at
from stribeck.ident.log.run import load_run

SPOILT: dict[str, dict[str, Any]] = {
    "as it is": {},
    "noise and ripple": {"factor": 3.0, "torque_noise": None, "ripple": None},
    "tracking lag": {"bandwidth": 12.0},
    "delay": {"torque_delay": 0.01},
    "drift": {"warm_up": 0.1, "warm_up_time": 400.0},
    "unknown payload": {"payload": {"mass": 2.0, "com": [0.0, 0.0, 0.05]}},
}
METHODS = ("single", "whole-arm")


def arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the benchmark."""
    parser.add_argument("--arms", nargs="+", default=["lab6", "offset6"])
    parser.add_argument(
        "--seeds",
        type=int,
        default=2,
        help="number N of seeds (1 ... N) for each arm and condition",
    )
    parser.add_argument("--jobs", type=int, default=1, help="number of parallel campaigns")


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Measure with both methods and compare the results."""
    cases = [
        (arm, knobs, seed)
        for knobs in SPOILT
        for arm in options.arms
        for seed in range(1, options.seeds + 1)
    ]
    with ProcessPoolExecutor(options.jobs) as pool:
        rows = pd.concat(list(pool.map(compare, *zip(*cases, strict=True))), ignore_index=True)
    return {"joints": rows.to_dict("records")}


def table(figures: dict[str, Any]) -> Table:
    """Return a row for each disturbance."""
    joints = pd.DataFrame(figures["joints"])
    rows = [
        [
            condition,
            f"{100.0 * own['apart'].median():.2f} ({100.0 * own['apart'].max():.2f})",
            f"{100.0 * own['within'].mean():.1f}",
            f"{own['wrong'].sum()} of {own['claimed'].sum()}",
        ]
        for condition, own in joints.groupby("condition", sort=False)
    ]
    return Table(
        f"{len(joints) // len(rows)} joints a row. The difference is the rms over the speeds and "
        "loads that both methods measured, at the same temperature. A point is within the bands "
        "if its difference is inside both 95 % bands combined.",
        [
            "disturbance",
            "difference %, median (largest)",
            "points within the bands %",
            "identified load coefficients whose interval misses the truth",
        ],
        rows,
    )


def compare(name: str, condition: str, seed: int) -> pd.DataFrame:
    """Return a row for each joint: difference of friction relative to its band, and
    verdicts on load coefficients.
    """
    arm = spoilt(load_arm(name), SPOILT[condition])
    found, truth, rows = (
        {method: measured(arm, method, seed) for method in METHODS},
        SimulatedArm(arm),
        [],
    )
    for joint in found["single"][0].joints:
        fits = [fit for method in METHODS if (fit := found[method][0].joints.get(joint))]
        lost = len(fits) < len(METHODS)
        off, width = (
            (np.array([np.nan]),) * 2
            if lost
            else difference(
                fits,
                [
                    float(coldness(truth, truth.names.index(joint), fit.points).mean())
                    for fit in fits
                ],
            )
        )
        claimed = [
            verdict
            for method in METHODS
            for verdict in found[method][1]
            if verdict.joint == joint
            and "_coefficient" in verdict.parameter
            and verdict.verdict == "identified"
        ]
        rows.append(
            {
                "arm": name,
                "condition": condition,
                "seed": seed,
                "joint": joint,
                "apart": float(np.sqrt(np.mean(off**2))),
                "within": float(np.mean(np.abs(off) <= width)),
                "claimed": len(claimed),
                "wrong": sum(not verdict.covered for verdict in claimed),
            }
        )
    return pd.DataFrame(rows)


def spoilt(arm: ArmFile, knobs: dict[str, Any]) -> ArmFile:
    """Return the arm with changed knobs; a knob without a new value is multiplied by a factor."""
    turned = {
        knob: knobs.get("factor", 1.0) * arm.simulation[knob] if value is None else value
        for knob, value in knobs.items()
        if knob != "factor"
    }
    return replace(arm, simulation={**arm.simulation, **turned})


def measured(arm: ArmFile, method: str, seed: int) -> tuple[Identification, list[Verdict]]:
    """Run a campaign with one of the methods and judge it against the truth."""
    with tempfile.TemporaryDirectory() as folder:
        run = load_run(drive_plan(arm, plan_method(method, arm, None, seed), Path(folder), seed))
        result = identify([run])
        return result, judge_parameters(
            result.calibration,
            result.points,
            SimulatedArm(arm),
            motions_of_points(run, result.points),
        )


def difference(fits: list[JointFit], cold: list[float]) -> tuple[np.ndarray, np.ndarray]:
    """Return friction of the second fit divided by friction of the first fit, minus 1, and
    the band of this difference.

    The points are those of the second fit that the first fit also covers. Friction of each fit
    holds for the middle of its own run. `cold` is the ratio of friction there to friction of the
    warm arm; friction is divided by this ratio.
    """
    points, known = fits[1].points, fits[0].points
    points = points[points["speed"].between(known["speed"].min(), known["speed"].max())]
    speed = points["speed"].to_numpy(dtype=float)
    friction, band = zip(
        *(
            (fit.fit.predict(speed, load) / level, fit.fit.band(speed, load) / level)
            for fit, level in zip(fits, cold, strict=True)
            for load in [load_at(points, fit.fit.load, fit.fit.values)]
        ),
        strict=True,
    )
    return friction[1] / friction[0] - 1.0, np.hypot(band[0], band[1]) / friction[0]
