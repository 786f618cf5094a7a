"""Friction over temperature from one warm-up, and over self-heating without a sensor: errors,
coverage, and false claims.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.kept import judged_cases
from benchmarks.page import Table
from benchmarks.temperature_truth import (
    COLD,
    DURATION,
    HEATED,
    LOADS,
    SENSED,
    UNHEATED,
    WARM,
    HeatedJoint,
    WarmingJoint,
    another_motion,
    heat_rest_heat,
    warm_up,
)
from stribeck.ident.errors import FitError
from stribeck.ident.fit.fit_friction import fit_friction
from stribeck.ident.temperature.fit_self_heating import fit_self_heating
from stribeck.ident.temperature.fit_temperature import fit_temperature
from stribeck.ident.temperature.temperature_result import TemperatureResult

KINDS = (*SENSED, *HEATED, *UNHEATED)
_SPEEDS, _LOADS = (
    grid.ravel()
    for grid in np.meshgrid(np.geomspace(0.02, 1.5, 50), np.linspace(LOADS[0], LOADS[-1], 5))
)
_AT = 30.0, 50.0  # °C


def arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the benchmark."""
    parser.add_argument("--cases", type=int, default=100, help="number of joints of each kind")
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument(
        "--kept",
        type=Path,
        help="JSON lines file that stores judged cases; stored cases are not judged again",
    )


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Fit and judge all cases."""
    cases = [
        (kind, seed)
        for seed in range(options.first, options.first + options.cases)
        for kind in KINDS
    ]
    judged = judged_cases(cases, judge, options.jobs, options.kept)
    of = {
        kind: [one for (own, _), one in zip(cases, judged, strict=True) if own == kind]
        for kind in KINDS
    }
    sensed = [_summary(kind, of[kind]) for kind in SENSED]
    heated = [_heated_summary(kind, of[kind]) for kind in (*HEATED, *UNHEATED)]
    return {"kinds": sensed, "heated": heated}


def table(figures: dict[str, Any]) -> Table:
    """Return a row for each kind of truth."""
    rows = [
        [
            f"sensor: {row['kind']}",
            f"{row['claimed']:.0f}",
            f"{row['median_30']:.2f}, {row['high_30']:.2f}",
            f"{row['held_30']:.1f}",
            f"{row['median_50']:.1f}, {row['high_50']:.1f}",
            f"{row['held_50']:.1f}",
            f"{row['ratio']:.3f}, {row['worst']:.3f}",
        ]
        for row in figures["kinds"]
    ]
    unclaimed = []
    for row in figures["heated"]:
        if not row["claimed"]:
            unclaimed.append(row["kind"])
            continue
        error = f"{row['median']:.2f}, {row['high']:.2f}"
        ratio = f"{row['ratio']:.3f}, {row['worst']:.3f}"
        claimed = f"{row['claimed']:.0f}"
        rows.append(
            [f"no sensor: {row['kind']}", claimed, error, f"{row['held']:.1f}", "-", "-", ratio]
        )
    return Table(
        f"{figures['kinds'][0]['joints']} joints a row; a warm-up from 20 to 40 °C, or heat of "
        "friction from a cold start. Errors: median, 95 % quantile. Ratio to a law without "
        "temperature: median, worst. Goals: 3 % at 30 °C, 5 % at 50 °C, ratio 0.25. Never claimed "
        f"without a sensor: {', '.join(unclaimed)}.",
        [
            "truth",
            "claimed %",
            "error % (sensor: at 30 °C)",
            "covered %",
            "error at 50 °C %",
            "covered at 50 °C %",
            "ratio",
        ],
        rows,
    )


def judge(of: tuple[str, int]) -> dict[str, Any]:
    """Fit one joint."""
    kind, seed = of
    rng = np.random.default_rng([KINDS.index(kind), seed])
    return _judge_sensed(kind, rng) if kind in SENSED else _judge_heated(kind, rng)


def _judge_sensed(kind: str, rng: np.random.Generator) -> dict[str, Any]:
    joint = WarmingJoint.drawn(kind, rng)
    speed, friction, temperature, load = warm_up(joint, rng)
    found, plain = (
        fit_temperature(speed, friction, temperature, load=load),
        fit_friction(speed, friction, load, loss="squares"),
    )
    out: dict[str, Any] = {
        "claimed": found.choice.claimed,
        "laws": [found.law, found.coulomb, found.viscous],
    }
    for at in _AT:
        true = joint.friction(_SPEEDS, at, _LOADS)
        error, band = found.predict(_SPEEDS, at, _LOADS) - true, found.band(_SPEEDS, at, _LOADS)
        out[f"error_{at:g}"] = _relative(error, true)
        out[f"held_{at:g}"] = float(np.mean(np.abs(error) <= band))
        out[f"band_{at:g}"] = _relative(band, true)
    over = np.linspace(COLD, WARM, 21)
    true = np.array([joint.friction(_SPEEDS, at, _LOADS) for at in over])
    own = np.array([found.predict(_SPEEDS, at, _LOADS) for at in over])
    out["ratio"] = _relative(own - true, plain.predict(_SPEEDS, _LOADS) - true)
    return out


def _judge_heated(kind: str, rng: np.random.Generator) -> dict[str, Any]:
    joint = HeatedJoint.drawn(kind, rng)
    start, speed, friction, load, moves = heat_rest_heat(joint, rng)
    motion = np.append(start, start[-1] + DURATION), np.append(speed, 0.0)
    try:
        found = fit_self_heating(
            speed[moves], friction[moves], start[moves] + 0.5 * DURATION, motion, load=load[moves]
        )
    except FitError as refusal:
        return {"claimed": False, "why": str(refusal).split(";")[0][:60]}
    assert found.heating is not None
    rate, duration, pressed = another_motion(rng)
    true, plain = (
        joint.driven(rate, duration, pressed),
        fit_friction(speed[moves], friction[moves], load[moves], loss="squares"),
    )
    state = _states(found, rate, duration, pressed)
    error = (found.predict(rate, state, pressed) - true)[rate > 0.0]
    without = (plain.predict(rate, pressed) - true)[rate > 0.0]
    return {
        "claimed": True,
        "bodies": len(found.heating.times),
        "laws": [found.law, found.coulomb, found.viscous],
        "time": float(found.heating.times[0] / joint.times[0]),
        "ratio": _relative(error, without),
        "error": _relative(error, true[rate > 0.0]),
        "held": float(np.mean(np.abs(error) <= found.band(rate, state, pressed)[rate > 0.0])),
        "time_held": (
            _inside(found, float(joint.times[0]))
            if len(found.heating.times) == np.count_nonzero(joint.shares)
            else None
        ),
    }


def _states(
    found: TemperatureResult, speed: np.ndarray, duration: np.ndarray, load: np.ndarray
) -> np.ndarray:
    """States in the middle of intervals of constant speed, as a controller would follow them."""
    heating = found.heating
    assert heating is not None
    bodies, states = np.zeros(len(heating.times)), []
    for rate, time, pressed in zip(speed, duration, load, strict=True):
        for half in range(2):
            power = rate * float(found.predict(rate, heating.state(bodies), [pressed])[0])
            bodies = heating.advanced(bodies, power, 0.5 * time)
            if not half:
                states.append(heating.state(bodies))
    return np.array(states)


def _inside(found: TemperatureResult, time: float) -> bool:
    entry = found.parameters["time_constant"]
    return bool(
        entry.low is not None and entry.high is not None and entry.low <= time <= entry.high
    )


def _relative(error: np.ndarray, true: np.ndarray) -> float:
    return float(np.sqrt(np.mean(error**2) / np.mean(true**2)))


def _percent(found: Sequence[dict[str, Any]], key: str, quantile: float | None = None) -> float:
    """Quantile, or mean, of a figure of joints in per cent; nan without joints."""
    values = [one[key] for one in found if one[key] is not None]
    if not values:
        return float("nan")
    return 100.0 * float(np.mean(values) if quantile is None else np.quantile(values, quantile))


def _summary(kind: str, found: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return {
        "kind": kind,
        "joints": len(found),
        "claimed": _percent(found, "claimed"),
        **{
            f"{name}_{at:g}": value
            for at in _AT
            for name, value in (
                ("median", _percent(found, f"error_{at:g}", 0.5)),
                ("high", _percent(found, f"error_{at:g}", 0.95)),
                ("band", _percent(found, f"band_{at:g}", 0.5)),
                ("held", _percent(found, f"held_{at:g}")),
            )
        },
        "ratio": _percent(found, "ratio", 0.5) / 100.0,
        "worst": _percent(found, "ratio", 1.0) / 100.0,
    }


def _heated_summary(kind: str, found: Sequence[dict[str, Any]]) -> dict[str, Any]:
    claimed = [one for one in found if one["claimed"]]
    return {
        "kind": kind,
        "joints": len(found),
        "claimed": _percent(found, "claimed"),
        "second": 100.0 * float(np.mean([one["bodies"] == 2 for one in claimed]))
        if claimed
        else float("nan"),
        "median": _percent(claimed, "error", 0.5),
        "high": _percent(claimed, "error", 0.95),
        "held": _percent(claimed, "held"),
        "time_held": _percent(claimed, "time_held"),
        "ratio": _percent(claimed, "ratio", 0.5) / 100.0,
        "worst": _percent(claimed, "ratio", 1.0) / 100.0,
    }
