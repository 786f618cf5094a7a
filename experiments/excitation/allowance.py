"""What a motion may not leave, with the margins that plans keep: a cost with slopes for the design, and a verdict."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from stribeck.experiments.errors import PlanError
from stribeck.experiments.excitation.reach import Reach
from stribeck.experiments.plans.clear.clearance import depth_in_box, in_reach, ways_are_clear
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
_PLACES = 200           # random ones in reach of a closed chain, whose principal directions its motion is sought in


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

    def directions(self, active: Sequence[int]) -> tuple[Array, Array]:
        """Directions in which a motion of some joints is sought, shape (n, d), and of each half the range, velocity and
        acceleration, shape (3, d): each joint alone; of a closed chain those in which it reaches farther or less far.
        """
        low, high = self.design.room
        own = np.eye(self.design.mechanism.n)[:, list(active)]
        if self.design.mechanism.chain is not None:
            home = self.design.arm.home(self.design.mechanism)
            drawn = np.random.default_rng(0).uniform(low, high, (_PLACES, len(home)))
            ways = in_reach(self.design.arm, self.design.mechanism, home, home + (drawn - home) @ own @ own.T,
                            np.random.default_rng(1)) - home
            own = own @ np.linalg.svd(ways @ own, full_matrices=False)[2].T
            way = np.abs(ways @ own).max(axis=0)
        else:
            way = (own.T @ (high - low)) / 2.0
        part = np.abs(own).T
        return own, np.array([way, *(1.0 / (part / limit).max(axis=1) for limit in (self.velocity, self.acceleration))])

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
            raise PlanError(f"{self.design.arm.path}: in the home posture gravity needs {held[j]:.3g} {unit} at {name}; "
                            f"excitation allows {self.torque[j]:.3g} {unit}, because the limit of "
                            f"{self.design.limits.torque[j]:g} {unit} must also cover friction and masses "
                            f"{100.0 * WRONG_MASSES:.0f} % greater than the model's; move workspace.home, or raise "
                            f"joints.{key_of(name)}.torque if the drive can deliver more")

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
        for near, by_q in (self._of_walls(course.q), *(() if self._reach is None else (self._reach.cost(course.q),))):
            costs, slopes[0] = costs + near, slopes[0] + by_q
        return costs, (slopes[0], slopes[1], slopes[2])

    @cached_property
    def _reach(self) -> Reach | None:
        """Of a closed chain."""
        arm, mechanism = self.design.arm, self.design.mechanism
        return None if mechanism.chain is None else Reach(mechanism.chain, arm.home(mechanism), arm.workspace.singular_margin)

    def in_reach(self, course: Course) -> tuple[Course, NDArray[np.bool_]]:
        """The motion with places out of reach of a closed chain drawn back into it, and which are in reach, shape (N,)."""
        return (course, np.ones(len(course.q), dtype=bool)) if self._reach is None else self._reach.drawn_back(course)

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
        reached, _ = self.in_reach(course)
        tau = np.abs(inverse_dynamics(self.design.mechanism, reached.q, reached.dq, reached.ddq)).max(axis=0)
        return {"position": np.abs((course.q - (low + high) / 2.0) / ((high - low) / 2.0)).max(axis=0),
                "velocity": np.abs(course.dq).max(axis=0) / self.velocity,
                "acceleration": np.abs(course.ddq).max(axis=0) / self.acceleration, "torque": tau / self.torque}

    def blocked(self, corners: Array) -> NDArray[np.bool_]:
        """Which straight ways between corners (K + 1, n) leave the box or bring shapes together, shape (K,)."""
        return ~ways_are_clear(self.design.arm, self.design.mechanism, corners[:-1], corners[1:])
