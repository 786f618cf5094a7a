"""Arms with models up to 30 % wrong: friction, load parts and base parameters, each from
one log of general motion.
"""

import argparse
from collections.abc import Iterable
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.inertia_logs import PUBLIC, WrongModel
from benchmarks.kept import judged_cases
from benchmarks.page import Table
from stribeck.ident.fit.joint.options import Options
from stribeck.ident.identify import identify
from stribeck.ident.laws.parameter import Parameter
from stribeck.ident.model.base_parameters import base_parameters
from stribeck.ident.model.regressor import inertial_parameters

LOADS = ("torque", "bending")
# least growth x median load / Coulomb friction for which a joint's coefficient is judged
_CARRIES = 0.25


def arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the benchmark."""
    parser.add_argument("--cases", type=int, default=16, help="cases of each arm and load")
    parser.add_argument(
        "--first",
        type=int,
        default=100,
        help="seed of the first case; another seed gives new cases",
    )
    parser.add_argument("--seconds", type=float, default=40.0, help="length of each motion [s]")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument(
        "--kept",
        type=Path,
        help="JSON lines file that stores judged cases; stored cases are not judged "
        "again, so a long run can be continued",
    )


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Fit and judge all cases."""
    cases = [
        (WrongModel(arm, seed, load=load), options.seconds)
        for seed, arm, load in product(
            range(options.first, options.first + options.cases), ("lab6", *PUBLIC), LOADS
        )
    ]
    judged = pd.DataFrame(
        [row for rows in judged_cases(cases, judge, options.jobs, options.kept) for row in rows]
    )
    return {"logs": len(cases), "rows": summary(judged)}


def table(figures: dict[str, Any]) -> Table:
    """Return a row for each arm and load."""
    by_case = {(row["arm"], row["load"], row["how"]): row for row in figures["rows"]}
    held = [row for row in figures["rows"] if row["base_covered"] is not None]
    every = sum(row["base"] for row in held)
    share = sum(row["base_covered"] * row["base"] for row in held) / every
    rows = []
    for arm, load in dict.fromkeys((row["arm"], row["load"]) for row in figures["rows"]):
        cases = [by_case[arm, load, how] for how in ("fit", "trust")]
        fitted = cases[0]
        rows.append(
            [
                f"{arm}, {load}",
                *(f"{case['error']:.2f} ({case['worst']:.2f})" for case in cases),
                f"{fitted['coulomb']:.0f}, {fitted['viscous']:.0f}",
                f"{fitted['coefficient']:.0f}",
                f"{fitted['base_covered']:.1f}",
            ]
        )
    return Table(
        f"{figures['logs']} logs of four sines for 40 s, computed by Pinocchio; noise of 5 % of "
        "Coulomb friction; fitted with `--motion model` and `--inertia fit` or `trust`. Intervals "
        f"contain {share:.1f} % of {every} base parameters. Goals: friction within 2 %, intervals "
        "cover the truth.",
        [
            "arm, load",
            "friction error %, fit: median (worst)",
            "trust",
            "Coulomb, viscous covered %",
            "load coefficient covered %",
            "base parameters covered %",
        ],
        rows,
    )


def judge(of: tuple[WrongModel, float]) -> list[dict[str, Any]]:
    """Results for each joint with fitted inertia, trusted inertia, and a right model."""
    case, seconds = of
    right = replace(case, part=0.0)
    options = Options(law="coulomb-viscous", load=case.load, motion="model")
    log = case.recorded(seconds)
    found = {
        "fit": identify([log], replace(options, inertia="fit")),
        "trust": identify([log], replace(options, inertia="trust")),
        "right model": identify([right.recorded(seconds)], replace(options, inertia="trust")),
    }
    inertia = found["fit"].calibration.model.inertia
    assert inertia is not None
    base = base_parameters(case.model)
    true = base.combination @ inertial_parameters(case.truth)
    held = [
        covers(one, value)
        for one, value in zip(inertia.parameters.values(), true.tolist(), strict=True)
    ]
    rows = []
    for how, result in found.items():
        for k, (name, coulomb) in enumerate(zip(case.model.names, case.coulomb, strict=True)):
            joint = result.calibration.joints[name]
            truth = {
                "coulomb": coulomb,
                "viscous": 0.6 * coulomb,
                "coulomb_coefficient": case.growth,
            }
            own = {
                "arm": case.arm,
                "load": case.load,
                "seed": case.seed,
                "how": how,
                "joint": name,
                "error": off(joint, case, coulomb),
                "held": held if how == "fit" and k == 0 else None,
                "carries": joint.load_part is not None and joint.load_part[1] > _CARRIES * coulomb,
            }
            for key, value in truth.items():
                entry = joint.parameters.get(key)
                if entry is not None and entry.value is not None:
                    own[key] = (
                        entry.value / value - 1.0,
                        covers(entry, value),
                        (entry.half_width or 0.0) / value,
                    )
            rows.append(own)
    return rows


def covers(entry: Parameter, value: float) -> bool:
    return bool(
        entry.low is not None and entry.high is not None and entry.low <= value <= entry.high
    )


def off(joint: Any, case: WrongModel, coulomb: float) -> float:
    """Relative rms error of friction over the speeds, at the middle load of the joint."""
    speed = np.geomspace(0.05, 1.2, 30)
    load = None if joint.load == "none" else np.full(30, float(np.mean(joint.load_range)))
    true = coulomb + 0.6 * coulomb * speed + (0.0 if load is None else case.growth * load)
    return float(np.sqrt(np.mean((joint.torque(speed, load) - true) ** 2) / np.mean(true**2)))


def summary(found: pd.DataFrame) -> list[dict[str, Any]]:
    """Figures for each arm, load, and treatment of inertia."""
    rows = []
    for (arm, load, how), own in found.groupby(["arm", "load", "how"], sort=False):
        error = 100.0 * own["error"]
        grown = own[own["carries"]]["coulomb_coefficient"].dropna().tolist()
        held = [one for part in own["held"].dropna() for one in part]
        rows.append(
            {
                "arm": arm,
                "load": load,
                "how": how,
                "joints": len(own),
                "error": error.median(),
                "error_95": error.quantile(0.95),
                "worst": error.max(),
                "base": len(held),
                "coulomb": _share(own["coulomb"].dropna()),
                "viscous": _share(own["viscous"].dropna()),
                "base_covered": 100.0 * float(np.mean(held)) if held else None,
                "coefficients": len(grown),
                "coefficient": _share(grown),
                "half_width": 100.0 * float(np.median([one[2] for one in grown])),
                "coefficient_error": 100.0
                * float(np.sqrt(np.mean([one[0] ** 2 for one in grown]))),
            }
        )
    return rows


def _share(entries: Iterable[tuple[float, bool, float]]) -> float:
    return 100.0 * float(np.mean([covered for _, covered, _ in entries]))
