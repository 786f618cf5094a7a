"""Levels of round trips in the order of time, with a first-order autoregression removed."""

from dataclasses import dataclass, replace

import numpy as np

from stribeck.ident.arrays import Array, Groups
from stribeck.ident.fit.law_fit import speed_classes
from stribeck.ident.fit.residuals.white_residuals import Residuals

# rank correlation of speeds with time from which effects of speed and time look the same
_IN_ORDER = 0.9
_SPEEDS = 5  # least number of speeds for this test


def in_order(speed: Array, time: Array, run: Groups) -> bool:
    """Return whether speeds were measured from slow to fast, or from fast to slow, in every
    run; arguments of shape (G,).
    """
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
    """Levels in the order of time as a first-order autoregression: `serial` times the previous
    level, plus an innovation.

    Attributes
    ----------
    own : Residuals
        Innovations; for the first level of a run, the level scaled to the same
        deviation (Prais and Winsten).
    order : ndarray of int, shape (G,)
        Numbers of the round trips in the order of time.
    first : ndarray of bool, shape (G,)
        Whether a level is the first of its run.
    serial : float
        Autocorrelation of successive levels.
    """

    own: Residuals
    order: Groups
    first: np.ndarray
    serial: float

    @classmethod
    def of(cls, trips: Residuals, time: Array, run: Groups, serial: float) -> "LevelsInTime":
        """Compute the innovations from residuals with one row per round trip; with `serial`
        0 only the order changes.
        """
        order = np.lexsort((time, run))
        first = np.diff(run[order], prepend=-1) != 0
        rows = np.column_stack((trips.columns, trips.white))[order]
        before = np.roll(rows, 1, axis=0)
        own = np.where(first[:, None], np.sqrt(1.0 - serial**2) * rows, rows - serial * before)
        return cls(
            replace(trips.in_order(order), columns=own[:, :-1], white=own[:, -1]),
            order,
            first,
            serial,
        )

    def seen(self, sums: Array) -> Array:
        """Convert sums over the levels, as coefficients (k, G), to sums over the innovations."""
        found = sums[:, self.order].astype(float)
        for k in range(found.shape[1] - 2, -1, -1) if self.serial else ():
            if not self.first[k + 1]:
                # innovations propagate to later levels
                found[:, k] += self.serial * found[:, k + 1]
        found[:, self.first] /= np.sqrt(1.0 - self.serial**2)
        return found
