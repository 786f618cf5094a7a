"""External torque on the simulated arm: thresholds, false alarms and detected pushes, against a
Coulomb-viscous calibration.

Both observers are the same code and see the same samples. They differ in the calibration of the
same run only: the law and load that are chosen, or constant and viscous friction. Pushes are
MuJoCo's external forces, which our code does not compute.

Thresholds are compared at equal false alarms: each observer's threshold of each joint is multiplied
by the factor at which the runs without contact just show no alarm.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.ndimage import maximum_filter1d

from benchmarks.external_pushes import LEVELS, Motion, drawn_pushes, pushed
from benchmarks.page import Table
from stribeck import Calibration, fit, load_run
from stribeck.ident.arm.arm_file import load_arm
from stribeck.ident.external.external_torque import GAIN
from stribeck.ident.external.judged_run import JointExternal, judge_external
from stribeck.ident.external.pushes import Push
from stribeck.ident.log.campaign_folder import find_runs
from stribeck.ident.log.run import VALIDATION, Run

# time constants of the observer after a rest until its estimate has forgotten the rest
_SETTLED = 5.0
OURS, SIMPLE = "stribeck", "Coulomb-viscous"


@dataclass(frozen=True)
class Seen:
    """One push as one observer shows it: level, whether the joint rested, and the greatest
    ratio to the threshold so far.
    """

    joint: str
    level: float
    resting: bool
    t: np.ndarray  # since the start of the push
    ratio: np.ndarray  # external torque over threshold

    def delay(self, factor: float) -> float | None:
        """Return the time to the detection with the threshold times a factor
        [s]; None if it is missed.
        """
        at = self.t[self.ratio > factor]
        return float(at[0]) if len(at) else None


def arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the benchmark."""
    parser.add_argument("--arm", default="lab6")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--free", type=int, default=10, help="runs without contact")
    parser.add_argument("--pushed", type=int, default=6, help="runs with pushes")


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Calibrate, record, push."""
    arm = load_arm(options.arm)
    with tempfile.TemporaryDirectory() as folder:
        campaign = Path(folder) / "campaign"
        _command("calibrate", options.arm, "--seed", str(options.seed), "--out", str(campaign))
        calibrations = {
            OURS: Calibration.load(campaign),
            SIMPLE: fit(campaign, law="coulomb-viscous", load="none"),
        }
        free = [
            _validation(options.arm, Path(folder) / f"free{k}", options.seed + 1 + k)
            for k in range(options.free)
        ]
        motions = [Motion.of(run, arm) for run in free[: options.pushed]]
        marked = []
        for k, motion in enumerate(motions):
            rng = np.random.default_rng((options.seed, k))
            (_, moving), (rest, resting) = (
                drawn_pushes(motion, True, rng),
                drawn_pushes(motion, False, rng),
            )
            marked.append(
                (
                    pushed(motion, arm, 1000 + options.seed + k, float(rest), [*moving, *resting]),
                    [*moving, *resting],
                )
            )
        found = {
            name: _judge(calibration, free, marked, motions)
            for name, calibration in calibrations.items()
        }
    friction = np.median([motion.friction for motion in motions], axis=0)
    return _figures(found, dict(zip(free[0].names, friction.tolist(), strict=True)))


def table(figures: dict[str, Any]) -> Table:
    """Return a row for each joint."""
    rows = []
    for name, joint in figures["joints"].items():
        ours, simple = joint[OURS], joint[SIMPLE]
        rows.append(
            [
                name,
                f"{joint['friction']:.2f}",
                f"{ours['alarms']} and {simple['alarms']}",
                f"{ours['equal']:.3f}",
                f"{simple['equal']:.3f}",
                f"{joint['ratio']:.2f}",
                f"{joint['constant_ratio']:.2f}",
                f"{ours['resting']:.2f}",
            ]
        )
    pushes = "; ".join(
        f"{push.removesuffix(' moving')}: {100.0 * seen[OURS]['detected']:.0f} and {100.0 * seen[SIMPLE]['detected']:.0f} %"
        for push, seen in figures["pushes"].items()
        if "moving" in push
    )
    return Table(
        f"{figures['hours']:.2f} h without contact: thresholds that show no alarm, with stribeck's "
        "law and with Coulomb-viscous friction. Goal: half. Pushes of moving joints, in per cent "
        f"of friction, that are detected with each: {pushes}.",
        [
            "joint",
            "friction N·m",
            "alarms as calibrated",
            "threshold N·m",
            "Coulomb-viscous",
            "ratio",
            "ratio of constant thresholds",
            "threshold at rest",
        ],
        rows,
    )


def _command(*words: str) -> None:
    subprocess.run(
        [sys.executable, "-m", "stribeck", *words],
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ},
    )


def _validation(arm: str, folder: Path, seed: int) -> Run:
    """Record the validation motion without contact."""
    _command("run", arm, "--experiment", "validation", "--seed", str(seed), "--out", str(folder))
    return load_run(find_runs(folder, (VALIDATION,))[-1])


@dataclass(frozen=True)
class Judged:
    """What one observer shows: by joint its alarms, free hours, median thresholds,
    greatest ratio, and all pushes.

    `constant` is the greatest external torque of a joint that has been sliding for a while: the
    least constant threshold without an alarm.
    """

    alarms: dict[str, int]
    hours: float
    threshold: dict[str, float]
    resting: dict[str, float]
    ratio: dict[str, float]
    constant: dict[str, float]
    pushes: list[Seen]


def _judge(
    calibration: Calibration,
    free: list[Run],
    marked: list[tuple[Run, list[Push]]],
    motions: list[Motion],
) -> Judged:
    runs = [judge_external(run, calibration).joints for run in free]
    names = list(runs[0])
    alarms = {name: sum(one[name].false_alarms for one in runs) for name in names}
    threshold, resting = (
        {name: float(np.median([getattr(one[name], key)[1] for one in runs])) for name in names}
        for key in ("threshold", "undetectable")
    )
    ratio = {
        name: max(float(np.max(np.abs(one[name].torque) / one[name].bound)) for one in runs)
        for name in names
    }
    constant = {
        name: max(float(np.max(np.abs(one[name].torque[_settled(one[name])]))) for one in runs)
        for name in names
    }
    seen = []
    for (run, pushes), motion in zip(marked, motions, strict=True):
        joints = judge_external(run, calibration, pushes).joints
        for push in pushes:
            j = motion.run.names.index(push.joint)
            seen.append(
                _seen(
                    joints[push.joint],
                    push,
                    abs(float(push.torque or 0.0)) / float(motion.friction[j]),
                )
            )
    return Judged(
        alarms,
        sum(run.duration for run in free) / 3600.0,
        threshold,
        resting,
        ratio,
        constant,
        seen,
    )


def _settled(joint: JointExternal) -> np.ndarray:
    """Return where a joint has been sliding for several time constants of the observer."""
    since = round(_SETTLED / GAIN / float(np.median(np.diff(joint.t))))
    return np.asarray(~maximum_filter1d(joint.rests, since + 1, origin=since // 2, mode="nearest"))


def _seen(joint: JointExternal, push: Push, level: float) -> Seen:
    judged = next(one for one in joint.pushes if one.push == push)
    rows = (joint.t >= push.start) & (joint.t <= push.end)
    ratio = np.sign(push.torque or 1.0) * joint.torque[rows] / joint.bound[rows]
    return Seen(
        push.joint,
        min(LEVELS, key=lambda one: abs(one - level)),
        judged.resting,
        joint.t[rows] - push.start,
        ratio,
    )


def _figures(found: dict[str, Judged], friction: dict[str, float]) -> dict[str, Any]:
    """Thresholds of each joint, and pushes that are detected with each law."""
    figures: dict[str, Any] = {"hours": found[OURS].hours, "joints": {}, "pushes": {}}
    for name, torque in friction.items():
        by_law = {
            law: {
                "threshold": judged.threshold[name],
                "resting": judged.resting[name],
                "alarms": judged.alarms[name],
                "equal": judged.threshold[name] * judged.ratio[name],
                "constant": judged.constant[name],
            }
            for law, judged in found.items()
        }
        figures["joints"][name] = {
            "friction": torque,
            **by_law,
            "ratio": by_law[OURS]["equal"] / by_law[SIMPLE]["equal"],
            "constant_ratio": by_law[OURS]["constant"] / by_law[SIMPLE]["constant"],
        }
    for resting in (False, True):
        for level in LEVELS:
            seen = {law: _seen_pushes(judged, level, resting) for law, judged in found.items()}
            if all(seen.values()):
                where = "at rest" if resting else "moving"
                figures["pushes"][f"{100.0 * level:.0f} % {where}"] = seen
    return figures


def _seen_pushes(judged: Judged, level: float, resting: bool) -> dict[str, Any]:
    """Share of pushes of a level that are detected, and their delays; empty without pushes."""
    pushes = [push for push in judged.pushes if push.level == level and push.resting == resting]
    if not pushes:
        return {}
    # thresholds of moving joints are those at equal false alarms
    scales = [1.0 if resting else judged.ratio[push.joint] for push in pushes]
    delays = [push.delay(scale) for push, scale in zip(pushes, scales, strict=True)]
    seen = [1e3 * delay for delay in delays if delay is not None]
    return {
        "pushes": len(pushes),
        "detected": len(seen) / len(pushes),
        "median_ms": float(np.median(seen)) if seen else None,
        "p90_ms": float(np.quantile(seen, 0.9)) if seen else None,
    }
