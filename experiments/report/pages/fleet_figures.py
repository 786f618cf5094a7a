"""Figures of a fleet, interactive and still: joints x arms, and every
joint by arm and over time.
"""

from collections.abc import Mapping, Sequence, Set
from typing import Any

import numpy as np
import pandas as pd
from markupsafe import Markup
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

from stribeck.experiments.report.frame.interactive import (
    InteractiveFigure,
    dots,
    level,
    numbers,
    span,
    title,
)
from stribeck.experiments.report.frame.palette import COLOURS, DARK, LIGHT, themed
from stribeck.experiments.report.svg import inline
from stribeck.ident.fleet.fleet_picture import draw_fleet

_CLIP = 0.98  # quantile of the deviations at which the colours of joints x arms end
_LEAST = 5.0  # least deviation at which they end [%]
_FEW = 30  # arms up to which their names are on an axis
_WIDE = (9.0, 2.3)  # inches
_COARSE = 80  # pixels per inch of many arms
_HEIGHT, _ROW = 340, 34  # px: figure of a joint, joint in joints x arms
_HOVER = [
    ("arm", "{}"),
    ("calibration", "{}"),
    ("day", "{}"),
    ("percent", "{:+.1f} % of the population"),
    ("friction", "friction {:.4g} {unit}"),
    ("half", "± {:.2g} {unit} (95 %)"),
    ("verdict", "{}"),
]


def by_arm(rows: pd.DataFrame, joints: Sequence[str]) -> pd.DataFrame:
    """Return the deviation of the newest calibration from the population [%]: joints
    as rows, arms as columns.
    """
    newest = rows.sort_values("created").groupby(["joint", "arm"], sort=False).tail(1)
    table = newest.pivot(index="joint", columns="arm", values="ratio").reindex(index=list(joints))
    return 100.0 * (table - 1.0)


def matrix(table: pd.DataFrame, marked: Set[tuple[str, str]]) -> InteractiveFigure:
    """Return joints x arms: colours for deviations, diamonds where a joint differs."""
    end, few = _end(table), table.shape[1] <= _FEW
    found = [
        (arm, joint) for joint in table.index for arm in table.columns if (joint, arm) in marked
    ]
    colours = [
        [k / 2, themed(LIGHT[name], DARK[name])] for k, name in enumerate(("low", "middle", "high"))
    ]
    data: list[dict[str, Any]] = [
        {
            "type": "heatmap",
            "x": list(table.columns),
            "y": list(table.index),
            "z": [numbers(row) for row in table.to_numpy()],
            "zmin": -end,
            "zmax": end,
            "colorscale": colours,
            "xgap": 1 if few else 0,
            "ygap": 2,
            "colorbar": {
                "thickness": 10,
                "len": 1.0,
                "outlinewidth": 0,
                "ticksuffix": " %",
                "tickfont": {"color": "--muted"},
            },
            "hovertemplate": "%{x}<br>%{y}<br>%{z:+.1f} % of the population<extra></extra>",
        },
        {
            "type": "scatter",
            "mode": "markers",
            "x": [arm for arm, _ in found],
            "y": [joint for _, joint in found],
            "hoverinfo": "skip",
            "marker": {
                "symbol": "diamond",
                "size": 9,
                "color": "--ink",
                "line": {"width": 1, "color": "--paper"},
            },
        },
    ]
    return InteractiveFigure(
        "arms",
        data,
        {
            "xaxis": {**_arms_axis(list(table.columns)), "range": [-0.5, table.shape[1] - 0.5]},
            "yaxis": {"type": "category", "autorange": "reversed", "showgrid": False},
        },
        130 + _ROW * len(table),
    )


