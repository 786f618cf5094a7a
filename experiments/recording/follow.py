"""Tracking of a plan: the only loop that commands an arm."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from stribeck.drivers.arm import Arm, Command, JointSample
from stribeck.experiments.plans.motion_profile import (
    DWELL,
    RAMP_TORQUE_SHARE,
    course,
    motion_profile,
    rest_after,
)
from stribeck.experiments.plans.plan import Plan, Segment
from stribeck.experiments.recording.run_writer import RunWriter
from stribeck.ident.arm.arm_file import Limits
from stribeck.ident.log.run import BREAKAWAY_RAMP, MOVED, TO_START

Array = NDArray[np.float64]
GAIN = 8.0  # 1/s: dq = dq_cmd + GAIN (q_cmd - q), so that joints at rest do not creep
# limit for the change of velocity commands, in acceleration limits; allows corrections
_HARDER = 2.0

# rad or m that a joint first moves slowly: enough for the supervisor to detect a wrong scale
TRIAL = 0.15
GIVES = 2e-3  # rad or m of motion that count as breakaway
ENOUGH = "enough"  # event: the plan was ended early, with the reason
Watch = Callable[[Segment, JointSample, float], None]
Enough = Callable[[Segment, Sequence[JointSample]], str]


def follow(
    arm: Arm,
    plan: Plan,
    writer: RunWriter | None = None,
    watch: Watch | None = None,
    check_arrival: Callable[[Array], None] | None = None,
    share: float = 1.0,
    enough: Enough | None = None,
) -> None:
    """Follow a plan on an enabled arm and record every sample.

    Parameters
    ----------
    arm : Arm
        An enabled arm; usually a `Supervisor`, which stops the motion and
        raises if a limit is exceeded.
    plan : Plan
        A checked plan. The arm first drives from its position to ``plan.start``. If a segment is
        fast for a joint that has moved less than `TRIAL` so far, the arm first drives the beginning
        of the segment slowly, forward and back.
    writer : RunWriter, optional
        Receives samples and events.
    watch : callable, optional
        Called about ten times per second of robot time with segment, sample
        and elapsed robot time [s].
    check_arrival : callable, optional
        Called with the arm's position before motion; raises if the path to the start is not clear.
    share : float
        Part of velocity and acceleration limits for a joint's first motion; 1
        for no slow first motion.
    enough : callable, optional
        Called after every segment with its samples; returns the reason to end the
        plan early, or an empty text.

    Raises
    ------
    DriverError
        Errors of the arm; samples up to the error are recorded.
    """
    tracker = _Tracker(arm, writer, watch, enough is not None)
    stands = tracker.position()
    if check_arrival:
        check_arrival(stands)
    tracker.drive(stands, Segment(TO_START, "move", plan.start, 0), share)
    owed = TRIAL - np.abs(np.array(plan.start) - stands)
    for start, segment in plan.legs():
        if share < 1.0 and segment.kind != "ramp":
            owed -= tracker.try_out(start, segment, owed, share)
        tracker.drive(start, segment)
        if enough and (reason := enough(segment, tracker.kept)):
            if writer:
                writer.event(ENOUGH, reason=reason)
            return


class _Tracker:
    """Turns segments into commands; stores the last sample and, on request, all
    samples of the last segment.
    """

    def __init__(
        self, arm: Arm, writer: RunWriter | None, watch: Watch | None, keep: bool = False
    ) -> None:
        self._arm, self._writer, self._watch, self._keep = arm, writer, watch, keep
        self.kept: list[JointSample] = []
        self._sample: JointSample | None = None
        self._told = np.zeros(len(arm.names))  # last commanded velocity
        self._every = max(1, round(arm.rate / 10.0))
        self._cycles = 0

    def position(self) -> Array:
        """Position of the arm at rest, from a first sample."""
        rest = np.zeros(len(self._arm.names))
        self._sample = self._arm.step(Command(rest))
        if self._writer:
            self._writer.sample(self._sample, self._sample.q, rest, -1)
        return self._sample.q.copy()

    def drive(self, start: Array, segment: Segment, share: float = 1.0) -> None:
        """Track one segment from `start` within a share of the velocity and acceleration limits."""
        arm, writer, sample = self._arm, self._writer, self._sample
        assert sample is not None
        limits = replace(
            arm.limits,
            velocity=share * arm.limits.velocity,
            acceleration=share * arm.limits.acceleration,
        )
        self.kept = []
        if writer:
            writer.start(segment)
        if segment.kind == "ramp":
            sample = self._break_loose(segment, sample)
            start = sample.q.copy()
        motion = motion_profile(start, segment, arm.names, limits)
        self._track(
            segment,
            *course(motion, self._clock(motion.duration, rest_after(segment)), start, segment),
            limits,
        )
        if writer:
            writer.finish(segment)

    def try_out(self, start: Array, segment: Segment, owed: Array, share: float) -> Array:
        """Drive the beginning of a segment slowly, forward and back, if it is fast for a joint
        that still owes slow motion.

        Parameters
        ----------
        start : ndarray, shape (n,)
            Start of the segment [rad or m].
        segment : Segment
            The segment.
        owed : ndarray, shape (n,)
            Distance that each joint must still move slowly before it may move fast [rad or m].
        share : float
            Part of the velocity limit that counts as slow.

        Returns
        -------
        ndarray, shape (n,)
            Distance that each joint moves slowly, in this trial or in a slow segment [rad or m].
        """
        arm = self._arm
        motion = motion_profile(start, segment, arm.names, arm.limits)
        t = self._clock(motion.duration)
        q, dq = course(motion, t, start, segment)
        gone, pace = np.maximum.accumulate(np.abs(q - start)), np.abs(dq) / arm.limits.velocity
        slow = pace.max(axis=0) <= share
        new = ~slow & (owed > 0.0)
        if not new.any():
            return np.where(slow, gone[-1], 0.0)
        last = int(np.argmax((gone >= np.minimum(owed, gone[-1]))[:, new].all(axis=1)))

        def there_and_back(slower: float) -> tuple[Array, Array]:
            duration = np.pi * t[last] / slower
            phase = 2.0 * np.pi * np.minimum(self._clock(duration), duration) / duration
            q, dq = course(motion, 0.5 * t[last] * (1.0 - np.cos(phase)), start, segment)
            return q, dq * (slower * np.sin(phase))[:, None]

        slower = min(1.0, share / float(pace[: last + 1].max()))
        q, dq = there_and_back(slower)
        hardest = float(
            (np.abs(np.diff(dq, axis=0, prepend=0.0)) * arm.rate / arm.limits.acceleration).max()
        )
        if hardest > share:  # on a very short path acceleration limits the speed
            q, dq = there_and_back(slower * np.sqrt(share / hardest))
        trial = Segment(TO_START, "move", tuple(start.tolist()), segment.posture)
        if self._writer:
            self._writer.start(trial)
        self._track(trial, q, dq, replace(arm.limits, velocity=share * arm.limits.velocity))
        if self._writer:
            self._writer.finish(trial)
        return np.where(slow, gone[-1], gone[last])

    def _clock(self, duration: float, rest: float = DWELL) -> Array:
        """Times of the control cycles of a motion and of the rest after it [s]."""
        return np.arange(1, int(np.ceil((duration + rest) * self._arm.rate)) + 2) / self._arm.rate

    def _track(self, segment: Segment, q_cmd: Array, dq_ref: Array, limits: Limits) -> None:
        """Track positions and velocities, shape (N, n); the arm's time selects
        the row of the set-points.

        After a pause of this computer, rows are skipped; velocity commands then change
        gradually, without a jump.
        """
        arm, sample, fastest = self._arm, self._sample, limits.velocity
        assert sample is not None
        begin, velocity, change = sample.t, self._told, _HARDER * limits.acceleration / arm.rate
        row = 0
        while row < len(q_cmd):
            slowest, most = (
                np.maximum(velocity - change, -fastest),
                np.minimum(velocity + change, fastest),
            )
            velocity = dq_ref[row] + GAIN * (q_cmd[row] - sample.q)
            np.minimum(velocity, most, out=velocity)
            np.maximum(velocity, slowest, out=velocity)
            sample = self._step(segment, Command(velocity), q_cmd[row])
            row = max(row + 1, round((sample.t - begin) * arm.rate))

    def _step(self, segment: Segment, command: Command, q_cmd: Array) -> JointSample:
        """One control cycle: send the command, record the sample, call `watch`."""
        sample = self._sample = self._arm.step(command)
        self._told = command.velocity
        if self._writer:
            self._writer.sample(sample, q_cmd, command.velocity, segment.id)
        if self._keep:
            self.kept.append(sample)
        self._cycles += 1
        if self._watch and self._cycles % self._every == 0:
            self._watch(segment, sample, self._cycles / self._arm.rate)
        return sample

    def _break_loose(self, segment: Segment, sample: JointSample) -> JointSample:
        """Hold the arm at rest, then ramp up the torque of one joint until it
        moves; return the last sample.
        """
        arm, target = self._arm, np.array(segment.target)
        assert segment.rate is not None
        assert segment.dwell is not None
        joint, rest = arm.names.index(str(segment.joint)), []
        for _ in range(int(np.ceil(segment.dwell * arm.rate))):
            sample = self._step(segment, Command(GAIN * (target - sample.q)), target)
            rest.append((sample.q[joint], sample.tau[joint]))
        place, torque = np.mean(rest[len(rest) // 2 :], axis=0)
        mode = tuple("torque" if k == joint else "velocity" for k in range(len(arm.names)))
        applied, begin, moved = np.zeros(len(arm.names)), sample.t, False
        if self._writer:
            self._writer.event(BREAKAWAY_RAMP, segment=segment.id, torque=float(torque))
        while (
            not moved
            and segment.rate * applied[joint]
            < abs(segment.rate) * RAMP_TORQUE_SHARE * arm.limits.torque[joint]
        ):
            applied[joint] = torque + segment.rate * (sample.t - begin)
            velocity = GAIN * (target - sample.q)
            velocity[joint] = 0.0
            sample = self._step(segment, Command(velocity, applied.copy(), mode), target)
            moved = abs(sample.q[joint] - place) > GIVES
        if self._writer and moved:
            self._writer.event(MOVED, segment=segment.id)
        return sample
