"""What an observer needs of arm and calibration: a tree of rigid joints with rotors, and the noise
that reaches the estimate.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from stribeck.ident.arrays import Array
from stribeck.ident.calibration.calibration import Calibration
from stribeck.ident.errors import InputError, ModelError, unknown_name
from stribeck.ident.external.false_alarms import FilteredNoise
from stribeck.ident.external.joint_bound import JointBound
from stribeck.ident.laws.parameter import known_value
from stribeck.ident.log.free_motion import FreeMotion
from stribeck.ident.model.dynamics import mass_matrix
from stribeck.ident.model.mechanism import Mechanism

_POSTURES = 64  # at which the effect of velocity noise is computed
_TURN = np.pi  # rad or m; range of postures of a joint without limits


def refuse_unobservable(mechanism: Mechanism, calibration: Calibration) -> None:
    """Refuse arms whose momentum or friction the observer does not know.

    Raises
    ------
    InputError
        If the calibration has joints that the mechanism lacks, or friction of motors
        that move several joints.
    ModelError
        If the mechanism is a closed chain, or has joints that are passive or have a spring.
    """
    if mechanism.chain is not None or mechanism.closures:
        raise ModelError(
            f"{mechanism.name} is a closed chain; external torque is observed on open chains only"
        )
    for column in (*mechanism.passive, *mechanism.springs):
        raise ModelError(
            f"{mechanism.name}: joint {mechanism.names[column]} is passive or has a spring; "
            "external torque is observed on rigid joints with drives only"
        )
    for name in calibration.motors.motors:
        raise InputError(
            f"{calibration.arm}: the motor of {name} moves several joints and has friction of its "
            "own, which "
            "couples them at rest; external torque is observed on joints with a motor each"
        )
    for name in calibration.joints:
        if name not in mechanism.names:
            raise InputError(
                f"{mechanism.name}: {unknown_name('joint', name, mechanism.names)}; the "
                "calibration names this joint"
            )


def free_motion_of(calibration: Calibration) -> dict[str, FreeMotion]:
    """Return what free motion showed of each calibrated joint.

    Raises
    ------
    InputError
        If a joint lacks it.
    """
    found = {}
    for name, joint in calibration.joints.items():
        if joint.free_motion is None:
            raise InputError(
                f"joints.{name} of the calibration of {calibration.arm} has no free_motion, from "
                "which thresholds come; fit its runs again"
            )
        found[name] = joint.free_motion
    return found


def usual_delay(calibration: Calibration) -> float:
    """Return the median delay of the torque signals of the joints that show one, or zero [s]."""
    found = [
        delay
        for joint in calibration.joints.values()
        if (delay := known_value(joint.gravity, "delay", 0.0)) > 0.0
    ]
    return float(np.median(found)) if found else 0.0


def with_rotors(mechanism: Mechanism, free: Mapping[str, FreeMotion]) -> Mechanism:
    """Return the mechanism with the rotors of the fit, if it has none."""
    if mechanism.rotors is not None or not free:
        return mechanism
    for name, one in free.items():
        if len(one.rotors) != mechanism.n:
            raise InputError(
                f"joints.{name}.free_motion.rotors has {len(one.rotors)} numbers; {mechanism.name} "
                f"needs one for each of {', '.join(mechanism.names)}"
            )
    rotors = np.array(
        [free[name].rotors if name in free else np.zeros(mechanism.n) for name in mechanism.names]
    )
    return replace(mechanism, rotors=rotors) if rotors.any() else mechanism


def estimate_noise(
    mechanism: Mechanism,
    free: Mapping[str, FreeMotion],
    bounds: Mapping[int, JointBound],
    gain: Array,
) -> dict[int, FilteredNoise]:
    """Return the noise of each joint's estimate, by its column; that of velocities
    counts as in the worst posture.
    """
    rng = np.random.default_rng(0)
    low, high = np.clip(mechanism.position, -_TURN, _TURN).T
    inertia = mass_matrix(mechanism, rng.uniform(low, high, (_POSTURES, mechanism.n)))
    inertia = inertia if mechanism.rotors is None else inertia + mechanism.rotors
    velocity = np.array(
        [free[name].velocity_noise if name in free else 0.0 for name in mechanism.names]
    )
    momentum = np.sqrt((inertia**2 @ velocity**2).max(axis=0))
    found = {}
    for column, bound in bounds.items():
        own = free[mechanism.names[column]]
        keep = float(np.exp(-gain[column] * own.period))
        now = 1.0 - keep
        found[column] = FilteredNoise.of(
            keep,
            (own.torque_noise / bound.divisor, 0.5 * now, 0.5 * now),
            (bound.scale * float(momentum[column]), now / own.period, -now / own.period),
        )
    return found


def noise_margin(
    mechanism: Mechanism,
    free: Mapping[str, FreeMotion],
    bounds: Mapping[int, JointBound],
    gain: Array,
    per_hour: float,
) -> Array:
    """Return the torque that noise behind the observer exceeds `per_hour` times an
    hour, shape (n,) [N·m or N].
    """
    margin = np.zeros(mechanism.n)
    for column, noise in estimate_noise(mechanism, free, bounds, gain).items():
        if noise.deviation > 0.0:
            margin[column] = noise.deviation * noise.level(
                per_hour, free[mechanism.names[column]].period
            )
    return margin
