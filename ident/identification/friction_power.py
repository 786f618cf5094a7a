"""Power of a joint's friction over all runs, from the positions of the
samples: what heats the joint.

Runs follow each other by their times of start. A joint is cold at the begin of the first
run, and again after a long rest. Clocks of simulated runs tell nothing about their rests, so
each of them begins cold.
"""

from collections.abc import Sequence
from datetime import datetime

import numpy as np

from stribeck.ident.arrays import Array
from stribeck.ident.fit.joint.fit_joint import JointFit
from stribeck.ident.laws.law_table import law_named
from stribeck.ident.laws.load_components import load_at
from stribeck.ident.log.parts import parts
from stribeck.ident.log.run import Run
from stribeck.ident.temperature.self_heating import HeatLog, heat_log

_COLD = 20.0  # recorded times after which a joint counts as cold
_BINS = 2000  # most intervals in a run
_SHORTEST = 0.1  # s; shortest interval
_STILL = 2e-3  # speed at rest, as a fraction of a joint's highest speed


class Clock:
    """One clock for all runs.

    Parameters
    ----------
    runs : sequence of Run
        In any order.

    Attributes
    ----------
    begin : dict of str to float
        Time of the start of each run, by its label [s].
    span : float
        Recorded time of all runs [s].
    runs : tuple of Run
        In the order of time.
    """

    def __init__(self, runs: Sequence[Run]) -> None:
        self._speeds: dict[str, tuple[Array, Array]] = {}
        self.runs = tuple(sorted(runs, key=lambda run: str(run.record.get("start") or "")))
        self.span = sum(run.duration for run in runs)
        self.begin: dict[str, float] = {}
        end = 0.0
        for before, run in zip((None, *self.runs), self.runs, strict=False):
            self.begin[run.label] = end + (0.0 if before is None else self._rest(before, run))
            end = self.begin[run.label] + run.duration

    def _rest(self, before: Run, run: Run) -> float:
        """Return the time between two runs; if it is not known, the
        joint is taken as cold again.
        """
        cold = _COLD * self.span
        try:
            starts = [datetime.fromisoformat(str(one.record["start"])) for one in (before, run)]
            passed = (starts[1] - starts[0]).total_seconds() - before.duration
        except (KeyError, ValueError, TypeError):
            return cold
        return cold if passed < 0.0 or run.arm.driver.kind == "simulated" else min(passed, cold)

    def time(self, labels: Array, t: Array) -> Array:
        """Return times on this clock, shape (N,).

        Parameters
        ----------
        labels : ndarray of str, shape (N,)
            Run of each time.
        t : ndarray, shape (N,)
            Times on the clock of its run [s].
        """
        first = {run.label: self.begin[run.label] - run.begin for run in self.runs}
        return np.asarray(t + np.array([first[str(label)] for label in labels]))

    def speeds(self, run: Run) -> tuple[Array, Array]:
        """Return the ends of equal intervals of a run, shape (B + 1,), and the speeds of all
        joints in them, shape (B, n).
        """
        if run.label not in self._speeds:
            self._speeds[run.label] = _speeds(run)
        return self._speeds[run.label]

    def rests(self) -> float:
        """Return the longest rest of all joints between motion, as a
        fraction of the recorded time.
        """
        longest, since = 0.0, None
        for run in self.runs:
            edges, speeds = self.speeds(run)
            # parts of each joint's highest speed
            pace = np.max(speeds / np.maximum(speeds.max(axis=0), 1e-12), axis=1)
            ends = self.begin[run.label] + edges - edges[0]
            for k in np.flatnonzero(pace > _STILL).tolist():
                longest = longest if since is None else max(longest, float(ends[k]) - since)
                since = float(ends[k + 1])
        return longest / self.span


def friction_power(clock: Clock, name: str, joint: JointFit) -> HeatLog:
    """Return the power of a joint's friction, by the law of its fit; loads between
    round trips are interpolated.
    """
    fit, points = joint.fit, joint.points
    end, duration, speed, load = list[Array](), list[Array](), list[Array](), list[Array]()
    labels, when, pressed = (
        points["run"].to_numpy(),
        points["t"].to_numpy(dtype=float),
        load_at(points, fit.load, fit.values),
    )
    last = None
    for run in clock.runs:
        edges, speeds = clock.speeds(run)
        begin = clock.begin[run.label]
        own, middle = labels == run.label, 0.5 * (edges[1:] + edges[:-1])
        if last is not None and begin > last:
            end.append(np.array([begin]))
            duration.append(np.array([begin - last]))
            speed.append(np.zeros(1))
            load += [load[-1][-1:]] if pressed is not None else []
        if pressed is not None:
            load.append(
                _between(middle, when[own], pressed[own])
                if own.any()
                else np.repeat(np.median(pressed, axis=0)[None], len(middle), axis=0)
            )
        end.append(begin + edges[1:] - edges[0])
        duration.append(np.full(len(middle), float(edges[1] - edges[0])))
        speed.append(speeds[:, run.names.index(name)])
        last = float(end[-1][-1])
    return heat_log(
        law_named(fit.law),
        fit.values,
        np.concatenate(end),
        np.concatenate(duration),
        np.concatenate(speed),
        None if pressed is None else np.concatenate(load),
        clock.span,
    )


def _speeds(run: Run) -> tuple[Array, Array]:
    """Return the ends of equal intervals of a run, shape (B + 1,), and the speeds of all
    joints in them, shape (B, n).
    """
    width = max(_SHORTEST, run.duration / _BINS)
    edges = np.linspace(
        run.begin, run.begin + run.duration, max(2, round(run.duration / width) + 1)
    )
    q = np.empty((len(edges), len(run.names)))
    for part in parts(run):
        inside = slice(*np.searchsorted(edges, (part.t[0], np.inf)))
        q[inside] = np.column_stack(
            [np.interp(edges[inside], part.t, column) for column in part.signals["q"].T]
        )
    return edges, np.abs(np.diff(q, axis=0)) / (edges[1] - edges[0])


def _between(t: Array, when: Array, values: Array) -> Array:
    """Interpolate the rows of `values` over time, shape (len(t),) or (len(t), m)."""
    order = np.argsort(when, kind="stable")
    if values.ndim == 1:
        return np.interp(t, when[order], values[order])
    return np.column_stack([np.interp(t, when[order], column) for column in values[order].T])
