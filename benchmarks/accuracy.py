"""The estimator against random truths: efficiency, coverage, claims, verdicts
and refusals, and its speed.
"""

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks import spoiled
from benchmarks.page import Table
from stribeck import FitResult

# noise of points, of round trips, and along position, per Coulomb friction
WHITE, SCATTER, RIPPLE = 0.02, 0.03, 0.03
BINS = 6
KINDS = ("as above", "no ripple", "grows with friction", "heavy tails", "correlated round trips")
SCENARIOS = {  # what is right
    "no low speeds": "static and w_s not `identified`",
    "load hardly varies": "no load part",
    "one direction": "Stribeck effect found",
    "both directions": "Stribeck effect found",
    "no Stribeck drop": "no Stribeck effect claimed",
    "viscous friction bends at high speed": "no Stribeck effect claimed",
    "two speeds": "refused",
    "torque of the wrong sign": "refused",
}
SPEEDS = {
    "as commanded, the same throughout a round trip": 0.0,
    "as measured, with 2 % of scatter": 0.02,
}
# drop of friction with speed, in standard errors of a fit that knows the law
DROPS = (0.0, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0)
PARAMETERS = (
    "coulomb",
    "viscous",
    "static",
    "stribeck_velocity",
    "coulomb_coefficient",
    "static_coefficient",
)


@dataclass(frozen=True)
class Case:
    """One joint with known truth: points, true friction, and the covariance of the noise."""

    w: np.ndarray
    tau: np.ndarray
    load: np.ndarray
    group: np.ndarray
    truth: dict[str, float]
    noise: np.ndarray


def arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the benchmark."""
    parser.add_argument(
        "--truths", type=int, default=2000, help="number of truths for the efficiency"
    )
    parser.add_argument(
        "--cases", type=int, default=4000, help="cases of coverage, power and false claims"
    )
    parser.add_argument(
        "--others",
        type=int,
        default=400,
        help="cases of coverage for each small drop and each other kind of noise",
    )
    parser.add_argument("--trials", type=int, default=200, help="number of trials of each scenario")
    parser.add_argument(
        "--first",
        type=int,
        default=100_000_000,
        help="seed of the first case; another seed gives new cases",
    )
    parser.add_argument(
        "--parts",
        nargs="+",
        choices=tuple(PARTS),
        help="compute only these parts and leave the page unchanged",
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Run all parts, or the requested parts, with cases in parallel."""
    with ProcessPoolExecutor(options.jobs) as pool:
        return {name: PARTS[name](pool, options) for name in options.parts or PARTS}


def table(figures: dict[str, Any]) -> Table:
    """Return a row for each figure that has a goal."""
    rows = [
        row for name, of_part in ROWS.items() if name in figures for row in of_part(figures[name])
    ]
    return Table(
        f"Random joints: Coulomb friction of 1 to 10 N·m, 12 speeds in three postures (8 round "
        f"trips: one posture); noise in per cent of Coulomb friction: white {100 * WHITE:g}, level "
        f"of each round trip {100 * SCATTER:g}, ripple along the position {100 * RIPPLE:g}. "
        '`law="auto"` except for efficiency, which is the rms of errors over each truth\'s '
        "Cramer-Rao bound. A trial is right if the fault is named or refused, nothing else is "
        "found, and the friction of other joints is unchanged.",
        ["part", "figure", "cases", "result", "goal"],
        rows,
    )


def _seeds(options: argparse.Namespace, count: int) -> range:
    return range(options.first, options.first + count)


def _efficiency_part(pool: Executor, options: argparse.Namespace) -> dict[str, Any]:
    known = _table(pool, _efficiency, _seeds(options, options.truths))
    return {
        "truths": options.truths,
        # fits whose misfit is greater than that of the truth
        "wrong_optima": int(known.drop_duplicates("seed")["wrong"].sum()),
        "parameters": {
            name: {
                "error": _rms(errors["error"]),
                "bound": _rms(errors["bound"]),
                "largest": float(errors["error"].abs().max()),
                "own_bounds": _rms(errors["error"] / errors["bound"]),
            }
            for name, errors in known.groupby("parameter")
        },
    }


