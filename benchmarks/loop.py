"""Speed of the simulated loop (physics, supervisor, tracker, recorder) relative to real time."""

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from stribeck.experiments.methods.one_joint_at_a_time import plan_constant_speed
from stribeck.experiments.plans.constant_speed_options import ConstantSpeed
from stribeck.experiments.recording.drive_plan import drive_plan
from stribeck.ident.arm.arm_file import load_arm


def arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the benchmark."""
    parser.add_argument("--arms", nargs="+", default=["lab6", "offset6"])
    parser.add_argument("--runs", type=int, default=5)


def run(options: argparse.Namespace) -> tuple[dict[str, Any], str]:
    """Record a short campaign several times."""
    figures: dict[str, Any] = {}
    rows = [
        f"| arm | robot time s | speed relative to real time, median (least) of {options.runs} | "
        "µs per cycle, median |",
        "|---|---|---|---|",
    ]
    for name in options.arms:
        arm = load_arm(name)
        plan = plan_constant_speed(arm, seed=1, options=ConstantSpeed(postures=2, speeds=4))
        factors = []
        for seed in range(options.runs):
            with tempfile.TemporaryDirectory() as folder:
                began = time.perf_counter()
                drive_plan(arm, plan, Path(folder), seed)
                factors.append(plan.robot_time / (time.perf_counter() - began))
        figures[name] = {"robot_time_s": plan.robot_time, "factors": factors}
        middle = float(np.median(factors))
        cycle = 1e6 / arm.driver.rate / middle
        rows.append(
            f"| {name} | {plan.robot_time:.0f} | {middle:.1f} ({min(factors):.1f}) | {cycle:.0f} |"
        )
    return figures, "\n".join(rows)
