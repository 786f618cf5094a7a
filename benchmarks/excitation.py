"""Excitation compared with other motions of the same time and with figaroh:
reached and expected intervals.
"""

import argparse
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks import figaroh_trajectory
from benchmarks.excited_machines import excited
from benchmarks.inertia import covers, off
from benchmarks.inertia_logs import PUBLIC, RATE, WrongModel
from benchmarks.machines import MACHINES
from benchmarks.page import Table
from stribeck.experiments.arm_files.assumed_arm import assumed_arm
from stribeck.experiments.excitation.allowance import Allowance
from stribeck.experiments.excitation.expected import guesses, told
from stribeck.experiments.methods.excitation_motion import plan_excitation
from stribeck.experiments.plans.constant_speed_options import ConstantSpeed
from stribeck.experiments.plans.motion_profile import Wave, motion_profile
from stribeck.experiments.plans.speeds_and_postures import Design
from stribeck.ident.arm.arm_file import ArmFile, load_arm
from stribeck.ident.fit.arm.motion_information import Course, MotionInformation
from stribeck.ident.fit.joint.options import Options
from stribeck.ident.identify import identify
from stribeck.ident.model.base_parameters import base_parameters
from stribeck.ident.model.regressor import inertial_parameters

ARMS = ("lab6", "ur5")
_NORMAL = 1.96
_PART = 0.3  # largest relative error of the models of parallel machines
# time, positions, velocities, accelerations
Motion = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the benchmark."""
    parser.add_argument("--cases", type=int, default=3, help="number of wrong models of each arm")
    parser.add_argument("--first", type=int, default=100, help="seed of the first case")
    parser.add_argument(
        "--seconds", type=float, default=40.0, help="length of each motion of an arm [s]"
    )
    parser.add_argument("--arms", nargs="*", default=list(ARMS), choices=("lab6", *PUBLIC))
    parser.add_argument(
        "--machines",
        nargs="*",
        default=["planar-3-prr"],
        choices=MACHINES,
        help="parallel machines",
    )
    parser.add_argument(
        "--machine-seconds", type=float, default=20.0, help="length of each motion of a machine [s]"
    )
    parser.add_argument(
        "--figaroh-turns",
        type=int,
        default=25,
        help="iterations of IPOPT for each segment of figaroh's trajectory",
    )


@dataclass(frozen=True)
class Moved(WrongModel):
    """An arm with a wrong model that follows a given motion instead of a random motion."""

    along: Motion | None = None

    def motion(self, seed: int, seconds: float) -> tuple[np.ndarray, ...]:
        """The motion."""
        return super().motion(seed, seconds) if self.along is None else self.along


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Design, move, fit and judge."""
    rows, found = [], []
    for name in options.arms:
        arm = arm_of(name)
        design = Design.of(arm, None, ConstantSpeed())
        information = MotionInformation(design.mechanism, guesses(design))
        began = time.perf_counter()
        motions: dict[str, Motion] = {"excitation": designed(arm, design, options.seconds)}
        seconds = {"excitation": time.perf_counter() - began}
        if arm.workspace.box is not None:
            free = replace(arm, workspace=replace(arm.workspace, box=None))
            motions["excitation without the box"] = designed(
                free, replace(design, arm=free), options.seconds
            )
        motions["four sines"] = WrongModel(name, options.first).motion(
            options.first, options.seconds
        )  # type: ignore[assignment]
        allowance = Allowance(design, information.guesses)
        other, took = figaroh_trajectory.trajectory(
            allowance, options.seconds, RATE, turns=options.figaroh_turns
        )
        if other is not None:
            motions["figaroh"], seconds["figaroh"] = other, took  # type: ignore[assignment]
        for how, motion in motions.items():
            rows.append(stated(name, how, motion, information, allowance, seconds.get(how)))
            for seed in range(options.first, options.first + options.cases):
                found += judged(Moved(name, seed, along=motion), how, information, motion)
    machines = [
        excited(
            name,
            range(options.first, options.first + options.cases),
            options.machine_seconds,
            _PART,
        )
        for name in options.machines
    ]
    fitted = summary(pd.DataFrame(found)) if found else []
    return {"motions": rows, "rows": fitted, "machines": machines}


def table(figures: dict[str, Any]) -> Table:
    """Return a row for each arm or machine and motion."""
    rows = [
        [
            f"{expected['arm']}, {fitted['motion']}",
            f"{expected['robot_s']:.0f}",
            f"{expected['condition']:.1f}",
            f"{fitted['error']:.2f} ({fitted['worst']:.2f})",
            f"{fitted['friction_covered']:.0f}",
            f"{fitted['base_covered']:.1f}",
            f"{fitted['base_width']:.1f}",
            f"{fitted['ratio']:.2f}",
        ]
        for expected, fitted in zip(figures["motions"], figures["rows"], strict=True)
    ]
    rows += [
        [
            f"{machine['machine']}, excitation",
            f"{machine['seconds']:.0f}",
            "-",
            f"{machine['error']:.2f} ({machine['worst']:.2f})",
            "-",
            f"{machine['covered']:.0f} of {machine['entries']}",
            "-",
            "-",
        ]
        for machine in figures.get("machines", [])
    ]
    return Table(
        "Models are up to 30 % wrong; `--motion model --inertia fit`. *Four sines* keeps a speed "
        "only; *figaroh* minimises the condition number and exceeds accelerations. Width: half "
        "widths of base parameters over those of the model alone. Goal: friction within 2 %.",
        [
            "arm, motion",
            "robot time s",
            "condition number",
            "friction error %, median (worst)",
            "friction covered %",
            "base parameters covered %",
            "width %",
            "reached over expected half widths",
        ],
        rows,
    )


