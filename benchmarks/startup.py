"""Time of ``stribeck --help`` and ``import stribeck``."""

import argparse
import subprocess
import sys
import time
from typing import Any

import numpy as np

from benchmarks.page import Table

STARTS = {
    "stribeck --help": ("from stribeck.experiments.cli.entry import main; main()", "--help"),
    "import stribeck": ("import stribeck",),
    "pass": ("pass",),
}  # Python alone


def arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the benchmark."""
    parser.add_argument("--runs", type=int, default=15)


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Start each program several times, after one warm-up."""
    seconds = {name: _seconds(code, options.runs) for name, code in STARTS.items()}
    return {"s": seconds}


def table(figures: dict[str, Any]) -> Table:
    """Return a row for each program."""
    return Table(
        "`pass` is Python alone.",
        ["start", "s, median (largest)"],
        [
            [f"`{name}`", f"{np.median(seconds):.2f} ({max(seconds):.2f})"]
            for name, seconds in figures["s"].items()
        ],
    )


def _seconds(code: tuple[str, ...], runs: int) -> list[float]:
    """Wall time of each start [s]."""
    seconds = []
    for _ in range(runs + 1):
        began = time.perf_counter()
        subprocess.run([sys.executable, "-c", *code], check=True, capture_output=True)
        seconds.append(time.perf_counter() - began)
    return seconds[1:]
