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


def run(options: argparse.Namespace) -> tuple[dict[str, Any], str]:
    """Calibrate, record, push, tabulate."""
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
    return _table(found, dict(zip(free[0].names, friction.tolist(), strict=True)))


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


def _table(found: dict[str, Judged], friction: dict[str, float]) -> tuple[dict[str, Any], str]:
    ours, simple = found[OURS], found[SIMPLE]
    rows = [
        f"Thresholds while sliding, median over {ours.hours:.2f} h without contact for each "
        "joint. *As calibrated*: for 0.1 "
        "false alarms per hour. *At equal false alarms*: each threshold times the factor at which "
        "this motion just shows no "
        "alarm. *Constant*: the least constant threshold without an alarm, of joints that have "
        "been sliding for 0.2 s.",
        "",
        "| joint | friction N·m | as calibrated: stribeck | Coulomb-viscous | false alarms | at "
        "equal false alarms: "
        "stribeck | Coulomb-viscous | ratio | constant: stribeck | Coulomb-viscous | ratio | at "
        "rest: stribeck |",
        "|---" * 12 + "|",
    ]
    figures: dict[str, Any] = {"hours": ours.hours, "joints": {}, "pushes": {}}
    for name, rubs in friction.items():
        equal = [one.threshold[name] * one.ratio[name] for one in (ours, simple)]
        fixed = [one.constant[name] for one in (ours, simple)]
        both = {
            key: {
                "threshold": one.threshold[name],
                "resting": one.resting[name],
                "alarms": one.alarms[name],
                "equal": one.threshold[name] * one.ratio[name],
                "constant": one.constant[name],
            }
            for key, one in found.items()
        }
        figures["joints"][name] = {
            "friction": rubs,
            **both,
            "ratio": equal[0] / equal[1],
            "constant_ratio": fixed[0] / fixed[1],
        }
        rows.append(
            f"| {name} | {rubs:.2f} | {ours.threshold[name]:.3f} | {simple.threshold[name]:.3f} | "
            f"{ours.alarms[name]} and {simple.alarms[name]} | {equal[0]:.3f} | {equal[1]:.3f} | "
            f"{equal[0] / equal[1]:.2f} | {fixed[0]:.3f} | {fixed[1]:.3f} | "
            f"{fixed[0] / fixed[1]:.2f} | "
            f"{ours.resting[name]:.2f} |"
        )
    half = [name for name, one in figures["joints"].items() if one["ratio"] <= 0.5]
    other = [
        f"{name} ({one['ratio']:.2f})"
        for name, one in figures["joints"].items()
        if one["ratio"] > 0.5
    ]
    rows += [
        "",
        "The goal is a threshold of at most half at equal false alarms. It is reached by "
        f"{', '.join(half) or 'none'}"
        f"{'; not by ' + ', '.join(other) if other else ''}. A joint whose true friction is "
        "constant and viscous has the "
        "same calibration twice.",
        "",
        "Pushes of 0.3 s: share that is detected, median and 90 % quantile of the delay. "
        "Thresholds of moving joints are "
        "those at equal false alarms, of resting joints as calibrated.",
        "",
        "| push over friction torque | joint | pushes | stribeck: detected | delay ms | "
        "Coulomb-viscous: detected | "
        "delay ms |",
        "|---" * 7 + "|",
    ]
    for resting in (False, True):
        for level in LEVELS:
            where = "at rest" if resting else "moving"
            cells: list[tuple[str, str, str]] = []
            told: dict[str, Any] = {}
            for key, one in found.items():
                own = [
                    push for push in one.pushes if push.level == level and push.resting == resting
                ]
                if not own:
                    continue
                delays = [
                    delay
                    for push in own
                    if (delay := push.delay(1.0 if resting else one.ratio[push.joint])) is not None
                ]
                median, late = (
                    1e3 * float(np.quantile(delays, share)) if delays else np.nan
                    for share in (0.5, 0.9)
                )
                told[key] = {
                    "pushes": len(own),
                    "detected": len(delays) / len(own),
                    "median_ms": median,
                    "p90_ms": late,
                }
                share = f"{100.0 * len(delays) / len(own):.0f} %"
                cells.append((str(len(own)), share, f"{median:.0f}, {late:.0f}" if delays else "-"))
            if len(cells) < len(found):
                continue
            figures["pushes"][f"{100.0 * level:.0f} % {where}"] = told
            rows.append(
                f"| {100.0 * level:.0f} % | {where} | {' | '.join((*cells[0], *cells[1][1:]))} |"
            )
    return figures, "\n".join(rows)
