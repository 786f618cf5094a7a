"""The supervisor: checks commands before they are sent, and all measurements of a cycle at
once; a breach stops the arm.
"""

from dataclasses import dataclass
from types import TracebackType
from typing import Generic, NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from stribeck.drivers.arm import Arm, Command, JointSample
from stribeck.drivers.errors import DriverError, LimitExceeded
from stribeck.drivers.staleness import stale_age
from stribeck.drivers.swinging import Swings
from stribeck.ident.errors import InputError

# s beyond a period for which a joint still follows its last command before it brakes
_REACTION_TIME = 0.02
_FOLLOWING_TIME = 0.2  # s, memory of the following error
_MOVING_TIME = 1.0  # s, memory of the difference between position and integrated velocity
# reaction times between samples after which the motion between them is unknown
_PAUSE = 4.0
# part of the travel by which position and integrated velocity may differ, as velocities lag
_OTHERWISE = 0.2
_ROUNDING = 1.0 + 1e-9  # tolerance of commands at their limits
_BOTH_WAYS = np.array([[1.0], [-1.0]])  # towards the upper limits, and towards the lower limits
T = TypeVar("T")


class Checks(NamedTuple, Generic[T]):
    """One thing for each check of a cycle."""

    upper_end: T
    lower_end: T
    velocity: T
    torque: T
    temperature: T
    age: T
    following: T
    consistency: T


@dataclass(frozen=True)
class Check:
    """Words for the breach of a check.

    Attributes
    ----------
    quantity : str
        The checked quantity.
    units : tuple of str
        Its units for joints that turn and for joints that slide.
    of_loop : bool
        Whether an oscillating velocity loop can breach it.
    why : str
        The cause of a breach, if it is known.
    sign : float
        -1 for a lower limit, which is checked with reversed sign.
    """

    quantity: str
    units: tuple[str, str]
    of_loop: bool = True
    why: str = ""
    sign: float = 1.0


CHECKS = Checks(
    upper_end=Check("position with stopping distance", ("rad", "m")),
    lower_end=Check("position with stopping distance", ("rad", "m"), sign=-1.0),
    velocity=Check("velocity", ("rad/s", "m/s")),
    torque=Check("torque", ("N·m", "N")),
    temperature=Check("temperature", ("°C", "°C"), of_loop=False),
    age=Check("age of the sample", ("s", "s"), of_loop=False),
    following=Check("following error", ("rad", "m")),
    consistency=Check(
        "position against integrated velocity",
        ("rad", "m"),
        why="position or velocity has a wrong sign or scale",
    ),
)
_COMMANDED = {"velocity": ("rad/s", "m/s"), "torque": ("N·m", "N")}
_REPORTED = {"velocity": "dq", "position": "q", "torque": "tau", "time": "t_joint"}


