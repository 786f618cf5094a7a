"""Parallel machines: friction error of `stribeck calibrate`, and distance of
plans to singular postures.

The judge of plans is independent of the planner and uses MuJoCo's equality constraints. At many
positions of each path the judge closes the loops with the constraint Jacobian. The margin is the
reciprocal condition number of the Jacobian's columns of passive joints, with the planner's
characteristic length.
"""

import argparse
import tempfile
import time
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.kept import judged_cases
from benchmarks.page import Table
from stribeck.drivers.simulation.simulated_arm import SimulatedArm
from stribeck.drivers.simulation.truth import Truth
from stribeck.experiments.calibrate import calibrate
from stribeck.experiments.campaign_options import CampaignOptions
from stribeck.experiments.errors import PlanError
from stribeck.experiments.methods.registry import plan_experiment
from stribeck.experiments.plans.motion_profile import course, motion_profile
from stribeck.experiments.plans.plan import Plan
from stribeck.ident.arm.arm_file import ArmFile, load_arm
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.calibration.calibration import Calibration
from stribeck.ident.model.chains.closed_chain import branch_of

MACHINES = ("planar-3-prr", "three-loop-chain", "gough-stewart")
EXPERIMENTS = ("round-trips", "validation", "breakaway")
_PLACES = 25  # number of judged positions of each path
_EVERY = 0.02  # s; sampling interval of a motion that is not straight
_SPEEDS, _LOADS = 50, 20


def arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the benchmark."""
    parser.add_argument(
        "--plans", type=int, default=1000, help="total number of random plans of all machines"
    )
    parser.add_argument(
        "--seeds", type=int, default=3, help="number of calibrations of each machine"
    )
    parser.add_argument("--machines", nargs="+", default=list(MACHINES))
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument(
        "--kept",
        type=Path,
        help="JSON lines file of judged plans and calibrations, which are not judged "
        "again, so a long run can be continued",
    )


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Judge plans and calibrations."""
    cases = [
        (options.machines[seed % len(options.machines)], seed) for seed in range(options.plans)
    ]
    judged = judged_cases(cases, judge, options.jobs, options.kept)
    jobs = [
        ("calibration", name, seed) for name in options.machines for seed in range(options.seeds)
    ]
    made = judged_cases(jobs, calibrated, options.jobs, options.kept)
    return {
        name: {
            **_plans(
                load_arm(name),
                [found for (own, _), found in zip(cases, judged, strict=True) if own == name],
            ),
            **_calibrations(
                [found for (_, own, _), found in zip(jobs, made, strict=True) if own == name]
            ),
        }
        for name in options.machines
    }


def table(figures: dict[str, Any]) -> Table:
    """Return a row for each machine."""
    return Table(
        "Margin: reciprocal condition number relative to home, computed by an independent judge; "
        "no plan may fall below the required margin. Friction: rms error over speeds, loads and "
        "directions, for all drives and seeds.",
        [
            "machine",
            "plans, refused",
            "required margin",
            "smallest margin",
            "plans below it",
            "calibrations",
            "friction error %, median (worst)",
            "s each",
        ],
        [
            [
                name,
                f"{machine['plans']}, {machine['refused']}",
                f"{machine['asked']:g}",
                f"{machine['nearest']:.3f}",
                machine["crossed"],
                machine["calibrations"],
                f"{100 * machine['median error']:.2f} ({100 * machine['friction error']:.2f})",
                f"{machine['seconds']:.0f}",
            ]
            for name, machine in figures.items()
        ],
    )


