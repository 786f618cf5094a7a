"""Randomly spoiled runs of a small simulated arm: whether each fault is named and the
other joints are unchanged.
"""

import shutil
import tomllib
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import tomlkit

from stribeck.drivers.connect import connect
from stribeck.experiments.methods.whole_arm import WHOLE_ARM, plan_whole_arm
from stribeck.experiments.plans.constant_speed_options import ConstantSpeed
from stribeck.experiments.plans.plan import Plan, plan_table
from stribeck.experiments.recording.drive_plan import drive_plan
from stribeck.experiments.recording.follow import follow
from stribeck.experiments.recording.run_folders import new_run_folder
from stribeck.experiments.recording.run_writer import RunWriter
from stribeck.ident.arm.arm_file import ArmFile, load_arm
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.errors import FitError
from stribeck.ident.identify import Identification, identify
from stribeck.ident.laws.load_components import load_at
from stribeck.ident.log.run import Run, load_run

# a column that turns, a boom that it lifts
ARM = Path(__file__).parents[1] / "tests" / "arms" / "pair.toml"
BASES = 8  # number of recorded runs
JOINTS = ("turn", "lift")
HEAVY = "lift"  # the joint that feels gravity
# findings that any run may have, some by chance
HARMLESS = ("rate", "gaps", "drift", "left out", "correlation", "law")
ERRORS = 3.0  # allowed error of an estimate in standard errors
SHORT = replace(WHOLE_ARM, postures=5)
GRAVITY = 5.6  # N·m; greatest gravity torque of this joint
# torque limit of a weak drive, as a fraction of viscous friction at the highest speed
WEAK = 0.5


@dataclass(frozen=True)
class Spoiled:
    """A run and its right result.

    Attributes
    ----------
    run : Run
        The spoiled run.
    said : set of (str or None, str)
        Joint and kind of every required finding; nothing else is required of these joints.
    wrong : set of str
        Joints with necessarily wrong friction.
    refused : dict of str to str
        Joints that must be refused, with the reason.
    holds : callable
        Further condition on the result.
    """

    run: Run
    said: set[tuple[str | None, str]] = field(default_factory=set)
    wrong: set[str] = field(default_factory=set)
    refused: Mapping[str, str] = field(default_factory=dict)
    holds: Callable[[Identification], bool] = lambda result: True


def record_base(
    folder: Path, seed: int, weak: bool = False, options: ConstantSpeed = SHORT
) -> Path:
    """Record a campaign of an arm with random friction and, optionally, a weak
    drive; return the run folder.
    """
    rng = np.random.default_rng(seed)
    folder.mkdir(parents=True)
    shutil.copy(ARM.with_suffix(".urdf"), folder)
    table = tomllib.loads(ARM.read_text(encoding="utf-8"))
    table["simulation"] |= {
        "torque_noise": 0.1,
        "torque_step": 0.02,
        "encoder_step": 1e-5,
        "ripple": 0.03,
        "ripple_period": 0.0628,
        "stroke_scatter": 0.01,
        "bandwidth": 25.0,
    }
    for name in JOINTS:
        coulomb = float(rng.uniform(1.5, 4.0))
        truth = {"coulomb": coulomb, "viscous": coulomb * float(rng.uniform(0.3, 1.0))}
        if rng.random() < 0.5:
            truth |= {
                "static": coulomb * float(rng.uniform(1.3, 1.6)),
                "stribeck_velocity": float(rng.uniform(0.05, 0.12)),
            }
        table["simulation"]["joints"][name] = truth
    path = folder / ARM.name
    path.write_text(tomlkit.dumps(table), encoding="utf-8")
    arm = load_arm(path)
    plan = plan_whole_arm(arm, seed=seed, options=options)
    if not weak:
        return drive_plan(arm, plan, folder, seed)
    lift = table["simulation"]["joints"][HEAVY]
    speed = table["joints"][HEAVY]["velocity"] * options.fastest
    table["joints"][HEAVY]["torque"] = GRAVITY + lift.get(
        "static", lift["coulomb"] + WEAK * lift["viscous"] * speed
    )
    path.write_text(tomlkit.dumps(table), encoding="utf-8")
    return _unsupervised(load_arm(path), plan, folder, seed)


