"""Log of one joint: its recordings, time stamps, and positions within more than one turn."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from stribeck.ident.arrays import Array
from stribeck.ident.errors import InputError

_GAP = 5.0  # periods; a longer gap begins another recording
_ALIKE = 1e-6  # periods; less is rounding
_MOST_RECORDINGS = 50  # most recordings after the first; more are disorder of the time stamps


@dataclass(frozen=True)
class JointLog:
    """Recorded signals of one joint, for the functions that take runs.

    Attributes
    ----------
    t : ndarray, shape (N,)
        Time [s].
    signals : dict of str to ndarray, shape (N, 1)
        Position "q", and velocity "dq" if it was recorded [rad or m, and per s].
    """

    t: Array
    signals: Mapping[str, Array]
    names: tuple[str, ...] = field(default=("joint",))

    @classmethod
    def of(
        cls, time: Array, position: Array, velocity: Array | None, prismatic: bool
    ) -> "JointLog":
        """Return the log with increasing time stamps and, for a revolute joint, without jumps
        of the position by a turn.
        """
        t = _spread(time)
        q = (
            position
            if prismatic or len(t) < 2
            else np.concatenate([np.unwrap(position[rows]) for rows in recordings(t)])
        )
        return cls(t, {"q": q[:, None], **({} if velocity is None else {"dq": velocity[:, None]})})


def recordings(t: Array) -> list[slice]:
    """Return the rows of each recording: a new one begins where time goes back, or after a
    gap of more than 5 periods.

    Raises
    ------
    InputError
        If time goes back or stands still so often that it cannot be the beginning of recordings.
    """
    step = np.diff(t)
    back = np.flatnonzero(step <= 0.0) + 1
    period = np.zeros(len(step))
    # recordings may have different rates
    for a, b in pairwise((0, *back.tolist(), len(t))):
        period[a:b] = (
            np.median(step[a : b - 1]) if b - a > 1 and len(back) <= _MOST_RECORDINGS else 0.0
        )
    begins = np.flatnonzero((step <= 0.0) | (step > _GAP * period)) + 1
    if not len(step) or len(begins) > _MOST_RECORDINGS:
        row = int(begins[0]) if len(begins) else 0
        raise InputError(
            f"time goes back, stands still or has a gap in {len(begins)} rows, first in row "
            f"{row}; it must increase "
            f"within each recording, and at most {_MOST_RECORDINGS + 1} recordings can be joined"
        )
    return [slice(int(a), int(b)) for a, b in pairwise((0, *begins, len(t)))]


def _spread(t: Array) -> Array:
    """Return time stamps of which none repeats: those of a coarse clock are spread
    evenly between its ticks.
    """
    out, step = t.copy(), np.diff(t)
    least = _ALIKE * float(np.median(np.abs(step))) if len(step) else 0.0
    for a, b in pairwise((0, *(np.flatnonzero(step < -least) + 1).tolist(), len(t))):
        ticks = np.flatnonzero(np.diff(t[a:b], prepend=-np.inf) > least)
        if 2 <= len(ticks) < b - a:
            period = (t[a + ticks[-1]] - t[a]) / ticks[-1]
            ends = t[a + ticks[-1]] + period * (b - a - ticks[-1])
            out[a:b] = np.interp(np.arange(b - a), [*ticks, b - a], [*t[a + ticks], ends])
    return out


def joined(values: ArrayLike) -> Array:
    """Return an array, or the arrays of several recordings one after the other."""
    if isinstance(values, list | tuple) and values and all(np.ndim(one) == 1 for one in values):
        return np.concatenate([np.asarray(one, dtype=float) for one in values])
    return np.asarray(values, dtype=float)


def check_shapes(**arrays: Array | None) -> None:
    """Refuse arrays that are not finite numbers, or differ in length from the first.

    Raises
    ------
    InputError
        Names the array.
    """
    (first, reference), *_ = arrays.items()
    for name, values in arrays.items():
        if values is None:
            continue
        assert reference is not None
        if values.ndim != 1 or len(values) != len(reference):
            raise InputError(
                f"{name} has shape {values.shape}, {first} has {reference.shape}; all need (N,), "
                "the samples of one joint"
            )
        if not np.isfinite(values).all():
            row = int(np.argmin(np.isfinite(values)))
            raise InputError(
                f"{name} is not a finite number in row {row}; leave out this row, or split the "
                "log there"
            )
