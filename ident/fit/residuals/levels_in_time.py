"""Levels of round trips without what they share with those before them: a first-order autoregression, taken off."""

from dataclasses import dataclass, replace

import numpy as np

from stribeck.ident.arrays import Array, Groups
from stribeck.ident.fit.law_fit import speed_classes
from stribeck.ident.fit.residuals.white_residuals import Residuals

_IN_ORDER = 0.9         # rank correlation of speeds with time from which one looks like the other,
_SPEEDS = 5             # and how many speeds it takes


def in_order(speed: Array, time: Array, run: Groups) -> bool:
    """Whether round trips were made from slow to fast, or the other way, in every run; all shape (G,)."""
    found = []
    for k in np.unique(run):
        own = run == k
        if np.count_nonzero(own) >= _SPEEDS and np.ptp(time[own]) > 0.0:
            enough = speed_classes(speed[own]).max() + 1 >= _SPEEDS
            ranks = [np.unique(values[own], return_inverse=True)[1] for values in (time, speed)]
            found.append(enough and abs(float(np.asarray(np.corrcoef(ranks))[0, 1])) >= _IN_ORDER)
    return bool(found) and all(found)


@dataclass(frozen=True)
class LevelsInTime:
    """Levels in the order of time, of which each is `serial` times the one before it in its run, and something of its own.

    Attributes
    ----------
    own : Residuals
        What each has of its own; of the first of a run all, in the same deviation (Prais and Winsten).
    order : ndarray of int, shape (G,)
        Which round trip stands where.
    first : ndarray of bool, shape (G,)
        Whether it is the first of its run.
    serial : float
        Correlation of successive levels.
    """

    own: Residuals
    order: Groups
    first: np.ndarray
    serial: float

    @classmethod
    def of(cls, trips: Residuals, time: Array, run: Groups, serial: float) -> "LevelsInTime":
        """Of a row a round trip; without `serial` only the order changes."""
        order = np.lexsort((time, run))
        first = np.diff(run[order], prepend=-1) != 0
        rows = np.column_stack((trips.columns, trips.white))[order]
        before = np.roll(rows, 1, axis=0)
        own = np.where(first[:, None], np.sqrt(1.0 - serial**2) * rows, rows - serial * before)
        return cls(replace(trips.in_order(order), columns=own[:, :-1], white=own[:, -1]), order, first, serial)

    def seen(self, sums: Array) -> Array:
        """Sums over the levels (k, G) as sums over what each has of its own."""
        found = sums[:, self.order].astype(float)
        for k in range(found.shape[1] - 2, -1, -1) if self.serial else ():
            if not self.first[k + 1]:
                found[:, k] += self.serial * found[:, k + 1]        # what it has of its own goes on in those after it
        found[:, self.first] /= np.sqrt(1.0 - self.serial**2)
        return found
