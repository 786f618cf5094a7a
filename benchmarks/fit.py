"""Time and peak memory from run folder to calibration for long runs, in processes of their own."""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.page import Table
from stribeck.drivers.arm import JointSample
from stribeck.drivers.replay import ALL_SIGNALS
from stribeck.experiments.methods.one_joint_at_a_time import plan_constant_speed
from stribeck.experiments.plans.plan import plan_table
from stribeck.experiments.recording.drive_plan import drive_plan
from stribeck.experiments.recording.run_writer import RunWriter
from stribeck.ident.arm.arm_file import load_arm
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.log.run import load_run

_PEAK = """
def peak():         # not that of resource, which a child inherits
    return int(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1]) / 1024
"""
_CHILD = (
    _PEAK
    + """
import json, sys, time
from pathlib import Path
import lmfit, pandas, pyarrow, mujoco, scipy.optimize
from stribeck.ident.identify import identify
from stribeck.ident.log.run import load_run
base = peak()
began = time.perf_counter()
result = identify([load_run(Path(sys.argv[1]))])
result.calibration.save(Path(sys.argv[2]))
took = time.perf_counter() - began
print(json.dumps({"s": took, "peak_mb": peak(), "base_mb": base}))
"""
)
_WHOLE = (
    _PEAK
    + """
import json, time
began = time.perf_counter()
from stribeck.experiments.cli.entry import main
try:
    main()
finally:
    print()
    print(json.dumps({"s": time.perf_counter() - began, "peak_mb": peak()}))
"""
)


GROWTH = 0.10  # goal: growth of the peak memory from the shortest run to the longest


def arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the benchmark."""
    parser.add_argument("--rows", type=int, nargs="+", default=[600_000, 2_400_000, 9_600_000])
    parser.add_argument("--runs", type=int, default=3)


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Make runs with the given numbers of rows and fit each several times."""
    return {"cases": [_measured(rows, options.runs) for rows in options.rows]}


def table(figures: dict[str, Any]) -> Table:
    """Return a row for each length of a run."""
    rows, peaks = [], []
    for case in figures["cases"]:
        seconds = [fit["s"] for fit in case["inner"]]
        peaks.append(max(fit["peak_mb"] for fit in case["inner"]))
        rows.append(
            [
                f"{case['rows']:,}",
                f"{case['file_mb']:.0f}",
                f"{np.median(seconds):.2f} ({max(seconds):.2f})",
                f"{1e6 * np.median(seconds) / case['rows']:.1f}",
                f"{peaks[-1]:.0f}",
                f"{np.median([command['s'] for command in case['whole']]):.1f}",
                f"{max(command['peak_mb'] for command in case['whole']):.0f}",
            ]
        )
    return Table(
        f"Peak memory grows by {100.0 * (peaks[-1] / peaks[0] - 1.0):.0f} % (goal: at most "
        f"{100.0 * GROWTH:.0f} %); {figures['cases'][0]['inner'][0]['base_mb']:.0f} MB are the "
        "imported libraries.",
        [
            "rows",
            "file MB",
            "run folder to calibration s, median (largest)",
            "s per million rows",
            "peak memory MB",
            "`stribeck fit` with exports and report s",
            "its peak memory MB",
        ],
        rows,
    )


def _measured(rows: int, runs: int) -> dict[str, Any]:
    """Make one run, and fit it several times: without and with the command line."""
    with tempfile.TemporaryDirectory() as folder:
        path = long_run(Path(folder), rows)
        inner = [_child(_CHILD, str(path), f"{folder}/c{k}.toml") for k in range(runs)]
        whole = [_child(_WHOLE, "fit", str(path), "-o", f"{folder}/out{k}") for k in range(runs)]
        return {
            "rows": rows,
            "inner": inner,
            "whole": whole,
            "file_mb": (path / "samples.arrows").stat().st_size / 1e6,
        }


def _child(code: str, *words: str) -> dict[str, Any]:
    """Seconds and memory that a process states in its last line."""
    done = subprocess.run(
        [sys.executable, "-c", code, *words], check=True, capture_output=True, text=True
    )
    return dict(json.loads(done.stdout.splitlines()[-1]))


def long_run(folder: Path, rows: int) -> Path:
    """A lab6 campaign, repeated in time until it has the given number of rows."""
    arm = load_arm("lab6")
    mechanism = load_mechanism(arm)
    plan = plan_constant_speed(arm, seed=1)
    first = load_run(drive_plan(arm, plan, folder / "first", 1), ALL_SIGNALS)
    table, segments = plan_table(plan), len(plan.segments)
    table["segments"] = [
        {
            **segment,
            "id": segment["id"] + lap * segments,
            **(
                {"mirror_of": segment["mirror_of"] + lap * segments}
                if "mirror_of" in segment
                else {}
            ),
        }
        for lap in range(-(-rows // len(first.t)))
        for segment in table["segments"]
    ]
    target = folder / "long"
    status = np.zeros(mechanism.n, dtype=np.int64)
    with RunWriter(
        target, arm, mechanism, plan.method, arm.driver.rate, plan=table, seed=1
    ) as writer:
        for row in range(rows):
            lap, k = divmod(row, len(first.t))
            shift = lap * (first.t[-1] + 1.0 / arm.driver.rate)
            s, segment = first.signals, int(first.segment[k])
            sample = JointSample(
                float(first.t[k] + shift),
                s["q"][k],
                s["dq"][k],
                s["tau"][k],
                s["t"][k] + shift,
                s["temperature"][k],
                status,
            )
            writer.sample(
                sample,
                s["q_cmd"][k],
                s["dq_cmd"][k],
                segment if segment < 0 else segment + lap * segments,
            )
    shutil.rmtree(folder / "first")
    return target
