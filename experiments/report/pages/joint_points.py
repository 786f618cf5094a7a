"""Points of one joint as an interactive table: what a point tells, and groups
by load, posture and run.
"""

from collections.abc import Sequence

import numpy as np
from markupsafe import escape

from stribeck.experiments.report import words
from stribeck.experiments.report.frame.interactive import PointTable, Toggle
from stribeck.experiments.report.joint_data import JointData
from stribeck.ident.arrays import Array, Groups
from stribeck.ident.laws.load_components import load_unit

_GROUPS = 3  # groups of loads, unless the loads have fewer values
_APART = 0.02  # least distance of two values of a load, as a part of the greatest
# least range of a load by which points are grouped, as a part of the greatest
_VARIED = 0.1
_LOADS = ("torque", "bending", "normal")
_SAVED = (
    "joint",
    "run",
    "segment",
    "posture",
    "reference",
    "t",
    "temperature",
    "position",
    "speed",
    "odd",
    "even",
    "gravity",
    *_LOADS,
    "friction",
    "residual",
)


def point_table(data: JointData) -> PointTable:
    """Return the points of a joint; columns have the names of
    ``points.csv``, beside those of the fit.
    """
    points, scale = data.points, np.maximum(data.predicted, 1e-3 * float(data.predicted.max()))
    runs, postures = [str(run) for run in points["run"]], points["posture"].to_numpy(dtype=int)
    columns: dict[str, Array | Groups | Sequence[str]] = {
        "joint": [data.name] * len(points),
        "run": runs,
        "posture": postures,
        "segment": points["segment"].to_numpy(),
        "reference": data.reference,
        **{
            name: points[name].to_numpy(dtype=float)
            for name in ("t", "temperature", "position", "speed", "odd", "even", "gravity", *_LOADS)
        },
        "friction": data.predicted,
        "residual": data.residual,
        "minutes": data.t,
        "even_off": data.even
        - data.calibration.directional_torque(data.speed, data.load, data.gravity),
        "off_place": 100.0 * data.residual / scale,
        "off_time": 100.0 * (data.residual + data.drift * data.elapsed * data.odd) / scale,
        "name": [str(escape(run)) for run in runs],
        "warm": ["yes" if one else "no" for one in data.reference],
    }
    columns["rest"] = np.asarray(columns["even_off"]) - data.gravity
    if data.load is not None:
        columns["load"] = data.load
    kinds, of = np.unique(postures, return_inverse=True)
    names = list(dict.fromkeys(runs))
    toggles = {
        "posture": Toggle("Posture", tuple(str(kind) for kind in kinds), of),
        "run": Toggle("Run", tuple(names), np.array([names.index(run) for run in runs])),
    }
    if (loads := _loads(data)) is not None:
        toggles = {"load": loads, **toggles}
    return PointTable(columns, toggles, _SAVED)


def hover(data: JointData) -> list[tuple[str, str]]:
    """Return columns and texts of the lines that a point of the joint shows."""
    loads = (
        [("load", f"load {{:.3g}} {load_unit(data.calibration.load, data.prismatic)}")]
        if data.load is not None
        else [("torque", f"{words.load_word('torque', data.prismatic)} {{:.3g}} {data.unit}")]
    )
    warm = (
        [("temperature", "{:.1f} °C")]
        if np.isfinite(data.points["temperature"].to_numpy(dtype=float)).all()
        else []
    )
    return [
        ("speed", f"speed {{:.3g}} {data.angle}/s"),
        ("odd", f"friction {{:.4g}} {data.unit}"),
        ("friction", f"law {{:.4g}} {data.unit}"),
        ("residual", f"residual {{:.3g}} {data.unit}"),
        *loads,
        ("position", f"at {{:.3g}} {data.angle}"),
        ("minutes", "after {:.1f} min"),
        *warm,
        ("posture", "posture {}"),
        ("name", "{}"),
    ]


def _loads(data: JointData) -> Toggle | None:
    """Groups of the law's load, or else of the transmitted torque; None if it hardly varies."""
    of_law = data.load is not None and not data.calibration.components
    kind = data.calibration.load if of_law else "torque"
    load = data.load if data.load is not None else data.points["torque"].to_numpy(dtype=float)
    top = float(np.abs(load).max())
    if not np.isfinite(load).all() or float(np.ptp(load)) <= _VARIED * top:
        return None
    order = np.sort(load)
    values = order[np.append(True, np.diff(order) > _APART * top)]
    cuts = (
        values[1:] if len(values) <= _GROUPS else np.quantile(load, np.arange(1, _GROUPS) / _GROUPS)
    )
    of = np.searchsorted(cuts, load, side="right")
    unit, title = (
        load_unit(kind, data.prismatic),
        words.load_word(kind, data.prismatic).capitalize(),
    )

    def named(part: Array) -> str:
        if not len(part):
            return "none"
        ends = (
            words.span(part.min(), part.max(), 3)
            if np.ptp(part) > _APART * top
            else words.number(float(part.mean()))
        )
        return f"{ends} {unit}"

    return Toggle(
        title if data.load is None or of_law else "Load",
        tuple(named(load[of == k]) for k in range(len(cuts) + 1)),
        of,
    )
