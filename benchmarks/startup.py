"""How long ``stribeck --help`` takes."""

import argparse
import subprocess
import sys
import time
from typing import Any

import numpy as np


def arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the benchmark."""
    parser.add_argument("--runs", type=int, default=15)


def run(options: argparse.Namespace) -> tuple[dict[str, Any], str]:
    """Start the command line several times, after one warm-up."""
    seconds = []
    for _ in range(options.runs + 1):
        began = time.perf_counter()
        subprocess.run([sys.executable, "-c", "from stribeck.experiments.cli.entry import main; main()", "--help"], check=True,
                       capture_output=True)
        seconds.append(time.perf_counter() - began)
    seconds = seconds[1:]
    return {"s": seconds}, ("| command | s, median (most) of " + str(options.runs) + " |\n|---|---|\n"
                            f"| `stribeck --help` | {np.median(seconds):.2f} ({max(seconds):.2f}) |")
