"""Ripple: claims, errors and intervals over random synthetic joints, and its
compensation on a simulated arm.

Synthetic joints (`ripple_cases`) differ in speeds, strokes, noise and its correlation, velocity
loop and delay. The simulated arm is the pendulum of the golden run in MuJoCo, with cogging and
friction ripple: it is calibrated with and without ``--ripple auto``, and follows slow sines in
torque mode with both calibrations as feed-forward.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.compensation import follow
from benchmarks.kept import judged_cases
from benchmarks.page import Table
from benchmarks.ripple_cases import Strokes
from stribeck import Calibration, Feedforward, identify, load_run
from stribeck.ident.fit.joint.options import Options
from stribeck.ident.ripple.find_ripple import find_ripple
from stribeck.ident.ripple.thresholds import KNOWN_ORDER, SEARCHED_ORDER

GOLDEN = Path(__file__).parent.parent / "data" / "golden"
MODES = {"no ripple": 0.0, "known order": KNOWN_ORDER, "searched order": SEARCHED_ORDER}
SPEEDS = (0.01, 0.02)
_MOTOR = (1, 2, 3, 4, 6)
# standard errors from which an amplitude is to be known within a tenth
_CLEAR, _ALLOWED = 20.0, 0.10
_NEAR = 2.0  # waves a turn between an order and its truth
_SCALE = 0.97  # reported over true torque of the pendulum


@dataclass(frozen=True)
class Case:
    """A synthetic joint: what the arm file knows, and a seed; or a simulated arm
    (mode "arm") with this seed.
    """

    mode: str
    seed: int


def arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the benchmark."""
    parser.add_argument("--seeds", type=int, default=200, help="synthetic joints of each kind")
    parser.add_argument("--arms", type=int, default=4, help="simulated arms")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument(
        "--kept", type=Path, help="file that keeps results, so that a run can be continued"
    )


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Judge all cases."""
    cases = [Case(mode, seed) for mode in MODES for seed in range(options.seeds)]
    arms = [Case("arm", seed) for seed in range(1, options.arms + 1)]
    results = judged_cases([*cases, *arms], judge, options.jobs, options.kept)
    joints, of_arms = results[: len(cases)], results[len(cases) :]
    figures: dict[str, Any] = {"arms": of_arms}
    for mode in MODES:
        own = [result for case, result in zip(cases, joints, strict=True) if case.mode == mode]
        figures[mode] = _figures(own, MODES[mode])
    return figures


def table(figures: dict[str, Any]) -> Table:
    """Return a row for each kind of synthetic joint."""
    rows = []
    for mode in MODES:
        joints = figures[mode]
        cells = list("-----")
        if joints["waves"]:
            median, high, worst = (100.0 * value for value in joints["off"])
            cells = [
                joints["waves"],
                f"{100.0 * joints['claimed'] / joints['waves']:.1f}",
                f"{median:.1f} ({high:.1f}, {worst:.1f})",
                f"{100.0 * joints['covered']:.1f}, {100.0 * joints['phase_covered']:.1f}",
                f"{joints['clear_off']} of {joints['clear']}",
            ]
        rows.append([mode, joints["runs"], joints["invented"], *cells])
    arms = figures["arms"]
    tracking = "; ".join(
        f"{without:.2f} and {compensated:.2f}"
        for arm in arms
        for without, compensated in zip(arm["rms"]["without"], arm["rms"]["with"], strict=True)
    )
    return Table(
        f"{len(arms)} simulated pendulums with cogging, calibrated with `--ripple auto`: "
        f"{sum(all(arm['claimed']) for arm in arms)} are found; rms tracking error up to "
        f"{' and '.join(f'{speed:g}' for speed in SPEEDS)} rad/s without ripple in the "
        f"feed-forward and with it, mrad: {tracking}.",
        [
            "synthetic joints",
            "runs",
            "runs with an invented wave",
            "waves above the threshold",
            "claimed %",
            "amplitude off %, median (95 %, worst)",
            "amplitude, phase covered %",
            f"above {_CLEAR:g} standard errors, off by {100 * _ALLOWED:g} %",
        ],
        rows,
    )


def judge(case: Case) -> dict[str, Any]:
    """Judge one case."""
    return _arm(case.seed) if case.mode == "arm" else _joint(case)


def drawn(case: Case) -> tuple[Strokes, tuple[float, ...]]:
    """Return a random synthetic joint, and the orders that its arm file gives."""
    rng = np.random.default_rng(1000 + case.seed)
    count, gear = int(rng.integers(5, 12)), round(rng.uniform(50.0, 160.0))
    joint = Strokes(
        repeats=int(rng.integers(2, 4)),
        speeds=tuple(np.geomspace(rng.uniform(0.004, 0.03), rng.uniform(0.3, 1.2), count).tolist()),
        width=rng.uniform(0.4, 2.5),
        noise=rng.uniform(0.05, 0.5),
        coloured=rng.uniform(0.0, 0.2),
        colour_time=rng.uniform(0.01, 0.5),
        bandwidth=rng.uniform(8.0, 40.0),
        delay=rng.uniform(0.0, 0.008),
    )
    known = tuple(float(gear * k) for k in _MOTOR)
    if case.mode == "no ripple":
        return joint, known
    order = (
        gear * float(rng.choice([1, 2, 3]))
        if case.mode == "known order"
        else rng.uniform(40.0, 400.0)
    )
    kinds = (("cogging",), ("friction",), ("cogging", "friction"))[int(rng.integers(3))]
    waves = tuple(
        (
            order,
            float(np.exp(rng.uniform(np.log(0.01), np.log(0.5)))),
            float(rng.uniform(-3.0, 3.0)),
            kind,
        )
        for kind in kinds
    )
    return replace(joint, waves=waves), known if case.mode == "known order" else ()


def _joint(case: Case) -> dict[str, Any]:
    """Return the judgement of a synthetic joint: each true wave, and invented waves."""
    joint, known = drawn(case)
    passages = joint.passages(case.seed)
    ripple = find_ripple("joint", passages, known, "N·m")
    waves = []
    for order, size, phase, kind in joint.waves:
        claimed = next(
            (one for one in ripple.waves if one.kind == kind and abs(one.order - order) < _NEAR),
            None,
        )
        error = _error(joint, passages, order, kind) if claimed is None else claimed.std_error
        turned = (
            None if claimed is None else (claimed.phase - phase + np.pi) % (2.0 * np.pi) - np.pi
        )
        waves.append(
            {
                "order": order,
                "kind": kind,
                "size": size,
                "error": error,
                "claimed": claimed is not None,
                **(
                    {}
                    if claimed is None
                    else {
                        "off": claimed.amplitude / size - 1.0,
                        "covered": bool(claimed.low <= size <= claimed.high),
                        "phase_covered": bool(
                            abs(turned or 0.0) <= (claimed.phase_high - claimed.phase_low) / 2.0
                        ),
                    }
                ),
            }
        )
    invented = [
        {"order": one.order, "kind": one.kind, "away": one.amplitude / one.std_error}
        for one in ripple.waves
        if not any(
            one.kind == kind and abs(one.order - order) < _NEAR for order, _, _, kind in joint.waves
        )
    ]
    return {"waves": waves, "invented": invented, "passages": len(passages)}


def _error(joint: Strokes, passages: list[Any], order: float, kind: str) -> float:
    """Return the standard error of a wave that was not claimed, from a
    fit of its true order alone.
    """
    from stribeck.ident.ripple.harmonic_fit import fit_harmonics

    fit = fit_harmonics(passages, [order])
    if fit is None:
        return float("inf")
    which = 0 if kind == "cogging" else 1
    return max(fit.error(which, 0)[0], float(fit.least[which, 0]))


def _figures(results: list[dict[str, Any]], least: float) -> dict[str, Any]:
    """Return the figures of all joints of a kind; waves count where their true
    amplitude exceeds the threshold.
    """
    waves = [
        wave
        for result in results
        for wave in result["waves"]
        if wave["size"] > least * wave["error"]
    ]
    claimed = [wave for wave in waves if wave["claimed"]]
    off = np.abs([wave["off"] for wave in claimed]) if claimed else np.array([np.nan])
    return {
        "runs": len(results),
        "waves": len(waves),
        "claimed": len(claimed),
        "invented": sum(bool(result["invented"]) for result in results),
        "clear": len(
            clear := [abs(wave["off"]) for wave in claimed if wave["size"] > _CLEAR * wave["error"]]
        ),
        "clear_off": sum(one > _ALLOWED for one in clear),
        "off": [float(np.quantile(off, part)) for part in (0.5, 0.95, 1.0)],
        "covered": float(np.mean([wave["covered"] for wave in claimed])) if claimed else None,
        "phase_covered": float(np.mean([wave["phase_covered"] for wave in claimed]))
        if claimed
        else None,
    }


def _arm(seed: int) -> dict[str, Any]:
    """Calibrate the pendulum with ripple, with and without the option, and
    follow slow sines with both.
    """
    rng = np.random.default_rng(seed)
    order, size, part = (
        float(rng.choice([60.0, 83.0, 200.0])),
        float(rng.uniform(0.3, 0.6)),
        float(rng.uniform(0.06, 0.12)),
    )
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        for path in GOLDEN.glob("pendulum*"):
            (home / path.name).write_bytes(path.read_bytes())
        text = (home / "pendulum.toml").read_text(encoding="utf-8")
        knobs = (
            f"ripple = {part}\nripple_phase = 0.4\ncogging = {size}\ncogging_order = {order}\n"
            f"cogging_phase = {seed}.0\n"
        )
        (home / "pendulum.toml").write_text(
            text.replace("ripple = 0.03\n", knobs), encoding="utf-8"
        )
        subprocess.run(
            [
                sys.executable,
                "-m",
                "stribeck",
                "calibrate",
                str(home / "pendulum.toml"),
                "--seed",
                str(seed),
                "--ripple",
                "auto",
                "--out",
                str(home / "campaign"),
            ],
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ},
        )
        with_waves = Calibration.load(home / "campaign")
        runs = [load_run(path) for path in sorted((home / "campaign" / "runs").iterdir())]
        plain = replace(identify(runs, Options()).calibration, folder=with_waves.folder)
        both = {"without": plain, "with": with_waves}
        rms = {
            name: [
                float(
                    1e3
                    * follow(
                        str(home / "pendulum.toml"),
                        one,
                        Feedforward(one.mechanism, one.with_offset()),
                        speed,
                    ).rms[0]
                )
                for speed in SPEEDS
            ]
            for name, one in both.items()
        }
    joint = with_waves.joints["hinge"]
    cogging = next(
        (
            wave
            for wave in joint.ripple
            if wave.kind == "cogging" and abs(wave.order - order) < _NEAR
        ),
        None,
    )
    friction = next(
        (
            wave
            for wave in joint.ripple
            if wave.kind == "friction" and abs(wave.order - 100.0) < _NEAR
        ),
        None,
    )
    return {
        "seed": seed,
        "order": order,
        "size": size,
        "claimed": [cogging is not None, friction is not None],
        "waves": len(joint.ripple),
        "off": None if cogging is None else cogging.amplitude / (_SCALE * size) - 1.0,
        "held_out": [one.joints["hinge"].held_out_rmse for one in both.values()],
        "half_widths": [
            one.joints["hinge"].parameters["coulomb"].half_width for one in both.values()
        ],
        "rms": rms,
    }
