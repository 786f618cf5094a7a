"""The ladder of steps that ends motion: velocity 0, the drives' own quick stop, power
off for joints with brakes.
"""

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

# s beyond its braking time that a joint may take to come to rest before the drive's quick stop
_BRAKING_MARGIN = 0.5
_QUICK_STOP = 1.0  # s beyond the braking time that the drive's quick stop may take
# s that a drive may take to switch off the power of a joint with a brake
_POWER_OFF = 1.0
_GRIPS = 0.5  # s after power-off at which the brake must hold


class StopLadder:
    """Brings all joints to rest in steps (rungs); when a rung fails, the next
    rung is tried nevertheless.

    Parameters
    ----------
    cycle : Cycle
        The cycle of the drives.
    limits : Limits
        Acceleration with which joints brake, and largest velocity from which
        a drive may have to stop.
    at_rest : AtRest
        Thresholds below which joints count as at rest.
    """

    def __init__(self, cycle: Cycle, limits: Limits, at_rest: AtRest) -> None:
        self.axes = cycle.axes
        self._cycle, self._limits, self._at_rest = cycle, limits, at_rest
        self._failure: Exception | None = None  # error of the last cycle

    def descend(self, reason: str, velocity: Array) -> None:
        """Run all rungs.

        Parameters
        ----------
        reason : str
            Reason why the arm is stopped.
        velocity : ndarray, shape (n,)
            Set-points from which joints brake [rad/s or m/s].

        Raises
        ------
        DriverError
            After the last rung, if a drive did not confirm that it stopped, has a fault that the
            reason does not name, or if a brake does not hold its joint.
        BaseException
            Any other exception of a rung; its notes hold the reason and the
            errors of the other rungs.
        """
        errors: list[BaseException] = []
        for rung in (
            self._take_back,
            partial(self._slow_down, velocity),
            partial(self._quick_stop, reason),
            self._power_off,
        ):
            try:
                with bus_errors():
                    rung()
            except BaseException as error:  # after any exception the next rung is tried
                errors.append(error)
        loose = self._loose()
        if unexpected := next(
            (error for error in errors if not isinstance(error, DriverError)), None
        ):
            for text in (
                f"the arm was being stopped: {reason}",
                *(str(error) for error in errors if error is not unexpected),
                *loose,
            ):
                unexpected.add_note(text)
            raise unexpected
        if errors:
            told = dict.fromkeys(map(str, errors))
            raise DriverError(
                "; ".join([f"{reason}; then {'; '.join(told)}", _out_of_reach(self.axes), *loose])
            )
        if beside := [*_faults_beside(self.axes, reason), *loose]:
            raise DriverError("; ".join([reason, "the arm was stopped", *beside]))

    # the rungs

    def _take_back(self) -> None:
        """Withdraw requests for power, so that the cycles of the ladder power no drive.

        After a long pause, drives may have left their cycles and would not hear the command to
        brake: start the cycles again.
        """
        for axis in self.axes:
            if axis.power != "on":
                axis.quick_stop()
        if self._cycle.paused():
            self._cycle.link.start()

    def _slow_down(self, velocity: Array) -> None:
        """Ramp the set-points to zero at the acceleration limits and wait for rest; after a
        pause, zero them immediately.
        """
        velocity, n = (
            np.zeros_like(velocity) if self._cycle.paused() else velocity.copy(),
            len(self.axes),
        )
        acceleration = self._limits.acceleration
        braking = np.abs(velocity) / acceleration
        end, drop = (
            self._cycle.clock.now() + float(braking.max()) + _BRAKING_MARGIN,
            acceleration * self._cycle.period,
        )
        while self._cycle.clock.now() < end:
            velocity -= np.clip(velocity, -drop, drop)
            for axis, value in zip(self.axes, velocity, strict=True):
                axis.command("velocity", float(value))
            dq = self.try_cycle()
            if (
                not velocity.any()
                and (np.abs(dq) < self._at_rest.ramped).sum() == n
                and not self._cycle.silent()
            ):
                return
        self._raise_failure()

    def _quick_stop(self, reason: str) -> None:
        """Make each drive stop and hold by itself."""
        for axis in self.axes:
            axis.quick_stop()
        self._until(
            "held",
            _QUICK_STOP + float((self._limits.velocity / self._limits.acceleration).max()),
            self.axes,
        )
        for axis in self.axes:
            if (
                axis.joint.falls
                and axis.power != "held"
                and f"drive of {axis.joint.name} " not in reason
            ):
                raise DriverError(
                    f"the drive of {axis.joint.name} does not hold its joint: "
                    f"{axis.trouble or axis.power}"
                )

    def _power_off(self) -> None:
        """Switch off the power of joints with `stop` "brake", so that their brakes close."""
        braked = [axis for axis in self.axes if not axis.joint.falls]
        for axis in braked:
            axis.disable()
        self._until("off", _POWER_OFF, braked)

    # waiting

    def _until(self, power: Power, patience: float, axes: Sequence[Axis]) -> None:
        """Run cycles until these drives are in this state."""
        self._failure = None
        wait = PowerWait(power, patience, axes, self._cycle, self._at_rest)
        while not wait.over():
            if wait.late():
                self._raise_failure()
                raise wait.error()
            self.try_cycle()

    def try_cycle(self) -> Array:
        """Run a cycle and return the velocities, shape (n,), or nan if it failed: a failed cycle
        does not end a rung early.
        """
        self._failure = None
        try:
            with bus_errors():
                return self._cycle.run().dq
        except Exception as error:
            # after any error, the drives must still receive frames
            self._failure = error
            return np.full(len(self.axes), np.nan)

    def _raise_failure(self) -> None:
        """Raise the error of the last cycle, if there was one."""
        if self._failure is not None:
            raise self._failure

    def _loose(self) -> list[str]:
        """Return messages for joints that still move although their brakes should hold them.

        The position of each joint is observed for the closing time of a brake, and again while the
        joint moves. Velocities are not used: they are noisy, and near zero for moments.
        """
        begin, stood = self._cycle.clock.now(), self._places()
        loose = [
            j
            for j, axis in enumerate(self.axes)
            if not axis.joint.falls and axis.power in ("off", "fault")
        ]
        places = stood
        while loose and self._cycle.clock.now() < begin + _GRIPS:
            before, end = places, self._cycle.clock.now() + BRAKE_CLOSES
            while self._cycle.clock.now() < end:
                self.try_cycle()
            places = self._places()
            loose = [j for j in loose if abs(places[j] - before[j]) > self._at_rest.braked[j]]
        return [
            f"{joint.name} moved {abs(places[j] - stood[j]):.2g} {joint.position_unit} in "
            f"{_GRIPS:g} s "
            "without power and still moves: its brake does not hold it, or it has no brake (the "
            "arm file says stop = "
            '"brake"); support the joint before you come near'
            for j in loose
            for joint in (self.axes[j].joint,)
        ]

    def _places(self) -> Array:
        """Positions of the last replies, shape (n,) [rad or m]."""
        return np.array([axis.reading.q if axis.reading else np.nan for axis in self.axes])


def _faults_beside(axes: Sequence[Axis], reason: str) -> list[str]:
    """Return messages for faults of drives that the reason does not name: a drive may report late
    the fault that is the cause.
    """
    return [
        f"the drive of {axis.joint.name} has a fault: {axis.trouble or axis.power}"
        for axis in axes
        if axis.power == "fault" and f"drive of {axis.joint.name} " not in reason
    ]


def _out_of_reach(axes: Sequence[Axis]) -> str:
    """Return the words for drives that did not receive the command to stop."""
    unwatched = [axis.joint.name for axis in axes if not axis.watched]
    return "drives that cannot be reached are left to their own watchdogs" + (
        f"; {', '.join(unwatched)}: no watchdog, switch the supply off" if unwatched else ""
    )
