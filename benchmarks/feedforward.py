"""Computing time of one sample of friction feed-forward for six joints with every kind of
load, and of the batch code.
"""

import argparse
import gc
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import numpy as np

from benchmarks.page import Table
from stribeck import Calibration, Feedforward
from stribeck.ident.arm.arm_file import load_arm
from stribeck.ident.calibration.calibration_content import Model
from stribeck.ident.calibration.joint_calibration import JointCalibration
from stribeck.ident.laws.law_table import unit
from stribeck.ident.laws.parameter import Parameter
from stribeck.ident.model.joint_parts import Bearing
from stribeck.ident.model.loads import LOADS
from stribeck.ident.whole_files import file_sha256

_PARAMETERS = {
    "coulomb": 5.0,
    "static": 7.0,
    "viscous": 4.0,
    "stribeck_velocity": 0.05,
    "coulomb_coefficient": 0.1,
    "static_coefficient": 0.12,
}


def arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the benchmark."""
    parser.add_argument("--calls", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Measure the time of every call, at random states."""
    calibration = every_load("lab6")
    feedforward = Feedforward(calibration.mechanism, calibration)
    states = np.random.default_rng(options.seed).normal(size=(options.calls, 3, 6))
    batch = calibration.friction(states[:, 0], states[:, 1], states[:, 2])
    error = float(np.abs([feedforward(*state) for state in states] - batch).max())
    cases: dict[str, tuple[Callable[..., Any], np.ndarray]] = {
        "friction": (feedforward, states),
        "rigid-body torque": (feedforward.rigid, states),
        "friction by the batch code, N = 1": (
            calibration.friction,
            states[: options.calls // 20, :, None],
        ),
    }
    figures: dict[str, Any] = {"error": error}
    for name, (function, samples) in cases.items():
        took = _seconds(function, samples) * 1e6
        figures[name] = {
            "median_us": float(np.median(took)),
            "p99_us": float(np.percentile(took, 99)),
            "worst_us": took.max(),
            "calls": len(took),
        }
    return figures


def table(figures: dict[str, Any]) -> Table:
    """Return a row for each function."""
    return Table(
        f"Largest difference from the batch code: {figures['error']:.1e} N·m.",
        ["one sample of lab6", "µs, median", "99th percentile", "worst", "calls"],
        [
            [
                name,
                f"{took['median_us']:.1f}",
                f"{took['p99_us']:.1f}",
                f"{took['worst_us']:.0f}",
                took["calls"],
            ]
            for name, took in figures.items()
            if name != "error"
        ],
    )


def every_load(arm: str) -> Calibration:
    """A calibration of a built-in arm; every joint has another kind of load, and one
    joint has no Stribeck effect.
    """
    file = load_arm(arm)
    joints = {}
    for k, (name, load) in enumerate(zip(file.joints, (*LOADS, "none"), strict=True)):
        law = "coulomb-viscous" if k == 3 else "stribeck"
        names = [
            key
            for key in _PARAMETERS
            if (law == "stribeck" or not key.startswith("st"))
            and (load != "none" or not key.endswith("coefficient"))
        ]
        parameters = {
            key: Parameter(_PARAMETERS[key], None, None, None, unit(key), "identified")
            for key in names
        }
        joints[name] = JointCalibration(
            law,
            load,
            parameters,
            {},
            Bearing(0.04, 0.03, 0.08),
            0.0,
            (0.0, 1.0),
            None,
            None,
            None,
            (),
            np.zeros((0, 0)),
            1.96,
        )
    model = Model(file.model.name, file_sha256(file.model), file.gravity, file.tool)
    return Calibration(
        arm, datetime.now(UTC), "made up", "drive", (), model, {}, joints, file.model.parent
    )


def _seconds(function: Callable[..., Any], samples: np.ndarray) -> np.ndarray:
    """Time of every call, with the garbage collector disabled as in a control loop."""
    took = np.empty(len(samples))
    for state in samples[:100]:
        function(*state)
    gc.disable()
    try:
        for k, state in enumerate(samples):
            began = time.perf_counter()
            function(*state)
            took[k] = time.perf_counter() - began
    finally:
        gc.enable()
    return took
