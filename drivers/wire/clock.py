"""The clocks of drives, emulated drives and programs that drive them: real time, and virtual
time, which passes only while somebody waits.
"""

import math
import threading
import time
from abc import ABC, abstractmethod
from typing import Protocol


class Clock(ABC):
    """Tells the time and waits."""

    @abstractmethod
    def now(self) -> float:
        """Time since an arbitrary instant; it never jumps [s]."""

    @abstractmethod
    def since_1970(self) -> float:
        """Time since the begin of 1970, for records and for time stamps of frames [s]."""

    @abstractmethod
    def sleep(self, duration: float) -> None:
        """Wait for a duration [s]."""

    @abstractmethod
    def wait(self, event: threading.Event, until: float) -> bool:
        """Wait until an event is set, or until a time of this clock [s]; return whether the
        event is set.
        """


class RealClock(Clock):
    """The clock of this computer."""

    def now(self) -> float:
        """Time by `time.monotonic` [s]."""
        return time.monotonic()

    def since_1970(self) -> float:
        """Time by `time.time` [s]."""
        return time.time()

    def sleep(self, duration: float) -> None:
        """Let the thread sleep."""
        time.sleep(duration)

    def wait(self, event: threading.Event, until: float) -> bool:
        """Wait for another thread to set the event."""
        return event.wait(max(0.0, until - time.monotonic()))


REAL_TIME = RealClock()


class Member(Protocol):
    """A part of a simulated world that acts at times of its own."""

    def due(self) -> float:
        """Time of the next act; infinite if none is due [s]."""

    def act(self) -> None:
        """Do what is due at the present time. A member that waits in its act is due at no time
        until the act is over.
        """


class VirtualClock(Clock):
    """A clock that stands still while a program computes. When the program waits, the members
    act one after the other, and the clock moves to the time of each act.

    Everything happens in the thread that waits, always in the same order.

    Attributes
    ----------
    members : list of Member
        Emulated drives, buses and other programs; of several acts at the same time, the one of
        the earlier member comes first.
    """

    def __init__(self) -> None:
        self.members: list[Member] = []
        # as on a computer that has been on for a while: times of 0 lie far back
        self._now = 1000.0

    def now(self) -> float:
        """Virtual time [s]."""
        return self._now

    def since_1970(self) -> float:
        """Virtual time, from an arbitrary day on [s]."""
        return 1.7e9 + self._now

    def sleep(self, duration: float) -> None:
        """Let all acts happen that are due within a duration [s]."""
        end = self._now + duration
        while self.happens(end):
            pass

    def wait(self, event: threading.Event, until: float) -> bool:
        """Let acts happen until one of them sets the event, or until a time [s]."""
        while not event.is_set():
            if not self.happens(until):
                return False
        return True

    def happens(self, until: float) -> bool:
        """Let the next act happen; return whether one was due before `until` [s], the time to
        which the clock moves otherwise.
        """
        due, first = math.inf, None
        for member in self.members:
            if (time_of_act := member.due()) < due:
                due, first = time_of_act, member
        if first is None or due > until:
            self._now = max(self._now, until)
            return False
        self._now = max(self._now, due)
        first.act()
        return True
