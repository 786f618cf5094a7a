"""Drives in this process that follow and reply immediately, or not at all."""

from stribeck.drivers.wire.axis import Axis, Reading, Steps
from stribeck.drivers.wire.clock import VirtualClock
from stribeck.drivers.wire.drive_link import DriveLink
from stribeck.drivers.wire.wired_arm import WiredArm

PAUSE = 0.07  # s: longer than a drive may be silent, shorter than its watchdog's time


class Ideal(Axis):
    """A drive that follows its set-point immediately."""

    steps, watched = Steps(1e-6, 1e-6, 1e-6), True

    def __init__(self, joint):
        self.joint, self.state, self.velocity, self.q, self.mute, self.noise = (
            joint,
            "off",
            0.0,
            0.0,
            False,
            None,
        )

    @property
    def power(self):
        return self.state

    def identity(self):
        return {}

    def configure(self):
        pass

    def enable(self):
        self.state, self.velocity = "on", 0.0

    def command(self, mode, value):
        self.velocity = value

    def quick_stop(self):
        self.state, self.velocity = "held", 0.0

    def disable(self):
        self.state, self.velocity = "off", 0.0

    def reset(self):
        pass


class Loopback(DriveLink):
    """Drives that reply immediately; in the next `pauses` cycles the computer pauses while
    it waits for the replies.
    """

    def __init__(self, joints, keys, drives):
        self.axes, self.pauses, self.failures = tuple(Ideal(joint) for joint in joints), 0, 0

    def open(self, transport=None):
        pass

    def start(self):
        pass

    def close(self):
        pass

    def load(self):
        return 0.0

    def exchange(self, deadline):
        asked = self.clock.now()
        if self.failures:
            self.failures -= 1
            raise OSError("no buffer space available")
        if self.pauses:
            self.pauses -= 1
            self.clock.sleep(PAUSE)
            return asked
        for axis in self.axes:
            axis.q += axis.velocity * 0.005
            if not axis.mute:
                axis.reading = Reading(
                    self.clock.now(), axis.q, next(axis.noise) if axis.noise else axis.velocity, 0.0
                )
        return asked


def ideal_arm(arm):
    """An arm of ideal drives in virtual time."""
    return WiredArm(arm, Loopback, clock=VirtualClock())