def _unsupervised(arm: ArmFile, plan: Plan, campaign: Path, seed: int) -> Path:
    """Record without the supervisor, which would stop an arm whose drive
    stays at its torque limit.
    """
    drive, folder = connect(arm, seed), new_run_folder(campaign, "whole-arm")
    with (
        RunWriter(
            folder,
            arm,
            load_mechanism(arm),
            plan.method,
            arm.driver.rate,
            drive.resolution,
            plan_table(plan),
            seed,
        ) as writer,
        drive,
    ):
        drive.enable()
        follow(drive, plan, writer)
    return folder


@cache
def base(folder: Path) -> tuple[Run, Identification]:
    """A recorded run and the result of its unspoiled fit."""
    run = load_run(folder, ("q", "tau", "dq_cmd"))
    return run, identify([run])


def changed(run: Run, **signals: np.ndarray) -> Run:
    """Return the run with other signals."""
    return replace(run, signals={**run.signals, **signals})


def _some(rng: np.random.Generator) -> list[str]:
    """Choose one joint or both at random."""
    return [
        name
        for name, spoiled in zip(JOINTS, rng.permutation([True, rng.random() < 0.5]), strict=True)
        if spoiled
    ]


def _one(rng: np.random.Generator) -> tuple[int, str]:
    j = int(rng.integers(len(JOINTS)))
    return j, JOINTS[j]


def _trips(run: Run) -> list[np.ndarray]:
    """Rows of the planned round trips: forward, backward, and between."""
    pairs = [
        (segment["mirror_of"], segment["id"])
        for segment in run.record["plan"]["segments"]
        if segment.get("mirror_of") is not None
    ]
    rows = [
        (np.flatnonzero(run.segment == there), np.flatnonzero(run.segment == back))
        for there, back in pairs
    ]
    return [np.arange(there[0], back[-1] + 1) for there, back in rows if len(there) and len(back)]


def nothing(run: Run, rng: np.random.Generator) -> Spoiled:
    """Add torque noise."""
    tau = run.signals["tau"]
    return Spoiled(changed(run, tau=tau + rng.uniform(0.0, 0.2) * rng.standard_normal(tau.shape)))


def stuck(run: Run, rng: np.random.Generator) -> Spoiled:
    """Let a joint stick in one to three round trips, with any torque of its drive."""
    j, name = _one(rng)
    q, tau, trips = run.signals["q"].copy(), run.signals["tau"].copy(), _trips(run)
    for k in rng.choice(len(trips), rng.integers(1, 4), replace=False):
        rows = trips[k]
        q[rows, j] = q[rows[0], j]
        tau[rows, j] = rng.uniform(-20.0, 20.0) + 0.1 * rng.standard_normal(len(rows))
    return Spoiled(changed(run, q=q, tau=tau), {(name, "never moved")})


def clipped(run: Run, rng: np.random.Generator) -> Spoiled:
    """Clip the torque at the limit of the drive in 1 to 10 % of the samples."""
    j, name = _one(rng)
    tau = run.signals["tau"].copy()
    limit = float(np.quantile(np.abs(tau[:, j]), 1.0 - rng.uniform(0.01, 0.1)))
    tau[:, j] = np.clip(tau[:, j], -limit, limit)
    joints = {**run.arm.joints, name: replace(run.arm.joint(name), torque=limit)}
    return Spoiled(
        replace(changed(run, tau=tau), arm=replace(run.arm, joints=joints)),
        {(name, "saturation")},
        {name},
    )


def weak(run: Run, rng: np.random.Generator) -> Spoiled:
    """Take a run simulated with a drive that is too weak for the fastest strokes."""
    return Spoiled(run, {(HEAVY, "saturation")}, {HEAVY})


def wrong_sign(run: Run, rng: np.random.Generator) -> Spoiled:
    """Reverse the torque of one joint or both."""
    names, tau = _some(rng), run.signals["tau"].copy()
    tau[:, [JOINTS.index(name) for name in names]] *= -1.0
    return Spoiled(
        changed(run, tau=tau),
        {(name, "not calibrated") for name in names},
        set(names),
        dict.fromkeys(names, "torque opposes motion"),
    )


def amperes(run: Run, rng: np.random.Generator) -> Spoiled:
    """Convert torques to motor currents, 5 to 100 N·m per ampere; a joint with gravity
    torque shows the wrong scale.
    """
    return Spoiled(
        changed(run, tau=run.signals["tau"] / rng.uniform(5.0, 100.0, len(JOINTS))),
        {(HEAVY, "torque unit")},
        set(JOINTS),
    )


