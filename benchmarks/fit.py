"""Time and peak memory from run folder to calibration for a long run, in a process of its own."""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from stribeck.drivers.arm import JointSample
from stribeck.drivers.replay import ALL_SIGNALS
from stribeck.experiments.methods.one_joint_at_a_time import plan_constant_speed
from stribeck.experiments.plans.plan import plan_table
from stribeck.experiments.recording.drive_plan import drive_plan
from stribeck.experiments.recording.run_writer import RunWriter
from stribeck.ident.arm.arm_file import load_arm
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.log.run import load_run

_CHILD = """
import json, resource, sys, time
from pathlib import Path
import lmfit, pandas, pyarrow, mujoco, scipy.optimize
from stribeck.ident.identify import identify
from stribeck.ident.log.run import load_run
base = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
began = time.perf_counter()
result = identify([load_run(Path(sys.argv[1]))])
result.calibration.save(Path(sys.argv[2]))
took = time.perf_counter() - began
print(json.dumps({"s": took, "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, "joints": len(result.joints)}))
"""
_WHOLE = "from stribeck.experiments.cli.entry import main; main()"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the benchmark."""
    parser.add_argument("--rows", type=int, default=600_000)
    parser.add_argument("--runs", type=int, default=5)


def run(options: argparse.Namespace) -> tuple[dict[str, Any], str]:
    """Make a run with the given number of rows and fit it several times."""
    import time

    with tempfile.TemporaryDirectory() as folder:
        path = long_run(Path(folder), options.rows)
        size = (path / "samples.arrows").stat().st_size / 1e6
        inner = [json.loads(subprocess.run([sys.executable, "-c", _CHILD, str(path), f"{folder}/c{k}.toml"], check=True,
                                           capture_output=True, text=True).stdout) for k in range(options.runs)]
        whole = []
        for k in range(options.runs):
            began = time.perf_counter()
            subprocess.run([sys.executable, "-c", _WHOLE, "fit", str(path), "-o", f"{folder}/out{k}"], check=True,
                           capture_output=True)
            whole.append(time.perf_counter() - began)
    seconds = float(np.median([entry["s"] for entry in inner]))
    peak = max(entry["peak_mb"] for entry in inner)
    table = ("| rows | file MB | run folder to calibration s, median (largest) | peak memory MB | `stribeck fit` with "
             f"imports, exports and report s, median |\n|---|---|---|---|---|\n| {options.rows:,} | {size:.0f} | "
             f"{seconds:.2f} ({max(entry['s'] for entry in inner):.2f}) | {peak:.0f} | {np.median(whole):.1f} |")
    return {"inner": inner, "whole_s": whole, "file_mb": size}, table


def long_run(folder: Path, rows: int) -> Path:
    """A lab6 campaign, repeated in time until it has the given number of rows."""
    arm = load_arm("lab6")
    mechanism = load_mechanism(arm)
    plan = plan_constant_speed(arm, seed=1)
    first = load_run(drive_plan(arm, plan, folder / "first", 1), ALL_SIGNALS)
    table, segments = plan_table(plan), len(plan.segments)
    table["segments"] = [{**segment, "id": segment["id"] + lap * segments,
                          **({"mirror_of": segment["mirror_of"] + lap * segments} if "mirror_of" in segment else {})}
                         for lap in range(-(-rows // len(first.t))) for segment in table["segments"]]
    target = folder / "long"
    status = np.zeros(mechanism.n, dtype=np.int64)
    with RunWriter(target, arm, mechanism, plan.method, arm.driver.rate, plan=table, seed=1) as writer:
        for row in range(rows):
            lap, k = divmod(row, len(first.t))
            shift = lap * (first.t[-1] + 1.0 / arm.driver.rate)
            s, segment = first.signals, int(first.segment[k])
            sample = JointSample(float(first.t[k] + shift), s["q"][k], s["dq"][k], s["tau"][k], s["t"][k] + shift,
                                 s["temperature"][k], status)
            writer.sample(sample, s["q_cmd"][k], s["dq_cmd"][k], segment if segment < 0 else segment + lap * segments)
    shutil.rmtree(folder / "first")
    return target
