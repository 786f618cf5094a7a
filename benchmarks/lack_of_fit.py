"""Detection of wrong laws: false alarms, detected misfits, and coverage of the widened band.

Truths and noise are computed here, without the package.
"""

import argparse
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from scipy.stats import beta

from benchmarks.page import Table
from stribeck.ident.fit.choice.selection import select
from stribeck.ident.fit.fit_result import FitResult
from stribeck.ident.fit.points import FitPoints
from stribeck.ident.fit.residuals.holding import with_lack_of_fit

Curve = Callable[[np.ndarray], np.ndarray]
SLOWEST, FASTEST = 0.02, 1.0  # rad/s
PLACES = 4  # number of points of a round trip
FALSE, POWER, HELD = 0.01, 0.90, 0.85  # goals for false alarms, detected misfits, and coverage


@dataclass(frozen=True)
class Row:
    """One row of the table.

    Attributes
    ----------
    truth, law : str
        True friction over speed, and the fitted law; "auto" lets the fit choose the law.
    trips : int
        Number of round trips, each at another speed.
    size : float
        Rms residual of the best fit at these speeds, relative to the scatter of the
        levels; 0 for a right law.
    wander : float
        Correlation of successive levels.
    """

    truth: str
    law: str
    trips: int
    size: float = 0.0
    wander: float = 0.0


RIGHT: dict[str, Curve] = {
    "Coulomb-viscous": lambda w: 2.0 + 3.0 * w,
    "Stribeck": lambda w: 2.0 + 3.0 * w + np.exp(-((w / 0.1) ** 2)),
}
WRONG: dict[str, tuple[str, Curve]] = {  # right law, and the shape of the added misfit
    "viscous power 0.6": ("Coulomb-viscous", lambda w: w**0.6),
    "kink at 0.3": ("Coulomb-viscous", lambda w: np.maximum(0.0, w - 0.3)),
    "drop at 0.1": ("Coulomb-viscous", lambda w: np.exp(-((w / 0.1) ** 2))),
    "exponent 0.6": ("Stribeck", lambda w: np.exp(-((w / 0.1) ** 0.6)) - np.exp(-((w / 0.1) ** 2))),
    "two waves": (
        "Stribeck",
        lambda w: np.sin(4.0 * np.pi * np.log(w / SLOWEST) / np.log(FASTEST / SLOWEST)),
    ),
}
NAMES = {"Coulomb-viscous": "coulomb-viscous", "Stribeck": "stribeck"}
ROWS = (
    *(
        Row(truth, law, trips)
        for truth, trips in product(RIGHT, (16, 36))
        for law in (NAMES[truth], "auto")
    ),
    *(Row(truth, NAMES[truth], 36, wander=0.5) for truth in RIGHT),
    *(
        Row(truth, NAMES[WRONG[truth][0]], trips, size)
        for truth, trips, size in product(WRONG, (36, 48), (1.0, 2.0))
    ),
)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the benchmark."""
    parser.add_argument(
        "--joints",
        type=int,
        default=1000,
        help="joints of each row with a right law; rows with a wrong law have a fifth",
    )
    parser.add_argument("--jobs", type=int, default=2)


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Fit every joint of every row."""
    figures = []
    with ProcessPoolExecutor(options.jobs) as pool:
        for row in ROWS:
            joints = options.joints if not row.size else options.joints // 5
            found = list(pool.map(partial(judged, row), range(joints), chunksize=10))
            held = [share for alarm, share in found if alarm]
            figures.append(
                {
                    **vars(row),
                    "joints": joints,
                    "alarms": sum(alarm for alarm, _ in found),
                    "held": float(np.mean(held)) if held else None,
                }
            )
    return {"rows": figures}


_COLUMNS = {  # round trips, size of the misfit, correlation of the levels
    "16 trips": (16, 0.0, 0.0),
    "36 trips": (36, 0.0, 0.0),
    "36, correlation 0.5": (36, 0.0, 0.5),
    "36, misfit 1": (36, 1.0, 0.0),
    "48, misfit 1": (48, 1.0, 0.0),
    "36, misfit 2": (36, 2.0, 0.0),
}


