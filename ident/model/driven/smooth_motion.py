"""Integration steps of a motion in which no joint stops or breaks loose, with error control.

The error estimate of a step is the difference between the acceleration at its start and the
polynomial through its points. The estimate has order s + 1, like the polynomial between the points,
and overestimates the error at the end of the step.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import lu_factor, lu_solve

from stribeck.ident.arrays import Array
from stribeck.ident.model.chains.local_coordinates import LocalCoordinates
from stribeck.ident.model.chains.posture_following import PostureError
from stribeck.ident.model.driven.motion_equations import Forces, MotionEquations, Slopes
from stribeck.ident.model.driven.radau import Radau

RADAU = Radau(7)
_TURNS = 12  # iterations of Newton's method in a step
# number of derivatives from which those of the step before are tried first;
# fewer are cheap to compute
_MANY = 30
# ratio of successive Newton changes from which derivatives of another step are too old
_SLOW = 0.2
_ENOUGH = 1e-3  # error of Newton's method, as a fraction of the tolerance
# lacking torque allowed at a point, relative to the greatest torque plus 1 N or N·m
_BALANCED = 1e-11
# rad, or characteristic lengths; larger coordinates need new local coordinates
_FAR = 0.3
# change of the coordinates' directions that also needs new local coordinates
_TURNED = 0.7
# lacking torque relative to its greatest term, if rounding prevents a smaller value
_ROUNDED = 1e-7
# error of held torque in a step, relative to the greatest held torque plus 1 N or N·m
_HELD = 1e-4
# s; a PostureError in a shorter step is raised; a longer step is repeated with a smaller step
_SHORT = 1e-9
_ROUNDING = 1e-13  # relative rounding error of times
# a step's polynomial predicts the next step up to this many of its own lengths
_STRETCH = 3.0


@dataclass(frozen=True)
class Step:
    """A step that obeys the equations of motion at its s points (rows of arrays). The last
    point is the end of the step.

    Attributes
    ----------
    place : LocalCoordinates
        Local coordinates of the step.
    t, h : float
        Start and length [s].
    y, u : ndarray, shape (k,)
        Coordinates and their velocities at the start.
    X : ndarray, shape (s, k + r)
        Unknowns: accelerations of the coordinates, then multipliers.
    W : ndarray, shape (s, r)
        Closing variables w of `LocalCoordinates`.
    forces : Forces
        Forces at the points.
    error : float
        Estimated error divided by the tolerance.
    slopes : Slopes
        Derivatives in the Newton iteration of this step.
    """

    place: LocalCoordinates
    t: float
    h: float
    y: Array
    u: Array
    X: Array
    W: Array
    forces: Forces
    error: float
    slopes: Slopes

    def between(self, theta: Array) -> tuple[Array, Array, Array]:
        """Return positions, velocities and accelerations of all joints at fractions theta
        of the step, (N, n) each.
        """
        y, u, x, w = self.at(theta)
        return self.place.motion(self.t + self.h * theta, y, u, x[:, : self.place.k], w)[:3]

    def at(self, theta: Array) -> tuple[Array, Array, Array, Array]:
        """Return coordinates, their velocities, unknowns and w at fractions theta
        of the step, (N, ...) each.
        """
        a = self.X[:, : self.place.k]
        y = self.y + self.h * theta[:, None] * self.u + self.h**2 * RADAU.through(theta, 2) @ a
        u = self.u + self.h * RADAU.through(theta, 1) @ a
        weights = RADAU.through(theta)
        return y, u, weights @ self.X, weights @ self.W

    def total(self, rate: Array, theta: Array) -> Array:
        """Integrate a rate at the points, (s, ...), from the start of the step to
        fractions theta, (N, ...).
        """
        return np.asarray(self.h * RADAU.through(theta, 1) @ rate)


class SmoothMotion:
    """A motion from a given state on, in which the joints keep their sliding directions.

    Attributes
    ----------
    t : float
        Present time [s].
    way : ndarray, shape (n,)
        Sliding directions of the joints, see `rubbing`.
    jammed : bool
        Whether the last trial step failed because friction outweighed inertia.
    """

    def __init__(
        self,
        equations: MotionEquations,
        t: float,
        q: Array,
        dq: Array,
        way: Array,
        tolerance: float,
    ) -> None:
        self.equations, self.t, self.way, self.tolerance = equations, t, way, tolerance
        self.guess: Step | None = None
        self.jammed = False
        self._settle(q, dq, None)

    def _settle(self, q: Array, dq: Array, ddq: Array | None) -> None:
        """Set new local coordinates about a posture, and compute the unknowns and
        held torques of the state.
        """
        self.place = self.equations.about(q, self.equations.rubbing.sticking & (self.way == 0.0))
        self.place.refuse_singular()
        start = (
            None if ddq is None else np.concatenate((self.place.rates(ddq), np.zeros(self.place.r)))
        )
        self.y, self.u, self.w = (
            np.zeros(self.place.k),
            self.place.rates(dq),
            np.zeros(self.place.r),
        )
        self.x, forces = self.equations.balance(self.place, self.way, self.t, dq, start)
        self.held = forces.lacking[0, self.place.still]

    def step(self, h: float, longer: Step | None = None) -> Step | None:
        """Return a step of length h, perhaps as a part of the step `longer`; None
        if Newton's method fails.
        """
        near = longer or self.guess
        many = 3 * self.place.k + self.place.r > _MANY
        if near is not None and (longer is not None or (many and near.place is self.place)):
            found = self._solve(h, near, near.slopes)
            if found is not None:
                return found
        return self._solve(h, near, None)

    def _solve(self, h: float, guess: Step | None, slopes: Slopes | None) -> Step | None:
        """Solve the step by simplified Newton iteration: derivatives are taken at
        the predicted points only.
        """
        X, W = self._predicted(h, guess)
        slow = 1.0 if slopes is None else _SLOW
        times, (s, size), k, before, lacked = (
            self.t + h * RADAU.c,
            X.shape,
            self.place.k,
            np.inf,
            np.inf,
        )
        try:
            if slopes is None:
                slopes = self.equations.slopes(
                    self.place, self.way, times, *self._moved(h, X), X, W
                )
                self.jammed = not slopes.proper
                if self.jammed:
                    return None
            lu = lu_factor(_matrix(h, slopes), check_finite=False)
            rounded = _ROUNDED * (
                1.0 + float((np.abs(slopes.J) @ np.abs(X)[..., None]).max(initial=0.0))
            )
            for turn in range(_TURNS):
                y, u = self._moved(h, X)
                forces = self.equations.forces(self.place, self.way, times, y, u, X, W)
                rows = self.equations.rows(self.place, forces)
                change = lu_solve(lu, rows.ravel(), check_finite=False).reshape(s, size)
                moved = (
                    h * np.abs(change[:, :k]).max(initial=0.0) / (1.0 + np.abs(u).max(initial=0.0))
                )
                off = np.abs(rows).max(initial=0.0)
                if not moved + off < np.inf or (
                    turn > 1 and moved > slow * before and moved > _ENOUGH * self.tolerance
                ):
                    return None
                balanced = (
                    off <= _BALANCED * (1.0 + np.abs(forces.loads.tau).max())
                    or 0.3 * lacked < off <= rounded
                )
                lacked = off
                rate, before = moved / before if before > 0.0 else 0.0, moved
                X = X + change
                left = (min(rate, 1.0) if turn else 1.0) * moved
                if left <= _ENOUGH * self.tolerance and balanced:
                    return Step(
                        self.place,
                        self.t,
                        h,
                        self.y,
                        self.u,
                        X,
                        W,
                        forces,
                        self._error(h, X, u, forces, slopes),
                        slopes,
                    )
        except PostureError:
            if h < _SHORT:
                raise
        return None

    def _moved(self, h: float, X: Array) -> tuple[Array, Array]:
        """Return coordinates and their velocities at the points of a step."""
        a = X[:, : self.place.k]
        return self.y + h * RADAU.c[
            :, None
        ] * self.u + h**2 * RADAU.A2 @ a, self.u + h * RADAU.A @ a

    def _predicted(self, h: float, guess: Step | None) -> tuple[Array, Array]:
        """Predict the unknowns and w of a step by the polynomials of the step `guess`,
        or by the present values.
        """
        if guess is not None and guess.place is self.place:
            theta = (self.t - guess.t + h * RADAU.c) / guess.h
            if theta[-1] <= 1.0 + _STRETCH:
                weights = RADAU.through(theta)
                return weights @ guess.X, weights @ guess.W
        return np.tile(self.x, (RADAU.s, 1)), np.tile(self.w, (RADAU.s, 1))

    def _error(self, h: float, X: Array, u: Array, forces: Forces, slopes: Slopes) -> float:
        """Return the estimated error divided by the tolerance; the estimate omits fast
        motion that the method damps.

        The estimate includes the torques that joints hold while they stick, because these torques
        decide when joints break loose.
        """
        k, g = self.place.k, h * RADAU.gamma
        held = forces.lacking[:, self.place.still]
        off = np.abs(self.held - RADAU.at_start @ held).max(initial=0.0) / (
            1.0 + np.abs(held).max(initial=0.0)
        )
        error = float(off) / _HELD
        if k:
            J = slopes.J[0].copy()
            lacking = J @ (self.x - RADAU.at_start @ X)
            J[:, :k] += g * slopes.D[0] + g**2 * slopes.K[0]
            e = float(np.abs(np.linalg.solve(J, lacking)[:k]).max())
            error = max(
                error, max(g * e / (1.0 + float(np.abs(u).max())), g**2 * e) / self.tolerance
            )
        return error

    def accept(self, step: Step, stop: float) -> None:
        """Advance to the end of a step; the new time is exactly `stop` if it differs
        from `stop` by rounding only.
        """
        self.y, self.u = (values[-1] for values in self._moved(step.h, step.X))
        end = step.t + step.h
        self.t = stop if abs(stop - end) <= _ROUNDING * max(1.0, abs(end)) else end
        self.x, self.w, self.guess = step.X[-1], step.W[-1].copy(), step
        self.held = step.forces.lacking[-1, self.place.still]
        if self.place.r and self.place.k and self._is_far():
            self._settle(step.forces.q[-1], step.forces.dq[-1], step.forces.ddq[-1])

    def _is_far(self) -> bool:
        """Tell whether the posture is too far from the origin of the local
        coordinates to keep them.
        """
        turned = self.place.directions(self.t, self.y, self.w) - self.place.T[:, : self.place.k]
        return bool(np.abs(self.y).max() > _FAR or np.linalg.norm(turned) > _TURNED)


def _matrix(h: float, slopes: Slopes) -> Array:
    """Return the matrix of Newton's method for all points of a step."""
    s, size, k = slopes.K.shape
    whole = np.zeros((s, size, s, size))
    whole[:, :, :, :k] = h * RADAU.A[:, None, :, None] * slopes.D[:, :, None]
    whole[:, :, :, :k] += h**2 * RADAU.A2[:, None, :, None] * slopes.K[:, :, None]
    whole[np.arange(s), :, np.arange(s)] += slopes.J
    return whole.reshape(s * size, s * size)
