"""What makes no sense in a log: rows that are incomplete or damaged, positions that begin anew or leap."""

import numpy as np
from numpy.typing import NDArray

from stribeck.experiments.importers.table import Array
from stribeck.ident.errors import InputError
from stribeck.ident.log.wrapped_positions import unwrapped
from stribeck.ident.model.mechanism import Mechanism

_MOST_CUT = 0.2         # part of the rows that may be incomplete at the log's ends
_FEW = 0.01             # part of the rows that may be left out between the others
_AROUND = 7             # rows whose median tells where a joint was,
_JUMP = 10.0            # times the step that 1 % of a joint's steps exceed, and times its way in a row at the highest speed


def begins(t: Array, pieces: Array | None, gap: float) -> NDArray[np.bool_]:
    """Rows that do not go on from the one before: after a hole of so many periods, and where another recording begins."""
    with np.errstate(invalid="ignore", over="ignore"):
        step = np.diff(t, prepend=t[:1])
        found = step > gap * float(np.nanmedian(step)) if np.isfinite(step).any() else np.zeros(len(t), dtype=bool)
    return np.asarray(found if pieces is None else found | (np.diff(pieces, prepend=pieces[:1]) != 0.0))


def unwrap(q: Array, anew: NDArray[np.bool_], mechanism: Mechanism) -> list[str]:
    """Make positions that begin anew at the end of a range go on, in place, and say so."""
    notes = []
    for joint in np.flatnonzero(~mechanism.prismatic).tolist():
        found = unwrapped(q[:, joint], anew)
        q[:, joint] = found.q
        if found.wraps:
            notes.append(f"the position of {mechanism.names[joint]} begins anew {found.wraps} time(s) after a range of "
                         f"{found.range:.4g} rad; it is taken to go on there")
    return notes


def check_leaps(q: Array, t: Array, segment: NDArray[np.int64], mechanism: Mechanism, source: str) -> None:
    """Refuse positions that leap as no joint moves, where nothing tells to what."""
    for joint in np.flatnonzero(~mechanism.prismatic).tolist():
        if leaps := unwrapped(q[:, joint], np.diff(segment, prepend=segment[:1]) != 0).leaps:
            row, name = leaps[0], mechanism.names[joint]
            way = abs(q[row + 1, joint] - q[row, joint])
            raise InputError(f"{source}: the position of {name} leaps by {way:.4g} rad after row {row} (t = {t[row]:.3f} s), the "
                             f"first of {len(leaps)} such leap(s), which are neither motion nor the end of one range; leave "
                             "those rows out, or import a stretch without them with --from and --to")


def with_sense(t: Array, q: Array, tau: Array, fastest: Array, most: Array, source: str) -> tuple[NDArray[np.bool_],
                                                                                                   list[str]]:
    """Rows but those that hold none of the joints, incomplete ones at the log's ends, and a few bad ones in between."""
    whole = np.isfinite(t) & np.isfinite(q).all(axis=1) & np.isfinite(tau).all(axis=1)
    keep = ~(np.isfinite(t) & np.isnan(q).all(axis=1) & np.isnan(tau).all(axis=1))
    notes = []
    if (empty := int((~keep).sum())) and keep.any():
        notes.append(f"{empty} row(s) hold neither position nor torque of this arm and are left out")
    if whole.any():
        first, last = int(np.argmax(whole)), len(whole) - int(np.argmax(whole[::-1]))
        ends = int(keep[:first].sum() + keep[last:].sum())
        if ends > _MOST_CUT * keep.sum():
            raise InputError(f"{source}: {ends} of {keep.sum()} rows, before row {first} and from row {last} on, lack a number "
                             "in a column that is needed; numbers as 1,016.5 cannot be read, nor a decimal mark that changes; "
                             "cut the log to where all of its columns are")
        if ends:
            notes.append(f"{ends} row(s) at the log's ends are incomplete and are left out")
        keep[:first] = keep[last:] = False
        for rows, word in ((np.flatnonzero(keep & ~whole), "are incomplete"),
                           (np.flatnonzero(keep)[1:][np.diff(t[keep]) == 0.0], "repeat the stamp of the row before"),
                           (np.flatnonzero(keep & whole)[_jumps(t[keep & whole], q[keep & whole], fastest)],
                            "hold a position far from those before and after"),
                           (np.flatnonzero(keep & whole & (np.abs(tau) > most).any(axis=1)),
                            "hold a torque far beyond the arm's limit")):
            if 0 < len(rows) <= _FEW * keep.sum():
                notes.append(f"{len(rows)} row(s), the first of them row {rows[0]}, {word} and are left out")
                keep[rows] = False
    return (keep if keep.any() else np.ones(len(t), dtype=bool)), notes


def _jumps(t: Array, q: Array, fastest: Array) -> NDArray[np.bool_]:
    """Rows in which a joint is where it cannot have been, as a damaged message puts it.

    Where no highest speed is known, it is half of the joint's whole motion from where it was before and after.
    """
    from scipy.ndimage import median_filter

    found = np.zeros(len(t), dtype=bool)
    for values, speed in zip(q.T, fastest, strict=True):
        if len(t) > _AROUND:
            with np.errstate(over="ignore", invalid="ignore"):
                around = median_filter(values, _AROUND, mode="nearest")
                usual = float(np.quantile(np.abs(np.diff(values)), 1.0 - _FEW))
                far = _JUMP * speed * float(np.median(np.diff(t))) if np.isfinite(speed) else 0.5 * float(np.ptp(around))
                found |= np.abs(values - around) > max(_JUMP * usual, far)
    return found
