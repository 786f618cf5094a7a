"""Comparison of calibrations as plain data and as a plot."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from stribeck.ident.arrays import Array
from stribeck.ident.calibration.calibration import Calibration
from stribeck.ident.calibration.changes import Comparison, CurveChange, ParameterChange, loads_agree
from stribeck.ident.calibration.joint_calibration import JointCalibration
from stribeck.ident.errors import InputError
from stribeck.ident.whole_files import whole

PLOTS = (".png", ".svg", ".pdf")
_COLOURS = ("#7a8794", "#b4532a", "#1b3a5c", "#5ab4ac", "#8f6bb0", "#c49a2c")
_COLUMNS = 3


def labels(paths: Sequence[Path]) -> list[str]:
    """Short, distinct names of calibrations: the folder names, or numbered paths if folder names are equal."""
    folders = [path if path.is_dir() else path.parent if path.name == "calibration.toml" else path for path in paths]
    short = [folder.resolve().stem if folder.suffix == ".toml" else folder.resolve().name for folder in folders]
    return short if len(set(short)) == len(short) else [f"{k + 1}: {path}" for k, path in enumerate(paths)]


def comparison_table(before: Calibration, after: Calibration, comparison: Comparison) -> dict[str, Any]:
    """Convert a comparison to plain data for JSON."""
    joints: dict[str, dict[str, Any]] = {}
    for name in before.joints:
        if name in after.joints:
            curve = comparison.curves.get(name)
            joints[name] = {
                "parameters": {change.name: _entry(change) for change in comparison.parameters if change.joint == name},
                "friction": curve and _entry(curve) | {"speed": curve.speed, "load": curve.load, "rms": curve.rms},
                "traded": name in comparison.traded,
                "temperature": [before.joints[name].temperature_range, after.joints[name].temperature_range]}
    return {"changed": comparison.changed, "not_compared": list(comparison.apart), "joints": joints,
            "notes": list(comparison.notes)}


def _entry(change: ParameterChange | CurveChange) -> dict[str, Any]:
    return {"before": change.before, "after": change.after, "difference": change.difference, "allowed": change.allowed,
            "unit": change.unit, "changed": change.changed}


def plot(calibrations: Sequence[Calibration], names: Sequence[str], target: Path) -> None:
    """Plot friction of every joint against speed with its 95 % band, at a middle load; each calibration has its own colour.

    Raises
    ------
    InputError
        If the file exists, or its suffix is not in `PLOTS`.
    """
    if target.suffix.lower() not in PLOTS:
        raise InputError(f"{target}: unknown plot format; the file name must end in {', '.join(PLOTS)}")
    if target.exists():
        raise InputError(f"{target} exists; choose another --out")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    joints = list(calibrations[0].joints)
    columns = min(_COLUMNS, len(joints))
    rows = -(-len(joints) // columns)
    figure = Figure(figsize=(3.6 * columns, 2.7 * rows + 0.5), dpi=110, layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False).ravel()
    for ax in axes[len(joints):]:
        ax.set_visible(False)
    for ax, name in zip(axes, joints, strict=False):
        first = calibrations[0].joints[name]
        loaded = [one.joints[name] for one in calibrations if name in one.joints]
        shared = all(loads_agree(first, other) for other in loaded)
        level = _middle_load(loaded)
        for k, (calibration, label) in enumerate(zip(calibrations, names, strict=True)):
            if name not in calibration.joints:
                continue
            joint = calibration.joints[name]
            low, high = joint.velocity_range
            w = np.geomspace(max(low, 1e-3 * high), high, 120)
            own = level if shared else joint.middle_load
            load = np.repeat(np.asarray(own)[None], len(w), axis=0)
            friction, band = joint.torque(w, load), joint.band(w, load) if joint.names else 0.0
            colour = _COLOURS[k % len(_COLOURS)]
            warm = "" if joint.temperature_range is None else " ({:.0f} to {:.0f} °C)".format(*joint.temperature_range)
            ax.fill_between(w, friction - band, friction + band, color=colour, alpha=0.25, lw=0)
            ax.plot(w, friction, color=colour, lw=1.3, label=f"{label}{warm}")
        unit = first.parameters["coulomb"].unit
        ax.set(xscale="log", xlabel=f"speed, {'m/s' if unit == 'N' else 'rad/s'}", ylabel=f"friction, {unit}")
        ax.set_ylim(bottom=0.0)
        ax.set_title(f"{name}, load {level:.3g}" if shared and np.ndim(level) == 0 and level else name, loc="left", fontsize=9)
        ax.legend(frameon=False, fontsize=7)
        ax.spines[["top", "right"]].set_visible(False)
    with whole(target) as part:
        FigureCanvasAgg(figure).print_figure(str(part))


def _middle_load(joints: Sequence[JointCalibration]) -> Array:
    """Middle load of the first joint whose friction grows with a load; zero if there is none."""
    return next((joint.middle_load for joint in joints if joint.load != "none" and joint.load_range is not None), np.zeros(()))