def _efficiency_rows(part: dict[str, Any]) -> Iterator[list[object]]:
    for name, errors in part["parameters"].items():
        over = f"{errors['own_bounds']:.3f}"
        yield ["efficiency", name, part["truths"], over, "at most 1.15"]
    yield ["efficiency", "fits in a wrong optimum", part["truths"], part["wrong_optima"], "-"]


def _coverage_part(pool: Executor, options: argparse.Namespace) -> dict[str, Any]:
    auto = _table(pool, _auto, _seeds(options, options.cases))
    able = auto[auto["could"]]
    return {
        "parameters": [
            {
                "parameter": name,
                "trips": 8 if few else 36,
                "claimed": int(cases["claimed"].sum()),
                "covered": float(cases[cases["claimed"]]["covered"].mean()),
                # a parameter that is not claimed counts as missed
                "all_covered": float(cases["covered"].mean()),
            }
            for (few, name), cases in auto.groupby(["few", "parameter"])
        ],
        "identifiable": len(able),
        "identified": float(able["identified"].mean()),
        "claims": _claims(auto.drop_duplicates("seed")),
    }


def _coverage_rows(part: dict[str, Any]) -> Iterator[list[object]]:
    for row in part["parameters"]:
        goal = "93 to 97 %" if row["trips"] == 36 else "at least 92 %"
        words = f"{row['parameter']}, {row['trips']} round trips"
        yield ["coverage", words, row["claimed"], f"{100 * row['covered']:.1f} %", goal]
    share = f"{100 * part['identified']:.1f} %"
    yield ["verdicts", "identified of identifiable", part["identifiable"] or "-", share, "90 %"]
    for claim in part["claims"]:
        share = f"{100 * claim['claimed']:.1f} %"
        yield ["claims", claim["truth"], claim["cases"], share, claim["goal"]]


def _claims(cases: pd.DataFrame) -> list[dict[str, Any]]:
    strong = cases[cases["stribeck"] & (cases["drop_in_errors"] > 4.0)]
    heavy = cases[cases["loaded"] & (cases["load_in_errors"] > 4.0)]
    many = cases[~cases["few"]]
    kinds = (
        ("Stribeck drop above four standard errors", strong, "claims_stribeck", "at least 95 %"),
        ("no Stribeck drop", cases[~cases["stribeck"]], "claims_stribeck", "at most 2 %"),
        ("load part above four standard errors", heavy, "claims_load", "at least 95 %"),
        ("no load part", many[~many["loaded"]], "claims_load", "at most 2 %"),
    )
    return [
        {"truth": truth, "cases": len(own), "claimed": float(own[key].mean()), "goal": goal}
        for truth, own, key, goal in kinds
    ]


def _small_part(pool: Executor, options: argparse.Namespace) -> list[dict[str, Any]]:
    """Coulomb friction where a drop is small, in standard errors of a fit that knows the law."""
    cases = [
        (few, drop, seed)
        for few in (False, True)
        for drop in DROPS
        for seed in _seeds(options, options.others)
    ]
    return [
        {
            "trips": 8 if few else 36,
            "drop": drop,
            "cases": len(joints),
            **{key: float(joints[key].mean()) for key in ("claimed", "covered", "identified")},
            "half": float(joints["half"].median()),
        }
        for (few, drop), joints in _table(pool, _small, cases).groupby(["few", "drop"])
    ]


def _small_rows(part: list[dict[str, Any]]) -> Iterator[list[object]]:
    for trips in (36, 8):
        least = min((row for row in part if row["trips"] == trips), key=lambda row: row["covered"])
        words = f"Coulomb, {trips} round trips, least of all drops"
        yield ["small drops", words, least["cases"], f"{100 * least['covered']:.1f} %", "-"]


def _noise_part(pool: Executor, options: argparse.Namespace) -> dict[str, Any]:
    """Coverage of claimed parameters with 36 round trips, under noise of another kind."""
    found: dict[str, Any] = {}
    for kind in KINDS[1:]:
        auto = _table(pool, partial(_auto, kind=kind), _seeds(options, options.others))
        claimed = auto[~auto["few"] & auto["claimed"]]
        found[kind] = {
            name: [float(cases["covered"].mean()), len(cases)]
            for name, cases in claimed.groupby("parameter")
        }
    return found


