"""Expected friction and noise of joints before the excitation, and the
expected information of a motion.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from stribeck.experiments.plans.clear.clearance import in_reach
from stribeck.experiments.plans.forecast import FRICTION
from stribeck.experiments.plans.speeds_and_postures import Design
from stribeck.ident.arrays import Array
from stribeck.ident.fit.arm.motion_information import FRICTION as PARAMETERS
from stribeck.ident.fit.arm.motion_information import Course, JointGuess, MotionInformation
from stribeck.ident.fit.inertia.link_prior import is_told
from stribeck.ident.fit.information import (
    LOADED,
    STATIC,
    STRIBECK,
    VISCOUS,
    ExpectedNoise,
    ExpectedPrecision,
)
from stribeck.ident.log.motion.filtered_motion import filtered
from stribeck.ident.log.motion.low_pass import low_pass
from stribeck.ident.log.run import Run
from stribeck.ident.model.dynamics import inverse_dynamics
from stribeck.ident.model.mechanism import Mechanism

_POSTURES = 200  # random postures for the greatest gravity torque of each joint
_LEAST_LOAD = 0.05  # of the torque limit: least load that is assumed
# of the velocity scale: speeds at which the friction band is evaluated
_SPEEDS = np.geomspace(0.02, 1.0, 12)
_RATE = 25.0  # Hz; sampling rate of earlier runs
_NORMAL = 1.96


def guesses(design: Design, noise: ExpectedNoise | None = None) -> tuple[JointGuess, ...]:
    """Return expected friction and noise of joints without earlier measurements,
    estimated from their limits.
    """
    noise, limits, mechanism = noise or ExpectedNoise(), design.limits, design.mechanism
    rng, (low, high) = np.random.default_rng(0), limits.position.T
    places = rng.uniform(low, high, (_POSTURES, mechanism.n))
    if mechanism.chain is not None:
        places = in_reach(design.arm, mechanism, design.arm.home(mechanism), places, rng)
    carried = np.abs(inverse_dynamics(mechanism, places)).max(axis=0)
    found = []
    for j in range(mechanism.n):
        velocity = float(
            min(limits.velocity[j], np.sqrt(limits.acceleration[j] * design.travel[j] / 4.0))
        )
        coulomb = FRICTION * float(limits.torque[j])
        growth = LOADED * coulomb / max(float(carried[j]), _LEAST_LOAD * float(limits.torque[j]))
        friction = coulomb * (1.0 + 0.5 * VISCOUS)
        found.append(
            JointGuess(
                coulomb,
                STATIC * coulomb,
                STRIBECK[1] * velocity,
                VISCOUS * coulomb / velocity,
                growth,
                velocity,
                float(np.hypot(noise.within, noise.ripple / np.sqrt(2.0))) * friction,
                noise.scatter * friction,
            )
        )
    return tuple(found)


def told_by_runs(
    runs: Sequence[Run], mechanisms: Sequence[Mechanism], information: MotionInformation
) -> Array:
    """Return the information of recorded runs (constant speeds or any
    other motion), shape (p, p).
    """
    total = np.zeros_like(information.prior)
    if not runs:
        return total
    log = filtered(runs, mechanisms)
    step = max(1, round(1.0 / (_RATE * log.dt)))
    for part in log.stretches:
        # filtered as in the fit, because position noise is no information
        ddq = low_pass(part.ddq, log.bandwidth * log.dt)
        total += information.told(
            Course(part.q[::step], part.dq[::step], ddq[::step], step * log.dt)
        )
    return total


@dataclass(frozen=True)
class Told:
    """Expected information of a motion.

    Attributes
    ----------
    gain, earlier : float
        Decrease of entropy of base parameters and friction by the motion, and before
        it by earlier runs [nat].
    condition : float
        Condition number of the base regressor, with columns of unit length.
    base : dict of str to tuple of float
        95 % half width of each base parameter, and its ratio to the prior half width.
    friction : tuple of ExpectedPrecision
        Expected intervals of each joint's friction.
    """

    gain: float
    earlier: float
    condition: float
    base: dict[str, tuple[float, float]]
    friction: tuple[ExpectedPrecision, ...]

    @property
    def count(self) -> int:
        """Number of base parameters that a fit of the motion is expected to identify."""
        return sum(is_told(part, 1.0) for _, part in self.base.values())


def told(information: MotionInformation, before: Array, course: Course) -> Told:
    """Return the expected information of a motion in addition to the information `before`."""
    after = before + information.told(course)
    base, parts, friction = information.deviations(after)
    names = information.base.names
    widths = {
        name: (_NORMAL * float(one), float(part))
        for name, one, part in zip(names, base, parts, strict=True)
    }
    found = []
    for j, (name, guess) in enumerate(
        zip(information.mechanism.names, information.guesses, strict=True)
    ):
        values = np.array(
            [guess.coulomb, guess.static, 1.0, guess.viscous, guess.coulomb_coefficient]
        )
        tau = np.abs(inverse_dynamics(information.mechanism, course.q, course.dq, course.ddq))[:, j]
        band = max(
            float(information.band(after, j, guess.velocity * _SPEEDS, float(load)).max())
            for load in (tau.min(), tau.max())
        )
        passes = course.times * (1 + int(np.count_nonzero(np.diff(np.sign(course.dq[:, j])))))
        found.append(
            ExpectedPrecision(
                name,
                "stribeck",
                "torque",
                passes,
                band,
                {
                    key: float(_NORMAL * error / value)
                    for key, error, value in zip(PARAMETERS, friction[j], values, strict=True)
                },
            )
        )
    return Told(
        information.gain(after, before),
        information.gain(before),
        information.condition(course),
        widths,
        tuple(found),
    )
