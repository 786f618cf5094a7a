"""What a motion may not leave, with the margins that plans keep: a cost with slopes for the design, and a verdict."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from stribeck.experiments.errors import PlanError
from stribeck.experiments.plans.clear.clearance import depth_in_box, ways_are_clear
from stribeck.experiments.plans.margins import PLANNED_SHARE
from stribeck.experiments.plans.motion_profile import ACCELERATION_SHARE
from stribeck.experiments.plans.speeds_and_postures import Design
from stribeck.ident.arrays import Array
from stribeck.ident.fit.arm.motion_information import Course, JointGuess
from stribeck.ident.model.dynamics import inverse_dynamics
from stribeck.ident.toml_tables import key_of

WRONG_MASSES = 0.3      # by which weight and inertia may be greater than the model's
_INSIDE = 0.01          # of a limit that the design keeps more than it must
_DEEP, _WIDE = 0.01, 0.1        # m inside the box, and over which the cost of less grows by 1
_STEP = 1e-6            # rad or m, for slopes


@dataclass(frozen=True)
class Allowance:
    """Limits of an arm, its box and its shapes.

    Attributes
    ----------
    design : Design
        Limits and room.
    guesses : tuple of JointGuess
        Friction of each joint.
    """

    design: Design
    guesses: tuple[JointGuess, ...]

    @property
    def velocity(self) -> Array:
        """Highest speeds, shape (n,)."""
        return np.asarray(self.design.options.fastest * self.design.limits.velocity)

    @property
    def acceleration(self) -> Array:
        """Highest accelerations, shape (n,)."""
        return np.asarray(ACCELERATION_SHARE * self.design.limits.acceleration)

    @cached_property
    def torque(self) -> Array:
        """Greatest torque that weight and inertia of the model may ask, shape (n,); infinite where there is no limit.

        Were masses greater by `WRONG_MASSES`, friction as it is guessed would still fit into the limit.
        """
        limit = np.where(np.isnan(self.design.limits.torque), np.inf, self.design.limits.torque)
        rubbed = np.array([float(one.friction(np.array([v]), np.zeros(1))[0])
                           for one, v in zip(self.guesses, self.velocity, strict=True)])
        growth = np.array([one.coulomb_coefficient for one in self.guesses])
        return np.minimum(PLANNED_SHARE * limit, (limit - rubbed) / (1.0 + growth) / (1.0 + WRONG_MASSES))

    def check_start(self, start: Array) -> None:
        """Refuse a start at which gravity takes what shall be left for wrong masses and friction.

        Raises
        ------
        PlanError
            Names the joint.
        """
        held = np.abs(inverse_dynamics(self.design.mechanism, start[None]))[0]
        j = int(np.argmax(held - self.torque))
        if held[j] > self.torque[j]:
            name, unit = self.design.mechanism.names[j], self.design.mechanism.unit(j)
            raise PlanError(f"{self.design.arm.path}: at home gravity asks {held[j]:.3g} {unit} of {name}; excitation allows "
                            f"{self.torque[j]:.3g} {unit} there, so that masses may be {100.0 * WRONG_MASSES:.0f} % greater than "
                            f"the model's and friction still fits into the limit of {self.design.limits.torque[j]:g} {unit}; "
                            f"move workspace.home, or raise joints.{key_of(name)}.torque if the drive can")

    def of_torques(self, tau: Array) -> tuple[float, Array]:
        """Cost of torques (N, n), and its slope."""
        scale = np.where(np.isfinite(self.torque), self.torque, 1.0)
        over = np.maximum(0.0, np.abs(tau) - (1.0 - _INSIDE) * self.torque) / scale
        return float(np.sum(over**2)), 2.0 * over / scale * np.sign(tau)

    def of_motion(self, course: Course) -> tuple[float, tuple[Array, Array, Array]]:
        """Cost of positions, speeds, accelerations and of coming near the walls of the box, and its slopes (N, n)."""
        low, high = self.design.room
        middle, half = (low + high) / 2.0, (high - low) / 2.0
        costs, slopes = 0.0, []
        for values, limit in ((course.q - middle, half), (course.dq, self.velocity), (course.ddq, self.acceleration)):
            over = np.maximum(0.0, np.abs(values) / limit - (1.0 - _INSIDE))
            costs += float(np.sum(over**2))
            slopes.append(2.0 * over / limit * np.sign(values))
        near, by_q = self._of_walls(course.q)
        return costs + near, (slopes[0] + by_q, slopes[1], slopes[2])

    def _of_walls(self, q: Array) -> tuple[float, Array]:
        arm, mechanism, slope = self.design.arm, self.design.mechanism, np.zeros_like(q)
        if arm.workspace.box is None:
            return 0.0, slope
        over = np.maximum(0.0, _DEEP - depth_in_box(arm, mechanism, q)) / _WIDE
        rows = np.flatnonzero(over)
        for j in range(q.shape[1]) if len(rows) else ():
            moved = q[rows].copy()
            moved[:, j] += _STEP
            there = np.maximum(0.0, _DEEP - depth_in_box(arm, mechanism, moved)) / _WIDE
            slope[rows, j] = (there**2 - over[rows] ** 2) / _STEP
        return float(np.sum(over**2)), slope

    def shares(self, course: Course) -> dict[str, Array]:
        """The greatest of each joint as parts of what is allowed, by kind of limit, shape (n,); 1 is as far as it may go."""
        low, high = self.design.room
        tau = np.abs(inverse_dynamics(self.design.mechanism, course.q, course.dq, course.ddq)).max(axis=0)
        return {"position": np.abs((course.q - (low + high) / 2.0) / ((high - low) / 2.0)).max(axis=0),
                "velocity": np.abs(course.dq).max(axis=0) / self.velocity,
                "acceleration": np.abs(course.ddq).max(axis=0) / self.acceleration, "torque": tau / self.torque}

    def blocked(self, corners: Array) -> NDArray[np.bool_]:
        """Which straight ways between corners (K + 1, n) leave the box or bring shapes together, shape (K,)."""
        return ~ways_are_clear(self.design.arm, self.design.mechanism, corners[:-1], corners[1:])
