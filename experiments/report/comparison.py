"""Comparison of calibrations as plain data and as a plot."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from stribeck.ident.calibration.calibration import Calibration
from stribeck.ident.calibration.changes import Comparison, CurveChange, ParameterChange
from stribeck.ident.calibration.pictures import draw_side_by_side
from stribeck.ident.errors import InputError
from stribeck.ident.log.campaign_folder import CALIBRATION
from stribeck.ident.views.panels import figure_size, panels
from stribeck.ident.whole_files import whole

PAGE, PLOTS = ".html", (".png", ".svg", ".pdf")


def labels(paths: Sequence[Path]) -> list[str]:
    """Short, distinct names of calibrations: the folder names, or numbered paths
    if folder names are equal.
    """
    folders = [
        path if path.is_dir() else path.parent if path.name == CALIBRATION else path
        for path in paths
    ]
    short = [
        folder.resolve().stem if folder.suffix == ".toml" else folder.resolve().name
        for folder in folders
    ]
    return (
        short
        if len(set(short)) == len(short)
        else [f"{k + 1}: {path}" for k, path in enumerate(paths)]
    )


def comparison_table(
    before: Calibration, after: Calibration, comparison: Comparison
) -> dict[str, Any]:
    """Convert a comparison to plain data for JSON."""
    parameters: dict[str, dict[str, Any]] = {}
    for change in comparison.parameters:
        parameters.setdefault(change.joint, {})[change.name] = _entry(change)
    joints: dict[str, dict[str, Any]] = {}
    for name in before.joints:
        if name in after.joints:
            curve = comparison.curves.get(name)
            joints[name] = {
                "parameters": parameters.get(name, {}),
                "friction": curve
                and _entry(curve) | {"speed": curve.speed, "load": curve.load, "rms": curve.rms},
                "traded": name in comparison.traded,
                "temperature": [
                    before.joints[name].temperature_range,
                    after.joints[name].temperature_range,
                ],
            }
    return {
        "changed": comparison.changed,
        "not_compared": list(comparison.apart),
        "joints": joints,
        "motors_and_passive": {
            name: table for name, table in parameters.items() if name not in before.joints
        },
        "notes": list(comparison.notes),
    }


def _entry(change: ParameterChange | CurveChange) -> dict[str, Any]:
    return {
        "before": change.before,
        "after": change.after,
        "difference": change.difference,
        "allowed": change.allowed,
        "unit": change.unit,
        "changed": change.changed,
    }


def verdict(comparison: Comparison) -> str:
    """One word about a comparison: changed, the same, or unknown."""
    return "changed" if comparison.changed else "the same" if comparison.curves else "unknown"


def sentence(comparison: Comparison, first: str, other: str) -> str:
    """What changed from the first calibration to the other."""
    moved = [
        f"{joint} ({100.0 * curve.rms:.1f} % rms)"
        for joint, curve in comparison.curves.items()
        if curve.changed
    ]
    shown = [
        f"{change.name} of {change.joint}"
        for change in comparison.parameters
        if change.changed
        and change.joint
        not in {joint for joint, curve in comparison.curves.items() if curve.changed}
        and change.joint not in comparison.traded
    ]
    apart = f"; not compared: friction of {', '.join(comparison.apart)}" if comparison.apart else ""
    if not comparison.changed:
        agree = (
            "agree within intervals and deviation between runs"
            if comparison.curves
            else "have no speeds and loads in common"
        )
        return f"{other} and {first} {agree}{apart}"
    return (
        "; ".join(
            ([f"friction of {', '.join(moved)}"] if moved else [])
            + ([", ".join(shown)] if shown else [])
        )
        + apart
    )


def plot(calibrations: Sequence[Calibration], names: Sequence[str], target: Path) -> None:
    """Plot friction of every joint against speed with its 95 % band, at a middle load; each
    calibration has its own colour.

    Raises
    ------
    InputError
        If the file exists, or its suffix is not in `PLOTS`.
    """
    if target.suffix.lower() not in PLOTS:
        raise InputError(
            f"{target}: unknown plot format {target.suffix!r}; the file name must end in "
            f"{', '.join((PAGE, *PLOTS))}"
        )
    if target.exists():
        raise InputError(f"{target} exists; choose another --out")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    joints = list(calibrations[0].joints)
    figure = Figure(figsize=figure_size(len(joints)), dpi=110, layout="constrained")
    for name, ax in panels(figure, joints).items():
        draw_side_by_side(ax, name, [one.joints.get(name) for one in calibrations], names)
    with whole(target) as part:
        FigureCanvasAgg(figure).print_figure(str(part))