def _noise_rows(part: dict[str, Any]) -> Iterator[list[object]]:
    for kind, parameters in part.items():
        name, (covered, cases) = min(parameters.items(), key=lambda entry: entry[1][0])
        words = f"{kind}, least parameter ({name})"
        yield ["other noise", words, cases, f"{100 * covered:.1f} %", "-"]


def _verdicts_part(pool: Executor, options: argparse.Namespace) -> list[dict[str, Any]]:
    trials = _table(
        pool,
        _trial,
        [(name, seed) for name in SCENARIOS for seed in _seeds(options, options.trials)],
    )
    right = {name: own["right"] for name, own in trials.groupby("scenario")}
    return [
        {
            "scenario": name,
            "required": required,
            "cases": len(right[name]),
            "right": float(right[name].mean()),
        }
        for name, required in SCENARIOS.items()
    ]


def _verdict_rows(part: list[dict[str, Any]]) -> Iterator[list[object]]:
    least = min(part, key=lambda row: row["right"])
    words = f"{len(part)} kinds of fault or trap, least right: {least['scenario']}"
    yield ["trials", words, least["cases"], f"{100 * least['right']:.1f} %", "at least 98 %"]


def _runs_part(pool: Executor, options: argparse.Namespace) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        return spoiled.figures(spoiled.trials(Path(folder), pool, options.trials, options.first))


def _speed_part(pool: Executor, options: argparse.Namespace) -> dict[str, Any]:
    return {velocities: _speed(scatter) for velocities, scatter in SPEEDS.items()}


def _speed_rows(part: dict[str, Any]) -> Iterator[list[object]]:
    for velocities, seconds in part.items():
        ours, scipy = (np.array(seconds[name]) for name in ("stribeck", "scipy"))
        words = f"`fit_law` over SciPy, velocities {velocities.partition(',')[0]}"
        goal = "-" if SPEEDS[velocities] else "at most 0.33"
        yield ["speed", words, len(ours), f"{np.median(ours / scipy):.2f}", goal]


PARTS: dict[str, Callable[[Executor, argparse.Namespace], Any]] = {
    "efficiency": _efficiency_part,
    "coverage": _coverage_part,
    "small": _small_part,
    "noise": _noise_part,
    "verdicts": _verdicts_part,
    "runs": _runs_part,
    "speed": _speed_part,
}
ROWS: dict[str, Callable[[Any], Iterator[list[object]]]] = {
    "efficiency": _efficiency_rows,
    "coverage": _coverage_rows,
    "small": _small_rows,
    "noise": _noise_rows,
    "verdicts": _verdict_rows,
    "runs": _verdict_rows,
    "speed": _speed_rows,
}


def _table(
    pool: Executor, one: Callable[[Any], list[dict[str, Any]]], cases: Iterable[Any]
) -> pd.DataFrame:
    return pd.DataFrame([row for rows in pool.map(one, cases, chunksize=10) for row in rows])


def friction(w: np.ndarray, load: np.ndarray, truth: dict[str, float]) -> np.ndarray:
    """True friction (P0, Eq. 52), computed here and not by the package."""
    dry = truth["coulomb"] + truth.get("coulomb_coefficient", 0.0) * load
    if "static" in truth:
        excess = truth["static"] + truth.get("static_coefficient", 0.0) * load - dry
        dry = dry + excess * np.exp(-((w / truth["stribeck_velocity"]) ** 2))
    return dry * np.sign(w) + truth["viscous"] * w


