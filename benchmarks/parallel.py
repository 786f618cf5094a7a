"""The planar 3-PRR with wrong masses and pin friction: slider friction, pin friction and base parameters from one log each."""

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.kept import judged_cases
from benchmarks.parallel_bounds import bounds
from benchmarks.parallel_logs import WrongMachine
from benchmarks.three_prr import Slider
from stribeck.ident.fit.joint.options import Options
from stribeck.ident.identify import Identification, identify
from stribeck.ident.laws.parameter import Parameter
from stribeck.ident.model.base_parameters import base_parameters
from stribeck.ident.model.loads import joint_loads
from stribeck.ident.model.regressor import inertial_parameters

PIN = 0.002             # m; friction arm of the pins
TRUTH = {"coulomb_coefficient": 0.08, "static_coefficient": 0.12, "stribeck_velocity": 0.02, "viscous": 15.0}
_SLOW = 0.0025          # m/s; slower rows are not judged


def arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the benchmark."""
    parser.add_argument("--cases", type=int, default=12, help="number of cases of each row")
    parser.add_argument("--first", type=int, default=0, help="seed of the first case; another seed gives new cases")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--kept", type=Path, help="JSON lines file that stores judged cases; stored cases are not judged "
                                                  "again, so a long run can be continued")


def run(options: argparse.Namespace) -> tuple[dict[str, Any], str]:
    """Fit and judge all cases."""
    cases = [(part, pin, seed) for seed in range(options.first, options.first + options.cases)
             for part in (0.0, 0.03, 0.3) for pin in (0.0, PIN)]
    judged = judged_cases(cases, judge, options.jobs, options.kept)
    found = pd.DataFrame([row for rows in judged for row in rows]).sort_values(["part", "pin"], kind="stable")
    rows = summary(found)
    return {"rows": rows}, table(rows)


def judge(of: tuple[float, float, int]) -> list[dict[str, Any]]:
    """Results for each slider, the pins, and the base parameters."""
    part, pin, seed = of
    case = WrongMachine(seed, part, pin)
    found = identify([case.recorded()], Options(law="tustin", load="normal", constant="none", motion="model", inertia="fit"))
    least = bounds(case)
    calibration, rows = found.calibration, []
    errors = friction_errors(found, case)
    for name, joint in calibration.joints.items():
        row = {"part": part, "pin": pin, "seed": seed, "what": name, "error": errors[name]}
        row |= {key: (*_off(joint.parameters[key], value), least[name][key]) for key, value in TRUTH.items()
                if joint.parameters[key].value}
        rows.append(row)
    for one in calibration.model.passive.classes.values():
        entry = one.parameters["coulomb_coefficient"]
        rows.append({"part": part, "pin": pin, "seed": seed, "what": "pins",
                     "coulomb_coefficient": (*_off(entry, pin), least["pins"]["coulomb_coefficient"])})
    if calibration.model.inertia is not None:
        base = base_parameters(case.mechanism)
        true = base.combination @ inertial_parameters(case.mechanism)
        told = calibration.model.inertia.parameters.values()
        held = [_off(one, value)[1] for one, value in zip(told, true.tolist(), strict=True)]
        rows.append({"part": part, "pin": pin, "seed": seed, "what": "base", "held": held})
    return rows


def friction_errors(found: Identification, case: WrongMachine) -> dict[str, float]:
    """Relative rms error of friction of each slider along its motion, without rest."""
    t = np.arange(0.05, case.seconds - 0.05, 0.01)
    rubbing, q, dq, ddq = case.forces(t, Slider(pin=case.pin))
    free, *_ = case.forces(t, Slider(coulomb=0.0, static=0.0, viscous=0.0, pin=case.pin))
    loads, out = joint_loads(found.mechanism, q, dq, ddq), {}
    for j, name in enumerate(found.mechanism.names):
        joint, moves = found.calibration.joints[name], np.abs(dq[:, j]) > _SLOW
        load = None if joint.load == "none" else loads.get(joint.load)[moves, j]
        true = (rubbing - free)[moves, j]
        out[name] = float(np.sqrt(np.mean((joint.torque(dq[moves, j], load) - true) ** 2) / np.mean(true**2)))
    return out


def _off(entry: Parameter, truth: float) -> tuple[float, bool, float]:
    """Relative error, whether the interval holds the truth, and the interval's relative half width."""
    held = entry.low is not None and entry.high is not None and entry.low <= truth <= entry.high
    return (entry.value or 0.0) / truth - 1.0, bool(held), (entry.half_width or 0.0) / truth


