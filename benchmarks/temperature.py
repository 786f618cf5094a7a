"""Friction over temperature from one warm-up: errors inside and outside its range, coverage of the band, and false claims."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.kept import judged_cases
from benchmarks.temperature_truth import COLD, WARM, WarmingJoint, warm_up
from stribeck.ident.fit.fit_friction import fit_friction
from stribeck.ident.temperature.fit_temperature import fit_temperature

KINDS = ("line", "decay", "parabola", "none")
_SPEEDS = np.geomspace(0.02, 1.5, 50)
_AT = 30.0, 50.0        # °C


def arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the benchmark."""
    parser.add_argument("--cases", type=int, default=100, help="number of joints of each kind")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--kept", type=Path, help="JSON lines file that stores judged cases; stored cases are not judged again")


def run(options: argparse.Namespace) -> tuple[dict[str, Any], str]:
    """Fit and judge all cases."""
    cases = [(kind, seed) for kind in KINDS for seed in range(options.cases)]
    judged = judged_cases(cases, judge, options.jobs, options.kept)
    rows = [_summary(kind, [one for (of, _), one in zip(cases, judged, strict=True) if of == kind]) for kind in KINDS]
    return {"kinds": rows}, _table(rows)


def judge(of: tuple[str, int]) -> dict[str, Any]:
    """Fit one warm-up."""
    kind, seed = of
    rng = np.random.default_rng([KINDS.index(kind), seed])
    joint = WarmingJoint.drawn(kind, rng)
    speed, friction, temperature = warm_up(joint, rng)
    found, plain = fit_temperature(speed, friction, temperature, law="stribeck"), fit_friction(speed, friction, law="stribeck")
    out: dict[str, Any] = {"claimed": found.choice.claimed, "laws": [found.coulomb, found.viscous]}
    for at in _AT:
        true = joint.friction(_SPEEDS, at)
        error = found.predict(_SPEEDS, at) - true
        out[f"error_{at:g}"] = float(np.sqrt(np.mean(error**2) / np.mean(true**2)))
        out[f"held_{at:g}"] = float(np.mean(np.abs(error) <= found.band(_SPEEDS, at)))
        out[f"band_{at:g}"] = float(np.sqrt(np.mean(found.band(_SPEEDS, at) ** 2) / np.mean(true**2)))
    over = np.linspace(COLD, WARM, 21)[:, None]
    true = joint.friction(_SPEEDS, over)
    own = np.array([found.predict(_SPEEDS, float(at)) for at in over[:, 0]])
    out["ratio"] = float(np.sqrt(np.mean((own - true) ** 2) / np.mean((plain.predict(_SPEEDS) - true) ** 2)))
    return out


def _summary(kind: str, found: Sequence[dict[str, Any]]) -> dict[str, Any]:
    def percent(key: str, quantile: float) -> float:
        return 100.0 * float(np.quantile([one[key] for one in found], quantile))

    return {"kind": kind, "joints": len(found), "claimed": 100.0 * float(np.mean([one["claimed"] for one in found])),
            **{f"{name}_{at:g}": value for at in _AT for name, value in (
                ("median", percent(f"error_{at:g}", 0.5)), ("high", percent(f"error_{at:g}", 0.95)),
                ("band", percent(f"band_{at:g}", 0.5)),
                ("held", 100.0 * float(np.mean([one[f"held_{at:g}"] for one in found]))))},
            "ratio": float(np.median([one["ratio"] for one in found])), "worst": float(np.max([one["ratio"] for one in found]))}


def _table(rows: Sequence[dict[str, Any]]) -> str:
    """Return the page."""
    text = ["One warm-up of a joint from 20 to 40 °C: 144 round trips at 12 interleaved speeds from 0.02 to 1.5 rad/s, friction "
            "levels that scatter by 0.5 %, noise of 0.02 N·m. Friction with Stribeck effect whose viscous part falls with "
            "temperature along a line, an exponential decay to a floor, or a parabola, while Coulomb friction falls by 0.1 to "
            "0.6 % per K (`benchmarks/temperature_truth.py`, coefficients of our own). `fit_temperature(..., "
            "law=\"stribeck\")`. Errors: rms over 50 speeds, relative to rms friction, median and 95 % quantile of joints. "
            "Covered: share of the speeds whose true friction is inside the band. Ratio: error over 20 to 40 °C relative to a "
            "law without temperature, median and worst. Goals: 3 % at 30 °C, 5 % and covered at 50 °C, ratio at most 0.25.", "",
            "| truth | joints | claimed % | error at 30 °C % | covered % | error at 50 °C % | covered % | half width at 50 °C % "
            "| ratio |", "|---|---|---|---|---|---|---|---|---|"]
    text += [f"| {row['kind']} | {row['joints']} | {row['claimed']:.1f} | {row['median_30']:.2f}, {row['high_30']:.2f} | "
             f"{row['held_30']:.1f} | {row['median_50']:.1f}, {row['high_50']:.1f} | {row['held_50']:.1f} | "
             f"{row['band_50']:.1f} | {row['ratio']:.3f}, {row['worst']:.3f} |" for row in rows]
    return "\n".join(text)