def table(figures: dict[str, Any]) -> Table:
    """Return a row for each truth and law."""
    shares = {
        (row["truth"], row["law"], row["trips"], row["size"], row["wander"]): 100.0
        * row["alarms"]
        / row["joints"]
        for row in figures["rows"]
    }
    rows = []
    for truth, law in dict.fromkeys((row["truth"], row["law"]) for row in figures["rows"]):
        cells = [shares.get((truth, law, *column)) for column in _COLUMNS.values()]
        rows.append([truth, law, *("-" if cell is None else f"{cell:.1f}" for cell in cells)])
    held = [row["held"] for row in figures["rows"] if row["held"] is not None]
    return Table(
        f"Per cent of {figures['rows'][0]['joints']} joints (wrong laws: a fifth) whose law is "
        "called wrong. A misfit is the rms residual of the wrong law relative to the scatter of "
        f"round trips. Goals: at most {100 * FALSE:g} % for a right law, at least {100 * POWER:g} "
        f"% at misfit 1, {100 * HELD:g} % of the states in the band after an alarm (least: "
        f"{100.0 * min(held, default=1.0):.0f} %).",
        ["truth", "law fitted", *_COLUMNS],
        rows,
    )


def judged(row: Row, seed: int) -> tuple[bool, float]:
    """Whether the law of one joint is called wrong, and the share of states at which its
    band then contains the truth.
    """
    random = np.random.default_rng([seed, ROWS.index(row) if row in ROWS else len(ROWS)])
    truth = friction_of(row)
    data, position, load = points(row, truth, random)
    fit = select(data, {"load": load}, () if row.law == "auto" else (row.law,))
    found = with_lack_of_fit(fit, position)
    return bool(found.lack_of_fit), held(found, truth, load)


# scatter of levels [N·m], noise [N·m], Coulomb friction per load
LEVEL, NOISE, LOAD = 0.03, 0.02, 0.1


def friction_of(row: Row) -> Curve:
    """Friction over speed at zero load."""
    if not row.size:
        return RIGHT[row.truth]
    base, shape = WRONG[row.truth]
    w = np.geomspace(SLOWEST, FASTEST, row.trips)
    columns = np.column_stack(list(_columns(base, w)))
    left = shape(w) - columns @ np.linalg.lstsq(columns, shape(w), rcond=None)[0]
    factor = row.size * LEVEL / np.sqrt(np.mean(left**2))
    return lambda speed: RIGHT[base](speed) + factor * shape(speed)


def _columns(base: str, w: np.ndarray) -> Iterator[np.ndarray]:
    """Regression columns of the right law."""
    yield from (np.ones_like(w), w)
    if base == "Stribeck":
        fall = np.exp(-((w / 0.1) ** 2))
        yield from (fall, w**2 * fall)


def points(
    row: Row, truth: Curve, random: np.random.Generator
) -> tuple[FitPoints, np.ndarray, np.ndarray]:
    """Points of a joint with speeds in random order, with their positions and loads."""
    trips, group = row.trips, np.repeat(np.arange(row.trips), PLACES)
    level = random.standard_normal(trips)
    for k in range(1, trips):
        level[k] = row.wander * level[k - 1] + np.sqrt(1.0 - row.wander**2) * level[k]
    time, speed = random.permutation(trips), np.geomspace(SLOWEST, FASTEST, trips)
    load = random.uniform(5.0, 20.0, trips)[group]
    position = (
        np.tile(np.linspace(-1.0, 1.0, PLACES), trips) + random.uniform(-0.3, 0.3, trips)[group]
    )
    tau = (
        (truth(speed) + LEVEL * level[time])[group]
        + LOAD * load
        + NOISE * random.standard_normal(len(group))
    )
    return FitPoints(speed[group], tau, None, group, time=time.astype(float)), position, load


def held(fit: FitResult, truth: Curve, load: np.ndarray) -> float:
    """Share of speeds and loads at which the band contains the truth."""
    grid = np.meshgrid(np.geomspace(SLOWEST, FASTEST, 50), np.linspace(load.min(), load.max(), 20))
    speed, level = (values.ravel() for values in grid)
    return float(
        np.mean(
            np.abs(fit.predict(speed, level) - truth(speed) - LOAD * level)
            <= fit.band(speed, level)
        )
    )


def interval(count: int, of: int) -> tuple[float, float]:
    """Clopper-Pearson interval of a proportion."""
    return (
        float(beta.ppf(0.025, count, of - count + 1)) if count else 0.0,
        float(beta.ppf(0.975, count + 1, of - count)) if count < of else 1.0,
    )
