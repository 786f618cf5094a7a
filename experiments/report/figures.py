"""Figures of one joint. Call them inside `svg.drawing_style`."""

import numpy as np
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import Normalize, to_hex
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullFormatter

from stribeck.experiments.report.frame.palette import COLOURS, DARK_SHADES
from stribeck.experiments.report.joint_data import JointData
from stribeck.experiments.report.svg import inline
from stribeck.experiments.report.words import load_word
from stribeck.ident.arrays import Array
from stribeck.ident.laws.law_table import law_named
from stribeck.ident.views.panels import load_map

# number of points from which marks are drawn as a bitmap, so that the page stays small
_RASTER = 300
_COARSE = 100  # pixels per inch of a bitmap
_LARGE, _SMALL = (4.7, 5.3), (3.6, 2.9)  # inches; about the width of the figures on the page
_CURVE = 120  # points of a curve
_ROOM = 1.18  # factor by which the speed axis extends beyond the data at either end


def level_colours(data: JointData) -> list[tuple[str, str]]:
    """Colours of the load levels on paper and on a dark page, as hex."""
    scale, maps = _load_scale(data), (load_map(), load_map(DARK_SHADES))
    return [
        (to_hex(maps[0](scale(value))), to_hex(maps[1](scale(value)))) for value in data.load_levels
    ]


def curve_figure(data: JointData) -> Markup:
    """Friction against speed with the law and its 95 % band; below, the residuals."""
    figure = _figure(data, _LARGE)
    place = {"left": 0.085, "right": 0.985, "top": 0.955, "bottom": 0.075, "hspace": 0.17}
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(2.7, 1.0), gridspec_kw=place)
    _curves(upper, data)
    _scatter(upper, data.speed, data.odd, data)
    upper.set_title(f"friction, {data.unit}")
    upper.set_ylim(min(0.0, 1.1 * float(data.odd.min())), 1.06 * float(data.odd.max()))
    _residuals(lower, data)
    lower.set_title(f"residual, {data.unit}")
    _speed_axis(lower, data)
    upper.tick_params(labelbottom=False)
    load = (
        f", coloured by {load_word(data.calibration.load, data.prismatic)}"
        if data.load is not None
        else ""
    )
    return inline(
        figure,
        f"Friction against speed with the fitted law and its 95 % band{load}; below, the residuals",
    )


def gravity_figure(data: JointData) -> Markup:
    """Half sum of forward and backward torque against the model's gravity torque, with the fitted
    line; below, the difference.

    A fitted difference between the directions is removed first. If gravity hardly varies, the
    figure shows the difference only, against position.
    """
    scale, offset = data.fit.gravity["scale"].value, data.fit.gravity["offset"].value or 0.0
    figure = _figure(data, _SMALL)
    place = {"left": 0.12, "right": 0.975, "top": 0.92, "bottom": 0.14}
    even = data.even - data.calibration.directional_torque(data.speed, data.load, data.gravity)
    rest = even - data.gravity
    if scale is None:
        axes = figure.subplots(gridspec_kw=place)
        _dots(axes, data.position, rest, len(rest))
        axes.axhline(offset, color=COLOURS.accent, linewidth=1.2)
        axes.set_title(f"half sum minus model, {data.unit}")
        axes.set_xlabel(f"position, {data.angle}")
        _calm(axes)
        return inline(
            figure,
            "Half sum of torques minus the model's gravity torque against position, with the "
            "fitted offset",
        )
    upper, lower = figure.subplots(
        2, 1, sharex=True, height_ratios=(1.5, 1.0), gridspec_kw={**place, "hspace": 0.34}
    )
    ends = np.array([data.gravity.min(), data.gravity.max()])
    _dots(upper, data.gravity, even, len(rest))
    upper.plot(ends, scale * ends + offset, color=COLOURS.accent, linewidth=1.2)
    upper.set_title(f"half sum of torques, {data.unit}")
    _dots(lower, data.gravity, rest, len(rest))
    lower.axhline(0.0, color=COLOURS.faint, linewidth=0.8)
    lower.plot(ends, (scale - 1.0) * ends + offset, color=COLOURS.accent, linewidth=1.2)
    lower.set_title(f"half sum minus model, {data.unit}")
    lower.set_xlabel(f"rigid-body torque of the model, {data.unit}")
    _calm(upper, 4)
    _calm(lower, 3)
    return inline(
        figure, "Half sum of torques against the model's gravity torque, with the fitted line"
    )


def off_law_figure(data: JointData) -> Markup:
    """Residual in percent of friction, over time and over position.

    The time plot rings reference round trips and draws the fitted drift; the
    position plot removes the drift.
    """
    figure = _figure(data, _SMALL)
    place = {"left": 0.12, "right": 0.975, "top": 0.93, "bottom": 0.15, "hspace": 0.95}
    over_time, over_place = figure.subplots(2, 1, gridspec_kw=place)
    level = np.maximum(data.predicted, 1e-3 * float(data.predicted.max()))
    _over_time(over_time, data, level)
    _dots(over_place, data.position, 100.0 * data.residual / level, len(level))
    over_place.axhline(0.0, color=COLOURS.faint, linewidth=0.8)
    over_place.set_xlabel(f"position, {data.angle}")
    for axes in (over_time, over_place):
        axes.set_title("residual, % of friction")
        axes.xaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
        axes.xaxis.set_label_coords(0.5, -0.32)
        _calm(axes, 3)
    return inline(
        figure,
        "Residuals in percent of friction over the time of the session, and over the position of "
        "the joint",
    )


def _figure(data: JointData, size: tuple[float, float]) -> Figure:
    """Return an empty figure."""
    return Figure(figsize=size, dpi=_COARSE if len(data.odd) > _RASTER else None)