class Supervisor:
    """An arm that stops when a measurement leaves its limits.

    Each cycle checks: position with stopping distance, velocity, torque, temperature, age of each
    joint's sample, following error (the lag behind the velocity commands), and position against
    integrated velocity. Commands beyond the limits of velocity and torque are not sent.

    Parameters
    ----------
    arm : Arm
        The arm to guard.
    prismatic : ndarray of bool, shape (n,), optional
        Joints that slide, for the units in messages; default none.

    Raises
    ------
    InputError
        If a limit that motion needs is missing.
    """

    def __init__(self, arm: Arm, prismatic: NDArray[np.bool_] | None = None) -> None:
        self.arm = arm
        self._prismatic = np.zeros(len(arm.names), dtype=bool) if prismatic is None else prismatic
        self.names, self.rate, self.limits = arm.names, arm.rate, arm.limits
        self.modes, self.resolution = arm.modes, arm.resolution
        limits = arm.limits
        missing = limits.missing(arm.names)
        if missing:
            raise InputError(
                f"{missing[0]} is missing in the arm file; no joint moves without this limit"
            )
        n = len(arm.names)
        allowed = Checks(
            upper_end=limits.position[:, 1],
            lower_end=-limits.position[:, 0],
            velocity=limits.velocity,
            torque=limits.torque,
            temperature=np.where(np.isnan(limits.temperature), np.inf, limits.temperature),
            age=np.full(n, stale_age(arm.rate)),
            following=limits.following_error,
            consistency=limits.following_error,
        )
        # both with a row per check and a column per joint, so that a cycle compares all at once
        self._allowed = np.stack(allowed)
        self._measured = np.zeros_like(self._allowed)
        self._checked = Checks(*self._measured)  # the rows by name
        self._ends = self._measured[:2]  # upper and lower end
        self._reaction = 1.0 / arm.rate + _REACTION_TIME
        self._braking = 0.5 / limits.acceleration
        self._gain = limits.acceleration * self._reaction
        self._behind, self._t = np.zeros(n), 0.0
        self._swings = Swings(arm.rate, limits.velocity)
        self._keep = 1.0 - 1.0 / (arm.rate * _FOLLOWING_TIME)
        self._apart, self._gone = np.zeros(n), np.zeros(n)
        self._last: JointSample | None = None

    def __enter__(self) -> Self:
        self.arm.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.arm.__exit__(kind, error, trace)

    def enable(self) -> None:
        """Power the joints at rest."""
        self._behind[:] = self._apart[:] = self._gone[:] = 0.0
        self._last = None
        self._swings.clear()
        self.arm.enable()

    def stop(self, reason: str) -> None:
        """Bring all joints to rest."""
        self.arm.stop(reason)

    def step(self, command: Command) -> JointSample:
        """Step the arm and check the measurements.

        Raises
        ------
        LimitExceeded
            If a measurement or the command exceeds a limit; the arm was stopped, and the command
            was not sent. The error has joint, quantity, value and limit.
        DriverError
            If a joint reports no position, velocity or torque; the arm was stopped.
        """
        self._refuse(command)
        sample = self.arm.step(command)
        self._t = sample.t
        q, dq, wanted = sample.q, sample.dq, command.velocity
        error = dq - wanted
        self._behind = self._keep * self._behind - error / self.rate
        if command.mode is not None:
            free = [mode == "torque" for mode in command.mode]
            self._behind[free] = error[free] = 0.0
        self._swings.add(error)
        checked = self._checked
        place, speed, target = _BOTH_WAYS * q, _BOTH_WAYS * dq, _BOTH_WAYS * wanted
        # before the joint brakes
        fastest = np.maximum(0.0, np.maximum(speed, np.minimum(target, speed + self._gain)))
        self._ends[:] = (self._braking * fastest + self._reaction) * fastest + place
        np.abs(dq, out=checked.velocity)
        np.abs(sample.tau, out=checked.torque)
        if sample.temperature is not None:
            # nan: the drive reports no temperature
            np.fmax(sample.temperature, 0.0, out=checked.temperature)
        np.subtract(sample.t, sample.t_joint, out=checked.age)
        np.abs(self._behind, out=checked.following)
        self._compare(sample)
        np.subtract(np.abs(self._apart), _OTHERWISE * self._gone, out=checked.consistency)
        if not (self._measured <= self._allowed).all():  # a nan fails this too
            self._breach(sample)
        return sample

    def _compare(self, sample: JointSample) -> None:
        """Compare position with integrated velocity over about a second; a pause, whose
        velocities are unknown, is skipped.
        """
        last, self._last = self._last, sample
        if last is None or not 0.0 < (dt := sample.t - last.t) < _PAUSE * self._reaction:
            return
        travel, keep = 0.5 * dt * (sample.dq + last.dq), 1.0 - dt / _MOVING_TIME
        self._apart = keep * self._apart + (sample.q - last.q - travel)
        self._gone = keep * self._gone + np.abs(travel)

    def _refuse(self, command: Command) -> None:
        """Stop if the command of a joint exceeds its limit; the arm itself
        refuses malformed commands.
        """
        modes = command.mode or ("velocity",) * len(self.names)
        for mode, units in _COMMANDED.items():
            values, limits = getattr(command, mode), getattr(self.limits, mode)
            if values is None or values.shape != limits.shape or len(modes) != len(limits):
                continue
            for j in (np.abs(values) > _ROUNDING * limits).nonzero()[0]:
                if modes[j] == mode:
                    error = LimitExceeded(
                        self.names[j],
                        f"commanded {mode}",
                        float(values[j]),
                        float(limits[j]),
                        units[int(self._prismatic[j])],
                        self._t,
                    )
                    self.arm.stop(error.fault)
                    raise error

    def _breach(self, sample: JointSample) -> None:
        """Stop the arm, then raise the breach."""
        for word, key in _REPORTED.items():
            missing = ~np.isfinite(getattr(sample, key))
            if missing.any():
                fault = (
                    f"{self.names[int(np.argmax(missing))]} reported no {word} at t = "
                    f"{sample.t:.3f} s"
                )
                self.arm.stop(fault)
                raise DriverError(f"{fault}; the arm was stopped")
        row, joint = np.argwhere(~(self._measured <= self._allowed))[0]
        check = CHECKS[row]
        why = self._swinging(int(joint)) if check.of_loop else ""
        error = LimitExceeded(
            self.names[joint],
            check.quantity,
            check.sign * float(self._measured[row, joint]),
            check.sign * float(self._allowed[row, joint]),
            check.units[int(self._prismatic[joint])],
            sample.t,
            why or check.why,
        )
        self.arm.stop(error.fault)
        raise error

    def _swinging(self, joint: int) -> str:
        """Return words about the oscillating velocity loop; empty if none oscillates.

        The loop is that of this joint, or else the fastest oscillating loop,
        since joints move each other.
        """
        frequency = self._swings.frequency()
        j = joint if frequency[joint] > 0.0 else int(np.argmax(frequency))
        if frequency[j] == 0.0:
            return ""
        return (
            f"{self.names[j]} swings about its set-points at {frequency[j]:.2g} Hz: its velocity "
            "loop is unstable; lower the drive's gains (in simulation: bandwidth)"
        )