def summary(found: pd.DataFrame) -> list[dict[str, Any]]:
    """Figures by mass error and pin friction."""
    rows = []
    for (part, pin), own in found.groupby(["part", "pin"], sort=False):
        sliders, base = own[own["what"].str.startswith("slider")], own[own["what"] == "base"]
        held = [one for part_ in base.get("held", pd.Series(dtype=object)).dropna() for one in part_]
        row = {"part": part, "pin": pin, "cases": own["seed"].nunique(), "error": 100.0 * sliders["error"].median(),
               "error_95": 100.0 * sliders["error"].quantile(0.95), "worst": 100.0 * sliders["error"].max(),
               "base": len(held), "base_covered": 100.0 * float(np.mean(held)) if held else None}
        entries = {key: sliders[key].dropna().tolist() for key in TRUTH} | {
            "pins": own[own["what"] == "pins"]["coulomb_coefficient"].dropna().tolist()}
        row |= {key: {"count": len(one), "rms": 100.0 * float(np.sqrt(np.mean([e[0] ** 2 for e in one]))),
                      "covered": 100.0 * float(np.mean([e[1] for e in one])),
                      "bounds": float(np.sqrt(np.mean([(e[0] / e[3]) ** 2 for e in one]))),
                      "half_width": 100.0 * float(np.median([e[2] for e in one]))} for key, one in entries.items() if one}
        rows.append(row)
    return rows


def table(rows: list[dict[str, Any]]) -> str:
    """Return the table."""
    count = sum(row["base"] + sum(row[key]["count"] for key in (*TRUTH, "pins") if key in row) for row in rows)
    text = [f"{sum(row['cases'] for row in rows)} logs, {count} intervals.", "",
            "Truth: the planar 3-PRR, computed by P2's equations (`benchmarks/three_prr.py`), follows P2's motion for 4 s at "
            "1 kHz, with position noise of 1 µm and force noise of 0.1 N. Sliders have mu_c 0.08, mu_s 0.12, w_s 0.02 m/s, "
            "f_v 15 N·s/m. Pins have a friction arm of 2 mm, or no friction. Masses of sliders, links and platform are "
            "right, or wrong by up to 3 % or 30 %. Logs are fitted with P2's law: `--motion model --law tustin --load normal "
            "--constant none --inertia fit`. Friction: rms error along the motion relative to rms friction, for all sliders. "
            "Parameters: rms error and median half width of the interval, share of intervals that contain the truth, and rms of "
            "the errors, each relative to its Cramer-Rao bound (`benchmarks/parallel_bounds.py`). Goals: mu_c, mu_s and f_v "
            "within 2 %, w_s within 5 %, 1.2 bounds.", "",
            "| mass error | pin friction | cases | friction error %, median (95 %, worst) | mu_c | mu_s | w_s | f_v | "
            "friction arm of pins | base parameters covered % |",
            "|---|---|---|---|---|---|---|---|---|---|"]
    for row in rows:
        told = [_told(row.get(key)) for key in (*TRUTH, "pins")]
        base = "-" if row["base_covered"] is None else f"{row['base_covered']:.0f} of {row['base']}"
        text.append(f"| {100.0 * row['part']:.0f} % | {'2 mm' if row['pin'] else 'none'} | {row['cases']} | {row['error']:.2f} "
                    f"({row['error_95']:.2f}, {row['worst']:.2f}) | {' | '.join(told)} | {base} |")
    return "\n".join(text)


def _told(one: dict[str, float] | None) -> str:
    return "-" if one is None else (f"{one['rms']:.1f} ± {one['half_width']:.1f}, {one['covered']:.0f} % of {one['count']}, "
                                    f"{one['bounds']:.1f} bounds")