def _over_time(axes: Axes, data: JointData, level: Array) -> None:
    off = 100.0 * (data.residual + data.drift * data.elapsed * data.odd) / level
    _dots(axes, data.t, off, len(off))
    ringed = data.reference
    axes.plot(
        data.t[ringed],
        off[ringed],
        "o",
        markersize=5.5,
        markerfacecolor="none",
        markeredgecolor=COLOURS.accent,
        markeredgewidth=0.8,
        rasterized=ringed.sum() > _RASTER,
    )
    axes.axhline(0.0, color=COLOURS.faint, linewidth=0.8)
    if data.drift:
        order = np.argsort(data.t)
        for run in data.points["run"].unique():
            rows = order[(data.points["run"] == run).to_numpy()[order]]
            axes.plot(
                data.t[rows],
                100.0 * data.drift * data.elapsed[rows],
                color=COLOURS.accent,
                linewidth=1.2,
            )
    axes.set_xlabel("time, min")


def curve_speeds(data: JointData) -> Array:
    """Speeds at which curves are drawn, over the range of the data, shape (120,)."""
    low, high = data.calibration.velocity_range
    return np.asarray(np.geomspace(low, max(high, 1.001 * low), _CURVE))


def _curves(axes: Axes, data: JointData) -> None:
    """Draw the law with its band; at the smallest, median and largest
    load if the law has a load.
    """
    w = curve_speeds(data)
    levels = data.load_levels or (None,)
    colours = [on_paper for on_paper, _ in level_colours(data)] or [COLOURS.ink]
    for level, colour in zip(levels, colours, strict=True):
        load = None if level is None else data.at_load(level, len(w))
        friction, half = data.calibration.torque(w, load), data.calibration.band(w, load)
        axes.fill_between(
            w, friction - half, friction + half, color=colour, alpha=0.18, linewidth=0.0
        )
        axes.plot(w, friction, color=colour, linewidth=1.5, zorder=3)
    knee = data.calibration.parameters.get(law_named(data.calibration.law).knee)
    if knee is not None and knee.value is not None:
        axes.axvline(knee.value, color=COLOURS.faint, linewidth=0.8, linestyle=(0, (1.5, 2.5)))
        if knee.low is not None and knee.high is not None:
            low, high = max(knee.low, w[0] / _ROOM), min(knee.high, w[-1] * _ROOM)
            axes.axvspan(low, high, color=COLOURS.faint, alpha=0.12, linewidth=0.0)


def _residuals(axes: Axes, data: JointData) -> None:
    """Draw residuals against speed; a line joins the points of one round trip."""
    error = data.calibration.held_out_rmse
    axes.axhspan(-error, error, color=COLOURS.band, alpha=0.45, linewidth=0.0)
    axes.axhline(0.0, color=COLOURS.faint, linewidth=0.8)
    stems = []
    for trip in range(data.trips):
        rows = data.trip == trip
        if rows.sum() > 1:
            w = float(np.median(data.speed[rows]))
            stems.append(
                [(w, float(data.residual[rows].min())), (w, float(data.residual[rows].max()))]
            )
    axes.add_collection(
        LineCollection(
            stems, colors=COLOURS.faint, linewidths=0.8, rasterized=len(stems) > _RASTER
        ),
        autolim=False,
    )
    _scatter(axes, data.speed, data.residual, data)
    _calm(axes, 4)


def _scatter(axes: Axes, x: Array, y: Array, data: JointData) -> None:
    """Draw points, coloured by load if the law has a load."""
    if data.load is None:
        _dots(axes, x, y, len(x))
        return
    axes.scatter(
        x,
        y,
        c=data.load,
        cmap=load_map(),
        norm=_load_scale(data),
        s=13.0,
        edgecolors="white",
        linewidths=0.4,
        zorder=4,
        rasterized=len(x) > _RASTER,
    )


def _dots(axes: Axes, x: Array, y: Array, count: int) -> None:
    """Draw points of one colour."""
    axes.plot(
        x,
        y,
        "o",
        markersize=3.6,
        markerfacecolor=COLOURS.point,
        markeredgecolor="white",
        markeredgewidth=0.4,
        alpha=0.85,
        zorder=4,
        rasterized=count > _RASTER,
    )


def _load_scale(data: JointData) -> Normalize:
    levels = data.load_levels or (0.0, 0.0, 1.0)
    return Normalize(levels[0], max(levels[-1], levels[0] + 1e-9))


def _speed_axis(axes: Axes, data: JointData) -> None:
    """Make a logarithmic speed axis with plain numbers at 1, 2, 5."""
    low, high = float(data.speed.min()) / _ROOM, float(data.speed.max()) * _ROOM
    axes.set_xscale("log")
    axes.set_xlim(low, high)
    decades = range(int(np.floor(np.log10(low))), int(np.ceil(np.log10(high))) + 1)
    steps = (
        (1, 2, 5) if np.log10(high / low) < 2.6 else (1, 3) if np.log10(high / low) < 3.6 else (1,)
    )
    major, minor = (
        [
            speed
            for decade in decades
            for step in some
            if low <= (speed := step * 10.0**decade) <= high
        ]
        for some in (steps, range(1, 10))
    )
    axes.xaxis.set_major_locator(FixedLocator(major))
    axes.xaxis.set_minor_locator(FixedLocator(minor))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_xlabel(f"speed, {data.angle}/s")


def _calm(axes: Axes, ticks: int = 5) -> None:
    """Set few ticks and small margins."""
    axes.yaxis.set_major_locator(MaxNLocator(ticks, steps=[1, 2, 2.5, 5, 10]))
    axes.margins(x=0.04, y=0.12)
