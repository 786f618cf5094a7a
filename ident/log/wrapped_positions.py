"""Unwrapping of positions that wrap around at the end of a range, such as ±pi or the ±12.5
rad of a drive's protocol.
"""

from dataclasses import dataclass

import numpy as np

from stribeck.ident.arrays import Array

_WHOLE = 0.5  # smallest jump of a wrap, as a part of the span of the positions
_ALIKE = 0.02  # relative tolerance of the range between wraps, and to a known range
# rad; one turn, ±12.5 of MIT drives, ±2 pi, ±4 pi
_KNOWN = (2.0 * np.pi, 25.0, 4.0 * np.pi, 8.0 * np.pi)
_ROWS = 8  # steps on each side of a jump that give the speed of the joint there,
_FASTER = 3.0  # and largest motion in the step of the jump, as a multiple of these steps
_LEAP = 20.0  # a step above this multiple of the other steps' 99 % quantile is not motion


@dataclass(frozen=True)
class Unwrapped:
    """Unwrapped positions of one revolute joint.

    Attributes
    ----------
    q : ndarray, shape (N,)
        Positions without wraps [rad]; the given array if there are no wraps.
    range : float
        Range of the wraps [rad]; 0 if there are no wraps.
    wraps : int
        Number of wraps.
    leaps : tuple of int
        Rows before jumps that are neither motion nor wraps, except near the ends of the log.
    """

    q: Array
    range: float = 0.0
    wraps: int = 0
    leaps: tuple[int, ...] = ()


def unwrapped(q: Array, begins: np.ndarray | None = None) -> Unwrapped:
    """Unwrap the positions of one revolute joint.

    A wrap is a jump from one end of the positions to the other. All wraps have the same range, all
    positions lie within this range, and without the wrap the joint continues its motion. The range
    is estimated from the jumps and the motion beside them; a known range close to this estimate
    replaces it.

    Parameters
    ----------
    q : ndarray, shape (N,)
        Positions [rad]; nan if not recorded.
    begins : ndarray of bool, shape (N,), optional
        True for rows that do not continue the previous row, such as the first
        row of another recording.
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
    usual = (
        float(np.quantile(np.abs(step[goes_on & ~far]), 0.99)) if (goes_on & ~far).any() else 0.0
    )
    # or the joint hardly ever moves
    fast = usual == 0.0 or bool(np.abs(step[leaps]).min() <= _LEAP * usual)
    inside = leaps[(leaps >= _ROWS) & (leaps < len(step) - _ROWS)]
    left = Unwrapped(q, leaps=() if fast else tuple(finite[inside].tolist()))
    size = _range(values, step, leaps, goes_on & ~far)
    if size is None:
        return left
    turn = np.zeros(len(values))
    turn[leaps + 1] = -np.sign(step[leaps])
    turns = np.cumsum(turn)
    # each recording begins with its recorded position
    first = np.searchsorted(piece, piece)
    out = q.copy()
    out[finite] = values + size * (turns - turns[first])
    return Unwrapped(out, size, len(leaps))


def _range(values: Array, step: Array, leaps: np.ndarray, usual: np.ndarray) -> float | None:
    """Range of the wraps [rad]; None if the jumps are not wraps."""
    beside = [
        np.arange(max(0, leap - _ROWS), min(len(step), leap + _ROWS + 1)) for leap in leaps.tolist()
    ]
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
    left = np.abs(np.abs(step[leaps]) - size)  # motion during the steps of the jumps
    holds = np.ptp(values) <= (1.0 + _ALIKE) * size and np.all(
        left <= _ALIKE * size + _FASTER * most
    )
    there = np.diff(leaps, prepend=-1, append=len(step)) > _ROWS
    # the joint stays beyond a jump, unlike single bad values
    stays = bool(np.any(there[:-1] & there[1:]))
    return size if holds and (is_known or stays) and not np.all(most == 0.0) else None
