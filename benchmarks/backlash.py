"""Play found in logs of random joints, with and without a second encoder at the link: errors,
coverage, and false claims.
"""

import argparse
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.backlash_truth import Geared, Record, records
from benchmarks.kept import judged_cases
from benchmarks.page import Table
from stribeck.ident.backlash.fit_backlash import fit_backlash

SECONDS, RATE = 24.0, 250.0
PLAYS = (0.0, 5e-4, 1e-3, 2e-3, 5e-3)
# largest relative error, and largest error in steps of the encoder, from 1 mrad
GOAL, STEPS = 0.10, 2.0
BATCH = 20  # joints that are integrated side by side
FIRST = 30_000  # seed of the first joint
REASONS = {
    "predict left-out blocks": "no better prediction",
    "crosses the gap": "few crossings",
    "crossing of the gap takes": "fast crossings",
    "gravity keeps": "gravity presses one flank",
    "not determined": "wide interval",
    "below the wind-up": "below the wind-up",
    "steps of the encoder": "below two encoder steps",
    "hardly slides": "the link hardly slides",
}


def arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the benchmark."""
    parser.add_argument(
        "--cases", type=int, default=200, help="number of joints; a fifth has no play"
    )
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument(
        "--kept",
        type=Path,
        help="JSON lines file of results, with which an interrupted run is continued",
    )


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Fit and judge all logs."""
    batches = [
        tuple(range(FIRST + k, FIRST + min(k + BATCH, options.cases)))
        for k in range(0, options.cases, BATCH)
    ]
    found = [
        row for rows in judged_cases(batches, judged, options.jobs, options.kept) for row in rows
    ]
    rows = [
        _row(
            way,
            play,
            [
                one
                for one in found
                if one["link"] is way and one["play"] == play and not one["pressed"]
            ],
        )
        for way in (True, False)
        for play in PLAYS[1:]
    ]
    kinds = [
        {
            "link": way,
            "kind": kind,
            **_row(
                way,
                None,
                [
                    one
                    for one in found
                    if one["link"] is way
                    and one["kind"] == kind
                    and one["play"] >= 1e-3
                    and not one["pressed"]
                ],
            ),
        }
        for way in (True, False)
        for kind in ("rigid", "elastic", "bristles")
    ]
    pressed = [
        {"link": way, "logs": len(own), "claimed": sum(one["claimed"] for one in own)}
        for way in (True, False)
        if (
            own := [
                one for one in found if one["link"] is way and one["pressed"] and one["play"] > 0.0
            ]
        )
    ]
    false = [
        {"link": way, "kind": kind, "logs": len(own), "claimed": sum(one["claimed"] for one in own)}
        for way in (True, False)
        for kind in ("rigid", "elastic", "bristles")
        if (
            own := [
                one
                for one in found
                if one["link"] is way and one["play"] == 0.0 and one["kind"] == kind
            ]
        )
    ]
    missed = [
        {
            "link": way,
            "reasons": dict(
                Counter(
                    one["reason"]
                    for one in found
                    if one["link"] is way
                    and one["play"] >= 1e-3
                    and not one["claimed"]
                    and not one["pressed"]
                ).most_common()
            ),
        }
        for way in (True, False)
    ]
    seconds = {
        way: float(np.median([one["seconds"] for one in found if one["link"] is way]))
        for way in (True, False)
    }
    return {
        "found": rows,
        "kinds": kinds,
        "pressed": pressed,
        "false": false,
        "missed": missed,
        "seconds": {"link": seconds[True], "torque": seconds[False]},
    }


def table(figures: dict[str, Any]) -> Table:
    """Return a row for each size of play, with and without the position of the link."""
    rows = []
    for link, signals in ((True, "motor and link"), (False, "motor alone")):
        for row in figures["found"]:
            if row["link"] is link:
                rows.append([signals, f"{1e3 * row['play']:g}", *_cells(row)])
    false, pressed = (
        f"{sum(row['claimed'] for row in figures[kind])} of "
        f"{sum(row['logs'] for row in figures[kind])}"
        for kind in ("false", "pressed")
    )
    return Table(
        f"{SECONDS:g} s of round trips of stiff and elastic joints, `fit_backlash`. Goals: "
        f"from 1 mrad within the larger of {100 * GOAL:g} % and {STEPS:g} encoder steps; claims in "
        f"at most 2 % without play ({false}) and where gravity presses one flank ({pressed}).",
        [
            "signals",
            "play mrad",
            "logs",
            "claimed",
            "within the goal",
            "error %, median (worst)",
            "half width %, median",
            "covered",
        ],
        rows,
    )


