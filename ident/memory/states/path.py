"""Path of a joint: signed displacements between samples, without the noise of a resting encoder.

Friction with memory depends on the path since the last reversal. Position noise of a resting joint
would look like many small reversals and erase the memory, so positions pass a play operator: the
path moves only when the position leaves a band of a given width around it, as a pin moves in a
slot.

After each reversal a pin loses the width of its slot; a moving joint loses nothing. So the path is
that of the pin, plus the distance from pin to end of the slot. It changes sides when the pin moves
on in the other direction by more than this distance; less is noise of a resting joint.

References
----------
Visintin, Differential Models of Hysteresis, Springer (1994), chapter III, for the play operator.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from stribeck.ident.arrays import Array, Groups

_BLOCKS, _LEAST_BLOCKS = 48, 12  # most and least blocks of a path
# least number of samples that tell the acceleration at the beginning of a section
FIRST = 8
# part of the greatest speed from which a joint counts as sliding
_SLIDES = 0.02


@dataclass(frozen=True)
class Runs:
    """Parts of a path in one direction, from reversal to reversal or to the end of a section.

    Attributes
    ----------
    first : ndarray of int, shape (R,)
        First sample of each run.
    direction : ndarray, shape (R,)
        Direction of each run, -1 or 1.
    length : ndarray, shape (R,)
        Length of each run [rad or m].
    section : ndarray of int, shape (B,)
        First run of each section.
    at : ndarray of int, shape (M,)
        Run of each sample.
    """

    first: Groups
    direction: Array
    length: Array
    section: Groups
    at: Groups


@dataclass(frozen=True)
class Path:
    """Displacements of one joint.

    Attributes
    ----------
    step : ndarray, shape (M,)
        Displacement since the previous sample; 0 in the first sample of a section [rad or m].
    begins : ndarray of int, shape (B,)
        First sample of each section of the log, the first of which is 0.
    sliding : ndarray, shape (B,)
        Direction in which the joint slides at the beginning of each
        section, -1 or 1; 0 if it rests.
    since : ndarray, shape (B,)
        Distance since a reversal before the section, after steady sliding in the other direction
        [rad or m]; infinite without one. States begin accordingly.
    """

    step: Array
    begins: np.ndarray
    sliding: Array
    since: Array

    @classmethod
    def of(
        cls,
        position: Array,
        width: float = 0.0,
        begins: np.ndarray | None = None,
        velocity: Array | None = None,
        first: int = FIRST,
        rest: ArrayLike = 0,
    ) -> "Path":
        """Return the path of positions, shape (M,), that are noisy by at most `width`
        to either side [rad or m].

        The path loses nothing at reversals. While the play operator pauses there, for fewer than
        `rest` samples (one number, or one a section), the path goes straight on; after a longer
        pause, in which the joint rests, it jumps. With 0 the path is the output of the play
        operator itself.

        With velocities, shape (M,), the joint slides at the beginning of a section if the path
        moves within the `first` samples, or if it is faster than `_SLIDES` of its greatest speed.
        If it speeds up in these samples, its acceleration tells the distance since its reversal.
        """
        if not len(position):
            return cls(np.zeros(0), np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros(0))
        begins = np.array([0]) if begins is None else np.asarray(begins)
        ends = [*begins[1:].tolist(), len(position)]
        rests = np.broadcast_to(rest, len(begins)).tolist()
        smooth = np.concatenate(
            [
                _without_loss(position[a:b], width, pause)
                for a, b, pause in zip(begins.tolist(), ends, rests, strict=True)
            ]
        )
        step = np.diff(smooth, prepend=smooth[:1])
        step[begins] = 0.0
        if velocity is None:
            return cls(step, begins, np.zeros(len(begins)), np.full(len(begins), np.inf))
        fast = _SLIDES * float(np.abs(velocity).max(initial=0.0))
        firsts = [slice(a, min(a + first, b)) for a, b in zip(begins.tolist(), ends, strict=True)]
        moves = np.array(
            [np.any(np.abs(position[rows] - position[rows.start]) > width) for rows in firsts]
        )
        sliding = np.sign(velocity[begins]) * (moves | (np.abs(velocity[begins]) > fast))
        far = [_since_reversal(position[rows], velocity[rows]) for rows in firsts]
        return cls(step, begins, sliding, np.array(far))

    @cached_property
    def length(self) -> Array:
        """Length of each step, shape (M,) [rad or m]."""
        return np.abs(self.step)

    @cached_property
    def direction(self) -> Array:
        """Direction of the last displacement, -1 or 1, shape (M,); before the first
        displacement that of the first.
        """
        sign = np.sign(self.step)
        moved = np.flatnonzero(sign)
        if not len(moved):
            return np.ones(len(sign))
        last = np.maximum.accumulate(np.where(sign != 0.0, np.arange(len(sign)), -1))
        return np.asarray(sign[np.where(last >= 0, last, moved[0])])

    @cached_property
    def reversals(self) -> np.ndarray:
        """Samples in which the direction changes."""
        return np.flatnonzero(np.diff(self.direction)) + 1

    @cached_property
    def since_reversal(self) -> Array:
        """Distance since the last reversal, or since the beginning of the
        section, shape (M,) [rad or m].
        """
        travelled = np.cumsum(self.length)
        turns = np.zeros(len(travelled))
        marks = np.union1d(self.reversals, self.begins)
        turns[marks] = np.diff(travelled[marks] - self.length[marks], prepend=0.0)
        return np.asarray(travelled - np.cumsum(turns))

    @cached_property
    def runs(self) -> Runs:
        """Runs between reversals."""
        first = np.union1d(self.reversals, self.begins)
        last = np.append(first[1:], len(self.step)) - 1
        return Runs(
            first,
            self.direction[first],
            self.since_reversal[last],
            np.searchsorted(first, self.begins),
            np.cumsum(np.bincount(first, minlength=len(self.step))) - 1,
        )

    @cached_property
    def blocks(self) -> Groups:
        """Block of each sample, 0 ... G-1, shape (M,). Blocks end at reversals, or at even times
        if there are few reversals.
        """
        turns = np.zeros(len(self.step), dtype=int)
        turns[self.reversals] = 1
        count = len(self.reversals) + 1
        if count < _LEAST_BLOCKS:
            return np.asarray(np.arange(len(turns)) * _LEAST_BLOCKS // len(turns))
        return np.asarray(np.cumsum(turns) // -(-count // _BLOCKS))


def _since_reversal(position: Array, velocity: Array) -> float:
    """Return the distance since a reversal before the first sample, at constant acceleration;
    infinite if slowing down.
    """
    faster = float(velocity[-1] - velocity[0]) * np.sign(velocity[0])
    if faster <= 0.0:
        return np.inf
    distance = abs(position[-1] - position[0])
    return float(distance * velocity[0] ** 2 / (abs(velocity[0]) + abs(velocity[-1])) / faster)


def _without_loss(position: Array, width: float, rest: int) -> Array:
    """Return positions without the noise of rests, shape (M,): the output of the play operator,
    without its loss at reversals.
    """
    pin = played(position, width)
    steps = np.diff(pin, prepend=pin[:1])
    moved = np.flatnonzero(steps)
    if rest <= 0 or not len(moved):
        return pin
    step = steps[moved]
    # of steps in one direction: the first one of each
    runs = np.flatnonzero(np.diff(np.sign(step), prepend=0.0))
    runs = runs[np.abs(np.add.reduceat(step, runs)) > width]
    if not len(runs):
        return pin
    runs = runs[np.flatnonzero(np.diff(np.sign(step[runs]), prepend=0.0))]
    # last sample of the pause, and the first
    ends, before = moved[runs], np.where(runs > 0, moved[runs - 1], 0)
    begins = np.where(ends - before < rest, before, ends - 1)
    sides = np.sign(step[runs])
    at, side = (
        np.column_stack((begins, ends)).ravel(),
        np.column_stack((np.append(0.0, sides[:-1]), sides)).ravel(),
    )
    return np.asarray(pin + width * np.interp(np.arange(len(pin)), at, side, left=0.0))


def played(position: Array, width: float) -> Array:
    """Return the output of a play operator of half width `width`, shape (M,), which
    begins at the first position.
    """
    if width <= 0.0:
        return position
    out, at = [], float(position[0])
    for here in position.tolist():
        if here - width > at:
            at = here - width
        elif here + width < at:
            at = here + width
        out.append(at)
    return np.array(out)