def repeated(run: Run, rng: np.random.Generator) -> Spoiled:
    """Repeat values of a sensor that is two to four times slower than the log."""
    names, every = _some(rng), int(rng.integers(2, 5))
    old = np.arange(len(run.t)) // every * every
    signals = {key: run.signals[key].copy() for key in ("q", "tau")}
    for values in signals.values():
        for j in (JOINTS.index(name) for name in names):
            values[:, j] = values[old, j]
    return Spoiled(changed(run, **signals), {(name, "repeated samples") for name in names})


def frozen(run: Run, rng: np.random.Generator) -> Spoiled:
    """Freeze a sensor for 75 to 300 ms in the middle of a stroke."""
    j, name = _one(rng)
    rows = _trips(run)[rng.integers(len(_trips(run)))]
    stood = int(rng.integers(15, 61))
    first = rows[0] + int(rng.uniform(0.1, 0.25) * len(rows))
    signals = {key: run.signals[key].copy() for key in ("q", "tau")}
    for values in signals.values():
        values[first : first + stood, j] = values[first, j]
    return Spoiled(changed(run, **signals), {(name, "repeated samples")})


def delayed(run: Run, rng: np.random.Generator) -> Spoiled:
    """Delay a torque by 5 to 20 ms."""
    late = int(rng.integers(1, 5))
    tau = np.concatenate(
        [np.repeat(run.signals["tau"][:1], late, axis=0), run.signals["tau"][:-late]]
    )
    delay = late * float(np.median(np.diff(run.t)))

    def told(result: Identification) -> bool:
        found = result.joints[HEAVY].gravity["delay"]
        if found.value is None or found.std_error is None:
            return found.verdict == "unidentifiable"
        return abs(found.value - delay) <= ERRORS * found.std_error

    return Spoiled(changed(run, tau=tau), holds=told)


def behind(run: Run, rng: np.random.Generator) -> Spoiled:
    """Delay a torque by 40 to 200 ms."""
    t, tau, by = run.t, run.signals["tau"], rng.uniform(0.04, 0.2)
    moved = np.column_stack([np.interp(t - by, t, column) for column in tau.T])
    return Spoiled(changed(run, tau=moved), {(name, "late torque") for name in JOINTS}, set(JOINTS))


def late(run: Run, rng: np.random.Generator) -> Spoiled:
    """Delay the response of a joint to its command by 40 to 200 ms."""
    j, name = _one(rng)
    command, lag = run.signals["dq_cmd"].copy(), int(rng.integers(8, 41))
    command[:, j] = command[np.minimum(np.arange(len(command)) + lag, len(command) - 1), j]
    return Spoiled(changed(run, dq_cmd=command), {(name, "latency")})


def gaps(run: Run, rng: np.random.Generator) -> Spoiled:
    """Make one to six gaps of 50 ms to 1 s in the log."""
    keep = np.ones(len(run.t), dtype=bool)
    for start in rng.integers(1, len(run.t) - 201, rng.integers(1, 7)):
        keep[start : start + rng.integers(10, 201)] = False
    count = int(np.sum(np.diff(np.flatnonzero(keep)) > 1))
    lossy = replace(
        run,
        t=run.t[keep],
        segment=run.segment[keep],
        signals={key: values[keep] for key, values in run.signals.items()},
    )
    return Spoiled(
        lossy,
        holds=lambda result: any(f"{count} gap(s)" in finding.text for finding in result.findings),
    )


def one_way(run: Run, rng: np.random.Generator) -> Spoiled:
    """Keep forward strokes only: the log was switched off during backward strokes."""
    back = [
        segment["id"]
        for segment in run.record["plan"]["segments"]
        if segment.get("mirror_of") is not None
    ]
    keep = ~np.isin(run.segment, back)
    lossy = replace(
        run,
        t=run.t[keep],
        segment=run.segment[keep],
        signals={key: values[keep] for key, values in run.signals.items()},
    )
    return Spoiled(
        lossy,
        refused=dict.fromkeys(JOINTS, "no return stroke at the same position and speed"),
        wrong=set(JOINTS),
    )