def random_case(
    seed: int,
    stribeck: bool,
    loaded: bool,
    few: bool = False,
    drop: float | None = None,
    kind: str = "as above",
) -> Case:
    """Round trips of a random joint over speeds and postures, with a given kind of noise."""
    rng = np.random.default_rng(seed)
    fastest = rng.uniform(0.8, 2.0)
    slowest = fastest / rng.uniform(60.0, 150.0)
    speeds = np.geomspace(slowest, fastest, 8 if few else 12)
    coulomb = rng.uniform(1.0, 10.0)
    truth = {"coulomb": coulomb, "viscous": coulomb * rng.uniform(0.3, 1.5) / fastest}
    if stribeck:
        truth["static"] = coulomb * (1.0 + (rng.uniform(0.2, 0.6) if drop is None else drop))
        truth["stribeck_velocity"] = float(
            np.exp(rng.uniform(np.log(3.0 * slowest), np.log(0.12 * fastest)))
        )
    loads = np.array([1.0]) if few else np.sort(rng.uniform(0.05, 1.0, 3))
    heaviest = rng.uniform(5.0, 40.0)
    if loaded:
        truth["coulomb_coefficient"] = coulomb * rng.uniform(0.3, 0.8) / heaviest
        if stribeck:
            truth["static_coefficient"] = truth["coulomb_coefficient"] * truth["static"] / coulomb
    trips = [(speed, heaviest * load) for load in loads for speed in rng.permutation(speeds)]
    return measured(rng, trips, truth, kind)


def measured(
    rng: np.random.Generator,
    trips: list[tuple[float, float]],
    truth: dict[str, float],
    kind: str = "as above",
) -> Case:
    """Points of round trips, one speed and load each, with a given kind of
    noise and its covariance.
    """
    w, load = np.repeat(np.array(trips), BINS, axis=0).T
    group = np.repeat(np.arange(len(trips)), BINS)
    clean, size = friction(w, load, truth), truth["coulomb"]
    place, wave = np.tile(np.arange(BINS), len(trips)), rng.uniform(1.0, 3.0)
    same = group[:, None] == group
    white, level = size * WHITE * rng.standard_normal(len(w)), rng.standard_normal(len(trips))
    between = SCATTER**2 * same
    if kind == "heavy tails":
        level = rng.standard_t(3, len(trips)) / np.sqrt(3.0)
    elif kind == "correlated round trips":
        between = SCATTER**2 * 0.5 ** np.abs(group[:, None] - group)
        level = (
            np.linalg.cholesky(0.5 ** np.abs(np.subtract.outer(*2 * (np.arange(len(trips)),))))
            @ level
        )
    level = size * SCATTER * level[group]
    if kind == "grows with friction":
        level = level * clean / size
        between = between * np.outer(clean, clean) / size**2
    ripple = 0.0 if kind == "no ripple" else RIPPLE
    along = 0.5 * ripple**2 * np.cos(wave * (place[:, None] - place))
    phase = rng.uniform(0.0, 2.0 * np.pi, len(trips))[group]
    noise = size**2 * (WHITE**2 * np.eye(len(w)) + between + same * along)
    return Case(
        w,
        clean + white + level + size * ripple * np.sin(wave * place + phase),
        load,
        group,
        truth,
        noise,
    )


def scenario(name: str, seed: int) -> tuple[Case, Callable[[FitResult], bool] | None]:
    """Make a case whose data cannot show everything; return the case and the right
    result, None for a refusal.
    """
    rng = np.random.default_rng(2_000_000 + seed)
    coulomb, fastest = rng.uniform(1.0, 10.0), rng.uniform(0.8, 2.0)
    speeds, drop, velocity = (
        np.geomspace(0.01 * fastest, fastest, 12),
        rng.uniform(0.2, 0.6),
        rng.uniform(0.03, 0.08) * fastest,
    )
    truth = {"coulomb": coulomb, "viscous": coulomb * rng.uniform(0.3, 1.5) / fastest}
    falling = {**truth, "static": coulomb * (1.0 + drop), "stribeck_velocity": velocity}

    def case(
        speeds: np.ndarray, truth: dict[str, float], loads: tuple[float, ...] = (10.0, 10.0, 10.0)
    ) -> Case:
        return measured(
            rng, [(speed, load) for load in loads for speed in rng.permutation(speeds)], truth
        )

    if name == "no low speeds":
        return case(np.geomspace(2.5 * velocity, fastest, 12), falling), _no_drop_identified
    if name == "load hardly varies":
        return case(
            speeds,
            {
                **falling,
                "coulomb_coefficient": 0.03 * coulomb,
                "static_coefficient": 0.03 * coulomb,
            },
            (9.95, 10.0, 10.05),
        ), _no_load
    if name == "one direction":
        return case(speeds, falling), _stribeck
    if name == "both directions":
        both = case(speeds, falling)
        sign = np.where(np.arange(len(both.w)) % 2, -1.0, 1.0)
        return replace(both, w=sign * both.w, tau=sign * both.tau), _stribeck
    if name == "no Stribeck drop":
        return case(speeds, truth), _no_stribeck
    if name == "viscous friction bends at high speed":
        bent = case(speeds, truth)
        power = rng.choice([0.6, 1.6])
        more = truth["viscous"] * fastest * ((bent.w / fastest) ** power - bent.w / fastest)
        return replace(bent, tau=bent.tau + more), _no_stribeck
    if name == "two speeds":
        return case(speeds[[2, 9]], falling), None
    wrong = case(speeds, falling)
    return replace(wrong, tau=-wrong.tau), None


