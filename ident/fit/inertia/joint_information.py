"""Information about the unknowns y that joints share, from the torque of one joint, and the friction
that was fitted together with them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from stribeck.ident.arrays import Array
from stribeck.ident.fit.noise import WHITE, Noise
from stribeck.ident.fit.residuals.two_stage import Instrumented
from stribeck.ident.laws.law_table import law_named
from stribeck.ident.log.motion.motion_points import Motion

_STEP = 1e-3  # step of a load, as a part of its maximum, for finite differences


@dataclass(frozen=True)
class Friction:
    """Friction of a joint: its law, the load that it grows with, and its parameters."""

    law: str
    load: str
    values: Mapping[str, float]

    @property
    def form(self) -> tuple[str, str, frozenset[str]]:
        """Law, load, and the parameters that are zero."""
        return (
            self.law,
            self.load,
            frozenset(name for name, value in self.values.items() if value == 0.0),
        )

    def with_zeros(self, other: "Friction | None") -> "Friction":
        """Return the friction; parameters that are zero in another friction of the same
        law and load are zero, too.
        """
        if other is None or other.form[:2] != self.form[:2]:
            return self
        return replace(
            self,
            values={
                name: 0.0 if name in other.form[2] else value for name, value in self.values.items()
            },
        )

    def growth(self, speed: Array, load: Array) -> Array:
        """Derivative of friction by the load, shape (N,)."""
        step = _STEP * max(float(load.max()), 1e-12)
        law = law_named(self.law)
        values = {name: self.values[name] for name in law.parameters(True)}
        return np.asarray(
            (law.torque(speed, values, load + step) - law.torque(speed, values, load)) / step
        )


@dataclass(frozen=True)
class Information:
    """Information about y from one joint's torque, after elimination of its
    friction and nuisance parameters.

    Attributes
    ----------
    matrix : ndarray, shape (k + 1, k + 1)
        Minus the second derivative of the log likelihood by y and by the relative error of the
        joint's torque constant (last).
    moment : ndarray, shape (k + 1,)
        First derivative of the log likelihood at y = 0.
    friction : Friction, optional
        Friction that was fitted together with y.
    noise : Noise
        Noise model of the residual.
    misfit : float
        Sum of squared whitened residuals.
    instruments : Instrumented, optional
        The same information by instrumental variables, if a commanded motion is given.
    """

    matrix: Array
    moment: Array
    friction: Friction | None
    noise: Noise = WHITE
    misfit: float = 0.0
    instruments: Instrumented | None = None

    def friction_level(self, motion: Motion) -> float:
        """Root mean square of friction along a motion [N·m or N]."""
        assert self.friction is not None
        load = motion.loads.get(self.friction.load)
        torque = law_named(self.friction.law).torque(motion.speed, dict(self.friction.values), load)
        return float(np.sqrt(np.mean(torque**2)))

    def of_y(self, constants: float) -> tuple[Array, Array, float]:
        """Matrix, moment and log likelihood ratio over y, with the torque constant eliminated.

        `constants` is the prior standard deviation of its relative error. The ratio compares this
        prior with a right constant, at y = 0.
        """
        if constants == 0.0:
            return self.matrix[:-1, :-1], self.moment[:-1], 0.0
        cross, own = self.matrix[:-1, -1], self.matrix[-1, -1] + constants**-2.0
        return (
            self.matrix[:-1, :-1] - np.outer(cross, cross) / own,
            self.moment[:-1] - cross * self.moment[-1] / own,
            0.5 * float(self.moment[-1] ** 2 / own - np.log(own * constants**2)),
        )

    def left_by_constant(self, constants: float) -> Array:
        """Matrix that eliminates the torque constant from the instruments'
        information, shape (k, k + 1).
        """
        assert self.instruments is not None
        matrix = self.instruments.matrix
        taken = (
            matrix[:-1, -1] / (matrix[-1, -1] + constants**-2.0)
            if constants
            else np.zeros(len(matrix) - 1)
        )
        return np.column_stack((np.eye(len(matrix) - 1), -taken))

    def from_model_at(self, y: Array) -> "Information":
        """Return the information with moments at y = 0, if it was computed about a model
        whose first unknowns are y.
        """
        k = len(y)
        moved = replace(self, moment=self.moment + self.matrix[:, :k] @ y)
        if (told := self.instruments) is None:
            return moved
        return replace(
            moved, instruments=replace(told, moment=told.moment + told.matrix[:, :k] @ y)
        )

    @property
    def by_instruments(self) -> "Information":
        """The information by instruments in place of least squares."""
        assert self.instruments is not None
        return replace(self, matrix=self.instruments.matrix, moment=self.instruments.moment)
