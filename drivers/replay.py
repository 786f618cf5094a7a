"""A recording behind the `Arm` interface: code that drives an arm runs
on the arm's recording too.
"""

from types import TracebackType
from typing import Self

import numpy as np

from stribeck.drivers.arm import Command, JointSample, Resolution
from stribeck.drivers.errors import ArmStopped, ReplayEnded, ReplayMismatch
from stribeck.drivers.wire.clock import REAL_TIME, Clock
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.errors import InputError
from stribeck.ident.log.run import SIGNALS, Run

ALL_SIGNALS = SIGNALS  # signals with which a run must be loaded to be replayed
_TOLERANCE = 1e-9  # rad/s by which a command may differ from the recorded command


class ReplayArm:
    """An arm that returns the samples of a run, one per step, and accepts
    only the recorded commands.

    Parameters
    ----------
    run : Run
        The run, loaded with all signals.
    paced : bool
        Whether a step takes as long as in the recording (real time) or no time at all.
    clock : Clock, optional
        Clock of a paced replay.

    Raises
    ------
    InputError
        If the run was loaded without its commands.
    """

    modes: frozenset[str] = frozenset()

    def __init__(self, run: Run, paced: bool = False, clock: Clock = REAL_TIME) -> None:
        if not {"dq", "dq_cmd", "t"} <= set(run.signals):
            raise InputError(
                f"{run.path}: the run was loaded without velocities and commands; load all "
                "signals to replay it"
            )
        self.names = run.names
        driver = run.record.get("driver") or {}
        self.rate = float(driver.get("rate") or 1.0 / np.median(np.diff(run.t)))
        self.limits = run.arm.limits(load_mechanism(run.arm))
        zero = np.zeros(len(run.names))
        self.resolution = Resolution(
            *(
                np.array(driver.get(key, zero), dtype=float)
                for key in ("velocity_step", "position_step", "torque_step", "viscous_error")
            )
        )
        self._run, self._paced, self._clock, self._row = run, paced, clock, 0
        self._reason: str | None = "it has not been enabled"
        self._began = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop("disconnected")

    def enable(self) -> None:
        """Start the replay, or continue where it was stopped."""
        self._reason = None
        self._began = self._clock.now() - self._time()

    def stop(self, reason: str) -> None:
        """Return no more samples until the next `enable`."""
        self._reason = self._reason or reason

    def step(self, command: Command) -> JointSample:
        """Return the next recorded sample.

        Raises
        ------
        ReplayMismatch
            If the command differs from the recorded command; the message has
            the joint and both values.
        ReplayEnded
            If there are no more samples.
        """
        if self._reason is not None:
            raise ArmStopped(f"the replay accepts no commands: {self._reason}; enable it first")
        run, row = self._run, self._row
        if row >= run.rows:
            self.stop("the recording has ended")
            raise ReplayEnded(f"{run.path}: the recording has ended after {run.rows} samples")
        recorded = run.signals["dq_cmd"][row]
        if command.velocity.shape != recorded.shape:
            self.stop("command for another number of joints")
            raise ReplayMismatch(
                f"the velocity command has {command.velocity.size} value(s) for {len(recorded)} "
                f"joints ({', '.join(run.names)})"
            )
        # nan: no command was recorded
        differs = ~(np.abs(command.velocity - recorded) <= _TOLERANCE) & ~np.isnan(recorded)
        if differs.any():
            joint = int(np.argmax(differs))
            self.stop("command differs from the recording")
            raise ReplayMismatch(
                f"the velocity command of {run.names[joint]} is {command.velocity[joint]:.6g}, "
                "but the recorded "
                f"command is {recorded[joint]:.6g}, at t = {run.t[row]:.3f} s (row {row})"
            )
        if self._paced:
            self._clock.sleep(max(0.0, self._began + self._time() - self._clock.now()))
        self._row += 1
        signals = run.signals

        def optional(signal: str) -> np.ndarray | None:
            return signals[signal][row] if signal in signals else None

        return JointSample(
            float(run.t[row]),
            signals["q"][row],
            signals["dq"][row],
            signals["tau"][row],
            signals["t"][row],
            optional("temperature"),
            np.zeros(len(run.names), dtype=np.int64),
            optional("raw"),
            optional("q_link"),
        )

    def _time(self) -> float:
        return float(self._run.t[min(self._row, len(self._run.t) - 1)] - self._run.t[0])
