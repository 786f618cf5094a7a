"""The estimator against random truths: efficiency, coverage, claims, verdicts
and refusals, and its speed.
"""

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Iterable
from concurrent.futures import Executor, ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks import spoiled
from stribeck import FitResult

# noise of points, of round trips, and along position, per Coulomb friction
WHITE, SCATTER, RIPPLE = 0.02, 0.03, 0.03
BINS = 6
KINDS = ("as above", "no ripple", "grows with friction", "heavy tails", "correlated round trips")
SCENARIOS = (
    "no low speeds",
    "load hardly varies",
    "one direction",
    "both directions",
    "no Stribeck drop",
    "viscous friction bends at high speed",
    "two speeds",
    "torque of the wrong sign",
)
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


def run(options: argparse.Namespace) -> tuple[dict[str, Any], str]:
    """Run all parts, or the requested parts, with cases in parallel."""
    figures, parts = {}, [_noise_text()]
    with ProcessPoolExecutor(options.jobs) as pool:
        for name in options.parts or PARTS:
            figures[name], text = PARTS[name](pool, options)
            parts.append(text)
    return figures, "\n\n".join(parts)


def _seeds(options: argparse.Namespace, count: int) -> range:
    return range(options.first, options.first + count)


def _efficiency_part(pool: Executor, options: argparse.Namespace) -> tuple[Any, str]:
    known = _table(pool, _efficiency, _seeds(options, options.truths))
    return (
        {
            name: {key: _rms(own[key]) for key in ("error", "bound")}
            for name, own in known.groupby("parameter")
        },
        f"## Efficiency, law known\n\n{_efficiency_table(known, options.truths)}",
    )


def _coverage_part(pool: Executor, options: argparse.Namespace) -> tuple[Any, str]:
    auto = _table(pool, _auto, _seeds(options, options.cases))
    coverage = auto.groupby(["few", "parameter"])["covered"].mean().unstack().to_dict("index")
    return (
        {"8 round trips" if few else "36 round trips": own for few, own in coverage.items()},
        "\n\n".join(
            [
                '## Coverage, `law="auto"`, all verdicts',
                _coverage_table(auto, options.cases),
                "## Claims",
                _claims_table(auto.drop_duplicates("seed")),
            ]
        ),
    )


def _small_part(pool: Executor, options: argparse.Namespace) -> tuple[Any, str]:
    table = _table(
        pool,
        _small,
        [
            (few, drop, seed)
            for few in (False, True)
            for drop in DROPS
            for seed in _seeds(options, options.others)
        ],
    )
    covered = table.groupby(["few", "drop"])["covered"].mean().unstack()
    return (
        {
            "8 round trips" if few else "36 round trips": own
            for few, own in covered.to_dict("index").items()
        },
        f"## Coverage where a drop is small\n\n{_small_table(table)}",
    )


def _noise_part(pool: Executor, options: argparse.Namespace) -> tuple[Any, str]:
    others = {
        kind: _table(pool, partial(_auto, kind=kind), _seeds(options, options.others))
        for kind in KINDS
        if kind != "as above"
    }
    return (
        {
            kind: auto[~auto["few"] & auto["claimed"]]
            .groupby("parameter")["covered"]
            .mean()
            .to_dict()
            for kind, auto in others.items()
        },
        f"## Coverage under noise of another kind\n\n{_others_table(others)}",
    )


def _verdicts_part(pool: Executor, options: argparse.Namespace) -> tuple[Any, str]:
    trials = _table(
        pool,
        _trial,
        [(name, seed) for name in SCENARIOS for seed in _seeds(options, options.trials)],
    )
    return (
        trials.groupby("scenario")["right"].mean().to_dict(),
        f"## Verdicts and refusals, points of a joint\n\n{_trials_table(trials)}",
    )


def _runs_part(pool: Executor, options: argparse.Namespace) -> tuple[Any, str]:
    with tempfile.TemporaryDirectory() as folder:
        trials = spoiled.trials(Path(folder), pool, options.trials, options.first)
    return (
        trials.groupby("scenario")["wrong"]
        .agg(list)
        .map(lambda wrong: [text for text in wrong if text])
        .to_dict(),
        f"## Verdicts and refusals, recorded runs\n\n{spoiled.table(trials)}",
    )


