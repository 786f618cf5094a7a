"""Interactive figures of one joint: friction with residuals, rigid-body torque, and
residuals over time and position.
"""

from typing import Any

import numpy as np

from stribeck.experiments.report.figures import curve_speeds, level_colours
from stribeck.experiments.report.frame.interactive import (
    InteractiveFigure,
    band,
    dots,
    level,
    line,
    span,
    title,
)
from stribeck.experiments.report.frame.palette import DARK_SHADES, colour_scale, themed
from stribeck.experiments.report.joint_data import JointData
from stribeck.experiments.report.pages.joint_points import hover
from stribeck.ident.laws.law_table import law_named
from stribeck.ident.views.panels import SHADES

_PLAIN = {"color": "--point", "size": 6, "opacity": 0.8, "line": {"width": 0.5, "color": "--paper"}}
_HEIGHT, _SMALL = 520, 330  # px


def joint_figures(anchor: str, data: JointData) -> dict[str, InteractiveFigure]:
    """Return the figures of a joint by their places in the page; its table
    is named after its anchor.
    """
    return {
        f"{anchor}-friction": InteractiveFigure(anchor, *_friction(data), _HEIGHT),
        f"{anchor}-rigid": InteractiveFigure(anchor, *_rigid(data), _SMALL),
        f"{anchor}-residual": InteractiveFigure(anchor, *_residual(data), _SMALL),
    }


def _friction(data: JointData) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    w, joint, traces = curve_speeds(data), data.calibration, []
    colours = [themed(*pair) for pair in level_colours(data)] or ["--ink"]
    for at, colour in zip(data.load_levels or (None,), colours, strict=True):
        load = None if at is None else data.at_load(at, len(w))
        friction, half = joint.torque(w, load), joint.band(w, load)
        told = f"law %{{y:.4g}} {data.unit} at %{{x:.3g}} {data.angle}/s" + (
            "" if at is None else f", load {at:.3g}"
        )
        traces += [
            band(w, friction - half, friction + half, colour),
            line(w, friction, colour, hovertemplate=told + "<extra></extra>"),
        ]
    marker: dict[str, Any] = _PLAIN
    columns = {}
    if data.load is not None:
        low, *_, high = data.load_levels
        marker = {
            **_PLAIN,
            "colorscale": colour_scale(SHADES, DARK_SHADES),
            "cmin": low,
            "cmax": max(high, low + 1e-9),
            "color": None,
            "opacity": 0.9,
        }
        columns = {"marker.color": "load"}
    for axis, column in (("", "odd"), ("2", "residual")):
        own = dots("speed", column, hover(data), marker, yaxis=f"y{axis}")
        traces.append({**own, "columns": {**own["columns"], **columns}})
    error = joint.held_out_rmse
    shapes = [span(-error, error, "2"), level(0.0, "2")]
    knee = joint.parameters.get(law_named(joint.law).knee)
    if knee is not None and knee.value is not None:
        shapes.append(
            {
                "type": "line",
                "xref": "x",
                "yref": "y domain",
                "x0": knee.value,
                "x1": knee.value,
                "y0": 0,
                "y1": 1,
                "line": {"color": "--faint", "width": 1, "dash": "dot"},
            }
        )
        if knee.low is not None and knee.high is not None:
            shapes.append(
                {
                    "type": "rect",
                    "xref": "x",
                    "yref": "y domain",
                    "x0": max(knee.low, float(w[0])),
                    "x1": min(knee.high, float(w[-1])),
                    "y0": 0,
                    "y1": 1,
                    "fillcolor": "--faint",
                    "opacity": 0.12,
                    "line": {"width": 0},
                    "layer": "below",
                }
            )
    return traces, {
        "xaxis": {"type": "log", "title": {"text": f"speed, {data.angle}/s"}, "anchor": "y2"},
        "yaxis": {"domain": [0.34, 1.0], "rangemode": "tozero"},
        "yaxis2": {"domain": [0.0, 0.26]},
        "annotations": [
            title(f"friction, {data.unit}"),
            {**title(f"residual, {data.unit}", "2"), "xref": "x domain"},
        ],
        "shapes": [
            {**shape, "xref": "x domain" if shape["xref"].endswith("domain") else shape["xref"]}
            for shape in shapes
        ],
    }


