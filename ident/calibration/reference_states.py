r"""Reference states: speeds and loads that several calibrations of a joint
cover, at one temperature.

Friction of calibrations is compared there, whatever law each of them has. `log_friction` reduces a
curve to one number, the mean of its logarithm over the states, :math:`y = \overline{\log f}`:
differences of y are relative differences of friction.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from stribeck.ident.arrays import Array
from stribeck.ident.calibration.joint_calibration import JointCalibration, loads_agree
from stribeck.ident.fit.fit_result import further_band, needed_load, slopes

_SPEEDS, _LOADS = 40, 5
_NORMAL = 1.96  # half width of a 95 % interval in standard errors


@dataclass(frozen=True)
class ReferenceStates:
    """Speeds and loads at which calibrations of a joint are compared.

    Attributes
    ----------
    speeds : ndarray, shape (N,)
        [rad/s or m/s]
    loads : tuple of ndarray, shape (N,) or (N, m)
        Loads of each calibration: the same, or the middle of each range if the
        loads are of different kinds.
    temperature : float, optional
        Temperature of the drives [°C]; None if no calibration depends on temperature.
    """

    speeds: Array
    loads: tuple[Array, ...]
    temperature: float | None


def reference_states(joints: Sequence[JointCalibration]) -> ReferenceStates | None:
    """Return the states that all calibrations of a joint cover; None if their speed or
    load ranges do not overlap.
    """
    low, high = common_speeds(joints)
    levels = _common_loads(joints)
    if not low < high or levels is None:
        return None
    speeds = np.tile(np.geomspace(max(low, 1e-3 * high), high, _SPEEDS), len(levels[0]))
    warm = next(
        (joint.temperature.reference for joint in joints if joint.temperature is not None), None
    )
    return ReferenceStates(
        speeds, tuple(np.repeat(level, _SPEEDS, axis=0) for level in levels), warm
    )


def common_speeds(joints: Sequence[JointCalibration]) -> tuple[float, float]:
    """Return the highest lower end and the lowest upper end of the speed ranges [rad/s or m/s]."""
    return max(joint.velocity_range[0] for joint in joints), min(
        joint.velocity_range[1] for joint in joints
    )


def _common_loads(joints: Sequence[JointCalibration]) -> tuple[Array, ...] | None:
    """Return the loads at which each is compared: common loads, the middle of each range for
    different kinds of load, or None if the ranges do not overlap."""
    loaded = [joint for joint in joints if joint.load != "none"]
    if not all(loads_agree(loaded[0], joint) for joint in loaded):
        return tuple(joint.middle_load[None] for joint in joints)
    ends = [joint.load_ends for joint in loaded if joint.load_range is not None]
    if not ends:
        return (np.zeros(1),) * len(joints)
    low, high = (
        np.max([lower for lower, _ in ends], axis=0),
        np.min([upper for _, upper in ends], axis=0),
    )
    return None if np.any(low > high) else (np.linspace(low, high, _LOADS),) * len(joints)


def log_friction(
    joint: JointCalibration, speeds: Array, load: Array, temperature: float | None, runs: int
) -> tuple[float, float] | None:
    """Return the mean logarithm of friction over reference states, and its standard error.

    Parameters
    ----------
    joint : JointCalibration
    speeds : ndarray, shape (N,)
        [rad/s or m/s]
    load : ndarray, shape (N,) or (N, m)
    temperature : float, optional
        [°C]
    runs : int
        Number of runs of the fit; the deviation between them counts with its mean.

    Returns
    -------
    tuple of float, or None
        None if friction is not positive at all states.
    """
    friction = joint.torque(speeds, load, temperature)
    own = joint.torque(speeds, load)
    if not (np.all(friction > 0.0) and np.all(own > 0.0)):
        return None
    variance = float(np.mean(further_band(joint.further_error, speeds) / own) / joint.factor) ** 2
    if joint.names:
        spread = [
            (one.std_error or 0.0, (one.repeat_deviation or 0.0) / np.sqrt(max(1, runs)))
            for one in (joint.parameters[name] for name in joint.names)
        ]
        error = np.array([np.hypot(*pair) for pair in spread])
        loads = needed_load(joint.load, load)
        relative = slopes(joint.law, joint.values, joint.names, speeds, loads) / own
        slope = error * relative.mean(axis=1)
        variance += float(slope @ joint.correlation @ slope)
    if joint.temperature is not None and temperature is not None:
        variance += float(np.mean(joint.temperature.widening(temperature)) / _NORMAL) ** 2
    return float(np.mean(np.log(friction))), float(np.sqrt(max(variance, 0.0)))