def _speed_part(pool: Executor, options: argparse.Namespace) -> tuple[Any, str]:
    speed = {text: _speed(scatter) for text, scatter in SPEEDS.items()}
    return speed, f"## Speed\n\n{_speed_table(speed)}"


PARTS: dict[str, Callable[[Executor, argparse.Namespace], tuple[Any, str]]] = {
    "efficiency": _efficiency_part,
    "coverage": _coverage_part,
    "small": _small_part,
    "noise": _noise_part,
    "verdicts": _verdicts_part,
    "runs": _runs_part,
    "speed": _speed_part,
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


def _noise_text() -> str:
    return (
        "The joints are random: Coulomb friction of 1 to 10 N·m, 12 speeds in three postures "
        "(with few round trips: 8 "
        f"speeds in one posture), {BINS} bins a round trip. The noise, in per cent of Coulomb "
        "friction: white noise of "
        f"{100 * WHITE:.0f} in every bin, a deviation of {100 * SCATTER:.0f} in the level of "
        "every round trip, ripple "
        f"along the position with an amplitude of {100 * RIPPLE:.0f}."
    )


def _rms(values: pd.Series) -> float:
    return float(np.sqrt(np.mean(values**2)))


def _efficiency_table(known: pd.DataFrame, truths: int) -> str:
    rows = [
        f"{truths} truths, half of them with load. Errors are in per cent of the truth. Goal: at "
        "most 1.15 times the "
        "Cramér-Rao bound. In some truths the load hardly varies; their large errors dominate "
        "both root mean squares, and "
        "the largest few dominate the ratio. The last column therefore gives all truths the same "
        "weight.",
        "",
        "| parameter | rms error | rms Cramér-Rao bound of the true noise | ratio | largest error "
        "| rms of error / own "
        "bound |",
        "|---|---|---|---|---|---|",
    ]
    for name in PARAMETERS:
        own = known[known["parameter"] == name]
        rms, bound, most = _rms(own["error"]), _rms(own["bound"]), own["error"].abs().max()
        rows.append(
            f"| {name} | {100 * rms:.2f} | {100 * bound:.2f} | {rms / bound:.3f} | "
            f"{100 * most:.1f} | "
            f"{_rms(own['error'] / own['bound']):.3f} |"
        )
    wrong = known.drop_duplicates("seed")["wrong"].sum()
    return "\n".join(
        [
            *rows,
            "",
            "Fits whose misfit is greater than the misfit of the truth, so that the fit ended in "
            "a wrong "
            f"optimum: {wrong}.",
        ]
    )


def _coverage_table(auto: pd.DataFrame, cases: int) -> str:
    rows = [
        f"{cases} cases; half of them have a Stribeck effect, half have a load. Goal: 95 % "
        "intervals contain the truth in "
        "93 to 97 % of the cases, with few round trips in at least 92 %. A parameter that is not "
        "claimed has no interval. "
        "The columns in brackets count such a parameter as missed.",
        "",
        "| parameter | 36 round trips | (all cases) | 8 round trips | (all cases) |",
        "|---|---|---|---|---|",
    ]
    for name in PARAMETERS:
        cells = []
        for few in (False, True):
            own = auto[(auto["parameter"] == name) & (auto["few"] == few)]
            claimed = own[own["claimed"]]
            cells += (
                ["-", "-"]
                if own.empty
                else [
                    f"{100 * claimed['covered'].mean():.1f} % of {len(claimed)}",
                    f"({100 * own['covered'].mean():.1f} %)",
                ]
            )
        rows.append(f"| {name} | {' | '.join(cells)} |")
    could = auto[auto["could"]]
    rows += [
        "",
        "Of the parameters that a perfect estimator could identify (Cramér-Rao bound within 15 %), "
        f"{100 * could['identified'].mean():.1f} % are `identified` (goal: 90 %).",
    ]
    return "\n".join(rows)


def _small_table(table: pd.DataFrame) -> str:
    rows = [
        f'Coulomb friction, `law="auto"`, {len(table) // (2 * len(DROPS))} cases a row. The table '
        "states the drop in "
        "standard errors of a fit that knows the law. If the estimator does "
        "not claim the drop, the intervals of the simpler law must still contain the truth.",
        "",
        "| round trips | drop | Stribeck effect claimed | interval holds the truth | identified | "
        "half width, median |",
        "|---" * 6 + "|",
    ]
    for (few, drop), own in table.groupby(["few", "drop"]):
        claimed, covered, identified = (
            100.0 * own[["claimed", "covered", "identified"]].mean()
        ).tolist()
        rows.append(
            f"| {8 if few else 36} | {drop:g} | {claimed:.0f} % | {covered:.1f} % | "
            f"{identified:.0f} % | "
            f"{100 * own['half'].median():.1f} % |"
        )
    return "\n".join(rows)


def _others_table(others: dict[str, pd.DataFrame]) -> str:
    rows = [
        'The same cases with 36 round trips. "Grows with friction": the level of a round trip '
        "deviates by 3 % of its "
        'friction. "Heavy tails": the level has Student\'s t distribution with three degrees of '
        'freedom. "Correlated '
        'round trips": successive levels have a correlation of 0.5. If the residuals show the '
        "correlation, intervals are "
        "widened. 36 round trips show the correlation in about two of three cases.",
        "",
        f"| parameter | {' | '.join(others)} |",
        f"|---|{'---|' * len(others)}",
    ]
    for name in PARAMETERS:
        own = [
            auto[(auto["parameter"] == name) & ~auto["few"] & auto["claimed"]]
            for auto in others.values()
        ]
        cells = (f"{100 * one['covered'].mean():.1f} % of {len(one)}" for one in own)
        rows.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(rows)


def _claims_table(claims: pd.DataFrame) -> str:
    strong = claims[claims["stribeck"] & (claims["drop_in_errors"] > 4.0)]
    heavy = claims[claims["loaded"] & (claims["load_in_errors"] > 4.0)]
    many = claims[~claims["few"]]
    rows = [
        ("Stribeck drop above four standard errors", strong, "claims_stribeck", "at least 95 %"),
        ("no Stribeck drop", claims[~claims["stribeck"]], "claims_stribeck", "at most 2 %"),
        ("load part above four standard errors", heavy, "claims_load", "at least 95 %"),
        ("no load part", many[~many["loaded"]], "claims_load", "at most 2 %"),
    ]
    return "\n".join(
        [
            "| truth | cases | claimed | goal |",
            "|---|---|---|---|",
            *(
                f"| {text} | {len(own)} | {100 * own[key].mean():.1f} % | {goal} |"
                for text, own, key, goal in rows
            ),
        ]
    )


def _trials_table(trials: pd.DataFrame) -> str:
    right = {
        "no low speeds": "static and w_s not `identified`",
        "load hardly varies": "no load part",
        "one direction": "Stribeck effect found",
        "both directions": "Stribeck effect found",
        "no Stribeck drop": "no Stribeck effect claimed",
        "viscous friction bends at high speed": "no Stribeck effect claimed",
        "two speeds": "refused",
        "torque of the wrong sign": "refused",
    }
    rows = [
        "Goal: at least 98 %.",
        "",
        "| scenario | right is | cases | right |",
        "|---|---|---|---|",
    ]
    for name in SCENARIOS:
        own = trials[trials["scenario"] == name]
        rows.append(f"| {name} | {right[name]} | {len(own)} | {100 * own['right'].mean():.1f} % |")
    return "\n".join(rows)


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


def _speed_table(speeds: dict[str, dict[str, list[float]]]) -> str:
    rows = [
        "One joint, 100,000 samples in 500 round trips, six parameters. The two programs run in "
        "turn; the table has "
        "medians. `fit_law` searches globally and returns noise model, intervals and verdicts. "
        "`scipy.optimize.least_squares` has a numerical Jacobian and one start, and returns no "
        "intervals. Goal: a ratio of "
        "at most 0.33 at commanded velocities.",
        "",
        "| velocities | `fit_law` s | SciPy s | ratio |",
        "|---|---|---|---|",
    ]
    for text, speed in speeds.items():
        ours, scipy = (np.array(speed[name]) for name in ("stribeck", "scipy"))
        rows.append(
            f"| {text} | {np.median(ours):.3f} | {np.median(scipy):.3f} | "
            f"{np.median(ours / scipy):.2f} |"
        )
    return "\n".join(rows)
