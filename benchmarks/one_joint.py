"""Logs of single joints through `fit_memory` as a stranger calls it: the first half is fitted,
the second half predicted.
"""

import argparse
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.kept import judged_cases
from benchmarks.one_joint_truth import KINDS, SPEEDS, WristLog
from benchmarks.page import Table
from benchmarks.real_logs import LOGS, emps_run, tx40_run, z1_run
from stribeck.ident.memory.fit_memory import fit_memory

Array = np.ndarray
_BARE = {"law": "coulomb-viscous", "ripple": "none", "signal": "none"}
_PLAIN, _STATE = {**_BARE, "memory": "none"}, {**_BARE, "memory": "relaxing"}


def arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the benchmark."""
    parser.add_argument(
        "--seeds", type=int, default=3, help="number of joints of each kind and speed"
    )
    parser.add_argument("--only", default="", help="part of the names of the logs to judge")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--kept", type=Path, help="JSON lines file that stores judged cases")


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Fit and judge all logs."""
    names = [
        f"wrist {kind}, {speed}, {seed}"
        for kind in KINDS
        for speed in SPEEDS
        for seed in range(options.seeds)
    ]
    names = [
        name for folder, own in REAL.items() if (LOGS / folder).is_dir() for name in own
    ] + names
    rows = judged_cases(
        [name for name in names if options.only in name], judge, options.jobs, options.kept
    )
    return {"logs": rows}


def table(figures: dict[str, Any]) -> Table:
    """Return a row for each log."""
    logs: dict[str, list[dict[str, Any]]] = {}
    for log in figures["logs"]:
        logs.setdefault(log["log"].partition(",")[0], []).append(log)
    rows = [
        [
            name,
            *(", ".join(f"{log[key]:.3g}" for log in own) for key in ("plain", "state", "found")),
        ]
        for name, own in logs.items()
    ]
    floors = [log["floor"] for log in figures["logs"] if log["floor"] is not None]
    return Table(
        "`fit_memory(time, position, torque, velocity)` without options; rms error of the second "
        "half, N·m (carriage: N). Wrists: 25.4 s at 1 kHz, gravity and inertia unknown, noise of "
        f"{max(floors, default=0.0):.3f} N·m, at high, middle and slow speed. Joints of real arms "
        "are fitted without the arm's model, so torques of the other joints count as error.",
        ["log", "Coulomb and viscous", "and one state", "`fit_memory`"],
        rows,
    )


REAL = {
    "emps": ("emps carriage",),
    "tx40": tuple(f"tx40 joint_{k}" for k in range(1, 7)),
    "z1": tuple(f"z1 joint{k}" for k in range(1, 7)),
}


def signals(name: str) -> Mapping[str, Array]:
    """Return time, position, torque, and for synthetic logs velocity and noise-free torque."""
    kind, _, rest = name.partition(" ")
    if kind == "wrist":
        truth, speed, seed = rest.split(", ")
        return WristLog(int(seed), truth, speed).made()
    log = {"emps": emps_run, "tx40": tx40_run, "z1": z1_run}[kind]()
    joint = log.names.index(rest)
    every = 5 if kind == "tx40" else 1
    return {
        "time": log.t[::every],
        "position": log.signals["q"][::every, joint],
        "torque": log.signals["tau"][::every, joint],
    }


def judge(name: str) -> dict[str, Any]:
    """Fit the first half of a log, and predict the second half."""
    log = signals(name)
    half = len(log["time"]) // 2
    first, second = (
        {key: values[rows] for key, values in log.items()}
        for rows in (slice(0, half), slice(half, None))
    )

    def error(**options: Any) -> tuple[float, str, float]:
        began = time.process_time()
        fit = fit_memory(
            first["time"], first["position"], first["torque"], first.get("velocity"), **options
        )
        took = time.process_time() - began
        told = fit.predict(second["time"], second["position"], second.get("velocity"))
        return float(np.sqrt(np.mean((second["torque"] - told) ** 2))), repr(fit), took

    plain, _, _ = error(**_PLAIN)
    state, _, _ = error(**_STATE)
    found, made, took = error()
    floor = (
        float(np.sqrt(np.mean((second["torque"] - second["clean"]) ** 2)))
        if "clean" in second
        else None
    )
    return {
        "log": name,
        "plain": plain,
        "state": state,
        "found": found,
        "floor": floor,
        "made": made,
        "seconds": took,
    }
