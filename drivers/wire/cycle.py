"""The cycle of a bus: sends set-points and collects replies at the arm's own
ticks, and keeps the clocks.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from stribeck.drivers.arm import Array, JointSample
from stribeck.drivers.staleness import stale_age
from stribeck.drivers.wire.axis import Axis
from stribeck.drivers.wire.drive_link import DriveLink

_PATIENCE = 2.0  # periods for which a cycle waits for replies
_RECENT = 3  # periods without any reply after which the bus itself is suspected


@dataclass
class Tally:
    """Counts of cycles, missed replies and late cycles, and the latencies of replies.

    Attributes
    ----------
    cycles : int
        Number of exchanges so far.
    missed : ndarray of int, shape (n,)
        Number of cycles in which the reply of each joint did not come in time.
    late : int
        Number of cycles that began more than a period behind the clock's grid.
    latency : list of ndarray, shape (n,)
        Time from the request to the reply of each joint [s], for the last ten thousand cycles.
    """

    cycles: int
    missed: Array
    late: int
    latency: list[Array]


class Cycle:
    """Exchanges set-points for replies on the time grid of the arm's rate.

    It keeps four times by the clock of the link: the time at which the arm was entered, which is t = 0
    of samples; the time at which the next cycle is due; the time of the last request for replies;
    and the gap between the last two requests.

    Parameters
    ----------
    link : DriveLink
        The drives.
    rate : float
        Cycles per second.
    watchdog : float
        Time without a frame after which drives stop by themselves [s].
    tally : Tally
        Counters that the cycles update.

    Attributes
    ----------
    clock : Clock
        Clock of the link.
    period : float
        Duration of a cycle [s].
    gap : float
        Time between the last two requests for replies [s].
    """

    def __init__(self, link: DriveLink, rate: float, watchdog: float, tally: Tally) -> None:
        self.link, self.axes, self.tally, self.clock = link, link.axes, tally, link.clock
        self.period, self.gap = 1.0 / rate, 0.0
        self._began, self._tick, self._asked = 0.0, 0.0, 0.0
        self._longest_pause, self._stale_age = watchdog + self.period, stale_age(rate)

    # the clocks

    def begin(self) -> None:
        """Start the time of samples at zero and make the first cycle due;
        called when the arm is entered.
        """
        self._began = self._tick = self._asked = self.clock.now()

    def due_now(self) -> None:
        """Make the next cycle due now, however long the pause before it was."""
        self._tick = self.clock.now()

    def wait(self) -> None:
        """Wait until the next cycle is due."""
        now = self.clock.now()
        if now < self._tick:
            self.clock.sleep(self._tick - now)
        elif now - self._tick > self.period:  # missed periods are skipped, not sent later
            self.tally.late += 1
            self._tick += int((now - self._tick) / self.period) * self.period

    def since_asked(self) -> float:
        """Time since the last request for replies [s]."""
        return self.clock.now() - self._asked

    def too_long(self, pause: float) -> bool:
        """Whether drives may have stopped by themselves after this pause [s] without frames."""
        return pause > self._longest_pause

    def paused(self) -> bool:
        """Whether the time since the last cycle, or between the last two cycles, was too long
        for the drives' watchdogs.
        """
        return self.too_long(max(self.since_asked(), self.gap))

    # one cycle

    def run(self) -> JointSample:
        """Wait for the tick, exchange, and return the sample."""
        self.wait()
        return self.exchange()

    def exchange(self) -> JointSample:
        """Send the set-points of the axes, wait for replies, and return the sample."""
        self._tick += self.period
        before = self._asked
        self._asked = self.link.exchange(self.clock.now() + _PATIENCE * self.period)
        self.gap = self._asked - before
        return self._gather()

    def _gather(self) -> JointSample:
        rows = [
            (r.q, r.dq, r.tau, r.t - self._began, r.raw, r.temperature, r.status)
            if (r := axis.reading)
            else (np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, 0)
            for axis in self.axes
        ]
        q, dq, tau, t_joint, raw, temperature, status = np.array(rows, dtype=float).T.copy()
        t, tally = self._asked - self._began, self.tally
        tally.cycles += 1
        tally.missed += ~(t_joint >= t)
        tally.latency.append(t_joint - t)
        del tally.latency[:-10000]
        return JointSample(
            t,
            q,
            dq,
            tau,
            t_joint,
            None if np.isnan(temperature).all() else temperature,
            status.astype(np.int64),
            None if np.isnan(raw).all() else raw,
        )

    # drives that do not reply

    def silent(self, axes: Sequence[Axis] | None = None) -> list[str]:
        """Names of joints whose last reply was stale at the last request; None for
        `axes` looks at all axes.

        The age of a reply is computed at the time of the request. Thus a pause of this computer
        while it waits for replies does not look like silent drives.
        """
        old = self._asked - self._stale_age
        return [
            axis.joint.name
            for axis in (self.axes if axes is None else axes)
            if axis.reading is None or axis.reading.t < old
        ]

    def oldest(self) -> float:
        """Age of the oldest reply at the last request [s]."""
        return max(
            self._asked - (axis.reading.t if axis.reading else self._began) for axis in self.axes
        )

    def nobody_speaks(self) -> bool:
        """Whether none of several drives has replied in the last cycles."""
        since = self._asked - _RECENT * self.period
        return len(self.axes) > 1 and all(
            axis.reading is None or axis.reading.t < since for axis in self.axes
        )
