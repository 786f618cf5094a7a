"""Limits of an excitation with the margins of plans: a cost with gradient for the design,
and a check of the result.
"""

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

WRONG_MASSES = 0.3  # relative error of masses that the design allows for
_INSIDE = 0.01  # of a limit: additional margin of the design
# required depth inside the box [m], and the lack of depth [m] that costs 1
_DEEP, _WIDE = 0.01, 0.1
_STEP = 1e-6  # rad or m; step of finite differences
# random reachable postures of a closed chain, which give the principal directions of its motion
_PLACES = 200


@dataclass(frozen=True)
class Allowance:
    """Limits of an arm, its workspace box and its collision shapes.

    Attributes
    ----------
    design : Design
        Limits and range of the joints.
    guesses : tuple of JointGuess
        Expected friction of each joint.
    """

    design: Design
    guesses: tuple[JointGuess, ...]

    @property
    def velocity(self) -> Array:
        """Highest allowed speeds, shape (n,)."""
        return np.asarray(self.design.options.fastest * self.design.limits.velocity)

    @property
    def acceleration(self) -> Array:
        """Highest allowed accelerations, shape (n,)."""
        return np.asarray(ACCELERATION_SHARE * self.design.limits.acceleration)

    @cached_property
    def torque(self) -> Array:
        """Greatest allowed rigid-body torque of the model, shape (n,); infinite
        for joints without a limit.

        The torque limit also covers the expected friction and masses that are
        greater by `WRONG_MASSES`.
        """
        limit = np.where(np.isnan(self.design.limits.torque), np.inf, self.design.limits.torque)
        rubbed = np.array(
            [
                float(one.friction(np.array([v]), np.zeros(1))[0])
                for one, v in zip(self.guesses, self.velocity, strict=True)
            ]
        )
        growth = np.array([one.coulomb_coefficient for one in self.guesses])
        return np.minimum(
            PLANNED_SHARE * limit, (limit - rubbed) / (1.0 + growth) / (1.0 + WRONG_MASSES)
        )

    def directions(self, active: Sequence[int]) -> tuple[Array, Array]:
        """Directions of joint space that span the motion of some joints, and the
        limits of each direction.

        The directions, shape (n, d), are the single joints; for a closed chain, the principal
        directions of its reachable postures. The limits, shape (3, d), are half the range,
        velocity and acceleration.
        """
        low, high = self.design.room
        own = np.eye(self.design.mechanism.n)[:, list(active)]
        if self.design.mechanism.chain is not None:
            home = self.design.arm.home(self.design.mechanism)
            drawn = np.random.default_rng(0).uniform(low, high, (_PLACES, len(home)))
            ways = (
                in_reach(
                    self.design.arm,
                    self.design.mechanism,
                    home,
                    home + (drawn - home) @ own @ own.T,
                    np.random.default_rng(1),
                )
                - home
            )
            own = own @ np.linalg.svd(ways @ own, full_matrices=False)[2].T
            way = np.abs(ways @ own).max(axis=0)
        else:
            way = (own.T @ (high - low)) / 2.0
        part = np.abs(own).T
        return own, np.array(
            [
                way,
                *(1.0 / (part / limit).max(axis=1) for limit in (self.velocity, self.acceleration)),
            ]
        )

    def check_start(self, start: Array) -> None:
        """Refuse a start posture whose gravity torque leaves too little of the limit for
        wrong masses and friction.

        Raises
        ------
        PlanError
            The message names the joint.
        """
        held = np.abs(inverse_dynamics(self.design.mechanism, start[None]))[0]
        j = int(np.argmax(held - self.torque))
        if held[j] > self.torque[j]:
            name, unit = self.design.mechanism.names[j], self.design.mechanism.unit(j)
            raise PlanError(
                f"{self.design.arm.path}: in the home posture gravity needs {held[j]:.3g} {unit} "
                f"at {name}; excitation allows {self.torque[j]:.3g} {unit}, because the limit of "
                f"{self.design.limits.torque[j]:g} {unit} must also cover friction and masses "
                f"{100.0 * WRONG_MASSES:.0f} % greater than the model's; move workspace.home, or "
                f"raise joints.{key_of(name)}.torque if the drive can deliver more"
            )

    def of_torques(self, tau: Array) -> tuple[float, Array]:
        """Return the cost of torques (N, n) beyond their limits, and its gradient."""
        scale = np.where(np.isfinite(self.torque), self.torque, 1.0)
        over = np.maximum(0.0, np.abs(tau) - (1.0 - _INSIDE) * self.torque) / scale
        return float(np.sum(over**2)), 2.0 * over / scale * np.sign(tau)

    def of_motion(self, course: Course) -> tuple[float, tuple[Array, Array, Array]]:
        """Return the cost of positions, speeds, accelerations and closeness to the walls of the
        box, and its derivatives (N, n).

        For a closed chain, the cost includes closeness to singular postures.
        """
        low, high = self.design.room
        middle, half = (low + high) / 2.0, (high - low) / 2.0
        costs, slopes = 0.0, []
        for values, limit in (
            (course.q - middle, half),
            (course.dq, self.velocity),
            (course.ddq, self.acceleration),
        ):
            over = np.maximum(0.0, np.abs(values) / limit - (1.0 - _INSIDE))
            costs += float(np.sum(over**2))
            slopes.append(2.0 * over / limit * np.sign(values))
        for near, by_q in (
            self._of_walls(course.q),
            *(() if self._reach is None else (self._reach.cost(course.q),)),
        ):
            costs, slopes[0] = costs + near, slopes[0] + by_q
        return costs, (slopes[0], slopes[1], slopes[2])

    @cached_property
    def _reach(self) -> Reach | None:
        """Reach of a closed chain; None for other arms."""
        arm, mechanism = self.design.arm, self.design.mechanism
        if mechanism.chain is None:
            return None
        return Reach(
            mechanism.chain,
            arm.home(mechanism),
            arm.workspace.singular_margin,
            np.abs(self.design.room).max(axis=0),
        )

    def in_reach(self, course: Course) -> tuple[Course, NDArray[np.bool_]]:
        """Return the motion with unreachable postures of a closed chain drawn back, and a mask of
        reachable ones, shape (N,).
        """
        return (
            (course, np.ones(len(course.q), dtype=bool))
            if self._reach is None
            else self._reach.drawn_back(course)
        )

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
        """Return the maximum of each joint over its allowed value, by kind of limit,
        shape (n,); 1 is at the limit.
        """
        low, high = self.design.room
        reached, _ = self.in_reach(course)
        tau = np.abs(
            inverse_dynamics(self.design.mechanism, reached.q, reached.dq, reached.ddq)
        ).max(axis=0)
        return {
            "position": np.abs((course.q - (low + high) / 2.0) / ((high - low) / 2.0)).max(axis=0),
            "velocity": np.abs(course.dq).max(axis=0) / self.velocity,
            "acceleration": np.abs(course.ddq).max(axis=0) / self.acceleration,
            "torque": tau / self.torque,
        }

    def blocked(self, corners: Array) -> NDArray[np.bool_]:
        """Mask of straight segments between corners (K + 1, n) that leave the box or
        cause a collision, shape (K,).
        """
        return ~ways_are_clear(self.design.arm, self.design.mechanism, corners[:-1], corners[1:])
