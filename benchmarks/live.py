"""Lateness of a real-time loop without display, with a progress bar, and with
`--live` (terminal or Rerun).
"""

import argparse
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from benchmarks.page import Table
from stribeck.drivers.arm import Command, JointSample
from stribeck.drivers.realtime import real_time
from stribeck.drivers.simulation.simulated_arm import SimulatedArm
from stribeck.experiments.cli.screen.live import live
from stribeck.experiments.cli.screen.progress import progress
from stribeck.experiments.methods.one_joint_at_a_time import plan_constant_speed
from stribeck.experiments.plans.constant_speed_options import ConstantSpeed
from stribeck.experiments.plans.plan import Plan
from stribeck.experiments.recording.drive_plan import approach
from stribeck.experiments.recording.follow import Watch, follow
from stribeck.ident.arm.arm_file import load_arm
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.model.mechanism import Mechanism


class Paced(SimulatedArm):
    """The simulated arm in real time; it stores the lateness of each cycle."""

    late: list[float]

    def enable(self) -> None:
        super().enable()
        self.late, self._due = [], time.monotonic()

    def step(self, command: Command) -> JointSample:
        """Wait for the next tick; missed cycles are skipped."""
        self._due = max(self._due + 1.0 / self.rate, time.monotonic() - 1.0 / self.rate)
        time.sleep(max(0.0, self._due - time.monotonic()))
        self.late.append(time.monotonic() - self._due)
        return super().step(command)


WAYS = ("nothing", "progress bar", "--live", "--live --rerun")


def arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the benchmark."""
    parser.add_argument("--arm", default="lab6")
    parser.add_argument(
        "--repeats",
        type=int,
        default=3,
        help="runs of each kind of display, in turn; other programs on the "
        "computer influence the result",
    )


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Run the same short plan with each kind of display, several times in turn."""
    arm = load_arm(options.arm)
    plan = plan_constant_speed(arm, ("j6",), seed=1, options=ConstantSpeed(postures=1, speeds=5))
    figures: dict[str, Any] = {"robot_time_s": plan.robot_time}
    late: dict[str, list[np.ndarray]] = {shown: [] for shown in WAYS}
    for shown in WAYS * options.repeats:
        device = Paced(arm, seed=1)
        device.enable()
        with _watch(shown, plan, load_mechanism(arm)) as watch, real_time():
            follow(device, plan, watch=watch, share=approach(arm))
        late[shown].append(1e6 * np.array(device.late))
    for shown, runs in late.items():
        together, worst = np.concatenate(runs), [float(run.max()) for run in runs]
        middle, *most = np.percentile(together, (50, 99, 99.9))
        figures[shown] = {
            "median_us": middle,
            "p99_us": most[0],
            "p999_us": most[1],
            "worst_us": worst,
            "cycles": len(together),
        }
    return figures


def table(figures: dict[str, Any]) -> Table:
    """Return a row for each display."""
    return Table(
        f"lab6 in simulation, {figures['robot_time_s']:.0f} s of robot time.",
        ["lateness, µs", "median", "99th percentile", "worst", "cycles"],
        [
            [
                shown,
                f"{late['median_us']:.0f}",
                f"{late['p99_us']:.0f}",
                f"{np.max(late['worst_us']):.0f}",
                late["cycles"],
            ]
            for shown, late in figures.items()
            if shown != "robot_time_s"
        ],
    )


@contextmanager
def _watch(shown: str, plan: Plan, mechanism: Mechanism) -> Iterator[Watch | None]:
    """Draw the display into a file as if it were a terminal."""
    with tempfile.TemporaryDirectory() as folder, (Path(folder) / "screen").open("w") as screen:
        if shown == "nothing":
            yield None
        elif shown == "progress bar":
            with progress(
                Console(file=screen, force_terminal=True), plan.robot_time, "run", mechanism
            ) as watch:
                yield watch
        else:
            recording = str(Path(folder) / "seen.rrd") if "--rerun" in shown else None
            with live(plan, "run", mechanism, screen, recording) as watch:
                yield watch
