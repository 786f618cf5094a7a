"""Servos without a torque signal: errors and intervals over random servos, and motion at
a gain that was left out.

Truth is integrated by SciPy (`servo_truth`); the judge of motion is MuJoCo. The logs of a real
XL330 are judged where they are.
"""

import argparse
import json
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.kept import judged_cases
from benchmarks.page import Table
from benchmarks.real_logs import LOGS, as_run
from benchmarks.servo_truth import ServoPendulum
from stribeck.ident.calibration.calibration import Calibration
from stribeck.ident.identification.identify_servos import identify_servos
from stribeck.ident.log.run import Run
from stribeck.ident.simulators.rollout import CALIBRATED, WITHOUT, rollout

NAMES = (
    "torque_per_gain",
    "back_emf",
    "servo_delay",
    "coulomb",
    "coulomb_coefficient",
    "viscous",
    "inertia",
    "offset",
)
GAINS, LEFT_OUT = (100.0, 200.0), 400.0


def arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the benchmark."""
    parser.add_argument("--cases", type=int, default=12, help="number of random servos")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument(
        "--kept",
        type=Path,
        help="JSON lines file that stores judged cases; stored cases are not judged "
        "again, so a long run can be continued",
    )


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Fit random servos and the logs of a real servo."""
    found = judged_cases(range(options.cases), judge, options.jobs, options.kept)
    return {"cases": found, "XL330": _real()}


def table(figures: dict[str, Any]) -> Table:
    """Return a row for each parameter."""
    servos = figures["cases"]
    rows = []
    for name in NAMES:
        fitted = [
            servo["parameters"][name]
            for servo in servos
            if servo["right"] and name in servo["parameters"]
        ]
        judged = [entry for entry in fitted if entry["truth"] and name != "offset"]
        errors = [entry["value"] / entry["truth"] - 1.0 for entry in judged]
        widths = [entry["half"] / entry["truth"] for entry in judged]
        rows.append(
            [
                name,
                len(fitted),
                f"{100.0 * np.sqrt(np.mean(np.square(errors))):.3g}" if judged else "-",
                f"{100.0 * np.median(widths):.3g}" if judged else "-",
                f"{100.0 * np.mean([entry['held'] for entry in fitted]):.3g}" if fitted else "-",
            ]
        )
    moved = 1e3 * np.array([servo["moved"] for servo in servos])
    apart = np.array(["back_emf" in servo["parameters"] for servo in servos])
    real = ", ".join(f"{1e3 * error:.1f}" for error in figures["XL330"].values())
    stuck = ""
    if not apart.all():
        stuck = (
            f"; {np.sum(~apart)} that hardly moved without power are off by up to "
            f"{np.max(moved[~apart]):.0f} mrad in a new drop"
        )
    return Table(
        f"{len(servos)} random servos move a pendulum at two gains and drop it without power; "
        f"growth with load is chosen rightly in {sum(servo['right'] for servo in servos)}. MuJoCo "
        f"at a third gain: position error {np.median(moved):.1f} mrad in the median, worst "
        f"{np.max(moved[apart]):.1f}{stuck}. Real XL330 (Rhoban/bam), mean error at each gain left "
        f"out: {real or 'not here'} mrad; best published parameters, fitted on all gains: 69 mrad.",
        ["parameter", "servos", "rms error %", "half width %, median", "covered %"],
        rows,
    )


