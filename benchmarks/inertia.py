"""Arms whose models are up to 30 % wrong: friction, load parts and base parameters from one log of general motion each."""

import argparse
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.inertia_logs import PUBLIC, WrongModel
from stribeck.ident.fit.joint.options import Options
from stribeck.ident.identify import identify
from stribeck.ident.laws.parameter import Parameter
from stribeck.ident.model.base_parameters import base_parameters
from stribeck.ident.model.regressor import inertial_parameters

LOADS = ("torque", "bending")
_CARRIES = 0.25         # growth times median load over Coulomb friction, from which a joint's coefficient counts


def arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the benchmark."""
    parser.add_argument("--cases", type=int, default=16, help="of each arm and load")
    parser.add_argument("--first", type=int, default=100, help="seed of the first case; choose others to see fresh ones")
    parser.add_argument("--seconds", type=float, default=40.0, help="of motion")
    parser.add_argument("--jobs", type=int, default=2)


def run(options: argparse.Namespace) -> tuple[dict[str, Any], str]:
    """Fit and judge all cases."""
    cases = [(WrongModel(arm, seed, load=load), options.seconds) for arm in ("lab6", *PUBLIC) for load in LOADS
             for seed in range(options.first, options.first + options.cases)]
    with ProcessPoolExecutor(options.jobs) as pool:
        found = pd.DataFrame([row for rows in pool.map(judge, cases, chunksize=2) for row in rows])
    return {"joints": found.to_dict("records")}, table(found)


def judge(of: tuple[WrongModel, float]) -> list[dict[str, Any]]:
    """What is found of each joint with inertia fitted, trusted, and with a right model."""
    case, seconds = of
    right = replace(case, part=0.0)
    options = Options(law="coulomb-viscous", load=case.load, motion="model")
    log = case.recorded(seconds)
    found = {"fit": identify([log], replace(options, inertia="fit")), "trust": identify([log], replace(options, inertia="trust")),
             "right model": identify([right.recorded(seconds)], replace(options, inertia="trust"))}
    inertia = found["fit"].calibration.model.inertia
    assert inertia is not None
    base = base_parameters(case.model)
    true = base.combination @ inertial_parameters(case.truth)
    held = [_covers(one, value) for one, value in zip(inertia.parameters.values(), true.tolist(), strict=True)]
    rows = []
    for how, result in found.items():
        for k, (name, coulomb) in enumerate(zip(case.model.names, case.coulomb, strict=True)):
            joint = result.calibration.joints[name]
            truth = {"coulomb": coulomb, "viscous": 0.6 * coulomb, "coulomb_coefficient": case.growth}
            own = {"arm": case.arm, "load": case.load, "seed": case.seed, "how": how, "joint": name,
                   "error": _off(joint, case, coulomb), "held": held if how == "fit" and k == 0 else None,
                   "carries": joint.load_part is not None and joint.load_part[1] > _CARRIES * coulomb}
            for key, value in truth.items():
                entry = joint.parameters.get(key)
                if entry is not None and entry.value is not None:
                    own[key] = entry.value / value - 1.0, _covers(entry, value), (entry.half_width or 0.0) / value
            rows.append(own)
    return rows


def _covers(entry: Parameter, value: float) -> bool:
    return entry.low is not None and entry.high is not None and entry.low <= value <= entry.high


def _off(joint: Any, case: WrongModel, coulomb: float) -> float:
    """Of friction at the middle load of the joint: rms error over the speeds, over rms friction."""
    speed = np.geomspace(0.05, 1.2, 30)
    load = None if joint.load == "none" else np.full(30, float(np.mean(joint.load_range)))
    true = coulomb + 0.6 * coulomb * speed + (0.0 if load is None else case.growth * load)
    return float(np.sqrt(np.mean((joint.torque(speed, load) - true) ** 2) / np.mean(true**2)))


def table(found: pd.DataFrame) -> str:
    """What is found, by arm and load."""
    rows = ["Truth: masses, centres of mass and inertias of the model, each off by up to 30 %, moved by Pinocchio along sums of "
            "four sines for 40 s; friction C + 0.1 load + 0.6 C w, rotors that the arm file does not state, 5 % of C as noise. "
            "Fitted by `--motion model` with `--inertia fit`, beside `--inertia trust` on the same log, and on one of an arm "
            "whose model is right. Friction: rms error over the speeds at the middle load, of all joints. Coefficients: of "
            "joints whose load brings a quarter of Coulomb friction or more. Goals: friction within 2 %, intervals cover.", "",
            "| arm | load | inertia | joints | friction error %, median (95 %, worst) | Coulomb, viscous covered % | "
            "coefficient covered %, half width %, rms error % | base parameters covered % |", "|---|---|---|---|---|---|---|---|"]
    for (arm, load, how), own in found.groupby(["arm", "load", "how"], sort=False):
        error = 100.0 * own["error"]
        sure = [np.mean([entry[1] for entry in own[key].dropna()]) for key in ("coulomb", "viscous")]
        grown = own[own["carries"]]["coulomb_coefficient"].dropna().tolist()
        told = "-" if not grown else (f"{100 * np.mean([one[1] for one in grown]):.0f} of {len(grown)}, "
                                      f"{100 * np.median([one[2] for one in grown]):.1f}, "
                                      f"{100 * np.sqrt(np.mean([one[0] ** 2 for one in grown])):.1f}")
        held = [one for part in own["held"].dropna() for one in part]
        worst = f"{error.median():.2f} ({error.quantile(0.95):.2f}, {error.max():.2f})"
        rows.append(f"| {arm} | {load} | {how} | {len(own)} | {worst} | {100 * sure[0]:.0f}, {100 * sure[1]:.0f} | {told} | "
                    f"{f'{100 * np.mean(held):.1f} of {len(held)}' if held else '-'} |")
    return "\n".join(rows)
