"""Rows of a table of speed and torque as points of round trips: half differences where both directions were measured."""

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

_SAME = 1.05            # ratio of speeds within which a forward and a backward row are one round trip
_LONE = "joint"         # the joint of a table that names none


@dataclass(frozen=True)
class TablePoints:
    """A table as points.

    Attributes
    ----------
    points : DataFrame
        Columns as of a run's points (`COLUMNS`), in SI; `even` is 0 where one direction alone was measured.
    one_way : tuple of str
        Joints measured in one direction alone.
    notes : tuple of str
        What was made of the rows, for people.
    """

    points: pd.DataFrame
    one_way: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def joints(self) -> tuple[str, ...]:
        """Joints in the order of the table."""
        return tuple(dict.fromkeys(self.points["joint"]))


def points_of(cells: Cells, layout: Layout) -> TablePoints:
    """Points of every joint of a table.

    Raises
    ------
    InputError
        If no row holds numbers, or speed and direction contradict each other; names the row.
    """
    rows = pd.concat([_rows(cells, layout, one) for one in layout.series], ignore_index=True)
    notes = list(cells.notes)
    whole = np.isfinite(rows[["speed", "torque"]].to_numpy(dtype=float)).all(axis=1) & (rows["joint"] != "").to_numpy()
    if empty := int((~whole).sum()):
        notes.append(f"{empty} row(s) without a speed, a torque or a joint are left out")
    rows = rows[whole]
    if still := int((rows["speed"] == 0.0).sum()):
        notes.append(f"{still} row(s) at rest are left out: friction shows in motion")
    rows = rows[rows["speed"] != 0.0]
    if rows.empty:
        raise InputError(f"{cells.source}: no row holds a speed other than 0 and a torque as numbers in columns "
                         f"{layout.series[0].speed.column!r} and {layout.series[0].torque.column!r}; give others with --column")
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
    """A torque whose sign is wrong, and the factors that turn it."""
    turned = [one for one in layout.series if one.joint in ("", name)]
    way = {0: "", 1: ".forward", -1: ".backward"}
    options = [f"--column \"torque{f'.{one.joint}' if one.joint else ''}{way[one.direction]}={one.torque.column}"
               f"[{-one.torque.factor:g}]\"" for one in turned]
    others = f"; where {name} alone is reversed, turn the sign in its rows" if "joint" in layout.labels else ""
    return InputError(f"{source}: {name}: the torque opposes the motion in {part:.0%} of the points, so its sign is wrong; "
                      f"turn it with {' '.join(options)}{others}")


def _rows(cells: Cells, layout: Layout, series: Series) -> pd.DataFrame:
    """Rows of one pair of columns in SI; `signed` is whether the table gives the direction by the sign of the speed."""
    speed = series.speed.factor * cells.numbers(series.speed.column)
    torque = series.torque.factor * cells.numbers(series.torque.column)
    unknown = np.full(len(speed), np.nan)
    load, temperature = (unknown if entry is None else entry.factor * cells.numbers(entry.column)
                         for entry in (layout.load, layout.temperature))
    texts = {key: [text.strip() for text in cells.columns[column]] for key, column in layout.labels.items()}
    sign = np.full(len(speed), float(series.direction))
    if "direction" in texts and not series.direction:
        sign = _signs(texts["direction"], layout.labels["direction"], cells.source)
    if len(against := np.flatnonzero((sign > 0.0) & (speed < 0.0))):
        raise InputError(f"{cells.source}: row {against[0]}: the speed is {speed[against[0]]:.4g} and the direction is "
                         f"{'backward' if sign[against[0]] < 0 else 'forward'}; leave the direction out with "
                         f"--ignore {layout.labels.get('direction', series.torque.column)}, or correct the row")
    stated = sign != 0.0
    names = texts.get("joint", [series.joint or _LONE] * len(speed))
    return pd.DataFrame({
        "joint": [f"j{name}" if name.isdigit() else name for name in names],
        "speed": np.where(stated, sign * np.abs(speed), speed), "torque": torque, "load": load, "temperature": temperature,
        "repeat": texts.get("repeat", [""] * len(speed)), "stated": stated, "row": np.arange(len(speed))})


def _signs(texts: list[str], column: str, source: str) -> Array:
    """Directions 1 and -1 from words or signs."""
    def sign(row: int, text: str) -> float:
        word = text.lower().replace("−", "-")
        word = word.removesuffix(".0")
        if not word or word in FORWARD or word in BACKWARD:
            return -1.0 if word in BACKWARD else 1.0 if word else np.nan
        raise InputError(f"{source}: row {row}: direction {text!r} in column {column!r} is not known (forward, backward, "
                         "1, -1, +, -, cw, ccw, up, down); change the word, or leave the column out with --ignore " + column)

    return np.array([sign(row, text) for row, text in enumerate(texts)])


