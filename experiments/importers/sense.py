"""Implausible data in a log: incomplete or damaged rows, wrapped positions, and position jumps."""

import numpy as np
from numpy.typing import NDArray

from stribeck.experiments.importers.table import Array
from stribeck.ident.errors import InputError
from stribeck.ident.log.wrapped_positions import unwrapped
from stribeck.ident.model.mechanism import Mechanism

_MOST_CUT = 0.2  # largest part of the rows that may be incomplete at the ends of the log
_FEW = 0.01  # largest part of the rows that may be left out within the log
_AROUND = 7  # rows of the median filter that gives the expected position,
# factor on the 99 % quantile of a joint's steps, and on its step at the highest speed
_JUMP = 10.0


def begins(t: Array, pieces: Array | None, gap: float) -> NDArray[np.bool_]:
    """Mask of rows at which the log starts again: after a gap of `gap` periods, and where
    another recording begins, (N,).
    """
    with np.errstate(invalid="ignore", over="ignore"):
        step = np.diff(t, prepend=t[:1])
        found = (
            step > gap * float(np.nanmedian(step))
            if np.isfinite(step).any()
            else np.zeros(len(t), dtype=bool)
        )
    return np.asarray(
        found if pieces is None else found | (np.diff(pieces, prepend=pieces[:1]) != 0.0)
    )


def unwrap(q: Array, anew: NDArray[np.bool_], mechanism: Mechanism) -> list[str]:
    """Unwrap positions of revolute joints in place; return a note for each joint that wrapped."""
    notes = []
    for joint in np.flatnonzero(~mechanism.prismatic).tolist():
        found = unwrapped(q[:, joint], anew)
        q[:, joint] = found.q
        if found.wraps:
            notes.append(
                f"the position of {mechanism.names[joint]} wraps around {found.wraps} time(s), by "
                f"a range of {found.range:.4g} rad; the wraps are removed"
            )
    return notes


def check_leaps(
    q: Array, t: Array, segment: NDArray[np.int64], mechanism: Mechanism, source: str
) -> None:
    """Refuse logs with position jumps that are neither motion nor wrap-around."""
    for joint in np.flatnonzero(~mechanism.prismatic).tolist():
        if leaps := unwrapped(q[:, joint], np.diff(segment, prepend=segment[:1]) != 0).leaps:
            row, name = leaps[0], mechanism.names[joint]
            way = abs(q[row + 1, joint] - q[row, joint])
            raise InputError(
                f"{source}: the position of {name} jumps by {way:.4g} rad after row {row} (t = "
                f"{t[row]:.3f} s), the first of {len(leaps)} jump(s) that are neither motion nor "
                "wrap-around; delete these rows, or import a part of the log without them with "
                "--from and --to"
            )


def with_sense(
    t: Array, q: Array, tau: Array, fastest: Array, most: Array, source: str
) -> tuple[NDArray[np.bool_], list[str]]:
    """Return the mask of usable rows, (N,), and a note for each kind of row that is left out.

    Left out are rows without any joint, incomplete rows at the ends of the log, and a
    few bad rows within the log.
    """
    whole = np.isfinite(t) & np.isfinite(q).all(axis=1) & np.isfinite(tau).all(axis=1)
    keep = ~(np.isfinite(t) & np.isnan(q).all(axis=1) & np.isnan(tau).all(axis=1))
    notes = []
    if (empty := int((~keep).sum())) and keep.any():
        notes.append(
            f"{empty} row(s) contain neither position nor torque of this arm and are left out"
        )
    if whole.any():
        first, last = int(np.argmax(whole)), len(whole) - int(np.argmax(whole[::-1]))
        ends = int(keep[:first].sum() + keep[last:].sum())
        if ends > _MOST_CUT * keep.sum():
            raise InputError(
                f"{source}: {ends} of {keep.sum()} rows, before row {first} and from row {last} "
                "on, lack a number in a needed column. Numbers such as 1,016.5 and mixed decimal "
                "marks cannot be read. Correct the numbers, or cut the log to the rows with all "
                "columns"
            )
        if ends:
            notes.append(f"{ends} row(s) at the ends of the log are incomplete and are left out")
        keep[:first] = keep[last:] = False
        for rows, word in (
            (np.flatnonzero(keep & ~whole), "are incomplete"),
            (
                np.flatnonzero(keep)[1:][np.diff(t[keep]) == 0.0],
                "repeat the time stamp of the previous row",
            ),
            (
                np.flatnonzero(keep & whole)[_jumps(t[keep & whole], q[keep & whole], fastest)],
                "have a position far from the positions before and after",
            ),
            (
                np.flatnonzero(keep & whole & (np.abs(tau) > most).any(axis=1)),
                "have a torque far beyond the arm's limit",
            ),
        ):
            if 0 < len(rows) <= _FEW * keep.sum():
                notes.append(
                    f"{len(rows)} row(s), the first of them row {rows[0]}, {word} and are left out"
                )
                keep[rows] = False
    return (keep if keep.any() else np.ones(len(t), dtype=bool)), notes


def _jumps(t: Array, q: Array, fastest: Array) -> NDArray[np.bool_]:
    """Return the mask of rows with an impossible position, as from a damaged message, shape (N,).

    A position is impossible if it is too far from the median of its neighbours for the
    joint's highest speed. If this speed is unknown, the allowed distance is half of
    the joint's whole motion.
    """
    from scipy.ndimage import median_filter

    found = np.zeros(len(t), dtype=bool)
    for values, speed in zip(q.T, fastest, strict=True):
        if len(t) > _AROUND:
            with np.errstate(over="ignore", invalid="ignore"):
                around = median_filter(values, _AROUND, mode="nearest")
                usual = float(np.quantile(np.abs(np.diff(values)), 1.0 - _FEW))
                far = (
                    _JUMP * speed * float(np.median(np.diff(t)))
                    if np.isfinite(speed)
                    else 0.5 * float(np.ptp(around))
                )
                found |= np.abs(values - around) > max(_JUMP * usual, far)
    return found
