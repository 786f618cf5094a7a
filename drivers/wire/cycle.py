"""The cycle of a bus: set-points out and replies in, at the arm's own ticks, and its clocks."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from stribeck.drivers.arm import Array, JointSample
from stribeck.drivers.staleness import stale_age
from stribeck.drivers.wire.axis import Axis
from stribeck.drivers.wire.drive_link import DriveLink

_PATIENCE = 2.0             # periods in which a reply must have come
_RECENT = 3                 # periods in which some drive must have replied, or the bus itself is suspected


@dataclass
class Tally:
    """How the cycles went.

    Attributes
    ----------
    cycles : int
        Exchanges so far.
    missed : ndarray of int, shape (n,)
        Cycles in which a joint's reply was not there in time.
    late : int
        Cycles that began more than a period behind the clock's grid.
    latency : list of ndarray, shape (n,)
        From sending to the reply of each joint [s], of the last ten thousand cycles.
    """

    cycles: int
    missed: Array
    late: int
    latency: list[Array]


class Cycle:
    """Exchanges set-points for replies on the grid of the arm's rate.

    Its clocks, by `time.monotonic`: when the arm was entered, which is t = 0 of samples; when the next cycle is due; when replies
    were asked for last; and the gap between the last two times.

    Parameters
    ----------
    link : DriveLink
        The drives.
    rate : float
        Cycles a second.
    watchdog : float
        Time without a frame after which drives stop by themselves [s].
    tally : Tally
        Counts how the cycles go.

    Attributes
    ----------
    period : float
        Of a cycle [s].
    gap : float
        Between the last two times that replies were asked for [s].
    """

    def __init__(self, link: DriveLink, rate: float, watchdog: float, tally: Tally) -> None:
        self.link, self.axes, self.tally = link, link.axes, tally
        self.period, self.gap = 1.0 / rate, 0.0
        self._began, self._tick, self._asked = 0.0, 0.0, 0.0
        self._longest_pause, self._stale_age = watchdog + self.period, stale_age(rate)

    # the clocks

    def begin(self) -> None:
        """The arm was entered now: time starts at zero, and the first cycle is due."""
        self._began = self._tick = self._asked = time.monotonic()

    def due_now(self) -> None:
        """The next cycle is due now, however long none was asked for."""
        self._tick = time.monotonic()

    def wait(self) -> None:
        """Wait until the next cycle is due."""
        now = time.monotonic()
        if now < self._tick:
            time.sleep(self._tick - now)
        elif now - self._tick > self.period:        # behind by whole periods: they are left out, not made up
            self.tally.late += 1
            self._tick += int((now - self._tick) / self.period) * self.period

    def since_asked(self) -> float:
        """Time since replies were asked for [s]."""
        return time.monotonic() - self._asked

    def too_long(self, pause: float) -> bool:
        """Whether drives that heard nothing for so long [s] may have stopped by themselves."""
        return pause > self._longest_pause

    def paused(self) -> bool:
        """Whether nothing was sent for too long, until now or until the last cycle."""
        return self.too_long(max(self.since_asked(), self.gap))

    # one cycle

    def run(self) -> JointSample:
        """Wait for the tick, exchange, gather what came."""
        self.wait()
        return self.exchange()

    def exchange(self) -> JointSample:
        """Send what the axes keep, wait for replies, gather what came."""
        self._tick += self.period
        before = self._asked
        self._asked = self.link.exchange(time.monotonic() + _PATIENCE * self.period)
        self.gap = self._asked - before
        return self._gather()

    def _gather(self) -> JointSample:
        rows = [(r.q, r.dq, r.tau, r.t - self._began, r.raw, r.temperature, r.status) if (r := axis.reading) else
                (np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, 0) for axis in self.axes]
        q, dq, tau, t_joint, raw, temperature, status = np.array(rows, dtype=float).T.copy()
        t, tally = self._asked - self._began, self.tally
        tally.cycles += 1
        tally.missed += ~(t_joint >= t)
        tally.latency.append(t_joint - t)
        del tally.latency[:-10000]
        return JointSample(t, q, dq, tau, t_joint, None if np.isnan(temperature).all() else temperature, status.astype(np.int64),
                           None if np.isnan(raw).all() else raw)

    # who does not reply

    def silent(self, axes: Sequence[Axis] | None = None) -> list[str]:
        """Joints, of all or of these, whose reply was stale when the next was asked for.

        A pause of this computer while it waits for replies is not the drives' silence.
        """
        old = self._asked - self._stale_age
        return [axis.joint.name for axis in (self.axes if axes is None else axes) if axis.reading is None or axis.reading.t < old]

    def oldest(self) -> float:
        """Age of the oldest reply when the next was asked for [s]."""
        return max(self._asked - (axis.reading.t if axis.reading else self._began) for axis in self.axes)

    def nobody_speaks(self) -> bool:
        """Whether none of several drives has replied in the last cycles."""
        since = self._asked - _RECENT * self.period
        return len(self.axes) > 1 and all(axis.reading is None or axis.reading.t < since for axis in self.axes)
