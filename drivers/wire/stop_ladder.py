"""The ladder that ends motion: velocity 0, the drives' own quick stop, power off where brakes hold; and what is said of it."""

import time
from collections.abc import Sequence
from functools import partial

import numpy as np

from stribeck.drivers.arm import Array
from stribeck.drivers.errors import DriverError
from stribeck.drivers.wire.at_rest import AtRest
from stribeck.drivers.wire.axis import BRAKE_CLOSES, Axis, Power
from stribeck.drivers.wire.cycle import Cycle
from stribeck.drivers.wire.power_wait import PowerWait
from stribeck.drivers.wire.transport import bus_errors
from stribeck.ident.arm.arm_file import Limits

_BRAKING_MARGIN = 0.5       # s that a joint may take to rest beyond its braking time, before its own quick stop is asked for
_QUICK_STOP = 1.0           # s for the drive's quick stop, beyond its braking time,
_POWER_OFF = 1.0            # s to let go of a joint that has a brake,
_GRIPS = 0.5                # s after which its brake has to hold


class StopLadder:
    """Brings all joints to rest, rung by rung; whatever fails, the next rung is tried.

    Parameters
    ----------
    cycle : Cycle
        The cycle of the drives.
    limits : Limits
        Acceleration with which joints brake, velocity from which a drive may have to stop.
    at_rest : AtRest
        How little a joint moves that is at rest.
    """

    def __init__(self, cycle: Cycle, limits: Limits, at_rest: AtRest) -> None:
        self.axes = cycle.axes
        self._cycle, self._limits, self._at_rest = cycle, limits, at_rest
        self._failure: Exception | None = None          # of the last cycle

    def descend(self, reason: str, velocity: Array) -> None:
        """Go down all rungs.

        Parameters
        ----------
        reason : str
            Why the arm is stopped.
        velocity : ndarray, shape (n,)
            Set-points from which joints brake [rad/s or m/s].

        Raises
        ------
        DriverError
            After the last rung, if a drive did not confirm that it stopped, has a fault that the reason does not name, or a brake
            does not hold its joint.
        BaseException
            What else a rung raised, with the reason and what the other rungs said as its notes.
        """
        errors: list[BaseException] = []
        for rung in (self._take_back, partial(self._slow_down, velocity), partial(self._quick_stop, reason), self._power_off):
            try:
                with bus_errors():
                    rung()
            except BaseException as error:      # whatever it is, the next rung is tried
                errors.append(error)
        loose = self._loose()
        if unexpected := next((error for error in errors if not isinstance(error, DriverError)), None):
            for text in (f"the arm was being stopped: {reason}", *(str(error) for error in errors if error is not unexpected),
                         *loose):
                unexpected.add_note(text)
            raise unexpected
        if errors:
            told = dict.fromkeys(map(str, errors))
            raise DriverError("; ".join([f"{reason}; then {'; '.join(told)}", _out_of_reach(self.axes), *loose]))
        if beside := [*_faults_beside(self.axes, reason), *loose]:
            raise DriverError("; ".join([reason, "the arm was stopped", *beside]))

    # the rungs

    def _take_back(self) -> None:
        """The cycles of the ladder bring no drive to power that was asked to come there.

        Drives that heard nothing for long may have left their cycles, and could not be told to brake.
        """
        for axis in self.axes:
            if axis.power != "on":
                axis.quick_stop()
        if self._cycle.paused():
            self._cycle.link.start()

    def _slow_down(self, velocity: Array) -> None:
        """Bring the set-points to zero within the acceleration limits and wait for rest; joints stop at once after a pause."""
        velocity, n = np.zeros_like(velocity) if self._cycle.paused() else velocity.copy(), len(self.axes)
        acceleration = self._limits.acceleration
        braking = np.abs(velocity) / acceleration
        end, drop = time.monotonic() + float(braking.max()) + _BRAKING_MARGIN, acceleration * self._cycle.period
        while time.monotonic() < end:
            velocity -= np.clip(velocity, -drop, drop)
            for axis, value in zip(self.axes, velocity, strict=True):
                axis.command("velocity", float(value))
            dq = self.try_cycle()
            if not velocity.any() and (np.abs(dq) < self._at_rest.ramped).sum() == n and not self._cycle.silent():
                return
        self._raise_failure()

    def _quick_stop(self, reason: str) -> None:
        """Each drive stops and holds by itself."""
        for axis in self.axes:
            axis.quick_stop()
        self._until("held", _QUICK_STOP + float((self._limits.velocity / self._limits.acceleration).max()), self.axes)
        for axis in self.axes:
            if axis.joint.falls and axis.power != "held" and f"drive of {axis.joint.name} " not in reason:
                raise DriverError(f"the drive of {axis.joint.name} does not hold it: {axis.trouble or axis.power}")

    def _power_off(self) -> None:
        """Brakes close where the arm file says so."""
        braked = [axis for axis in self.axes if not axis.joint.falls]
        for axis in braked:
            axis.disable()
        self._until("off", _POWER_OFF, braked)

    # what the rungs wait for

    def _until(self, power: Power, patience: float, axes: Sequence[Axis]) -> None:
        """Cycle until these drives are in this state."""
        self._failure = None
        wait = PowerWait(power, patience, axes, self._cycle, self._at_rest)
        while not wait.over():
            if wait.late():
                self._raise_failure()
                raise wait.error()
            self.try_cycle()

    def try_cycle(self) -> Array:
        """Velocities after a cycle, shape (n,), nan where it failed: a failure is no reason to end a rung before its time."""
        self._failure = None
        try:
            with bus_errors():
                return self._cycle.run().dq
        except Exception as error:                  # whatever it is, drives have still to hear of us
            self._failure = error
            return np.full(len(self.axes), np.nan)

    def _raise_failure(self) -> None:
        """What failed in the last cycle, if anything did."""
        if self._failure is not None:
            raise self._failure

    def _loose(self) -> list[str]:
        """Joints that move on although their brakes should hold them, in words.

        Each is watched, by its place, for as long as a brake takes to close, and again while it moves: velocities are noisy, and
        at rest for moments.
        """
        begin, stood = time.monotonic(), self._places()
        loose = [j for j, axis in enumerate(self.axes) if not axis.joint.falls and axis.power in ("off", "fault")]
        places = stood
        while loose and time.monotonic() < begin + _GRIPS:
            before, end = places, time.monotonic() + BRAKE_CLOSES
            while time.monotonic() < end:
                self.try_cycle()
            places = self._places()
            loose = [j for j in loose if abs(places[j] - before[j]) > self._at_rest.braked[j]]
        return [f"{joint.name} moved {abs(places[j] - stood[j]):.2g} {joint.position_unit} in {_GRIPS:g} s "
                'without power and still moves: its brake does not hold it, or it has no brake (the arm file says stop = '
                '"brake"); support the joint before you come near' for j in loose for joint in (self.axes[j].joint,)]

    def _places(self) -> Array:
        """Positions by the last replies, shape (n,) [rad or m]."""
        return np.array([axis.reading.q if axis.reading else np.nan for axis in self.axes])


def _faults_beside(axes: Sequence[Axis], reason: str) -> list[str]:
    """Faults of drives that a reason does not name, though they may be why: some tell theirs late."""
    return [f"the drive of {axis.joint.name} has a fault: {axis.trouble or axis.power}" for axis in axes
            if axis.power == "fault" and f"drive of {axis.joint.name} " not in reason]


def _out_of_reach(axes: Sequence[Axis]) -> str:
    """What becomes of drives that could not be told to stop."""
    unwatched = [axis.joint.name for axis in axes if not axis.watched]
    return ("drives that cannot be reached are left to their own watchdogs"
            + (f"; {', '.join(unwatched)}: no watchdog, switch the supply off" if unwatched else ""))