def _no_drop_identified(fit: FitResult) -> bool:
    return all(
        fit.parameters[name].verdict != "identified"
        for name in ("static", "stribeck_velocity")
        if name in fit.parameters
    )


def _no_load(fit: FitResult) -> bool:
    return fit.load == "none"


def _stribeck(fit: FitResult) -> bool:
    return fit.falls


def _no_stribeck(fit: FitResult) -> bool:
    return not fit.falls


def _trial(of: tuple[str, int]) -> list[dict[str, Any]]:
    """Return True if the estimator gives the right result for a scenario."""
    from stribeck import fit_friction
    from stribeck.ident.errors import FitError

    case, right = scenario(*of)
    try:
        fit = fit_friction(case.w, case.tau, case.load, case.group)
    except FitError:
        return [{"scenario": of[0], "right": right is None}]
    return [{"scenario": of[0], "right": right is not None and right(fit)}]


def bounds(case: Case) -> dict[str, float]:
    """Cramér-Rao bound of the standard deviation of each parameter, from the
    true covariance of the noise.
    """
    names = list(case.truth)
    columns = []
    for name in names:
        step = 1e-5 * case.truth[name]
        up, down = ({**case.truth, name: case.truth[name] + sign * step} for sign in (1.0, -1.0))
        columns.append(
            (friction(case.w, case.load, up) - friction(case.w, case.load, down)) / (2.0 * step)
        )
    J = np.column_stack(columns)
    return dict(
        zip(
            names,
            np.sqrt(np.diag(np.linalg.inv(J.T @ np.linalg.solve(case.noise, J)))),
            strict=True,
        )
    )


def _efficiency(seed: int) -> list[dict[str, Any]]:
    """Relative errors of a fit with known law and load, and their Cramér-Rao bounds."""
    from stribeck.ident.fit.law_fit import fit_law
    from stribeck.ident.fit.points import FitPoints
    from stribeck.ident.laws.law_table import LAWS

    loaded = seed % 2 == 0
    case = random_case(seed, True, loaded)
    fit = fit_law(
        FitPoints(case.w, case.tau, case.load if loaded else None, case.group),
        LAWS["stribeck"],
        "load",
    )
    best = bounds(case)
    error = case.tau - friction(case.w, case.load, case.truth)
    reached, true = (
        float(np.sum(fit.noise.whiten(rest, case.group) ** 2)) for rest in (fit.residual, error)
    )
    return [
        {
            "seed": seed,
            "parameter": name,
            "error": fit.values[name] / value - 1.0,
            "bound": best[name] / value,
            "wrong": reached > true,
        }
        for name, value in case.truth.items()
    ]


