"""Round-trip points from a table of speeds and torques: half differences if the
table has both directions.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from stribeck.experiments.importers.speed_torque.cells import Cells
from stribeck.experiments.importers.speed_torque.series import BACKWARD, FORWARD, Layout, Series
from stribeck.experiments.importers.table import Array
from stribeck.ident.arrays import group_index
from stribeck.ident.errors import InputError
from stribeck.ident.log.reduction.round_trips import COLUMNS
from stribeck.ident.log.signal_checks import check_size

_SAME = 1.05  # largest ratio between the speeds of the two rows of a round trip
_LONE = "joint"  # joint name for a table without joint names


@dataclass(frozen=True)
class TablePoints:
    """Round-trip points of a table.

    Attributes
    ----------
    points : DataFrame
        Columns of a run's points (`COLUMNS`), in SI; `even` is 0 for joints with one direction.
    one_way : tuple of str
        Joints that were measured in one direction only.
    notes : tuple of str
        Messages about rows that were left out, interpolated or given another sign.
    """

    points: pd.DataFrame
    one_way: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def joints(self) -> tuple[str, ...]:
        """Joints in the order of the table."""
        return tuple(dict.fromkeys(self.points["joint"]))


def points_of(cells: Cells, layout: Layout) -> TablePoints:
    """Return the round-trip points of all joints of a table.

    Raises
    ------
    InputError
        If no row has numbers, if speed and direction of a row contradict each other (the message
        names the row), or if the torque has the wrong sign.
    """
    rows = pd.concat([_rows(cells, layout, one) for one in layout.series], ignore_index=True)
    notes = list(cells.notes)
    whole = (
        np.isfinite(rows[["speed", "torque"]].to_numpy(dtype=float)).all(axis=1)
        & (rows["joint"] != "").to_numpy()
    )
    if empty := int((~whole).sum()):
        notes.append(f"{empty} row(s) without a speed, a torque or a joint are left out")
    rows = rows[whole]
    if still := int((rows["speed"] == 0.0).sum()):
        notes.append(f"{still} row(s) with speed 0 are left out: sliding friction needs motion")
    rows = rows[rows["speed"] != 0.0]
    if rows.empty:
        raise InputError(
            f"{cells.source}: no row has a number other than 0 as speed and a number as torque in "
            f"the columns {layout.series[0].speed.column!r} and "
            f"{layout.series[0].torque.column!r}; give other columns with --column"
        )
    for signal in ("speed", "torque"):
        check_size(rows[[signal]].to_numpy(dtype=float), signal, ("the table",), cells.source)
    parts, one_way = [], []
    for name, own in rows.groupby("joint", sort=False):
        found, said, both = _joint_points(str(name), own.reset_index(drop=True))
        if found["odd"].median() < 0.0:
            raise _opposing(str(name), float(np.mean(found["odd"] < 0.0)), cells.source, layout)
        parts.append(found)
        notes += said
        one_way += [] if both else [str(name)]
    return TablePoints(pd.concat(parts, ignore_index=True), tuple(one_way), tuple(notes))


def _opposing(name: str, part: float, source: str, layout: Layout) -> InputError:
    """Error for a torque of the wrong sign, with the options that reverse the sign."""
    turned = [one for one in layout.series if one.joint in ("", name)]
    way = {0: "", 1: ".forward", -1: ".backward"}
    options = [
        "--column "
        f'"torque{f".{one.joint}" if one.joint else ""}{way[one.direction]}={one.torque.column}'
        f'[{-one.torque.factor:g}]"'
        for one in turned
    ]
    others = (
        f"; if only {name} is reversed, reverse the sign in the rows of {name}"
        if "joint" in layout.labels
        else ""
    )
    return InputError(
        f"{source}: {name}: the torque opposes the motion in {part:.0%} of the points, so its sign "
        f"is wrong; reverse the sign with {' '.join(options)}{others}"
    )


def _rows(cells: Cells, layout: Layout, series: Series) -> pd.DataFrame:
    """Rows of one speed column and one torque column in SI; `stated` marks rows whose direction
    is stated beside the speed.
    """
    speed = series.speed.factor * cells.numbers(series.speed.column)
    torque = series.torque.factor * cells.numbers(series.torque.column)
    unknown = np.full(len(speed), np.nan)
    load, temperature = (
        unknown if entry is None else entry.factor * cells.numbers(entry.column)
        for entry in (layout.load, layout.temperature)
    )
    texts = {
        key: [text.strip() for text in cells.columns[column]]
        for key, column in layout.labels.items()
    }
    sign = np.full(len(speed), float(series.direction))
    if "direction" in texts and not series.direction:
        sign = _signs(texts["direction"], layout.labels["direction"], cells.source)
    if len(against := np.flatnonzero((sign > 0.0) & (speed < 0.0))):
        raise InputError(
            f"{cells.source}: row {against[0]}: the speed is {speed[against[0]]:.4g} but the "
            "direction is "
            f"{'backward' if sign[against[0]] < 0 else 'forward'}; ignore the direction with "
            f"--ignore {layout.labels.get('direction', series.torque.column)}, or correct the row"
        )
    stated = sign != 0.0
    names = texts.get("joint", [series.joint or _LONE] * len(speed))
    return pd.DataFrame(
        {
            "joint": [f"j{name}" if name.isdigit() else name for name in names],
            "speed": np.where(stated, sign * np.abs(speed), speed),
            "torque": torque,
            "load": load,
            "temperature": temperature,
            "repeat": texts.get("repeat", [""] * len(speed)),
            "stated": stated,
            "row": np.arange(len(speed)),
        }
    )


def _signs(texts: list[str], column: str, source: str) -> Array:
    """Directions 1 and -1 of all rows, from words or signs; nan for empty cells."""

    def sign(row: int, text: str) -> float:
        word = text.lower().replace("−", "-")
        word = word.removesuffix(".0")
        if not word or word in FORWARD or word in BACKWARD:
            return -1.0 if word in BACKWARD else 1.0 if word else np.nan
        raise InputError(
            f"{source}: row {row}: unknown direction {text!r} in column {column!r}; allowed are "
            "forward, backward, "
            "1, -1, +, -, cw, ccw, up, down; change the word, or ignore the column with --ignore "
            + column
        )

    return np.array([sign(row, text) for row, text in enumerate(texts)])


def _joint_points(name: str, rows: pd.DataFrame) -> tuple[pd.DataFrame, list[str], bool]:
    """Return the points of one joint, notes, and whether the table has both
    directions of this joint.
    """
    notes: list[str] = []
    back = (rows["speed"] < 0.0).to_numpy()
    torque = rows["torque"].to_numpy(dtype=float).copy()
    positive = (
        back.any()
        and np.median(torque[back]) > 0.0
        and (back.all() or np.median(torque[~back]) > 0.0)
    )
    if positive and ((rows["stated"].to_numpy()[back]).all() or (torque > 0.0).all()):
        torque[back] *= -1.0
        notes.append(f"{name}: backward torques are positive, so they are read as magnitudes")
    rows = rows.assign(torque=torque, w=rows["speed"].abs())
    if back.all() or not back.any():
        way = -1.0 if back.all() else 1.0
        notes.append(
            f"{name}: one direction only: gravity and a torque offset cannot be separated from "
            "Coulomb friction; add rows of the other direction to separate them"
        )
        return (
            _table(name, rows, way * torque, np.zeros(len(rows)), rows["w"].to_numpy(dtype=float)),
            notes,
            False,
        )
    forward, backward = rows[~back], rows[back]
    pairs = _pairs(forward, backward)
    left = len(forward) + len(backward) - 2 * len(pairs)
    if len(pairs) >= max(1, min(len(forward), len(backward)) // 2):
        first, second = (
            side.loc[[pair[k] for pair in pairs]] for k, side in ((0, forward), (1, backward))
        )
        against = second["torque"].to_numpy(dtype=float)
        if left:
            notes.append(
                f"{name}: {left} row(s) are left out: the other direction has no row within "
                f"{100.0 * (_SAME - 1.0):.0f} % of their speed"
            )
    else:
        order = backward.groupby("w")["torque"].mean()
        inside = forward["w"].between(order.index.min(), order.index.max())
        first = second = forward[inside]
        against = np.interp(first["w"], order.index, order.to_numpy(dtype=float))
        notes.append(
            f"{name}: the two directions have different speeds; backward torques are interpolated "
            f"at {len(first)} speeds"
        )
        if first.empty:
            raise InputError(
                f"{name}: the speed ranges of the two directions do not overlap; delete the rows "
                "of one direction and fit the other direction"
            )
    there = first["torque"].to_numpy(dtype=float)
    speed = 0.5 * (first["w"].to_numpy(dtype=float) + second["w"].to_numpy(dtype=float))
    return _table(name, first, 0.5 * (there - against), 0.5 * (there + against), speed), notes, True


def _pairs(forward: pd.DataFrame, backward: pd.DataFrame) -> list[tuple[Any, Any]]:
    """Pairs of row labels (forward, backward) with the same repeat and load, and with speeds
    within the ratio `_SAME`.
    """
    found = []
    for _, own in (
        pd.concat((forward, backward)).fillna({"load": 0.0}).groupby(["repeat", "load"], sort=False)
    ):
        ways = [
            own[own["speed"] > 0.0].sort_values("w", kind="stable"),
            own[own["speed"] < 0.0].sort_values("w", kind="stable"),
        ]
        there, back = (list(zip(way.index, way["w"], strict=True)) for way in ways)
        i = j = 0
        while i < len(there) and j < len(back):
            ratio = there[i][1] / back[j][1]
            if 1.0 / _SAME <= ratio <= _SAME:
                found.append((there[i][0], back[j][0]))
            i, j = i + (ratio <= _SAME), j + (ratio >= 1.0 / _SAME)
    return sorted(found)


def _table(name: str, rows: pd.DataFrame, odd: Array, even: Array, speed: Array) -> pd.DataFrame:
    """Points table of one joint, sorted by load and speed; rows of one repeat and speed are one
    round trip; time is set to 0.
    """
    cell = np.round(np.log(speed) / np.log(_SAME)).astype(int)
    marks = [
        f"{repeat or f'#{row}'}@{one}"
        for repeat, row, one in zip(rows["repeat"], rows["row"], cell, strict=True)
    ]
    load = np.abs(np.nan_to_num(rows["load"].to_numpy(dtype=float)))
    found = pd.DataFrame(
        {
            "joint": name,
            "segment": marks,
            "posture": 0,
            "speed": speed,
            "position": 0.0,
            "odd": odd,
            "even": even,
            "gravity": 0.0,
            "gravity_rate": 0.0,
            "torque": load,
            "bending": 0.0,
            "radial": 0.0,
            "axial": 0.0,
            "normal": np.nan,
            "n": 1,
            "std": 0.0,
            "t": 0.0,
            "temperature": rows["temperature"].to_numpy(dtype=float),
            "reference": False,
            "run": "table",
            "width": 0.0,
        },
        columns=list(COLUMNS),
    )
    # ignores row order
    found = found.iloc[np.lexsort((odd, speed, load, rows["repeat"]))].reset_index(drop=True)
    return found.assign(segment=group_index(found["segment"].to_numpy()))