def _cells(row: dict[str, Any]) -> list[object]:
    cells: list[object] = [row["logs"], row["claimed"], row["good"]]
    if not row["claimed"]:
        return [*cells, "-", "-", "-"]
    error = f"{row['median']:.1f} ({row['worst']:.1f})"
    return [*cells, error, f"{row['half']:.1f}", row["covered"]]


def drawn(seed: int) -> Geared:
    """A random joint: one of `PLAYS`; stiff or elastic; Coulomb friction or
    bristles; gravity or none.
    """
    rng = np.random.default_rng(seed)
    link = float(np.exp(rng.uniform(np.log(0.2), np.log(2.0))))
    swing = rng.uniform(8.0, 30.0) if rng.random() < 0.7 else rng.uniform(4.0, 8.0)
    motor_friction = rng.uniform(1.0, 5.0)
    load = rng.random()
    gravity = 0.0 if load < 0.5 else rng.uniform(2.0, 40.0)
    one = Geared(
        play=PLAYS[seed % len(PLAYS)],
        stiffness=link * (2.0 * np.pi * swing) ** 2,
        damping=0.1 * link * 2.0 * np.pi * swing * rng.uniform(0.5, 3.0),
        motor=link * rng.uniform(0.3, 1.0),
        link=link,
        motor_friction=motor_friction,
        link_friction=motor_friction * rng.uniform(0.1, 0.6),
        viscous=rng.uniform(1.0, 8.0),
        gravity=gravity,
        centre=rng.uniform(-0.05, 0.05) if load < 0.75 else rng.uniform(-1.2, 1.2),
        encoder=float(rng.choice([1e-5, 3e-5, 1e-4])),
        link_encoder=2e-5,
        noise=rng.uniform(0.02, 0.2),
        amplitude=rng.uniform(0.04, 0.12),
        speed=rng.uniform(0.06, 0.15),
        seed=seed,
    )
    return replace(one, bristles=float(rng.uniform(5e-4, 4e-3))) if rng.random() < 0.35 else one


def judged(seeds: Sequence[int]) -> list[dict[str, Any]]:
    """Return the results of joints, with the position of the link and without."""
    joints = [drawn(seed) for seed in seeds]
    logs = records(joints, SECONDS, RATE)
    return [
        judge(joint, log, way)
        for joint, log in zip(joints, logs, strict=True)
        for way in (True, False)
    ]


def judge(joint: Geared, log: Record, way: bool) -> dict[str, Any]:
    """Fit one log, with the position of the link or without."""
    began = time.perf_counter()
    fit = fit_backlash(
        log.t, log.q, log.tau, log.load, log.inertia, log.q_link if way else None, log.slope
    )
    seconds = time.perf_counter() - began
    play = fit.joint.play if fit.joint else None
    held = (
        play is not None
        and play.low is not None
        and play.high is not None
        and play.low <= joint.play <= play.high
    )
    pressed = bool(
        np.min(np.abs(log.load)) > joint.link_friction and np.ptp(np.sign(log.load)) == 0.0
    )
    error = fit.play - joint.play
    return {
        "play": joint.play,
        "claimed": fit.joint is not None,
        "error": error,
        "held": bool(held),
        "link": way,
        "half": play.half_width if play else None,
        "pressed": pressed,
        "seed": joint.seed,
        "seconds": seconds,
        "reason": next((name for words, name in REASONS.items() if words in fit.reason), "other"),
        "good": abs(error) <= max(GOAL * joint.play, STEPS * joint.encoder),
        "kind": "bristles"
        if joint.bristles
        else "elastic"
        if joint.stiffness < joint.link * (2.0 * np.pi * 8.0) ** 2
        else "rigid",
    }


def _row(way: bool, play: float | None, logs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Summary of logs."""
    told = [one for one in logs if one["claimed"]]
    errors = [100.0 * abs(one["error"]) / one["play"] for one in told]
    return {
        "link": way,
        "play": play,
        "logs": len(logs),
        "claimed": len(told),
        "good": sum(one["good"] for one in told),
        "covered": sum(one["held"] for one in told),
        "half": 100.0 * float(np.median([one["half"] / one["play"] for one in told]))
        if told
        else None,
        "median": float(np.median(errors)) if told else None,
        "worst": float(np.max(errors)) if told else None,
    }