def _auto(seed: int, kind: str = "as above") -> list[dict[str, Any]]:
    """Result of an automatic fit for a random joint, parameter by parameter."""
    from stribeck import fit_friction

    rng = np.random.default_rng(10_000_000 + seed)
    stribeck, loaded, few = bool(rng.integers(2)), bool(rng.integers(2)), rng.random() < 0.25
    case = random_case(1_000_000 + seed, stribeck, loaded and not few, few, kind=kind)
    fit = fit_friction(case.w, case.tau, None if few else case.load, case.group)
    best = bounds(case)
    drop = case.truth["static"] - case.truth["coulomb"] if stribeck else 0.0
    common = {
        "seed": seed,
        "few": few,
        "stribeck": stribeck,
        "loaded": loaded and not few,
        "claims_stribeck": fit.falls,
        "claims_load": fit.load != "none",
        "drop_in_errors": drop / float(np.hypot(best["static"], best["coulomb"]))
        if stribeck
        else 0.0,
        "load_in_errors": case.truth["coulomb_coefficient"] / best["coulomb_coefficient"]
        if loaded and not few
        else 0.0,
    }
    rows = []
    for name, value in case.truth.items():
        found = fit.parameters.get(name)
        claimed = found is not None and found.low is not None and found.high is not None
        rows.append(
            {
                **common,
                "parameter": name,
                "claimed": claimed,
                "could": bool(1.96 * best[name] / value <= 0.15),
                "covered": found is not None
                and found.low is not None
                and found.high is not None
                and found.low <= value <= found.high,
                "identified": found is not None and found.verdict == "identified",
            }
        )
    return rows


def _small(of: tuple[bool, float, int]) -> list[dict[str, Any]]:
    """Result of an automatic fit for Coulomb friction, with a drop of the given
    number of standard errors.
    """
    from stribeck import fit_friction

    few, drop, seed = of
    case = random_case(3_000_000 + seed, drop > 0.0, False, few, drop=0.2)
    if drop:
        best = bounds(case)
        error = float(np.hypot(best["static"], best["coulomb"]))
        case = random_case(
            3_000_000 + seed, True, False, few, drop=drop * error / case.truth["coulomb"]
        )
    fit = fit_friction(case.w, case.tau, None, case.group)
    found, truth = fit.parameters["coulomb"], case.truth["coulomb"]
    assert found.low is not None
    assert found.high is not None
    return [
        {
            "few": few,
            "drop": drop,
            "claimed": fit.falls,
            "covered": found.low <= truth <= found.high,
            "identified": found.verdict == "identified",
            "half": (found.high - found.low) / 2.0 / truth,
        }
    ]


def _rms(values: pd.Series) -> float:
    return float(np.sqrt(np.mean(values**2)))


def _speed(scatter: float, samples: int = 100_000, rounds: int = 5) -> dict[str, list[float]]:
    """Time `fit_law` for one joint with six parameters, and SciPy's least squares with a
    numerical Jacobian, in turn.
    """
    from scipy.optimize import least_squares

    from stribeck.ident.fit.law_fit import fit_law
    from stribeck.ident.fit.points import FitPoints
    from stribeck.ident.laws.law_table import LAWS
    from stribeck.ident.laws.stribeck import stribeck

    rng = np.random.default_rng(0)
    truth = {
        "coulomb": 4.0,
        "static": 6.0,
        "stribeck_velocity": 0.06,
        "viscous": 5.0,
        "coulomb_coefficient": 0.1,
        "static_coefficient": 0.14,
    }
    group = np.repeat(np.arange(500), samples // 500)
    w, load = (
        np.exp(rng.uniform(np.log(0.01), np.log(1.5), 500))[group],
        rng.uniform(1.0, 30.0, 500)[group],
    )
    w = w * (1.0 + scatter * rng.standard_normal(samples))
    tau = (
        stribeck(w, **truth, load=load)
        + 0.1 * rng.standard_normal(samples)
        + 0.1 * rng.standard_normal(500)[group]
    )
    names = list(truth)

    def residual(x: np.ndarray) -> np.ndarray:
        return np.asarray(tau - stribeck(w, **dict(zip(names, x, strict=True)), load=load))

    seconds: dict[str, list[float]] = {"stribeck": [], "scipy": []}
    for _ in range(rounds):
        began = time.perf_counter()
        fit_law(FitPoints(w, tau, load, group), LAWS["stribeck"], "load")
        seconds["stribeck"].append(time.perf_counter() - began)
        began = time.perf_counter()
        least_squares(residual, [3.0, 5.0, 0.1, 3.0, 0.05, 0.1], bounds=(1e-9, np.inf))
        seconds["scipy"].append(time.perf_counter() - began)
    return seconds
