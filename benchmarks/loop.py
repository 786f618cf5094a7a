"""Speed of the simulated loop (physics, supervisor, tracker, recorder) relative to real time."""

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.page import Table
from stribeck.experiments.methods.one_joint_at_a_time import plan_constant_speed
from stribeck.experiments.plans.constant_speed_options import ConstantSpeed
from stribeck.experiments.recording.drive_plan import drive_plan
from stribeck.ident.arm.arm_file import load_arm


def arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the benchmark."""
    parser.add_argument("--arms", nargs="+", default=["lab6", "offset6"])
    parser.add_argument("--runs", type=int, default=5)


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Record a short campaign several times."""
    figures: dict[str, Any] = {}
    for name in options.arms:
        arm = load_arm(name)
        plan = plan_constant_speed(arm, seed=1, options=ConstantSpeed(postures=2, speeds=4))
        factors = []
        for seed in range(options.runs):
            with tempfile.TemporaryDirectory() as folder:
                began = time.perf_counter()
                drive_plan(arm, plan, Path(folder), seed)
                factors.append(plan.robot_time / (time.perf_counter() - began))
        figures[name] = {
            "robot_time_s": plan.robot_time,
            "rate": arm.driver.rate,
            "factors": factors,
        }
    return figures


def table(figures: dict[str, Any]) -> Table:
    """Return a row for each arm."""
    rows = []
    for name, arm in figures.items():
        median = float(np.median(arm["factors"]))
        cycle = 1e6 / arm["rate"] / median
        speed = f"{median:.1f} ({min(arm['factors']):.1f})"
        rows.append([name, f"{arm['robot_time_s']:.0f}", speed, f"{cycle:.0f}"])
    return Table(
        "A short campaign, several times.",
        ["arm", "robot time s", "speed relative to real time, median (least)", "µs per cycle"],
        rows,
    )
