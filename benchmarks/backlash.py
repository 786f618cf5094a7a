"""Play found in logs of random joints, with and without a second encoder at the link: errors, coverage, and false claims."""

import argparse
import multiprocessing
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks.backlash_truth import Geared, Record, records
from stribeck.ident.backlash.fit_backlash import fit_backlash

SECONDS, RATE = 24.0, 250.0
GOAL, STEPS = 0.10, 2.0         # largest relative error, and largest error in steps of the encoder, from 1 mrad


def arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the benchmark."""
    parser.add_argument("--cases", type=int, default=40, help="number of joints with play")
    parser.add_argument("--claims", type=int, default=60, help="number of joints without play")
    parser.add_argument("--jobs", type=int, default=2)


def run(options: argparse.Namespace) -> tuple[dict[str, Any], str]:
    """Fit and judge all logs."""
    joints = [drawn(seed, True) for seed in range(options.cases)] + [drawn(seed + 5000, False) for seed in range(options.claims)]
    logs = records(joints, SECONDS, RATE)
    work = [(joint, log, way) for joint, log in zip(joints, logs, strict=True) for way in (True, False)]
    began = time.perf_counter()
    with multiprocessing.get_context("fork").Pool(options.jobs) as pool:
        found = pool.map(judge, work, chunksize=1)
    seconds = (time.perf_counter() - began) * options.jobs / len(work)
    rows = [_row(way, [one for one in found if one["link"] is way and one["play"] > 0.0 and one["pressed"] is pressed], pressed)
            for way in (True, False) for pressed in (False, True)]
    false = [{"link": way, "kind": kind, "logs": len(own), "claimed": sum(one["claimed"] for one in own)}
             for way in (True, False) for kind in ("rigid", "elastic", "bristles")
             if (own := [one for one in found if one["link"] is way and one["play"] == 0.0 and one["kind"] == kind])]
    return {"found": rows, "false": false, "seconds": seconds}, _table(rows, false, found, seconds)


def drawn(seed: int, loose: bool) -> Geared:
    """A random joint: play from 0.3 to 10 mrad or none; stiff or elastic; Coulomb friction or bristles; gravity or none."""
    rng = np.random.default_rng(seed)
    link = float(np.exp(rng.uniform(np.log(0.2), np.log(2.0))))
    swing = rng.uniform(8.0, 30.0) if rng.random() < 0.7 else rng.uniform(4.0, 8.0)
    motor_friction = rng.uniform(1.0, 5.0)
    gravity = 0.0 if rng.random() < 0.5 else rng.uniform(2.0, 40.0)
    one = Geared(play=float(np.exp(rng.uniform(np.log(3e-4), np.log(1e-2)))) if loose else 0.0,
                 stiffness=link * (2.0 * np.pi * swing) ** 2, damping=0.1 * link * 2.0 * np.pi * swing * rng.uniform(0.5, 3.0),
                 motor=link * rng.uniform(0.3, 1.0), link=link, motor_friction=motor_friction,
                 link_friction=motor_friction * rng.uniform(0.1, 0.6), viscous=rng.uniform(1.0, 8.0), gravity=gravity,
                 centre=rng.uniform(-1.2, 1.2), encoder=float(rng.choice([1e-5, 3e-5, 1e-4])), link_encoder=2e-5,
                 noise=rng.uniform(0.02, 0.2), amplitude=rng.uniform(0.04, 0.12), speed=rng.uniform(0.06, 0.15), seed=seed)
    return replace(one, bristles=float(rng.uniform(5e-4, 4e-3))) if rng.random() < 0.35 else one


def judge(work: tuple[Geared, Record, bool]) -> dict[str, Any]:
    """Fit one log, with the position of the link or without."""
    joint, log, way = work
    fit = fit_backlash(log.t, log.q, log.tau, log.load, log.inertia, log.q_link if way else None, log.slope)
    play = fit.joint.play if fit.joint else None
    held = play is not None and play.low is not None and play.high is not None and play.low <= joint.play <= play.high
    load = log.load
    pressed = bool(np.min(np.abs(load)) > joint.link_friction and np.ptp(np.sign(load)) == 0.0)
    error = fit.play - joint.play
    return {"play": joint.play, "claimed": fit.joint is not None, "error": error, "held": bool(held), "link": way,
            "verdict": play.verdict if play else "", "reason": fit.reason, "pressed": pressed,
            "good": abs(error) <= max(GOAL * joint.play, STEPS * joint.encoder), "seed": joint.seed,
            "kind": "bristles" if joint.bristles else
            "elastic" if joint.stiffness < joint.link * (2.0 * np.pi * 8.0) ** 2 else "rigid"}


def _row(way: bool, found: Sequence[dict[str, Any]], pressed: bool) -> dict[str, Any]:
    """Summary of logs with play from 1 mrad, and of the smaller ones."""
    large, told = [one for one in found if one["play"] >= 1e-3], [one for one in found if one["claimed"]]
    claimed = [one for one in large if one["claimed"]]
    return {"link": way, "pressed": pressed, "logs": len(found), "large": len(large), "claimed": len(claimed),
            "good": sum(one["good"] for one in claimed), "covered": sum(one["held"] for one in told), "told": len(told),
            "small": len([one for one in found if one["play"] < 1e-3]),
            "median": 100.0 * float(np.median([abs(one["error"]) / one["play"] for one in claimed])) if claimed else None,
            "worst": 100.0 * float(np.max([abs(one["error"]) / one["play"] for one in claimed])) if claimed else None}


def _table(rows: Sequence[dict[str, Any]], false: Sequence[dict[str, Any]], found: Sequence[dict[str, Any]],
           seconds: float) -> str:
    """Return the page."""
    text = [f"Logs of one joint: {SECONDS:g} s at {RATE:g} Hz, round trips of 6 to 120 mrad. Motor, gap and link are integrated "
            "in steps of 0.05 ms under a velocity loop, independent of the estimator (`benchmarks/backlash_truth.py`): play 0.3 "
            "to 10 mrad, link on its flank at 4 to 30 Hz, friction of motor and link, Coulomb friction or bristles, gravity 0 to "
            "40 N·m, encoder steps 0.01 to 0.1 mrad.", "",
            f"**Play**, `fit_backlash`. Goal: from 1 mrad within the larger of {GOAL:.0%} and {STEPS:g} encoder steps. Pressed: "
            "gravity exceeds the link's friction all the time, so that the motor never crosses the gap; the goal is that nothing "
            "is claimed.", "",
            "| signals | load | logs | from 1 mrad | claimed | of these within the goal | median error % | worst % | covered |",
            "|---|---|---|---|---|---|---|---|---|"]
    for row in rows:
        errors = ("-", "-") if row["median"] is None else (f"{row['median']:.1f}", f"{row['worst']:.1f}")
        text.append(f"| {'motor and link' if row['link'] else 'motor alone'} | {'pressed' if row['pressed'] else 'free'} | "
                    f"{row['logs']} | {row['large']} | {row['claimed']} | {row['good']} | {errors[0]} | {errors[1]} | "
                    f"{row['covered']} of {row['told']} |")
    text += ["", "**False claims**: joints without play. Goal: none in 98 %.", "", "| signals | joint | logs | claimed |",
             "|---|---|---|---|"]
    text += [f"| {'motor and link' if one['link'] else 'motor alone'} | {one['kind']} | {one['logs']} | {one['claimed']} |"
             for one in false]
    missed: dict[str, int] = {}
    for one in found:
        if one["play"] >= 1e-3 and not one["claimed"] and not one["pressed"]:
            reason = next((word for word in ("predict left-out blocks", "crosses the gap", "crossing of the gap takes",
                                             "gravity keeps", "not determined", "below", "settle") if word in one["reason"]),
                          "other")
            key = f"{'motor and link' if one['link'] else 'motor alone'}: {reason}"
            missed[key] = missed.get(key, 0) + 1
    text += ["", "**Refusals** of free joints with play from 1 mrad, by the words of the reason: "
             + ("; ".join(f"{key} {count}" for key, count in sorted(missed.items())) or "none") + ".", "",
             f"**Time** of a fit: {seconds:.0f} s."]
    return "\n".join(text)