def still_matrix(table: pd.DataFrame, marked: Set[tuple[str, str]]) -> Markup:
    """Draw joints x arms for paper and readers without scripts."""
    end = _end(table)
    figure = Figure(figsize=(_WIDE[0], 0.32 * len(table) + 0.9), layout="constrained")
    ax = figure.subplots()
    shades = LinearSegmentedColormap.from_list(
        "deviation", [LIGHT[name] for name in ("low", "middle", "high")]
    )
    image = ax.imshow(
        table.to_numpy(), aspect="auto", cmap=shades, vmin=-end, vmax=end, interpolation="nearest"
    )
    joint, arm = (
        np.array(
            [
                (j, a)
                for j, name in enumerate(table.index)
                for a, own in enumerate(table.columns)
                if (name, own) in marked
            ]
        )
        .reshape(-1, 2)
        .T
    )
    ax.plot(
        arm,
        joint,
        "D",
        color=COLOURS.ink,
        markersize=4.0,
        markeredgecolor="white",
        markeredgewidth=0.5,
    )
    ax.set_yticks(range(len(table)), list(table.index), parse_math=False)
    few = table.shape[1] <= _FEW
    ax.set_xticks(
        range(table.shape[1]) if few else [],
        list(table.columns) if few else [],
        rotation=90,
        parse_math=False,
    )
    ax.set_xlabel(_arms_title(table.shape[1]))
    ax.grid(False)
    figure.colorbar(image, ax=ax, format="%+.0f %%", pad=0.01)
    return inline(
        figure,
        "Deviation of every joint of every arm from the population, in percent; diamonds differ",
    )


def joint_figures(
    anchor: str, arms: Sequence[str], normal: tuple[float, float], unit: str
) -> dict[str, InteractiveFigure]:
    """Return a joint by arm and over time; its table is named after its anchor, `normal` is
    relative to the mean [%].
    """
    few = len(arms) <= _FEW
    told = [(column, text.replace("{unit}", unit)) for column, text in _HOVER]
    small = {"size": 4, "color": "--faint"}
    plain, odd = (
        {"size": 7 if few else 5, "color": "--point"},
        {"size": 9, "symbol": "diamond", "color": "--accent"},
    )
    picked = {
        "symbol": "circle-open",
        "size": 15,
        "color": "--ink",
        "line": {"width": 2, "color": "--ink"},
    }
    shapes, head = [span(*normal), level(0.0)], [title("friction relative to the population, %")]

    def traces(x: str) -> list[dict[str, Any]]:
        return [
            dots(x, "percent", told, small, only={"group": "earlier"}),
            dots(x, "percent", told, plain, only={"group": "normal"}),
            dots(x, "percent", told, odd, only={"group": "differs"}),
            {
                **dots(x, "percent", told, picked, picked="arm"),
                "mode": "markers+lines" if x == "day" else "markers",
                "line": {"color": "--ink", "width": 1.5},
            },
        ]

    lines = {
        "type": "scatter",
        "mode": "lines",
        "columns": {"x": "day", "y": "percent"},
        "breaks": "arm",
        "hoverinfo": "skip",
        "line": {"color": "--faint", "width": 1},
        "opacity": 0.45 if few else 0.15,
    }
    moved = {
        **lines,
        "only": {"moves": "yes"},
        "line": {"color": "--accent", "width": 1.8},
        "opacity": 1,
    }
    panel = {"yaxis": {}, "shapes": shapes, "annotations": head}
    return {
        f"{anchor}-arms": InteractiveFigure(
            anchor,
            traces("arm"),
            {"xaxis": {**_arms_axis(arms), "range": [-0.8, len(arms) - 0.2]}, **panel},
            _HEIGHT,
        ),
        f"{anchor}-time": InteractiveFigure(
            anchor, [lines, moved, *traces("day")], {"xaxis": {"type": "date"}, **panel}, _HEIGHT
        ),
    }