def arm_of(name: str) -> ArmFile:
    """Return the arm file of an arm; for a public arm, limits that the URDF
    does not state are assumed.
    """
    if name == "lab6":
        return load_arm("lab6")
    return assumed_arm(WrongModel(name, 0).path, Path(tempfile.mkdtemp()))


def designed(arm: ArmFile, design: Design, seconds: float) -> Motion:
    """Return the excitation of an arm in the form of its plan."""
    plan = plan_excitation(arm, time=seconds)
    start, segment = next(leg for leg in plan.legs() if leg[1].wave is not None)
    wave = motion_profile(start, segment, plan.names, design.limits)
    assert isinstance(wave, Wave)
    t = np.arange(round(seconds * RATE)) / RATE
    s, ds = wave(t)
    return t, start + s, ds, wave.accelerations(t)


def stated(
    arm: str,
    how: str,
    motion: Motion,
    information: MotionInformation,
    allowance: Allowance,
    seconds: float | None,
) -> dict[str, Any]:
    """Expected information of a motion before it is driven."""
    t, q, dq, ddq = motion
    course = Course(q, dq, ddq, float(t[1] - t[0]))
    ahead = told(information, information.prior, course)
    over = {kind: float(share.max()) for kind, share in allowance.shares(course).items()}
    return {
        "arm": arm,
        "motion": how,
        "robot_s": float(t[-1]),
        "condition": ahead.condition,
        "gain": ahead.gain,
        "gain_per_s": ahead.gain / float(t[-1]),
        "design_s": seconds,
        "shares": over,
    }


def judged(
    case: Moved, how: str, information: MotionInformation, motion: Motion
) -> list[dict[str, Any]]:
    """Friction and base parameters of one wrong model, with reached intervals and
    intervals expected for its noise.
    """
    log = case.recorded(float(motion[0][-1]))
    result = identify(
        [log], Options(law="coulomb-viscous", load=case.load, motion="model", inertia="fit")
    )
    inertia = result.calibration.model.inertia
    assert inertia is not None
    base = base_parameters(case.model)
    true = (base.combination @ inertial_parameters(case.truth)).tolist()
    entries = list(inertia.parameters.values())
    ahead = foretold(case, information, motion)
    rows: list[dict[str, Any]] = []
    for name, coulomb in zip(case.model.names, case.coulomb, strict=True):
        joint = result.calibration.joints.get(name)
        if joint is None:
            continue
        own: dict[str, Any] = {
            "arm": case.arm,
            "motion": how,
            "seed": case.seed,
            "joint": name,
            "seconds": float(motion[0][-1]),
            "error": off(joint, case, coulomb),
        }
        for key, value in (("coulomb", coulomb), ("viscous", 0.6 * coulomb)):
            entry = joint.parameters.get(key)
            if entry is not None and entry.value is not None and entry.half_width:
                own[key], own[f"{key}_covered"] = entry.half_width / value, covers(entry, value)
        if not rows:
            told_ones = [i for i, entry in enumerate(entries) if entry.verdict != "unidentifiable"]
            own["covered"] = [
                covers(entry, value) for entry, value in zip(entries, true, strict=True)
            ]
            own["told"] = len(told_ones)
            own["ratio"] = [entries[i].half_width / ahead[0][i] for i in told_ones]
            own["width"] = [entries[i].half_width / ahead[1][i] for i in range(len(entries))]
        rows.append(own)
    return rows


def foretold(
    case: Moved, information: MotionInformation, motion: Motion
) -> tuple[np.ndarray, np.ndarray]:
    """Expected 95 % half widths of base parameters for known noise and friction, and half
    widths of the model alone.
    """
    true = tuple(
        replace(
            guess,
            coulomb=coulomb,
            static=1.05 * coulomb,
            viscous=0.6 * coulomb,
            coulomb_coefficient=case.growth,
            within=case.noise * coulomb * np.sqrt(40.0 / RATE),
            level=1e-3 * coulomb,
        )
        for guess, coulomb in zip(information.guesses, case.coulomb, strict=True)
    )
    known = MotionInformation(case.model, true)
    t, q, dq, ddq = motion
    after = known.prior + known.told(Course(q[::2], dq[::2], ddq[::2], 2.0 * float(t[1] - t[0])))
    base, part, _ = known.deviations(after)
    return _NORMAL * base, _NORMAL * base / part


def summary(found: pd.DataFrame) -> list[dict[str, Any]]:
    """Figures of each arm and motion."""
    rows = []
    for (arm, how), own in found.groupby(["arm", "motion"], sort=False):
        held = [one for part in own["covered"].dropna() for one in part]
        ratio, width = (
            np.array([one for part in own[key].dropna() for one in part])
            for key in ("ratio", "width")
        )
        seconds, error = float(own["seconds"].iloc[0]), 100.0 * own["error"]
        rows.append(
            {
                "arm": arm,
                "motion": how,
                "seconds": seconds,
                "error": float(error.median()),
                "worst": float(error.max()),
                "coulomb": 100.0 * float(own["coulomb"].median()),
                "viscous": 100.0 * float(own["viscous"].median()),
                "friction_covered": 100.0
                * float(
                    np.mean(
                        np.concatenate(
                            [
                                own[f"{key}_covered"].dropna().to_numpy(dtype=bool)
                                for key in ("coulomb", "viscous")
                            ]
                        )
                    )
                ),
                "base": len(held),
                "base_covered": 100.0 * float(np.mean(held)),
                "told": float(own["told"].dropna().mean()),
                "ratio": float(np.median(ratio)),
                "ratio_80": np.quantile(ratio, [0.1, 0.9]).tolist(),
                "base_width": 100.0 * float(np.exp(np.mean(np.log(width)))),
            }
        )
    return rows
