"""Positions that begin anew at the end of their encoder's range, as ±pi or the ±12.5 rad of a drive's protocol, made to go on."""

import numpy as np

from stribeck.ident.arrays import Array

_LEAP = 20.0            # times the step that 1 % of a joint's steps exceed: no motion, a wrap or a bad value
_WHOLE = 0.8            # part of the positions' span that a wrap leaps over at least
_ALIKE = 0.02           # by which the range may differ from wrap to wrap, and from a known one
_KNOWN = (2.0 * np.pi, 25.0, 4.0 * np.pi, 8.0 * np.pi)      # rad; a turn, ±12.5 of MIT drives, ±2 pi, ±4 pi
_ROWS = 8               # steps on either side of a wrap that tell how fast the joint goes there


def unwrapped(q: Array) -> tuple[Array, float, int]:
    """Positions of one joint that turns, without wraps, with the range of a wrap [rad] and how many there are.

    A wrap leaps over nearly the whole span of the positions, stays there, and the joint goes on as fast as before, against the
    leap. The range is what the leaps and the motion beside them say, or a known one near it.

    Parameters
    ----------
    q : ndarray, shape (N,)
        Positions [rad]; nan where none was recorded.

    Returns
    -------
    q : ndarray, shape (N,)
        The same array where nothing wraps.
    range : float
        0 where nothing wraps.
    wraps : int
    """
    finite = np.flatnonzero(np.isfinite(q))
    values = q[finite]
    step = np.diff(values)
    if len(step) < 4 * _ROWS or not np.ptp(values) > 0.0:
        return q, 0.0, 0
    usual = float(np.quantile(np.abs(step), 0.99))
    leaps = np.flatnonzero(np.abs(step) > max(_LEAP * usual, _WHOLE * float(np.ptp(values))))
    if not len(leaps):
        return q, 0.0, 0
    small = np.abs(step) <= _LEAP * usual
    beside = [[k for k in range(max(0, leap - _ROWS), min(len(step), leap + _ROWS + 1)) if small[k]] for leap in leaps.tolist()]
    if min(map(len, beside)) < _ROWS:
        return q, 0.0, 0                                    # values that come and go are no wraps
    pace = np.array([float(np.mean(step[rows])) for rows in beside])
    against = (np.sign(pace) != np.sign(step[leaps])) & (np.abs(pace) > 0.0)
    size = np.abs(step[leaps]) + np.abs(pace)
    span = float(np.median(size))
    if not against.all() or np.any(np.abs(size / span - 1.0) > _ALIKE):
        return q, 0.0, 0
    nearest = min(_KNOWN, key=lambda known: abs(known - span))
    span = nearest if abs(nearest / span - 1.0) <= _ALIKE else span
    turns = np.zeros(len(values))
    turns[leaps + 1] = -np.sign(step[leaps])
    out = q.copy()
    out[finite] = values + span * np.cumsum(turns)
    return out, span, len(leaps)
