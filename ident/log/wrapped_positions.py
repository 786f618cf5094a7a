"""Positions that begin anew at the end of their encoder's range, as ±pi or the ±12.5 rad of a drive's protocol, made to go on."""

from dataclasses import dataclass

import numpy as np

from stribeck.ident.arrays import Array

_WHOLE = 0.5            # part of the positions' span that a wrap leaps over at least
_ALIKE = 0.02           # by which the range may differ from wrap to wrap, and from a known one
_KNOWN = (2.0 * np.pi, 25.0, 4.0 * np.pi, 8.0 * np.pi)      # rad; a turn, ±12.5 of MIT drives, ±2 pi, ±4 pi
_ROWS = 8               # steps on either side of a leap that tell how fast the joint goes there,
_FASTER = 3.0           # and by how much more than these it may go in the leap's own step
_LEAP = 20.0            # times the step that 1 % of the others exceed: no motion


@dataclass(frozen=True)
class Unwrapped:
    """Positions of one joint that turns.

    Attributes
    ----------
    q : ndarray, shape (N,)
        Without wraps [rad]; the given array where there are none.
    range : float
        After which positions begin anew [rad]; 0 where nothing wraps.
    wraps : int
        How often they do.
    leaps : tuple of int
        Rows before leaps that are neither motion nor a wrap, but for those at either end.
    """

    q: Array
    range: float = 0.0
    wraps: int = 0
    leaps: tuple[int, ...] = ()


def unwrapped(q: Array, begins: np.ndarray | None = None) -> Unwrapped:
    """Positions of one joint that turns, made to go on where they begin anew.

    A wrap leaps from one end of the positions to the other, always over the same range, in which all positions lie, and without
    it the joint goes on as it does beside it. The range is what the leaps and the motion beside them say, or a known one near it.

    Parameters
    ----------
    q : ndarray, shape (N,)
        Positions [rad]; nan where none was recorded.
    begins : ndarray of bool, shape (N,), optional
        Rows that do not go on from the row before, as at the beginning of another piece of the log.
    """
    finite = np.flatnonzero(np.isfinite(q))
    values = q[finite]
    step = np.diff(values)
    if len(step) < 4 * _ROWS or not np.ptp(values) > 0.0:
        return Unwrapped(q)
    piece = np.zeros(len(values), dtype=int) if begins is None else np.cumsum(begins)[finite]
    goes_on = np.diff(piece) == 0
    far = goes_on & (np.abs(step) > _WHOLE * float(np.ptp(values)))
    leaps = np.flatnonzero(far)
    if not len(leaps):
        return Unwrapped(q)
    usual = float(np.quantile(np.abs(step[goes_on & ~far]), 0.99)) if (goes_on & ~far).any() else 0.0
    fast = usual == 0.0 or bool(np.abs(step[leaps]).min() <= _LEAP * usual)         # or hardly ever in motion
    inside = leaps[(leaps >= _ROWS) & (leaps < len(step) - _ROWS)]
    left = Unwrapped(q, leaps=() if fast else tuple(finite[inside].tolist()))
    size = _range(values, step, leaps, goes_on & ~far)
    if size is None:
        return left
    turn = np.zeros(len(values))
    turn[leaps + 1] = -np.sign(step[leaps])
    turns = np.cumsum(turn)
    first = np.searchsorted(piece, piece)                   # each piece begins as it was recorded
    out = q.copy()
    out[finite] = values + size * (turns - turns[first])
    return Unwrapped(out, size, len(leaps))


def _range(values: Array, step: Array, leaps: np.ndarray, usual: np.ndarray) -> float | None:
    """Range of the wraps; None where the leaps are none."""
    beside = [np.arange(max(0, leap - _ROWS), min(len(step), leap + _ROWS + 1)) for leap in leaps.tolist()]
    near = [step[rows[usual[rows]]] for rows in beside]
    if min(map(len, near)) == 0:
        return None
    pace = np.array([float(np.mean(own)) for own in near])
    found = np.abs(step[leaps] - pace)
    size = float(np.median(found))
    known = min(_KNOWN, key=lambda one: abs(one - size))
    is_known = abs(known / size - 1.0) <= _ALIKE
    size = known if is_known else size
    most = np.array([float(np.abs(own).max()) for own in near])
    left = np.abs(np.abs(step[leaps]) - size)               # what the joint went in these steps themselves
    holds = np.ptp(values) <= (1.0 + _ALIKE) * size and np.all(left <= _ALIKE * size + _FASTER * most)
    there = np.diff(leaps, prepend=-1, append=len(step)) > _ROWS
    stays = bool(np.any(there[:-1] & there[1:]))            # beyond a leap, where a value that comes and goes does not
    return size if holds and (is_known or stays) and not np.all(most == 0.0) else None
