"""Choice of the law of one joint with known truth: errors of predictions,
claims, and widths of intervals.
"""

import argparse
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import pandas as pd

from benchmarks.choice_judge import TRUTHS, Case, judge
from benchmarks.choice_tables import figures_of, table
from benchmarks.choice_truths import MIXES, Condition, conditions

__all__ = ["arguments", "run", "table"]

CLAIMED = Condition(36, 0.01, "white", "random")  # condition of the rows about claims


def arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the benchmark."""
    parser.add_argument(
        "--cases",
        type=int,
        default=4,
        help="cases of each kind of truth, number of speeds, noise and order",
    )
    parser.add_argument(
        "--claims",
        type=int,
        default=60,
        help="cases of each truth that has a goal for Stribeck claims",
    )
    parser.add_argument(
        "--first",
        type=int,
        default=1_000_000,
        help="seed of the first case; another seed gives new cases",
    )
    parser.add_argument(
        "--mixes",
        dest="parts",
        nargs="+",
        choices=tuple(MIXES),
        help="compute only these parts and leave page and results unchanged",
    )
    parser.add_argument("--jobs", type=int, default=2)


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Fit and judge all cases."""
    mixes = [MIXES[name] for name in options.parts or MIXES]
    cases = [
        Case(mix.name, k, family.name, how, seed, how.order == "random")
        for mix in mixes
        for k, family in enumerate(mix.families)
        for how in conditions(mix)
        for seed in range(options.first, options.first + options.cases)
    ]
    cases += [
        Case("first", 0, name, CLAIMED, seed, False)
        for name in TRUTHS
        for seed in range(options.first, options.first + options.claims)
    ]
    with ProcessPoolExecutor(options.jobs) as pool:
        said = pd.DataFrame(pool.map(judge, cases, chunksize=8))
    return figures_of(said)
