"""Arms whose wrist motors move several joints: separation of motor friction and joint
friction, and error of their sum.

lab6 has other wrists and motors with random friction. The simulated arm drives its default plan,
and the run is calibrated.
"""

import argparse
import shutil
import tempfile
import tomllib
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import tomlkit

from benchmarks.page import Table
from stribeck.drivers.simulation.simulated_arm import SimulatedArm
from stribeck.experiments.methods.registry import DEFAULT, plan_method
from stribeck.experiments.recording.drive_plan import drive_plan
from stribeck.ident.arm.arm_file import load_arm
from stribeck.ident.arm.built_in import data_dir
from stribeck.ident.calibration.calibration import Calibration
from stribeck.ident.identify import identify
from stribeck.ident.log.run import Run, load_run

WRISTS: dict[str, dict[str, dict[str, float]]] = {
    "motor 6 carried by axis 5": {"j6": {"j5": 1.0}},
    "the same, half a turn": {"j6": {"j5": -0.5}},
    "differential": {"j5": {"j5": 1.0, "j6": 1.0}, "j6": {"j5": 1.0, "j6": -1.0}},
}
# number of random states with all joints moving at which friction is compared
_STATES = 2000
_SLOWEST, _FASTEST = 0.02, 1.0  # rad/s
_LAW = ("coulomb", "static", "viscous", "stribeck_velocity")


def arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the benchmark."""
    parser.add_argument("--cases", type=int, default=8, help="number of cases of each wrist")
    parser.add_argument("--first", type=int, default=100, help="seed of the first case")
    parser.add_argument("--jobs", type=int, default=2)


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Drive the plans, fit and judge the runs."""
    cases = [
        (wrist, seed)
        for wrist in WRISTS
        for seed in range(options.first, options.first + options.cases)
    ]
    with ProcessPoolExecutor(options.jobs) as pool:
        found = list(pool.map(judge, cases))
    return {"cases": found}


def table(figures: dict[str, Any]) -> Table:
    """Return a row for each wrist."""
    rows = []
    for wrist in dict.fromkeys(case["wrist"] for case in figures["cases"]):
        cases = [case for case in figures["cases"] if case["wrist"] == wrist]
        stated, blind = (
            [100.0 * error for case in cases for error in case["errors"][how].values()]
            for how in ("told", "blind")
        )
        parameters = [entry for case in cases for entry in case["parameters"]]
        laws = [law for case in cases for law in case["laws"].values()]
        identified = sum(entry["verdict"] == "identified" for entry in parameters)
        rows.append(
            [
                wrist,
                len(cases),
                f"{np.median(stated):.2f} ({max(stated):.2f})",
                f"{np.median(blind):.0f}",
                f"{laws.count('stribeck')} of {len(laws)}",
                f"{identified} of {len(parameters)}",
                f"{sum(entry['held'] for entry in parameters)} of {len(parameters)}",
            ]
        )
    return Table(
        "Rms error of the friction of j5 and j6, relative to rms friction, at random speeds of all "
        "joints.",
        [
            "wrist",
            "cases",
            "error with the transmission %, median (worst)",
            "without it %",
            "motor law is Stribeck",
            "motor parameters identified",
            "covered",
        ],
        rows,
    )


def judge(case: tuple[str, int]) -> dict[str, Any]:
    """Friction error of j5 and j6 with and without the transmission, and coverage
    of the motors' parameters.
    """
    wrist, seed = case
    rng = np.random.default_rng(seed)
    motors = {name: _motor(rng) for name in WRISTS[wrist]}
    with tempfile.TemporaryDirectory() as folder:
        path = _written(Path(folder), WRISTS[wrist], motors)
        arm = load_arm(path)
        log = load_run(
            drive_plan(arm, plan_method(DEFAULT, arm, None, seed), Path(folder) / "campaign", seed)
        )
        told, blind = identify([log]).calibration, identify([_without(log)]).calibration
        truth = SimulatedArm(arm)
        errors = {"told": _errors(told, truth, seed), "blind": _errors(blind, truth, seed)}
    parameters = [
        {
            "motor": name,
            "parameter": key,
            "verdict": one.verdict,
            "half_width": (one.half_width or np.nan) / motors[name][key],
            "held": one.low is not None
            and one.high is not None
            and bool(one.low <= motors[name][key] <= one.high),
        }
        for name, motor in told.motors.motors.items()
        for key, one in motor.parameters.items()
        if key in _LAW
    ]
    return {
        "wrist": wrist,
        "seed": seed,
        "errors": errors,
        "parameters": parameters,
        "laws": {name: motor.law for name, motor in told.motors.motors.items()},
    }


def _motor(rng: np.random.Generator) -> dict[str, float]:
    coulomb = float(rng.uniform(0.5, 2.0))
    return {
        "coulomb": coulomb,
        "static": coulomb * float(rng.uniform(1.2, 1.6)),
        "stribeck_velocity": float(rng.uniform(0.03, 0.1)),
        "viscous": float(rng.uniform(0.3, 1.2)),
    }


def _written(
    folder: Path,
    transmission: Mapping[str, Mapping[str, float]],
    motors: Mapping[str, Mapping[str, float]],
) -> Path:
    """Write the arm file beside its model; friction does not depend on
    temperature, so the truth is unique.
    """
    source = data_dir() / "arms" / "lab6"
    shutil.copy(source / "lab6.urdf", folder)
    table = tomllib.loads((source / "lab6.toml").read_text(encoding="utf-8"))
    table["transmission"] = transmission
    table["simulation"] |= {"warm_up": 0.0, "motors": motors}
    (folder / "wrist.toml").write_text(tomlkit.dumps(table), encoding="utf-8")
    return folder / "wrist.toml"


def _without(log: Run) -> Run:
    """Return the same log for an arm file without transmission."""
    return replace(log, arm=replace(log.arm, transmission={}))


def _errors(calibration: Calibration, truth: SimulatedArm, seed: int) -> dict[str, float]:
    """Relative rms error of predicted friction, with all joints at random speeds."""
    rng, n = np.random.default_rng(seed), len(truth.names)
    low, high = truth.limits.position.T
    q = rng.uniform(low, high, (_STATES, n))
    dq = rng.choice([-1.0, 1.0], (_STATES, n)) * np.exp(
        rng.uniform(np.log(_SLOWEST), np.log(_FASTEST), (_STATES, n))
    )
    true = truth.friction(q, dq)
    off = calibration.friction(q, dq) - true
    return {
        name: float(np.sqrt(np.mean(off[:, j] ** 2) / np.mean(true[:, j] ** 2)))
        for j, name in enumerate(truth.names)
        if name in ("j5", "j6")
    }
