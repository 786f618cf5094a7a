"""Judge of the observer on a recorded run: false alarms in free motion, and what
it finds of marked pushes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from stribeck.ident.arrays import Array
from stribeck.ident.calibration.calibration import Calibration
from stribeck.ident.calibration.validation import as_recorded, refuse_fitted
from stribeck.ident.errors import FitError
from stribeck.ident.external.external_torque import FALSE_ALARMS, GAIN, External, ExternalTorque
from stribeck.ident.external.false_alarms import HOUR, rate_interval
from stribeck.ident.external.pushes import Push
from stribeck.ident.external.recorded_motion import recorded_motions
from stribeck.ident.log.run import Run
from stribeck.ident.log.signal_checks import check_signals, check_time, unrecorded_torques
from stribeck.ident.views.frames import frame_html
from stribeck.ident.views.panels import shown_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SETTLED = 5.0  # times 1/K after a push until motion is free again
_ONE_ALARM = 3.0  # times 1/K within which crossings are one alarm


@dataclass(frozen=True)
class JudgedPush:
    """A marked push and what the observer shows of it.

    Attributes
    ----------
    push : Push
        The mark.
    delay : float or None
        Time from its start to the first alarm [s]; None if it was missed.
    resting : bool
        Whether the joint rested most of the time.
    torque, threshold : float
        External torque of the greatest magnitude, and the median threshold [N·m or N].
    """

    push: Push
    delay: float | None
    resting: bool
    torque: float
    threshold: float


@dataclass(frozen=True)
class JointExternal:
    """External torque of one joint in a run.

    Attributes
    ----------
    moving, resting : float
        Free time while the joint slides, and while it rests or turns back [s].
    faster : float
        Share of the time in which the joint slides faster than the calibration covers.
    threshold, undetectable : tuple of float or None
        Least, median and greatest threshold while the joint slides, and while it rests [N·m or
        N]; None if it never does.
    false_alarms : int
        Alarms in free motion.
    rate : tuple of float
        95 % interval of their rate [1/h].
    pushes : tuple of JudgedPush
        Marked pushes on this joint.
    t, torque, bound, rests : ndarray, shape (N,)
        Time [s], external torque and threshold [N·m or N], and whether the
        joint rests or turns back.
    unit : str
        Unit of torques.
    """

    moving: float
    resting: float
    faster: float
    threshold: tuple[float, float, float] | None
    undetectable: tuple[float, float, float] | None
    false_alarms: int
    rate: tuple[float, float]
    pushes: tuple[JudgedPush, ...]
    t: Array
    torque: Array
    bound: Array
    rests: NDArray[np.bool_]
    unit: str

    @property
    def per_hour(self) -> float:
        """False alarms per hour."""
        return self.false_alarms * HOUR / (self.moving + self.resting)


@dataclass(frozen=True)
class ExternalValidation:
    """Result of observing external torque in a run.

    Attributes
    ----------
    joints : dict of str to JointExternal
        Calibrated joints.
    left_out : dict of str to str
        Calibrated joints that were not observed, and why.
    gain, allowed : float
        Gain of the observer [1/s], and allowed false alarms per hour and joint.
    """

    joints: dict[str, JointExternal]
    left_out: dict[str, str]
    gain: float
    allowed: float

    @property
    def failed(self) -> tuple[str, ...]:
        """Joints with significantly more false alarms than allowed."""
        return tuple(name for name, joint in self.joints.items() if joint.rate[0] > self.allowed)

    def to_dataframe(self) -> pd.DataFrame:
        """Return a row for each joint: false alarms, their rate per hour, median
        thresholds [N·m or N], and pushes.
        """
        return pd.DataFrame(
            [
                {
                    "joint": name,
                    "false_alarms": joint.false_alarms,
                    "low": joint.rate[0],
                    "high": joint.rate[1],
                    "threshold": np.nan if joint.threshold is None else joint.threshold[1],
                    "undetectable": np.nan if joint.undetectable is None else joint.undetectable[1],
                    "pushes": len(joint.pushes),
                    "missed": sum(one.delay is None for one in joint.pushes),
                }
                for name, joint in self.joints.items()
            ]
        )

    def plot(self) -> "dict[str, Axes]":
        """Draw external torque and threshold [N·m or N] over time;
        returns the panel of each joint.
        """
        from stribeck.ident.views.external_over_time import draw_external

        axes = shown_figure(tuple(self.joints))
        for name, ax in axes.items():
            joint = self.joints[name]
            draw_external(
                ax,
                name,
                joint.t,
                joint.torque,
                joint.bound,
                [(one.push.start, one.push.end) for one in joint.pushes],
            )
            ax.set(xlabel="time, s", ylabel=f"torque, {joint.unit}")
        return axes

    def __repr__(self) -> str:
        alarms, pushes = (
            sum(counts)
            for counts in zip(
                *((joint.false_alarms, len(joint.pushes)) for joint in self.joints.values()),
                strict=True,
            )
        )
        found = sum(one.delay is not None for joint in self.joints.values() for one in joint.pushes)
        return (
            f"<ExternalValidation of {len(self.joints)} joint{'s' * (len(self.joints) != 1)}: "
            f"{alarms} false alarm{'s' * (alarms != 1)}; {found} of {pushes} pushes found>"
        )

    def _repr_html_(self) -> str:
        return frame_html(repr(self).strip("<>"), self.to_dataframe())


def judge_external(
    run: Run,
    calibration: Calibration,
    pushes: Sequence[Push] = (),
    gain: float = GAIN,
    false_alarms: float = FALSE_ALARMS,
) -> ExternalValidation:
    """Observe external torque in a run; what is not a marked push is free motion.

    Parameters
    ----------
    run : Run
        Any motion, with signals q and tau.
    calibration : Calibration
        Fitted to other runs.
    pushes : sequence of Push
        Marked pushes. Time within a push, and shortly after it, is not free for any joint.
    gain, false_alarms : float
        As for `ExternalTorque`.

    Raises
    ------
    InputError, ModelError
        If the calibration was fitted to this run or lacks `free_motion`, or the
        observer refuses the arm.
    FitError
        If no torque was recorded.
    """
    refuse_fitted(run, calibration)
    check_time(run.t, str(run.path))
    check_signals(run)
    mechanism = as_recorded(run, calibration)
    without = unrecorded_torques(run)
    left_out = {
        name: f"the torque of {name} was not recorded"
        for name in calibration.joints
        if name in without
    }
    known = calibration.only([name for name in calibration.joints if name not in left_out])
    if not known.joints:
        raise FitError(
            f"{run.path}: no external torque can be observed: {'; '.join(left_out.values())}"
        )
    observer = ExternalTorque(mechanism, known, gain, false_alarms)
    motions = list(recorded_motions(run, known))
    parts = [
        observer.along(part.t, part.q, part.dq, part.tau, part.temperature) for part in motions
    ]
    found = External(
        *(
            np.concatenate([getattr(part, key) for part in parts])
            for key in ("torque", "threshold", "resting")
        )
    )
    speed = np.abs(np.concatenate([part.dq for part in motions]))
    free = np.ones(run.rows, dtype=bool)
    for push in pushes:
        free &= (run.t < push.start) | (run.t > push.end + _SETTLED / gain)
    period = np.diff(run.t, prepend=run.t[0])
    joints = {}
    for name, joint in known.joints.items():
        j = mechanism.names.index(name)
        own = [push for push in pushes if push.joint == name]
        fast = speed[:, j] > joint.velocity_range[1]
        joints[name] = _judged(run.t, period, free, fast, found, j, own, gain, mechanism.unit(j))
    return ExternalValidation(joints, left_out, gain, false_alarms)


def _judged(
    t: Array,
    period: Array,
    free: NDArray[np.bool_],
    fast: NDArray[np.bool_],
    found: External,
    j: int,
    pushes: Sequence[Push],
    gain: float,
    unit: str,
) -> JointExternal:
    """Judge one joint, column j; `fast`: whether it is faster than the calibration covers."""
    torque, bound, rests, alarm = (
        found.torque[:, j],
        found.threshold[:, j],
        found.resting[:, j],
        found.detected[:, j],
    )
    moving, resting, faster = (
        float(period[free & where].sum()) for where in (~rests, rests, ~rests & fast)
    )
    alarms = count_alarms(t, alarm & free, _ONE_ALARM / gain)
    return JointExternal(
        moving,
        resting,
        faster / moving if moving else 0.0,
        _range(bound[free & ~rests]),
        _range(bound[free & rests]),
        alarms,
        rate_interval(alarms, (moving + resting) / HOUR),
        tuple(_found(push, t, torque, bound, rests, alarm) for push in pushes),
        t,
        torque,
        bound,
        rests,
        unit,
    )


def count_alarms(t: Array, alarm: NDArray[np.bool_], together: float) -> int:
    """Return the number of alarms; those that follow another within
    `together` [s] count with it.
    """
    at = t[alarm]
    return int(len(at) > 0) + int(np.sum(np.diff(at) > together))


def _found(
    push: Push,
    t: Array,
    torque: Array,
    bound: Array,
    rests: NDArray[np.bool_],
    alarm: NDArray[np.bool_],
) -> JudgedPush:
    """Return what the observer shows of a push."""
    within = (t >= push.start) & (t <= push.end)
    at = t[within & alarm]
    own = torque[within]
    if not len(own):
        return JudgedPush(push, None, True, np.nan, np.nan)
    return JudgedPush(
        push,
        float(at[0] - push.start) if len(at) else None,
        bool(np.mean(rests[within]) > 0.5),
        float(own[np.argmax(np.abs(own))]),
        float(np.median(bound[within])),
    )


def _range(values: Array) -> tuple[float, float, float] | None:
    return (
        (float(values.min()), float(np.median(values)), float(values.max()))
        if len(values)
        else None
    )