def _joint_points(name: str, rows: pd.DataFrame) -> tuple[pd.DataFrame, list[str], bool]:
    """Points of one joint, what there is to say, and whether both directions were measured."""
    notes: list[str] = []
    back = (rows["speed"] < 0.0).to_numpy()
    torque = rows["torque"].to_numpy(dtype=float).copy()
    positive = back.any() and np.median(torque[back]) > 0.0 and (back.all() or np.median(torque[~back]) > 0.0)
    if positive and ((rows["stated"].to_numpy()[back]).all() or (torque > 0.0).all()):
        torque[back] *= -1.0
        notes.append(f"{name}: torques of the way back are taken for magnitudes, as they are positive")
    rows = rows.assign(torque=torque, w=rows["speed"].abs())
    if back.all() or not back.any():
        way = -1.0 if back.all() else 1.0
        notes.append(f"{name}: one direction only: gravity and an offset of the torque cannot be told from Coulomb friction; "
                     "rows of the other direction would take them out")
        return _table(name, rows, way * torque, np.zeros(len(rows)), rows["w"].to_numpy(dtype=float)), notes, False
    forward, backward = rows[~back], rows[back]
    pairs = _pairs(forward, backward)
    left = len(forward) + len(backward) - 2 * len(pairs)
    if len(pairs) >= max(1, min(len(forward), len(backward)) // 2):
        first, second = (side.loc[[pair[k] for pair in pairs]] for k, side in ((0, forward), (1, backward)))
        against = second["torque"].to_numpy(dtype=float)
        if left:
            notes.append(f"{name}: {left} row(s) have no partner within {100.0 * (_SAME - 1.0):.0f} % of their speed in the "
                         "other direction and are left out")
    else:
        order = backward.groupby("w")["torque"].mean()
        inside = forward["w"].between(order.index.min(), order.index.max())
        first = second = forward[inside]
        against = np.interp(first["w"], order.index, order.to_numpy(dtype=float))
        notes.append(f"{name}: speeds differ between the directions; torques of the way back are interpolated at "
                     f"{len(first)} speeds")
        if first.empty:
            raise InputError(f"{name}: the speeds of both directions do not overlap; fit one of them, with the rows of the other "
                             "left out")
    there = first["torque"].to_numpy(dtype=float)
    speed = 0.5 * (first["w"].to_numpy(dtype=float) + second["w"].to_numpy(dtype=float))
    return _table(name, first, 0.5 * (there - against), 0.5 * (there + against), speed), notes, True


def _pairs(forward: pd.DataFrame, backward: pd.DataFrame) -> list[tuple[Any, Any]]:
    """Index labels of rows of either direction that make a round trip: same repeat and load, and nearly the same speed."""
    found = []
    for _, own in pd.concat((forward, backward)).fillna({"load": 0.0}).groupby(["repeat", "load"], sort=False):
        ways = [own[own["speed"] > 0.0].sort_values("w", kind="stable"), own[own["speed"] < 0.0].sort_values("w", kind="stable")]
        there, back = (list(zip(way.index, way["w"], strict=True)) for way in ways)
        i = j = 0
        while i < len(there) and j < len(back):
            ratio = there[i][1] / back[j][1]
            if 1.0 / _SAME <= ratio <= _SAME:
                found.append((there[i][0], back[j][0]))
            i, j = i + (ratio <= _SAME), j + (ratio >= 1.0 / _SAME)
    return sorted(found)


def _table(name: str, rows: pd.DataFrame, odd: Array, even: Array, speed: Array) -> pd.DataFrame:
    """The Points table, a sweep in the order of its speeds; rows of one repeat and speed are a round trip; times are unknown."""
    cell = np.round(np.log(speed) / np.log(_SAME)).astype(int)
    marks = [f"{repeat or f'#{row}'}@{one}" for repeat, row, one in zip(rows["repeat"], rows["row"], cell, strict=True)]
    load = np.abs(np.nan_to_num(rows["load"].to_numpy(dtype=float)))
    found = pd.DataFrame({
        "joint": name, "segment": marks, "posture": 0, "speed": speed, "position": 0.0, "odd": odd, "even": even, "gravity": 0.0,
        "gravity_rate": 0.0, "torque": load, "bending": 0.0, "radial": 0.0, "axial": 0.0, "normal": np.nan, "n": 1, "std": 0.0,
        "t": 0.0, "temperature": rows["temperature"].to_numpy(dtype=float), "reference": False, "run": "table", "width": 0.0},
        columns=list(COLUMNS))
    found = found.iloc[np.lexsort((odd, speed, load, rows["repeat"]))].reset_index(drop=True)       # however the rows were listed
    return found.assign(segment=group_index(found["segment"].to_numpy()))
