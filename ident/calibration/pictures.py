"""Plots of the friction of calibrated joints."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from stribeck.ident.arrays import Array
from stribeck.ident.calibration.joint_calibration import JointCalibration, loads_agree
from stribeck.ident.laws.load_components import load_unit
from stribeck.ident.views.panels import (
    PLAIN,
    draw_curve,
    draw_points,
    finish,
    load_colours,
    shown_speeds,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# of calibrations side by side
COLOURS = ("#7a8794", "#b4532a", "#1b3a5c", "#5ab4ac", "#8f6bb0", "#c49a2c")


@dataclass(frozen=True)
class Curve:
    """Friction over speed with the half width of its 95 % band, shape (120,) each."""

    speed: Array
    friction: Array
    band: Array


def draw_joint(ax: "Axes", name: str, joint: JointCalibration, points: pd.DataFrame | None) -> None:
    """Draw friction at the least, median and greatest load, and the points of
    the fit if they are known.

    Without the points the median is unknown; the curve between is then drawn
    at the middle of the range.
    """
    single = joint.load != "none" and joint.load_range is not None and not joint.components
    between = (
        joint.middle_load
        if points is None or not single
        else np.median(points[joint.load].to_numpy(dtype=float))
    )
    loads = np.array([joint.load_ends[0], between, joint.load_ends[1]]) if single else np.zeros(1)
    words = ("least", "middle" if points is None else "median", "greatest") if single else ("",)
    low, high, unit = float(loads[0]), float(loads[-1]), joint.parameters["coulomb"].unit
    if points is not None:
        colour = (
            load_colours(points[joint.load].to_numpy(dtype=float), low, high) if single else PLAIN
        )
        draw_points(
            ax,
            points["speed"].to_numpy(dtype=float),
            points["odd"].to_numpy(dtype=float) / (joint.torque_scale or 1.0),
            colour,
        )
    for load, colour, word in zip(
        loads, load_colours(loads, low, high) if single else (PLAIN,), words, strict=True
    ):
        _draw(
            ax,
            joint,
            load if single else joint.middle_load,
            colour,
            f"{word} load, {load:.3g} {load_unit(joint.load, unit == 'N')}" if single else "",
        )
    finish(ax, f"{name}: {joint.law}, load {joint.load}", unit, loads=single)


def draw_side_by_side(
    ax: "Axes", name: str, joints: Sequence[JointCalibration | None], labels: Sequence[str]
) -> None:
    """Draw friction of one joint from several calibrations, at the middle of the first load range.

    Parameters
    ----------
    ax : Axes
        Panel to draw on.
    name : str
        The joint.
    joints : sequence of JointCalibration or None
        The joint in each calibration; None if a calibration lacks the joint.
    labels : sequence of str
        Labels of the calibrations.
    """
    at, curves = side_by_side(joints)
    for k, (joint, curve, label) in enumerate(zip(joints, curves, labels, strict=True)):
        if joint is not None and curve is not None:
            warm = (
                ""
                if joint.temperature_range is None
                else " ({:.0f} to {:.0f} °C)".format(*joint.temperature_range)
            )
            draw_curve(
                ax,
                curve.speed,
                curve.friction,
                curve.band,
                COLOURS[k % len(COLOURS)],
                f"{label}{warm}",
            )
    finish(
        ax,
        f"{name}{at}",
        next(joint.parameters["coulomb"].unit for joint in joints if joint is not None),
    )


def side_by_side(joints: Sequence[JointCalibration | None]) -> tuple[str, list[Curve | None]]:
    """Return where friction of several calibrations is shown, as ", load 3 N·m", and the curve
    of each that has the joint.
    """
    known = [joint for joint in joints if joint is not None]
    shared = all(loads_agree(known[0], other) for other in known)
    loaded = next(
        (joint for joint in known if joint.load != "none" and joint.load_range is not None), None
    )
    level, unit = (
        np.zeros(()) if loaded is None else loaded.middle_load,
        known[0].parameters["coulomb"].unit,
    )
    same = (
        f", load {level:.3g} {load_unit(loaded.load, unit == 'N')}"
        if loaded and shared and np.ndim(level) == 0
        else ""
    )
    return same, [
        None if joint is None else _curve(joint, level if shared else joint.middle_load)
        for joint in joints
    ]


def stored_points(folder: Path, names: Mapping[str, JointCalibration]) -> dict[str, pd.DataFrame]:
    """Return the points of the fit by joint, from the ``points.csv`` beside the
    calibration; empty without this file.
    """
    if not (folder / "points.csv").is_file():
        return {}
    table = pd.read_csv(folder / "points.csv")
    if not {"joint", "speed", "odd"} <= set(table.columns):
        return {}
    return {str(name): rows for name, rows in table.groupby("joint") if name in names}


def _draw(
    ax: "Axes", joint: JointCalibration, load: Array, colour: Array | str, label: str
) -> None:
    curve = _curve(joint, load)
    draw_curve(ax, curve.speed, curve.friction, curve.band, colour, label)


def _curve(joint: JointCalibration, load: Array) -> Curve:
    speed = shown_speeds(*joint.velocity_range)
    loads = np.repeat(np.asarray(load)[None], len(speed), axis=0)
    return Curve(
        speed,
        joint.torque(speed, loads),
        joint.band(speed, loads) if joint.names else np.zeros(len(speed)),
    )
