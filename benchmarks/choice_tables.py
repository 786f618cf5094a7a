"""Figures and page of the benchmark `choice`."""

from typing import Any

import numpy as np
import pandas as pd

from benchmarks.choice_judge import TRUTHS, interval_score
from benchmarks.choice_truths import DRIFT, KINDS, ORDERS, SERIAL

# goals: error relative to the best candidate, median and 95 % quantile
MEDIAN, MOST = 1.1, 2.3
# goals: width of bands per Cramér-Rao bound, width of intervals per oracle's width
WIDTH, PARAMETERS = 1.3, 1.15
_ROW = ["mix", "truth", "speeds", "noise"]


def page(said: pd.DataFrame) -> tuple[dict[str, Any], str]:
    """Return all figures and the tables."""
    drawn = said[~said["truth"].isin(list(TRUTHS))]
    random = drawn[drawn["order"] == "random"]
    errors, claims = _errors(drawn), _claims(said)
    held = [
        _held(key, own)
        for key, own in random.groupby(["mix", "speeds", "noise", "kind"], sort=False)
    ]
    by_truth = [_held(key, own) for key, own in random.groupby(["mix", "truth"], sort=False)]
    figures = {
        "errors": errors.to_dict("records"),
        "claims": claims.to_dict("records"),
        "intervals": held,
        "intervals_by_truth": by_truth,
    }
    return figures, "\n\n".join(
        [
            _about(drawn),
            "## Error relative to the best candidate\n",
            _errors_table(errors, drawn),
            "## Claims\n",
            _claims_table(claims),
            "## Intervals\n",
            _held_about(random),
            _held_table(held, ["mix", "speeds", "noise", "kind"]),
            "The same by kind of truth, over all speeds, noise levels and orders.",
            _held_table(by_truth, ["mix", "truth"]),
        ]
    )


def _about(drawn: pd.DataFrame) -> str:
    cases = drawn.groupby([*_ROW, "kind", "order"]).size()
    return (
        f"Joints have one round trip for each speed. There are {cases.min()} cases of each kind "
        "of truth, number of "
        "speeds, noise (fraction of Coulomb friction) and order. Drift: from the first to the "
        "last round trip friction "
        f"grows by a random fraction with standard deviation {DRIFT:g}. AR(1): the noise of "
        "successive round trips has a "
        f"correlation of {SERIAL:g}. First mix: Coulomb friction is 2 to 8 N·m, and friction "
        "rises by 0.5 to 1.5 of this "
        "value up to the fastest speed. Stribeck: drop D of 5 to 40 %, k_v w_s / D of 0.2 to 1.5. "
        "Viscous powers are 0.6 "
        "to 1. Kinks are at 0.2 to 0.7 of the fastest speed, with constant friction below. Speeds "
        "are spaced evenly in "
        "the logarithm, from 1/120 of the fastest. Shifted mix: other growth; drops of 10 to 60 % "
        "with exponents 0.8, "
        "1.4 and 3, also with a bent viscous part; powers 0.5 to 1.8; a saturating viscous part; "
        "rounded kinks; speeds "
        "spaced evenly in the square root, from 1/60 of the fastest. Fits have default options "
        "and know neither law, "
        "noise nor kind."
    )


def _errors(drawn: pd.DataFrame) -> pd.DataFrame:
    groups = drawn.groupby([*_ROW, "kind", "order"], sort=False)
    return pd.DataFrame(
        {
            "median": groups["ratio"].median(),
            "most": groups["ratio"].quantile(0.95),
            "error": groups["error"].median(),
        }
    ).reset_index()


def _errors_table(errors: pd.DataFrame, drawn: pd.DataFrame) -> str:
    cells = [(kind, order) for kind in KINDS for order in ORDERS]
    good = (errors["median"] <= MEDIAN), (errors["most"] <= MOST)
    rows = [
        "Error: rms of predicted minus true friction over 50 speeds, divided by the rms of "
        "friction. Best candidate: the "
        "law whose own fit has the least error in this case, which is known only afterwards. "
        "Cells: ratio of the error "
        f"to the error of the best candidate, median (95 % quantile). Goals: at most {MEDIAN:g} "
        f"({MOST:g}) in every cell. "
        "Last columns: all kinds and orders of the row; random order only; the same for the mean "
        "of the oracle's mixture "
        f"(below), which knows the truths; and the median error itself. Of {len(errors)} cells, "
        f"{good[0].sum()} reach the "
        f"goal of the median and {good[1].sum()} the goal of the quantile.",
        "",
        "| mix, truth | speeds, noise | "
        + " | ".join(f"{kind}, {order}" for kind, order in cells)
        + " | all | random | oracle, random | error % |",
        "|---" * (len(cells) + 6) + "|",
    ]
    for key, own in errors.groupby(_ROW, sort=False):
        mix, truth, speeds, noise = map(str, key)
        each = {
            (one["kind"], one["order"]): f"{one['median']:.2f} ({one['most']:.1f})"
            for one in own.to_dict("records")
        }
        every = drawn[(drawn[_ROW] == list(key)).all(axis=1)]
        rows.append(
            f"| {mix}, {truth} | {speeds}, {100 * float(noise):g} % | "
            + " | ".join(each.get(cell, "-") for cell in cells)
            + "".join(
                f" | {one.median():.2f} ({one.quantile(0.95):.1f})"
                for one in (
                    every["ratio"],
                    every.loc[every["order"] == "random", "ratio"],
                    every["oracle_ratio"].dropna(),
                )
            )
            + f" | {100 * every['error'].median():.2f} |"
        )
    return "\n".join(rows)