def random_servo(seed: int) -> ServoPendulum:
    """A servo whose gain, friction, inertia and delay are random; every second
    one has no growth with load.
    """
    rng = np.random.default_rng(seed)
    mass, length = float(rng.uniform(0.2, 0.8)), float(rng.uniform(0.07, 0.15))
    weight = mass * 9.81 * length
    truth = {
        "torque_per_gain": float(rng.uniform(0.003, 0.008)) * weight,
        "back_emf": float(rng.uniform(0.03, 0.12)) * weight,
        "servo_delay": float(rng.uniform(0.0, 0.015)),
        "coulomb": float(rng.uniform(0.02, 0.15)) * weight,
        "viscous": float(rng.uniform(0.0, 0.04)) * weight,
        "inertia": float(rng.uniform(0.05, 0.5)) * mass * length**2,
        "coulomb_coefficient": float(rng.uniform(0.1, 0.4)) if seed % 2 else 0.0,
        "offset": float(rng.uniform(-0.02, 0.02)) * weight,
    }
    return ServoPendulum(mass, length, truth)


def judge(seed: int) -> dict[str, Any]:
    """Error, half width and coverage of every parameter, and error of motion at
    a gain that was left out.
    """
    servo = random_servo(seed)
    with tempfile.TemporaryDirectory() as folder:
        runs = [
            servo.run(Path(folder), gain, drops, seed) for gain in GAINS for drops in (False, True)
        ]
        found = identify_servos(runs).calibration
        moved = rollout(servo.run(Path(folder), LEFT_OUT, True, seed + 1000), found)
    joint = found.joints["hinge"]
    entries = {
        **joint.parameters,
        **(joint.servo.parameters if joint.servo else {}),
        **joint.gravity,
    }
    judged = {}
    for name in NAMES:
        truth, one = servo.truth[name], entries.get(name)
        # no drop was large enough: the sum
        if name == "viscous" and "back_emf" not in entries:
            truth += servo.truth["back_emf"]
        if (
            one is not None
            and one.value is not None
            and one.low is not None
            and one.high is not None
        ):
            judged[name] = {
                "truth": truth,
                "value": one.value,
                "half": one.half_width,
                "held": one.low <= truth <= one.high,
            }
    right = (joint.load != "none") == bool(servo.truth["coulomb_coefficient"])
    return {
        "seed": seed,
        "law": joint.law,
        "load": joint.load,
        "right": right,
        "parameters": judged,
        "moved": float(moved.simulated[CALIBRATED].error[0]),
        "without": float(moved.simulated[WITHOUT].error[0]),
    }


def xl330_runs(folder: Path) -> dict[float, list[Run]]:
    """Logs of the XL330 by gain."""
    path = ServoPendulum(0.49, 0.1).urdf(folder)
    runs: dict[float, list[Run]] = {}
    for log in sorted((LOGS / "xl330").glob("*.json")):
        table = json.loads(log.read_text(encoding="utf-8"))
        t, q, told, on = (
            np.array([entry[key] for entry in table["entries"]], dtype=float)
            for key in ("timestamp", "position", "goal_position", "torque_enable")
        )
        told[on < 0.5] = np.nan
        made = as_run(
            path, t, q[:, None], np.nan_to_num(table["kp"] * (told - q))[:, None], told[:, None]
        )
        record = {
            **made.record,
            "import": {"torque_signal": "position error", "servo_gains": {"hinge": table["kp"]}},
        }
        runs.setdefault(float(table["kp"]), []).append(
            replace(made, path=Path(log.stem), record=record, sha256=log.stem)
        )
    return runs


def mean_error(runs: list[Run], calibration: Calibration) -> float:
    """Mean absolute error of positions that MuJoCo simulates [rad]."""
    found = [rollout(run, calibration) for run in runs]
    return float(
        np.mean([np.abs(one.simulated[CALIBRATED].q - one.measured).mean() for one in found])
    )


def _real() -> dict[str, float]:
    """Mean absolute error by the gain that was left out; empty where the logs are missing."""
    if not (LOGS / "xl330").is_dir():
        return {}
    with tempfile.TemporaryDirectory() as folder:
        runs = xl330_runs(Path(folder))
        return {
            f"{left:g}": mean_error(
                own,
                identify_servos(
                    [run for gain, others in runs.items() if gain != left for run in others]
                ).calibration,
            )
            for left, own in runs.items()
        }
