"""Splines of the model's torque over the position along strokes."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline

from stribeck.ident.arrays import Array
from stribeck.ident.log.strokes import Stroke
from stribeck.ident.model.dynamics import inverse_dynamics
from stribeck.ident.model.mechanism import Mechanism

_KNOTS = 17  # spline knots along a stroke


class RigidAlongStrokes:
    """The model's torque of the moving joint along S strokes."""

    def __init__(self, mechanism: Mechanism, strokes: Sequence[Stroke]) -> None:
        self.low, high, joint = np.array(
            [(stroke.low, stroke.high, stroke.joint) for stroke in strokes]
        ).T
        self.step = (high - self.low) / (_KNOTS - 1)
        part = np.linspace(0.0, 1.0, _KNOTS)
        q = np.vstack(
            [stroke.at(stroke.low + part * (stroke.high - stroke.low)) for stroke in strokes]
        )
        dq = np.repeat([stroke.rate for stroke in strokes], _KNOTS, axis=0)
        tau = inverse_dynamics(mechanism, q, dq).reshape(len(strokes), _KNOTS, -1)
        self.spline = CubicSpline(
            np.arange(_KNOTS), tau[np.arange(len(strokes)), :, joint.astype(int)], axis=1
        ).c

    def __call__(self, stroke: NDArray[np.int_], x: Array) -> Array:
        """Torque at positions x of strokes, shapes (N,); beyond a stroke, the torque at its end."""
        knot, since = self._place(stroke, x)
        a, b, c, d = self.spline[:, knot, stroke]
        return np.asarray(((a * since + b) * since + c) * since + d)

    def slope(self, stroke: NDArray[np.int_], x: Array) -> Array:
        """Derivative of the torque over the position, shape (N,)."""
        knot, since = self._place(stroke, x)
        a, b, c, _ = self.spline[:, knot, stroke]
        return np.asarray(((3.0 * a * since + 2.0 * b) * since + c) / self.step[stroke])

    def _place(self, stroke: NDArray[np.int_], x: Array) -> tuple[NDArray[np.int_], Array]:
        """Index of the previous knot, and distance behind it in knots."""
        at = np.clip((x - self.low[stroke]) / self.step[stroke], 0.0, _KNOTS - 1.0)
        knot = np.minimum(at.astype(int), _KNOTS - 2)
        return knot, at - knot