SCENARIOS: dict[str, tuple[Callable[[Run, np.random.Generator], Spoiled], str]] = {
    "more noise": (nothing, "no finding"),
    "strokes in which a joint stuck": (stuck, "named; the rest unchanged"),
    "torque clipped at its limit": (clipped, "named; the other joint unchanged"),
    "drive too weak (simulated)": (weak, "named; the other joint unchanged"),
    "torque of the wrong sign": (wrong_sign, "refused; the other joint unchanged"),
    "torque in amperes": (amperes, "named for joints with gravity torque"),
    "samples that repeat": (repeated, "named; friction unchanged"),
    "a sensor that stood": (frozen, "named; friction unchanged"),
    "torque 5 to 20 ms late": (delayed, "the delay is within its interval; friction unchanged"),
    "torque 40 to 200 ms late": (behind, "named"),
    "answers 40 to 200 ms late": (late, "named; friction unchanged"),
    "gaps": (gaps, "counted; friction unchanged"),
    "one direction": (one_way, "refused"),
}


def judge(name: str, folder: Path, seed: int) -> str:
    """Return the fault in the result of a spoiled run; empty if the result is right."""
    run, clean = base(folder)
    case = SCENARIOS[name][0](run, np.random.default_rng(seed))
    try:
        result = identify([case.run])
    except FitError as error:
        return (
            ""
            if all(case.refused.get(joint, "nothing") in str(error) for joint in JOINTS)
            else f"refused: {error}"
        )
    told = {(finding.joint, finding.kind): finding.text for finding in result.findings}
    before = {(finding.joint, finding.kind) for finding in clean.findings}
    for joint, reason in case.refused.items():
        if joint in result.joints or reason not in told.get((joint, "not calibrated"), ""):
            return f"{joint} is not refused"
    if missing := case.said - set(told):
        return f"missing findings: {missing}"
    blamed = {joint for joint, _ in case.said} | case.wrong
    if invented := [
        key for key in told if key not in before and key[0] not in blamed and key[1] not in HARMLESS
    ]:
        return f"unexpected findings: {invented}"
    for joint in set(JOINTS) - case.wrong:
        if joint not in result.joints:
            return f"{joint} is missing: {told.get((joint, 'not calibrated'))}"
        if (off := moved(clean, result, joint)) > 1.0:
            return f"friction of {joint} is {off:.2f} half widths wrong"
    return "" if case.holds(result) else "the required finding or value is wrong"


def moved(clean: Identification, result: Identification, joint: str) -> float:
    """Rms change of a joint's friction at the points of the unspoiled run, in
    half widths of the 95 % band.
    """
    points = clean.joints[joint].points
    was, now = clean.joints[joint].fit, result.joints[joint].fit
    speed = points["speed"].to_numpy(dtype=float)
    before, after = (load_at(points, fit.load, fit.values) for fit in (was, now))
    shift = now.predict(speed, after) - was.predict(speed, before)
    return float(np.sqrt(np.mean((shift / now.band(speed, after)) ** 2)))


def trial(of: tuple[str, Path, int]) -> list[dict[str, Any]]:
    """A row of the table of trials."""
    return [{"scenario": of[0], "wrong": judge(*of)}]


def record_bases(pool: Executor, folder: Path, first: int) -> tuple[list[Path], list[Path]]:
    """Run folders of arms with strong drives, and of arms with a weak drive."""
    kinds = [False] * BASES + [True] * BASES
    paths = list(
        pool.map(
            record_base,
            (folder / str(k) for k in range(len(kinds))),
            range(first, first + len(kinds)),
            kinds,
        )
    )
    return paths[:BASES], paths[BASES:]


def trials(folder: Path, pool: Executor, count: int, first: int) -> pd.DataFrame:
    """Run the trials of every scenario, `count` times or once for each simulated run; return
    the faults, empty if right.
    """
    strong, feeble = record_bases(pool, folder, first)
    cases = [
        (name, path, first + k)
        for name, (spoil, _) in SCENARIOS.items()
        for k, path in (
            enumerate(feeble) if spoil is weak else ((k, strong[k % BASES]) for k in range(count))
        )
    ]
    return pd.DataFrame([row for rows in pool.map(trial, cases, chunksize=5) for row in rows])


def figures(found: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the share of right trials of every scenario, with the faults of the others."""
    rows = []
    for name, (_, required) in SCENARIOS.items():
        faults = found[found["scenario"] == name]["wrong"]
        rows.append(
            {
                "scenario": name,
                "required": required,
                "cases": len(faults),
                "right": float((faults == "").mean()),
                "faults": [fault for fault in faults if fault],
            }
        )
    return rows
