"""Following a plan: the one loop that commands an arm."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from stribeck.drivers.arm import Arm, Command, JointSample
from stribeck.experiments.plans.motion_profile import DWELL, RAMP_TORQUE_SHARE, course, motion_profile
from stribeck.experiments.plans.plan import Plan, Segment
from stribeck.experiments.recording.run_writer import RunWriter
from stribeck.ident.arm.arm_file import Limits
from stribeck.ident.log.run import BREAKAWAY_RAMP, MOVED, TO_START

Array = NDArray[np.float64]
GAIN = 8.0              # 1/s: dq = dq_cmd + GAIN (q_cmd - q), so that held joints do not creep
_HARDER = 2.0           # times the acceleration limit: as fast commands may change, to bring joints back to their course

TRIAL = 0.15            # rad or m that a joint first goes slowly: enough for the supervisor to find half or twice its scale
GIVES = 2e-3            # rad or m that a joint must go to have broken loose
ENOUGH = "enough"       # event: why a plan was not followed to its end
Watch = Callable[[Segment, JointSample, float], None]
Enough = Callable[[Segment, Sequence[JointSample]], str]


def follow(arm: Arm, plan: Plan, writer: RunWriter | None = None, watch: Watch | None = None,
           check_arrival: Callable[[Array], None] | None = None, share: float = 1.0, enough: Enough | None = None) -> None:
    """Follow a plan on an enabled arm and record every sample.

    Parameters
    ----------
    arm : Arm
        Enabled; usually a `Supervisor`, which stops the motion and raises on a breach.
    plan : Plan
        A checked plan. The way from where the arm stands to ``plan.start`` is driven first. Where a segment is fast for a joint
        that has hardly moved by then, its beginning is driven slowly before, there and back.
    writer : RunWriter, optional
        Where samples and events go.
    watch : callable, optional
        Called about ten times a second of robot time with segment, sample and robot time done [s].
    check_arrival : callable, optional
        Called with the position where the arm stands before it moves; raises if the way to the start is not free.
    share : float
        Part of velocity and acceleration limits used for a joint's first motion; with 1 it is as any other.
    enough : callable, optional
        Called after every segment with its samples; says why the rest of the plan is not needed, or nothing.

    Raises
    ------
    DriverError
        Whatever the arm raises; the samples up to then are recorded.
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
    """Turns segments into commands; knows the last sample, and those of the last segment where they are kept."""

    def __init__(self, arm: Arm, writer: RunWriter | None, watch: Watch | None, keep: bool = False) -> None:
        self._arm, self._writer, self._watch, self._keep = arm, writer, watch, keep
        self.kept: list[JointSample] = []
        self._sample: JointSample | None = None
        self._told = np.zeros(len(arm.names))           # the last velocity
        self._every = max(1, round(arm.rate / 10.0))
        self._cycles = 0

    def position(self) -> Array:
        """Where the arm stands, from a first sample at rest."""
        rest = np.zeros(len(self._arm.names))
        self._sample = self._arm.step(Command(rest))
        if self._writer:
            self._writer.sample(self._sample, self._sample.q, rest, -1)
        return self._sample.q.copy()

    def drive(self, start: Array, segment: Segment, share: float = 1.0) -> None:
        """Track one segment from `start` within a share of the limits."""
        arm, writer, sample = self._arm, self._writer, self._sample
        assert sample is not None
        limits = replace(arm.limits, velocity=share * arm.limits.velocity, acceleration=share * arm.limits.acceleration)
        self.kept = []
        if writer:
            writer.start(segment)
        if segment.kind == "ramp":
            sample = self._break_loose(segment, sample)
            start = sample.q.copy()
        motion = motion_profile(start, segment, arm.names, limits)
        self._track(segment, *course(motion, self._clock(motion.duration), start, segment), limits)
        if writer:
            writer.finish(segment)

    def try_out(self, start: Array, segment: Segment, owed: Array, share: float) -> Array:
        """Drive the beginning of a segment slowly, there and back on its own way, if it is fast for a joint that owes slow way.

        Gives how far each joint goes slowly, there or in a segment that is slow for it, shape (n,).
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

        slower = min(1.0, share / float(pace[:last + 1].max()))
        q, dq = there_and_back(slower)
        hardest = float((np.abs(np.diff(dq, axis=0, prepend=0.0)) * arm.rate / arm.limits.acceleration).max())
        if hardest > share:             # of a way so short that it is slow anyway
            q, dq = there_and_back(slower * np.sqrt(share / hardest))
        trial = Segment(TO_START, "move", tuple(start.tolist()), segment.posture)
        if self._writer:
            self._writer.start(trial)
        self._track(trial, q, dq, replace(arm.limits, velocity=share * arm.limits.velocity))
        if self._writer:
            self._writer.finish(trial)
        return np.where(slow, gone[-1], gone[last])

    def _clock(self, duration: float) -> Array:
        """Times of the cycles of a motion and the rest after it [s]."""
        return np.arange(1, int(np.ceil((duration + DWELL) * self._arm.rate)) + 2) / self._arm.rate

    def _track(self, segment: Segment, q_cmd: Array, dq_ref: Array, limits: Limits) -> None:
        """Follow positions and velocities, shape (N, n); commands are looked up by the arm's own time.

        After a pause of this computer the course is elsewhere: commands go there without a leap.
        """
        arm, sample, fastest = self._arm, self._sample, limits.velocity
        assert sample is not None
        begin, velocity, change = sample.t, self._told, _HARDER * limits.acceleration / arm.rate
        row = 0
        while row < len(q_cmd):
            slowest, most = np.maximum(velocity - change, -fastest), np.minimum(velocity + change, fastest)
            velocity = dq_ref[row] + GAIN * (q_cmd[row] - sample.q)
            np.minimum(velocity, most, out=velocity)
            np.maximum(velocity, slowest, out=velocity)
            sample = self._step(segment, Command(velocity), q_cmd[row])
            row = max(row + 1, round((sample.t - begin) * arm.rate))

    def _step(self, segment: Segment, command: Command, q_cmd: Array) -> JointSample:
        """One cycle: command, record, show."""
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
        """Rest, then let the torque of a joint grow from what holds it until it moves; returns the last sample."""
        arm, target = self._arm, np.array(segment.target)
        assert segment.rate is not None
        assert segment.dwell is not None
        joint, rest = arm.names.index(str(segment.joint)), []
        for _ in range(int(np.ceil(segment.dwell * arm.rate))):
            sample = self._step(segment, Command(GAIN * (target - sample.q)), target)
            rest.append((sample.q[joint], sample.tau[joint]))
        place, torque = np.mean(rest[len(rest) // 2:], axis=0)
        mode = tuple("torque" if k == joint else "velocity" for k in range(len(arm.names)))
        applied, begin, moved = np.zeros(len(arm.names)), sample.t, False
        if self._writer:
            self._writer.event(BREAKAWAY_RAMP, segment=segment.id, torque=float(torque))
        while not moved and segment.rate * applied[joint] < abs(segment.rate) * RAMP_TORQUE_SHARE * arm.limits.torque[joint]:
            applied[joint] = torque + segment.rate * (sample.t - begin)
            velocity = GAIN * (target - sample.q)
            velocity[joint] = 0.0
            sample = self._step(segment, Command(velocity, applied.copy(), mode), target)
            moved = abs(sample.q[joint] - place) > GIVES
        if self._writer and moved:
            self._writer.event(MOVED, segment=segment.id)
        return sample
