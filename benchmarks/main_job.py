"""The main job over seeds and arms: wall time, friction error, coverage, width and
verdicts against the truth.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.judge import Motions, friction_error, judge_parameters
from benchmarks.page import Table
from stribeck.drivers.simulation.simulated_arm import SimulatedArm
from stribeck.experiments.fit_runs import POINTS
from stribeck.experiments.methods.registry import DEFAULT, METHODS
from stribeck.ident.arm.arm_file import load_arm
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.calibration.calibration import Calibration
from stribeck.ident.log.campaign_folder import find_runs
from stribeck.ident.log.reduction.round_trips import reduce_run
from stribeck.ident.log.run import Run, load_run

WIDE = 0.10


def arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the benchmark."""
    parser.add_argument("--arms", nargs="+", default=["lab6", "offset6"])
    parser.add_argument(
        "--seeds", type=int, default=10, help="number N of seeds (1 ... N) for each arm"
    )
    parser.add_argument("--method", default=DEFAULT, choices=METHODS)
    parser.add_argument(
        "--jobs",
        type=int,
        default=1,
        help="number of parallel campaigns; wall times are meaningful only with 1",
    )


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Calibrate and judge."""
    cases = [(arm, seed) for arm in options.arms for seed in range(1, options.seeds + 1)]
    with ThreadPoolExecutor(options.jobs) as pool:
        results = list(
            pool.map(lambda case: calibrate_and_judge(case[0], case[1], options.method), cases)
        )
    return {"cases": results}


def table(figures: dict[str, Any]) -> Table:
    """Return a row for each arm."""
    rows = []
    for arm in dict.fromkeys(case["arm"] for case in figures["cases"]):
        cases = [case for case in figures["cases"] if case["arm"] == arm]
        parameters = pd.DataFrame([entry for case in cases for entry in case["parameters"]])
        worst = [100.0 * max(case["friction_error"].values()) for case in cases]
        wall = [case["wall_s"] for case in cases]
        narrow = parameters["half_width"].astype(float) <= WIDE
        rows.append(
            [
                arm,
                len(cases),
                f"{np.median(wall):.0f} ({max(wall):.0f})",
                f"{np.median(worst):.2f} ({max(worst):.2f})",
                len(parameters),
                f"{100 * parameters['covered'].mean():.1f}",
                f"{100 * (parameters['verdict'] == 'identified').mean():.1f}",
                f"{100 * narrow.mean():.1f}",
            ]
        )
    return Table(
        "The JSON has law, truth, value and interval of every parameter.",
        [
            "arm",
            "campaigns",
            "wall time s, median (largest)",
            "friction error of the worst joint %, median (largest)",
            "parameters",
            "covered %",
            "identified %",
            f"half width within {100 * WIDE:g} %",
        ],
        rows,
    )


def calibrate_and_judge(arm: str, seed: int, method: str = DEFAULT) -> dict[str, Any]:
    """Run one campaign with the command line and judge it against the truth."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "campaign"
        began = time.perf_counter()
        subprocess.run(
            [
                sys.executable,
                "-m",
                "stribeck",
                "calibrate",
                arm,
                "--seed",
                str(seed),
                "--method",
                method,
                "--out",
                str(out),
            ],
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ},
        )
        wall = time.perf_counter() - began
        return {"arm": arm, "seed": seed, "wall_s": round(wall, 2), **judge(out, arm)}


def judge(campaign: Path, arm: str) -> dict[str, Any]:
    """Friction error and parameters of a campaign folder against the truth of its arm."""
    (run,) = [load_run(path) for path in find_runs(campaign)]
    calibration, points = Calibration.load(campaign), pd.read_csv(campaign / POINTS)
    truth, motions = SimulatedArm(load_arm(arm)), motions_of_points(run, points)
    error = friction_error(calibration, truth, motions, points)
    verdicts = judge_parameters(calibration, points, truth, motions)
    return {
        "friction_error": {name: round(value, 5) for name, value in error.items()},
        "laws": {name: f"{joint.law}/{joint.load}" for name, joint in calibration.joints.items()},
        "load_verdicts": {
            name: entry.verdict
            for name, joint in calibration.joints.items()
            if (entry := joint.parameters.get("coulomb_coefficient"))
        },
        "parameters": [
            {
                "joint": v.joint,
                "parameter": v.parameter,
                "truth": v.truth,
                "value": v.value,
                "low": v.low,
                "high": v.high,
                "verdict": v.verdict,
                "covered": v.covered,
                "error": v.relative_error,
                "half_width": v.relative_half_width,
            }
            for v in verdicts
        ],
    }


def motions_of_points(run: Run, points: pd.DataFrame) -> Motions:
    """Positions and velocities of all joints at every point of each joint."""
    reduction = reduce_run(run, load_mechanism(run.arm))
    own = points.groupby("joint", sort=False).indices
    return {str(name): (reduction.q[rows], reduction.dq[rows]) for name, rows in own.items()}