def still_over_time(rows: pd.DataFrame, normal: tuple[float, float], moved: Set[str]) -> Markup:
    """Draw a joint of all arms over time; arms that changed have another colour and their names."""
    many = rows["arm"].nunique() > _FEW
    figure = Figure(figsize=_WIDE, layout="constrained", dpi=_COARSE if many else None)
    ax = figure.subplots()
    ax.axhspan(*normal, color=COLOURS.band, alpha=0.45, linewidth=0.0)
    ax.axhline(0.0, color=COLOURS.faint, linewidth=0.8)
    for name, own in rows.sort_values("created").groupby("arm", sort=False):
        percent, changed = 100.0 * (own["ratio"].to_numpy() - 1.0), name in moved
        ax.plot(
            own["created"].to_numpy(),
            percent,
            "o-",
            markersize=2.4 if many else 3.4,
            linewidth=1.4 if changed else 0.5,
            color=COLOURS.accent if changed else COLOURS.point,
            alpha=1.0 if changed else 0.45,
            zorder=3 if changed else 2,
            rasterized=many and not changed,
        )
        if changed:
            ax.annotate(
                str(name),
                (own["created"].to_numpy()[-1], percent[-1]),
                (4, 0),
                textcoords="offset points",
                color=COLOURS.accent,
                va="center",
                fontsize=7.5,
                parse_math=False,
            )
    ax.set_title("friction relative to the population, %")
    return inline(
        figure,
        "Friction of the joint of every arm over time, in percent of the population, with the "
        "normal range",
    )


def still_by_arm(
    rows: pd.DataFrame, joint: str, normal: tuple[float, float], marked: Set[tuple[str, str]]
) -> Markup:
    """Draw a joint by arm; marks of many arms are a bitmap, so that the page stays small."""
    figure = draw_fleet(rows, {joint: normal}, marked)
    if rows["arm"].nunique() > _FEW:
        for part in figure.axes[0].collections:
            part.set_rasterized(True)
    return inline(
        figure, f"Friction of {joint} by arm, in percent of the population, with the normal range"
    )


def point_columns(rows: pd.DataFrame, marked: Set[str], moved: Set[str]) -> Mapping[str, Any]:
    """Return the columns of a joint's table: those of the fleet's table, and what figures need."""
    rows = rows.sort_values(["arm", "created"])
    newest = ~rows["arm"].duplicated(keep="last").to_numpy()
    arm = [str(name) for name in rows["arm"]]
    group = [
        "earlier" if not new else "differs" if name in marked else "normal"
        for name, new in zip(arm, newest, strict=True)
    ]
    return {
        "joint": [str(one) for one in rows["joint"]],
        "arm": arm,
        "calibration": [str(one) for one in rows["calibration"]],
        "day": [
            moment.isoformat(timespec="minutes").removesuffix("+00:00")
            for moment in rows["created"]
        ],
        "friction": rows["friction"].to_numpy(),
        "std_error": rows["std_error"].to_numpy(),
        "half": 1.96 * rows["std_error"].to_numpy(),
        "unit": [str(one) for one in rows["unit"]],
        "ratio": rows["ratio"].to_numpy(),
        "percent": 100.0 * (rows["ratio"].to_numpy() - 1.0),
        "adjusted": rows["adjusted"].to_numpy(dtype=float),
        "group": group,
        "moves": ["yes" if name in moved else "no" for name in arm],
        "verdict": [
            "earlier calibration"
            if one == "earlier"
            else "differs"
            if one == "differs"
            else "within the fleet"
            for one in group
        ],
    }


def _arms_axis(arms: Sequence[str]) -> dict[str, Any]:
    """An axis with a place for each arm, and names if they are few."""
    few = len(arms) <= _FEW
    return {
        "type": "category",
        "categoryarray": list(arms),
        "categoryorder": "array",
        "showticklabels": few,
        "showgrid": False,
        "ticks": "outside" if few else "",
        "title": {"text": _arms_title(len(arms))},
    }


def _arms_title(count: int) -> str:
    return "arm" if count <= _FEW else f"{count} arms, in the order of their names"


def _end(table: pd.DataFrame) -> float:
    return max(_LEAST, float(np.nanquantile(np.abs(table.to_numpy(dtype=float)), _CLIP)))