def judge(of: tuple[str, int]) -> list[float] | None:
    """Margins of a random plan: computed by the judge, and stated in the plan;
    None if planning is refused.
    """
    name, seed = of
    try:
        plan = plan_experiment(EXPERIMENTS[seed // 3 % 3], "whole-arm", load_arm(name), seed=seed)
    except PlanError:
        return None
    return [judge_of(name).margin(plan), float(plan.singular_margin or np.nan)]


@cache
def judge_of(name: str) -> "Judge":
    """Return the judge of a machine."""
    return Judge(load_arm(name))


def _plans(arm: ArmFile, found: Sequence[list[float] | None]) -> dict[str, Any]:
    """Margins of random plans, against the margin that the arm file requires and the
    margins stated in the plans.
    """
    margins = np.array([pair for pair in found if pair is not None]).reshape(-1, 2)
    least = arm.workspace.singular_margin
    return {
        "plans": len(margins),
        "refused": len(found) - len(margins),
        "asked": least,
        "nearest": float(np.min(margins[:, 0], initial=np.inf)),
        "crossed": int(np.sum(margins[:, 0] < least)),
        "statement off by": float(np.max(np.abs(margins[:, 0] - margins[:, 1]), initial=0.0)),
    }


class Judge:
    """Margins computed from MuJoCo's constraints."""

    def __init__(self, arm: ArmFile) -> None:
        whole = load_mechanism(arm).chain.whole  # type: ignore[union-attr]  # a closed chain
        machine, self._limits = SimulatedArm(arm), arm.limits(load_mechanism(arm))
        self._loops, self._data = machine._physics.loops, machine._data
        assert self._loops is not None
        branch = branch_of(whole, whole.active)
        names = [self._loops.model.joint(int(j)).name for j in self._loops.others]
        self._unit, self._length = (
            branch.unit[[whole.names.index(name) for name in names]],
            branch.length,
        )
        self._home = self._condition(arm.home(load_mechanism(arm)))

    def margin(self, plan: Plan) -> float:
        """Smallest margin of a plan."""
        return min(self._home / self._condition(q) for q in self._places(plan))

    def _places(self, plan: Plan) -> Iterator[np.ndarray]:
        for start, segment in plan.legs():
            if segment.wave is not None or segment.kind == "swing":
                motion = motion_profile(start, segment, plan.names, self._limits)
                lasts = motion.duration if segment.wave is None else segment.wave.period
                yield from course(motion, np.arange(0.0, lasts, _EVERY), start, segment)[0]
                continue
            for part in np.linspace(0.0, 1.0, _PLACES):
                yield start + part * (np.array(segment.target) - start)

    def _condition(self, q: np.ndarray) -> float:
        """MuJoCo model in which all constraint rows are lengths; two
        points hold the axis of a pin.
        """
        loops = self._loops
        assert loops is not None
        loops.close(self._data, q)
        J = (
            self._data.efc_J.reshape(-1, loops.model.nv)[: self._data.ne][:, loops.others]
            * self._unit
            / self._length
        )
        values = np.linalg.svd(J, compute_uv=False)
        return float(values[0] / values[-1])


def calibrated(of: tuple[str, str, int]) -> dict[str, Any]:
    """Friction error of every drive over speeds and loads, and wall time, of one calibration."""
    _, name, seed = of
    arm = load_arm(name)
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        found = calibrate(arm, Path(folder, "out"), CampaignOptions(seed=seed))
        took = time.perf_counter() - began
    truth = SimulatedArm(arm).truth
    errors = friction_errors(
        truth, load_mechanism(arm).names, found.calibration, found.result.points
    ).values()
    return {"errors": list(errors), "seconds": took}


def _calibrations(made: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Summary of the calibrations of one machine."""
    errors = [error for one in made for error in one["errors"]]
    return {
        "calibrations": len(made),
        "friction error": float(np.max(errors, initial=0.0)),
        "median error": float(np.median(errors)) if errors else np.nan,
        "seconds": float(np.mean([one["seconds"] for one in made])) if made else np.nan,
    }


def friction_errors(
    truth: Truth, names: tuple[str, ...], calibration: Calibration, points: pd.DataFrame
) -> dict[str, float]:
    """Relative rms error of friction of every drive over speeds and loads; nan if
    the fit found another load.
    """
    errors, everyone = {}, np.ones((1, len(names)))
    for j, name in enumerate(names):
        joint = calibration.joints[name]
        speeds, kind = np.geomspace(*joint.velocity_range, _SPEEDS), truth.joints[j].load
        own = points[points["joint"] == name][kind]
        w, load = (
            part.ravel()
            for part in np.meshgrid(
                np.r_[speeds, -speeds], np.linspace(own.min(), own.max(), _LOADS)
            )
        )
        true = truth.friction(
            w[:, None] * everyone, load[:, None] * everyone, 0.0 * load[:, None] * everyone
        )[:, j]
        told = joint.torque(w, load) if joint.load in (kind, "none") else np.full(len(w), np.nan)
        errors[name] = float(np.sqrt(np.mean((told - true) ** 2) / np.mean(true**2)))
    return errors