def _claims(said: pd.DataFrame) -> pd.DataFrame:
    own = said[
        said["truth"].isin(list(TRUTHS)) | ((said["speeds"] == 36) & (said["noise"] == 0.01))
    ]
    groups = own.groupby(["mix", "truth"], sort=False)
    return pd.DataFrame(
        {
            "cases": groups.size(),
            "claimed": groups["falls"].mean(),
            "undecided": groups["undecided"].mean(),
        }
    ).reset_index()


_GOALS = {
    "drop 20 %, ratio 0.8, exponent 2": "at least 95 %",
    **dict.fromkeys(
        ("Coulomb-viscous", "viscous power", "kink at 0.4", "kink at 0.6", "kink at 0.8"),
        "at most 2 %",
    ),
}


def _claims_table(claims: pd.DataFrame) -> str:
    rows = [
        "36 speeds, noise of 1 %. Single truths have white noise and random order; kinds of truth "
        "have all noise and all "
        'orders. Ratio: k_v w_s / D. Undecided: the result is "low-speed excess, shape undecided".',
        "",
        "| mix, truth | cases | Stribeck effect claimed | undecided | goal for claims |",
        "|---|---|---|---|---|",
    ]
    for one in claims.to_dict("records"):
        rows.append(
            f"| {one['mix']}, {one['truth']} | {one['cases']} | {100 * one['claimed']:.1f} % "
            f"| {100 * one['undecided']:.1f} % | {_GOALS.get(one['truth'], '-')} |"
        )
    return "\n".join(rows)


def _held(key: tuple[Any, ...], own: pd.DataFrame) -> dict[str, Any]:
    """Coverage and widths for the cases of a row."""
    names = ["mix", "truth"] if len(key) == 2 else ["mix", "speeds", "noise", "kind"]
    off, band, bound, oracle, oracle_held = (
        np.array(own[name].tolist())
        for name in ("off", "band", "bound", "oracle_band", "oracle_held")
    )
    held = np.abs(off) <= band
    clustered = held.mean(axis=1)  # the references of a case are not independent
    half = 1.96 * clustered.std(ddof=1) / np.sqrt(len(own))
    row = {
        **dict(zip(names, key, strict=True)),
        "cases": len(own),
        "held": held.mean(),
        "half": half,
        "width": band.mean() / bound.mean(),
        "oracle_held": oracle_held.mean(),
        "oracle_width": oracle.mean() / bound.mean(),
        "score": float(
            interval_score(off - band, off + band, np.zeros_like(off)).mean() / (2.0 * bound.mean())
        ),
        "draws": float(own["draws"].quantile(0.05)),
    }
    for name in ("coulomb", "static"):
        entries = [entry for entry in own[name] if isinstance(entry, dict)] if name in own else []
        if not entries:
            continue
        ours, known = (
            np.array([entry[which] for entry in entries]) for which in ("ours", "oracle")
        )
        true = np.array([entry["truth"] for entry in entries])
        row |= {
            name: float(np.mean((ours[:, 0] <= true) & (true <= ours[:, 1]))),
            f"{name}_cases": len(entries),
            f"{name}_width": float(np.ptp(ours, axis=1).mean() / np.ptp(known, axis=1).mean()),
            f"{name}_oracle": float(np.mean((known[:, 0] <= true) & (true <= known[:, 1]))),
            f"{name}_score": float(
                interval_score(ours[:, 0], ours[:, 1], true).mean()
                / interval_score(known[:, 0], known[:, 1], true).mean()
            ),
        }
    return row


def _held_about(random: pd.DataFrame) -> str:
    return (
        f"{len(random)} cases, round trips in random order. Friction is judged at five speeds, "
        "spaced evenly in the "
        "logarithm over the tested range. Columns: share of 95 % intervals that contain the "
        "truth, with the 95 % "
        "interval of this share (clustered by case); mean width of the intervals relative to the "
        "Cramér-Rao bound for "
        f"the truth's own family. Goals: 95 % inside the interval, width at most {WIDTH:g}. The "
        "oracle is a Bayes mixture "
        "of all truths of the mix, with the prior of the draws (`benchmarks/choice_oracle.py`). "
        "`coulomb` and `static`: "
        "share of reported intervals that contain C and C + D; their mean width relative to the "
        "oracle's (goal: at most "
        f"{PARAMETERS:g}); and their interval score relative to the oracle's (Gneiting and "
        "Raftery). Without an excess, C "
        "+ D is C. `static` is judged only if it is reported."
    )


def _held_table(held: list[dict[str, Any]], names: list[str]) -> str:
    rows = [
        "| "
        + ", ".join(names)
        + " | cases | friction covered % | width | interval score, in bounds | oracle: covered "
        "%, width | coulomb covered %, width, score | static covered %, width, score | cases "
        "with static |",
        "|---" * 9 + "|",
    ]
    for one in held:
        cells = []
        for name in ("coulomb", "static"):
            cells.append(
                "-"
                if f"{name}_cases" not in one
                else f"{100 * one[name]:.1f}, {one[f'{name}_width']:.2f}, "
                f"{one[f'{name}_score']:.2f}"
            )
        label = ", ".join(
            f"{100 * one[name]:g} %" if name == "noise" else str(one[name]) for name in names
        )
        rows.append(
            f"| {label} | {one['cases']} | {100 * one['held']:.1f} ± {100 * one['half']:.1f} | "
            f"{one['width']:.2f} "
            f"| {one['score']:.2f} | {100 * one['oracle_held']:.1f}, {one['oracle_width']:.2f} | "
            f"{cells[0]} | {cells[1]} "
            f"| {one.get('static_cases', 0)} |"
        )
    return "\n".join(rows)
