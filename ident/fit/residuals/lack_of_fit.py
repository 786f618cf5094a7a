"""Test of a fit for lack of fit, over all variables of its points.

If every round trip has a single speed and load, its level is the observation (`ratio_p`). Variables
that change within round trips, and general motion, are tested with random signs of whole round
trips or passes (`flipped_p`). Levels that drift in time are not a misfit of the law: their
autocorrelation is removed first, unless speeds were measured in order, so that effects of speed and
time cannot be told apart. An F test compares near-replicates (one speed and one range of loads)
with the law. The test over speed has half of the significance level; the other tests share the rest
equally (Bonferroni).
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from stribeck.ident.arrays import Array, Groups
from stribeck.ident.fit.fit_result import FitResult
from stribeck.ident.fit.law_fit import speed_classes
from stribeck.ident.fit.misfit import GROWTH, LEVEL, Misfit
from stribeck.ident.fit.residuals.cumulated import cells, flipped_p, ratio_p, reached, waves
from stribeck.ident.fit.residuals.levels_in_time import LevelsInTime, in_order
from stribeck.ident.fit.residuals.white_residuals import Residuals

# part of a variable's variance within round trips, up to which each round trip has a single value
_OWN = 0.1
# least number of values of a variable, and of degrees of freedom, for a test
_FEW = 4
_FIRST = "speed"  # the test with half of the significance level
# p value up to which residuals suggest further laws or waves, which then compete
_OPEN = 0.1
# number of load ranges; round trips of one speed and range count as replicates
_LOADS = 4


@dataclass(frozen=True)
class Tested:
    """A test of residuals over one variable.

    Attributes
    ----------
    over : str
        As in `Misfit`.
    rows : Residuals
        Residuals that were tested.
    x : ndarray, shape (N,)
        Value of the variable in each row.
    window : ndarray of int, shape (N,)
        Window of each row, for means.
    p : float
        Probability that noise alone gives as large a statistic.
    turn : ndarray, shape (N,), optional
        Factor of the residuals; default 1.
    """

    over: str
    rows: Residuals
    x: Array
    window: Groups
    p: float
    turn: Array | None = None

    @property
    def means(self) -> tuple[Array, Array]:
        """Mean value of the variable and mean residual in each window [N·m or N]."""
        weight = self.rows.weight
        total = np.bincount(self.window, weight)
        plain = self.rows.plain if self.turn is None else self.turn * self.rows.plain
        x = np.bincount(self.window, weight * self.x)
        residual = np.bincount(self.window, weight * plain)
        return x / total, residual / total


def lack_of_fit(
    fit: FitResult,
    position: Array | None = None,
    load: Array | None = None,
    even: Residuals | None = None,
    time: Array | None = None,
) -> tuple[tuple[Misfit, ...], tuple[Tested, ...]]:
    """Return the variables with which residuals of a fit vary, the most
    significant first, and their tests.

    Parameters
    ----------
    fit : FitResult
        Fit with its points.
    position, load : ndarray, shape (N,), optional
        Positions and loads of the points; the load only if the fit has none.
    even : Residuals, optional
        Residuals of the mean of both directions, for the same points.
    time : ndarray, shape (N,), optional
        Time of the points of general motion [s]; round trips have their own times.
    """
    return judged(_tests(fit, position, load, even, time))


def growth_varies(fit: FitResult, load: Array | None) -> bool:
    """Return whether residuals hint that growth of friction with the load of
    the points depends on speed.
    """
    data = fit.data
    if data is None or data.seen is not None or load is None or load.ndim > 1:
        return False
    # a missing load looks like drifting levels
    rows, alone = Residuals.of(fit), replace(fit, serial=0.0)
    trips, levels = rows.of_trips, _levels(alone, rows)
    missed = _own("load", rows, trips, levels, load) if data.load is None else ()
    return any(
        test.p <= _OPEN for test in (*_growth(rows, trips, levels, data.speed, load), *missed)
    )


def uneven(fit: FitResult, position: Array) -> bool:
    """Return whether residuals hint that friction varies with position."""
    return any(test.p <= _OPEN for test in _flipped("position", Residuals.of(fit), position))


def judged(tests: Iterable[Tested]) -> tuple[tuple[Misfit, ...], tuple[Tested, ...]]:
    """Return the misfits and the significant tests of a joint, the most significant first."""
    tests = list(tests)
    others = sum(test.over != _FIRST for test in tests)
    half = 0.5 if 0 < others < len(tests) else 1.0
    # part of the significance level
    part = {test.over: half if test.over == _FIRST else half / others for test in tests}
    ordered = sorted(tests, key=lambda test: test.p / part[test.over])
    shown = tuple(test for test in ordered if test.p <= LEVEL * part[test.over])
    return tuple(_misfit(test, part[test.over]) for test in shown), shown


def _tests(
    fit: FitResult,
    position: Array | None,
    load: Array | None,
    even: Residuals | None,
    time: Array | None,
) -> Iterator[Tested]:
    data, rows = fit.data, Residuals.of(fit)
    assert data is not None
    pressed = load if data.load is None or data.load.ndim > 1 else data.view(data.load)
    if data.seen is not None:
        yield from over_passes(rows, data.speed, data.direction, pressed, position, time)
        return
    trips, levels = rows.of_trips, _levels(fit, rows)
    for over, x in (("speed", data.speed), ("load", pressed)):
        if x is not None:
            yield from _own(over, rows, trips, levels, x)
    if data.time is not None and np.ptp(data.time) > 0.0:
        run = 0 if data.run is None else data.run - data.run.min()
        yield from _in_time(trips, levels, data.time + (np.ptp(data.time) + 1.0) * run)
    yield from _replicates(rows, trips, levels, data.speed, pressed)
    if pressed is not None and np.ptp(pressed) > 0.0:
        yield from _growth(rows, trips, levels, data.speed, pressed)
    if position is not None:
        yield from _flipped("position", rows, position)
    if even is not None:
        yield from _flipped("direction", even, data.speed)


def _levels(fit: FitResult, rows: Residuals) -> LevelsInTime:
    """Return the levels of the round trips of a fit, with their autocorrelation removed."""
    data = fit.data
    assert data is not None
    run = np.zeros(data.groups, dtype=int) if data.run is None else data.run
    time = np.arange(float(data.groups)) if data.time is None else data.time
    unknown = np.ptp(time) == 0.0  # a table: its rows are not in the order of time
    serial = 0.0 if unknown or in_order(rows.mean_of_trips(data.speed), time, run) else fit.serial
    return LevelsInTime.of(rows.of_trips, time, run, serial)


def over_passes(
    rows: Residuals,
    speed: Array,
    direction: Array,
    load: Array | None = None,
    position: Array | None = None,
    time: Array | None = None,
) -> Iterator[Tested]:
    """Yield the tests of general motion, with random signs of whole passes; rows are
    in the direction of motion.
    """
    yield from _flipped("speed", rows, speed)
    yield from _flipped("direction", rows, speed, np.sign(direction))
    if load is not None and np.ptp(load) > 0.0:
        yield from _flipped(GROWTH, rows, speed, _heavy(load))
    for over, x in (("load", load), ("position", position), ("time", time)):
        if x is not None:
            yield from _flipped(over, rows, x)


def _heavy(load: Array) -> Array:
    """Return 1 for loads above the mean, else -1, shape (N,)."""
    return np.where(load > load.mean(), 1.0, -1.0)


def _flipped(over: str, rows: Residuals, x: Array, turn: Array | None = None) -> Iterator[Tested]:
    cell = cells(x)
    if cell.max() >= _FEW and rows.group.max() >= _FEW:
        yield Tested(over, rows, x, windows(x), flipped_p(rows, cell, turn), turn)


def _own(
    over: str, rows: Residuals, trips: Residuals, levels: LevelsInTime, x: Array
) -> Iterator[Tested]:
    """Yield the test over a variable: by levels if each round trip has a single value
    (cumulated sums and faster waves).
    """
    mean = rows.mean_of_trips(x)
    if np.mean((x - mean[rows.group]) ** 2) > _OWN * np.var(x):
        yield from _flipped(over, rows, x)
        return
    cell = cells(mean)
    if cell.max() >= _FEW and trips.spare >= _FEW:
        chances = [ratio_p(levels.own, levels.seen(sums)) for sums in (reached(cell), waves(mean))]
        yield Tested(over, trips, mean, windows(mean), min(1.0, len(chances) * min(chances)))


def _growth(
    rows: Residuals, trips: Residuals, levels: LevelsInTime, speed: Array, load: Array
) -> Iterator[Tested]:
    """Yield the test of heavy minus light load over speed: by levels if each
    round trip has a single load.
    """
    pressed, mean = rows.mean_of_trips(load), rows.mean_of_trips(speed)
    if np.mean((load - pressed[rows.group]) ** 2) > _OWN * np.var(load):
        yield from _flipped(GROWTH, rows, speed, _heavy(load))
        return
    cell = cells(mean)
    if cell.max() >= _FEW and trips.spare >= _FEW:
        weighted = (pressed - pressed.mean()) * reached(cell)
        yield Tested(
            GROWTH,
            trips,
            mean,
            windows(mean),
            ratio_p(levels.own, levels.seen(weighted)),
            _heavy(pressed),
        )


def _in_time(trips: Residuals, levels: LevelsInTime, time: Array) -> Iterator[Tested]:
    cell = cells(time)
    if cell.max() >= _FEW and trips.spare >= _FEW:
        yield Tested(
            "time", trips, time, windows(time), ratio_p(levels.own, reached(cell[levels.order]))
        )


def _replicates(
    rows: Residuals, trips: Residuals, levels: LevelsInTime, speed: Array, load: Array | None
) -> Iterator[Tested]:
    """Yield the test of levels of the same speed and load range against the law."""
    mean_speed = np.exp(rows.mean_of_trips(np.log(speed)))
    cell = speed_classes(mean_speed)
    if load is not None and np.ptp(load) > 0.0:
        mean = rows.mean_of_trips(load)
        part = np.minimum(
            _LOADS - 1, (mean - mean.min()) / max(np.ptp(mean), 1e-300) * _LOADS
        ).astype(int)
        cell = np.unique(cell * _LOADS + part, return_inverse=True)[1]
    count = np.bincount(cell)
    if len(trips.white) - len(count) >= _FEW and len(count) - (len(trips.white) - trips.spare) >= 1:
        means = (np.arange(len(count))[:, None] == cell) / np.sqrt(count)[:, None]
        yield Tested("repeats", trips, mean_speed, cell, ratio_p(levels.own, levels.seen(means)))


def _misfit(test: Tested, part: float) -> Misfit:
    place, mean = test.means
    k = int(np.argmax(np.abs(mean)))
    return Misfit(test.over, min(1.0, test.p / part), float(mean[k]), float(place[k]))


_WINDOWS, _IN_WINDOW = 10, 3  # most windows, and least rows in each


def windows(x: Array) -> Groups:
    """Return the window of each value: a few ranges with about equally many values; equal
    values share one, shape (N,).
    """
    parts = max(2, min(_WINDOWS, len(x) // _IN_WINDOW))
    first = np.searchsorted(np.sort(x), x)  # how many are smaller
    return np.asarray(np.unique(first * parts // len(x), return_inverse=True)[1])
