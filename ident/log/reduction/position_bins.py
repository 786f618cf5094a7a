"""Position bins of a round trip: forward and backward samples, and mean loads."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from stribeck.ident.arrays import Array
from stribeck.ident.log.strokes import Stroke
from stribeck.ident.model.loads import LOADS, joint_loads
from stribeck.ident.model.mechanism import Mechanism

_BINS = 5  # largest number of bins of a round trip
_ENOUGH, _LEAST = 4, 3  # wanted and smallest number of samples of each stroke in a bin
_PLACES = 8  # positions in a bin at which loads are computed
_NO_LOAD = 1e-9  # N·m or N; smaller loads are rounding errors


@dataclass(frozen=True)
class PositionBin:
    """One position interval of both strokes of a round trip, with the rows of its samples."""

    forward: Stroke
    backward: Stroke
    rows: tuple[np.ndarray, np.ndarray]
    centre: Array
    width: float


def bins_of(width: float, turn: float, samples: float) -> tuple[int, float]:
    """Return number and total width of the bins of a stroke: whole motor revolutions, if the
    stroke contains at least one.
    """
    most = max(1, int(samples // _ENOUGH))
    if turn > 0.0 and width >= turn:
        count = int(min(_BINS, most, width // turn))
        return count, count * turn * (width // turn // count)
    return (1 if turn > 0.0 else min(_BINS - 1, most)), width


def position_bins(
    q: Array, forward: Stroke, backward: Stroke, joint: int, turn: float
) -> Iterator[PositionBin]:
    low, high = max(forward.low, backward.low), min(forward.high, backward.high)
    width = high - low
    if width <= 0.0:  # strokes at different positions with equal gravity
        rows = tuple(
            np.arange(stroke.rows.start, stroke.rows.stop) for stroke in (forward, backward)
        )
        yield PositionBin(
            forward,
            backward,
            (rows[0], rows[1]),
            q[rows[0]].mean(axis=0),
            forward.high - forward.low,
        )
        return
    middle = (low + high) / 2.0
    samples = min(
        np.count_nonzero(np.abs(q[stroke.rows, joint] - middle) <= width / 2.0)
        for stroke in (forward, backward)
    )
    count, used = bins_of(width, turn, float(samples))
    low, width = low + (width - used) / 2.0, used
    edges = low + width * np.linspace(0.0, 1.0, count + 1)
    place = [
        np.searchsorted(edges, q[stroke.rows, joint], "right") - 1 for stroke in (forward, backward)
    ]
    for k in range(count):
        inside = [
            stroke.rows.start + np.flatnonzero(where == k)
            for stroke, where in zip((forward, backward), place, strict=True)
        ]
        if min(len(rows) for rows in inside) < _LEAST:
            continue
        centre = q[np.concatenate(inside)].mean(axis=0)
        centre[joint] = (edges[k] + edges[k + 1]) / 2.0
        yield PositionBin(forward, backward, (inside[0], inside[1]), centre, width / count)


def mean_loads(
    mechanism: Mechanism, bins: Sequence[PositionBin], centre: Array, rate: Array
) -> dict[str, Array]:
    """Mean loads of the moving joint over each bin, shape (N,).

    Friction at one speed is linear in the load, so its mean over a bin belongs to the mean load.
    The mean load differs from the load at the centre of the bin, because the load is a curved
    function of position, with a kink where a torque changes its sign. If joints without a drive
    have friction, forward and backward loads differ and are averaged.
    """
    own = np.arange(len(bins)), np.array([bin_.forward.joint for bin_ in bins], dtype=int)
    width = np.array([bin_.width for bin_ in bins])
    part = (np.arange(_PLACES) + 0.5) / _PLACES - 0.5
    q = centre[:, None] + (part * width[:, None])[:, :, None] * (rate / rate[own][:, None])[:, None]
    both = (1.0, -1.0) if mechanism.chain is not None and mechanism.chain.classes else (1.0,)
    ways = [
        joint_loads(mechanism, q.reshape(-1, mechanism.n), way * np.repeat(rate, _PLACES, axis=0))
        for way in both
    ]
    mean = {
        load: np.mean(
            [one.get(load).reshape(q.shape)[own[0], :, own[1]].mean(axis=1) for one in ways], axis=0
        )
        for load in LOADS
    }
    return {load: np.where(values < _NO_LOAD, 0.0, values) for load, values in mean.items()}
