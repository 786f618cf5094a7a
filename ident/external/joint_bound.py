"""Bound of the error of one joint's predicted friction: while it slides, a table over speed;
at rest, the static level.
"""

from dataclasses import dataclass
from itertools import product

import numpy as np

from stribeck.ident.arrays import Array
from stribeck.ident.calibration.joint_calibration import JointCalibration
from stribeck.ident.fit.fit_result import prediction_band
from stribeck.ident.laws.parameter import Parameter, known_value
from stribeck.ident.log.free_motion import FreeMotion

_SPEEDS, _FASTER = 24, 3.0  # speeds of the table, and its end over the fastest calibrated speed
_REPEATS = 2.0  # half width of the scatter between runs, in standard deviations
# part of friction by which runs are assumed to differ where a calibration has a single run
_BETWEEN = 0.02
# standard deviations of velocity noise beyond which the direction of motion is sure
_SURE = 5.0
# periods by which an unknown delay may be wrong; periods that a reversal is blurred
_LATE, _STEP = 2.0, 1.5
_CREEPING = 0.01  # of the slowest speed; some laws fall to zero at rest, others rise
_REACH = 3.0  # presliding distances over which friction reverses to 95 %


@dataclass(frozen=True)
class JointBound:
    """Prediction of one joint's drive torque beside model and law, and the bound of its error.

    Attributes
    ----------
    scale, divisor, offset, included, inertia, delay : float
        Scale of the torque signal against the model; divisor of the signal; constant torque, and
        the part of it that the friction of the calibration includes [N·m or N]; inertia beside the
        model's [kg·m² or kg]; lag of the signal behind the position [s].
    slowest : float
        Speed below which the joint counts as resting [rad/s or m/s].
    settling : float
        Time after a rest or reversal in which the direction of friction is unsure [s].
    distance : float
        Distance after a rest or reversal over which friction builds up [rad or m].
    speed, sliding : ndarray, shape (m,)
        Table over speed of the bound while the joint slides [N·m or N].
    resting : float
        Addition to the static level at rest [N·m or N].
    breakaway : float
        Greatest measured breakaway torque; 0 if unknown [N·m or N].
    share : float
        Half the interval of the scale.
    """

    scale: float
    divisor: float
    offset: float
    included: float
    inertia: float
    delay: float
    slowest: float
    settling: float
    distance: float
    speed: Array
    sliding: Array
    resting: float
    breakaway: float
    share: float

    @classmethod
    def of(
        cls,
        joint: JointCalibration,
        free: FreeMotion | None,
        inertia: float,
        distance: float | None,
        usual_delay: float = 0.0,
        between: bool = True,
    ) -> "JointBound":
        """Return the bound of a joint; without `free` motion there is none of what
        the law does not explain.

        `inertia`: inertia that was fitted in addition to the model's; `distance`: in place of that
        of the calibration's memory; `usual_delay`: delay of a joint whose delay is unknown [s];
        `between`: whether another run than the fitted ones is observed.
        """
        corrected = joint.torque_scale is not None
        noise, period = (0.0, 0.0) if free is None else (free.velocity_noise, free.period)
        slowest = max(joint.velocity_range[0], _SURE * noise)
        speed = np.geomspace(
            slowest, max(_FASTER * joint.velocity_range[1], 2.0 * slowest), _SPEEDS
        )
        scale, offset, delay = (
            known_value(joint.gravity, key, default)
            for key, default in (("scale", 1.0), ("offset", 0.0), ("delay", 0.0))
        )
        told = joint.gravity.get
        sliding = (
            _band(joint, speed, between)
            + (0.0 if free is None else free.bound(speed))
            + _error(told("offset"), offset)
        )
        unsure = _error(told("delay"), delay) if delay else _LATE * period
        reach = 0.0 if joint.memory is None else _REACH * joint.memory.distance
        return cls(
            1.0 if corrected else scale,
            joint.torque_scale or 1.0,
            offset,
            joint.offset,
            inertia,
            max(0.0, delay) or usual_delay,
            slowest,
            unsure + _STEP * period,
            reach if distance is None else distance,
            speed,
            sliding,
            float(sliding[0]) + sum(wave.amplitude for wave in joint.ripple),
            0.0 if joint.breakaway is None else joint.breakaway.range[1],
            0.0 if corrected else _error(told("scale"), scale),
        )

    def while_sliding(self, speed: Array) -> Array:
        """Return the bound at speeds while the joint slides, shape (N,)."""
        return np.interp(speed, self.speed, self.sliding)

    def at_rest(
        self, joint: JointCalibration, load: Array | None, rigid: Array, temperature: Array | None
    ) -> Array:
        """Return the bound at rest, shape (N,): friction has any value up to the static level."""
        slow, creeping = (np.full(len(rigid), speed) for speed in self.slow)
        level = np.maximum(
            joint.torque(slow, load, temperature), joint.torque(creeping, load, temperature)
        )
        level += np.abs(joint.directional_torque(slow, load, rigid) - joint.offset)
        return np.maximum(level, self.breakaway) + self.resting

    @property
    def slow(self) -> tuple[float, float]:
        """Two speeds, the greater friction of which is the static level: the
        slowest, and one close to rest.
        """
        return self.slowest, _CREEPING * self.slowest


def _band(joint: JointCalibration, speed: Array, between: bool) -> Array:
    """Return the greatest half width of the band over the calibrated loads; `between`: with
    the scatter between runs.

    A single run does not show how runs differ; the calibration then counts as good to 2 % of
    friction on another day. Beyond the fastest calibrated speed, the law's whole change from
    there counts as its error.
    """
    varied = {
        name: entry.repeat_deviation
        for name, entry in joint.parameters.items()
        if entry.value is not None and entry.repeat_deviation
    }
    widest = np.zeros(len(speed))
    for load in _corners(joint):
        at = None if load is None else np.repeat(load[None], len(speed), axis=0)
        scatter = (
            prediction_band(
                joint.law,
                joint.values,
                tuple(varied),
                np.diag(np.square(list(varied.values()))),
                speed,
                at,
                _REPEATS,
            )
            if varied
            else _BETWEEN * np.abs(joint.torque(speed, at))
        )
        beyond = np.abs(
            joint.torque(speed, at) - joint.torque(np.minimum(speed, joint.velocity_range[1]), at)
        )
        widest = np.maximum(widest, joint.band(speed, at) + beyond + (scatter if between else 0.0))
    return widest


def _corners(joint: JointCalibration) -> list[Array | None]:
    """Return the combinations of least and greatest calibrated load; the
    band is convex in the load.
    """
    if joint.load == "none":
        return [None]
    if joint.load_range is None:
        return [np.zeros(len(joint.components) or ())]
    ends = np.atleast_2d(joint.load_ends.T)
    corners = [np.array(corner) for corner in product(*ends)]
    return [*corners] if joint.components else [corner[0] for corner in corners]


def _error(entry: Parameter | None, used: float) -> float:
    """Return how far the interval of a parameter reaches from the used
    value; 0 without an interval.
    """
    return (
        0.0
        if entry is None or entry.low is None or entry.high is None
        else max(entry.high - used, used - entry.low)
    )