def _rigid(data: JointData) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    scale, offset = data.fit.gravity["scale"].value, data.fit.gravity["offset"].value or 0.0
    if scale is None:
        return (
            [dots("position", "rest", _even(data), _PLAIN)],
            {
                "xaxis": {"title": {"text": f"position, {data.angle}"}},
                "yaxis": {},
                "shapes": [level(offset, colour="--accent")],
                "annotations": [title(f"half sum minus model, {data.unit}")],
            },
        )
    ends = np.array([data.gravity.min(), data.gravity.max()])
    told = {"hoverinfo": "skip"}
    return (
        [
            dots("gravity", "even_off", _even(data), _PLAIN),
            line(ends, scale * ends + offset, "--accent", **told),
            dots("gravity", "rest", _even(data), _PLAIN, yaxis="y2"),
            line(ends, (scale - 1.0) * ends + offset, "--accent", yaxis="y2", **told),
        ],
        {
            "xaxis": {
                "title": {"text": f"rigid-body torque of the model, {data.unit}"},
                "anchor": "y2",
            },
            "yaxis": {"domain": [0.5, 1.0]},
            "yaxis2": {"domain": [0.0, 0.38]},
            "shapes": [{**level(0.0, "2"), "xref": "x domain"}],
            "annotations": [
                title(f"half sum of torques, {data.unit}"),
                {**title(f"half sum minus model, {data.unit}", "2"), "xref": "x domain"},
            ],
        },
    )


def _even(data: JointData) -> list[tuple[str, str]]:
    """Columns and texts of a point of the rigid-body torque."""
    return [
        ("even_off", f"half sum {{:.4g}} {data.unit}"),
        ("gravity", f"model {{:.4g}} {data.unit}"),
        ("rest", f"difference {{:.3g}} {data.unit}"),
        ("position", f"at {{:.3g}} {data.angle}"),
        ("speed", f"speed {{:.3g}} {data.angle}/s"),
        ("posture", "posture {}"),
        ("name", "{}"),
    ]


def _residual(data: JointData) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    percent = [("off_place", "residual {:.2f} % of friction"), *hover(data)]
    traces = [
        dots("minutes", "off_time", percent, _PLAIN),
        dots("position", "off_place", percent, _PLAIN, xaxis="x2", yaxis="y2"),
    ]
    if data.reference.any():
        ring = {"symbol": "circle-open", "size": 10, "color": "--accent"}
        traces.append(
            {
                **dots("minutes", "off_time", [], ring, only={"warm": "yes"}),
                "hovertemplate": None,
                "hoverinfo": "skip",
            }
        )
    if data.drift:
        order = np.argsort(data.t)
        for run in data.points["run"].unique():
            rows = order[(data.points["run"] == run).to_numpy()[order]]
            ends = rows[[0, -1]]
            traces.append(
                line(
                    data.t[ends],
                    100.0 * data.drift * data.elapsed[ends],
                    "--accent",
                    hoverinfo="skip",
                )
            )
    return traces, {
        "xaxis": {"title": {"text": "time, min"}, "anchor": "y"},
        "xaxis2": {"title": {"text": f"position, {data.angle}"}, "anchor": "y2"},
        "yaxis": {"domain": [0.64, 1.0]},
        "yaxis2": {"domain": [0.0, 0.36], "anchor": "x2"},
        "shapes": [level(0.0), level(0.0, "2")],
        "annotations": [title("residual, % of friction"), title("residual, % of friction", "2")],
    }
