r"""Equations of motion with friction, springs and closed loops, for many states at once
(P0, Eqs. 22, 42, 52, 56).

.. math:: (M + A) \ddot q + h + K q + D \dot q + \tau_f(\dot q, N(\ddot q, \lambda)) - G^T \lambda - \tau_d = 0

in local coordinates. The unknowns of a state are the accelerations of the coordinates and the
multipliers of the closing conditions. The equations are the rows of the joints that are free to
move. A is the rotors' part of the mass matrix. Loads and friction are functions of the unknowns, so
no inner iteration between loads and friction is needed.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import qr

from stribeck.ident.arrays import Array
from stribeck.ident.errors import InputError
from stribeck.ident.model.chains.internal_forces import InternalForces
from stribeck.ident.model.chains.local_coordinates import NOTHING, LocalCoordinates, Prescribed
from stribeck.ident.model.chains.loop_geometry import cut_wrenches, on_links
from stribeck.ident.model.chains.posture_following import Branch
from stribeck.ident.model.driven.ball_friction import balls_rub, cut_balls, tree_balls
from stribeck.ident.model.driven.driving_torques import refuse_undetermined
from stribeck.ident.model.driven.rubbing import Rubbing
from stribeck.ident.model.dynamics import kinematics, rotor_torque
from stribeck.ident.model.elastic_joints import spring_torque
from stribeck.ident.model.loads import JointLoads, joint_loads
from stribeck.ident.model.mechanism import Mechanism
from stribeck.ident.model.recursion import single

Torque = Callable[[float, Array, Array], ArrayLike]

# rad/s below which the friction of spherical and universal joints decreases with their speed
CREEP = 1e-6
_NEWTON = 20  # iterations of Newton's method
# steps in which friction is increased if Newton's method fails with full friction
_SHARES = 20
_SETTLED = 1e-12  # relative change of the unknowns in the last Newton step
_ROUNDED = 1e-6  # allowed change in the last step if rounding prevents a smaller one
# relative finite-difference step in accelerations and multipliers: only
# friction is nonlinear in them
_STEP = 1e-4
_NEAR = 1e-8  # finite-difference step in positions and velocities


@dataclass(frozen=True)
class Forces:
    """Torques, forces and loads in N states.

    Attributes
    ----------
    q, dq, ddq : ndarray, shape (N, n)
        Motion of all joints.
    lacking : ndarray, shape (N, n)
        Driving torque minus the torque that the motion needs: zero if the motion
        obeys the equations. For a joint that sticks, this is the torque that static
        friction balances [N·m or N].
    friction, driven : ndarray, shape (N, n)
        Friction torques, without the static friction of joints that stick, and
        driving torques [N·m or N].
    loads : JointLoads
        Loads of the tree's joints, with the effect of cut-joint forces.
    force, moment : ndarray, shape (N, closures, 3)
        Force and moment that link b of each closure exerts on link a [N, N·m].
    rubbed : ndarray, shape (N,)
        Power dissipated by friction of spherical cut joints [W].
    inverse : ndarray, shape (N, r, r)
        As in `LocalCoordinates.place`.
    """

    q: Array
    dq: Array
    ddq: Array
    lacking: Array
    friction: Array
    driven: Array
    loads: JointLoads
    force: Array
    moment: Array
    rubbed: Array
    inverse: Array


@dataclass(frozen=True)
class Slopes:
    """Derivatives of the needed torques of the joints that are free to move.

    Attributes
    ----------
    J : ndarray, shape (N, k + r, k + r)
        Derivative with respect to the unknowns.
    K, D : ndarray, shape (N, k + r, k)
        Derivatives with respect to the coordinates y and to their velocities.
    proper : bool
        Whether inertia outweighs friction: the determinant of J has the same
        sign as without friction.
    """

    J: Array
    K: Array
    D: Array
    proper: bool


class MotionEquations:
    """Equations of motion of a mechanism with driving torques ``torque(t, q, dq)`` or with
    prescribed motion of the drives.
    """

    def __init__(self, m: Mechanism, torque: Torque, prescribed: Prescribed = NOTHING) -> None:
        self.m, self.torque, self.rubbing, self.prescribed = (
            m,
            torque,
            Rubbing(m, prescribed.joints),
            prescribed,
        )
        self.tree = replace(m, closures=())
        self.balls = balls_rub(m)
        self.undriven = np.array(m.passive, dtype=int)
        self.unit = LocalCoordinates(m, np.zeros(m.n), np.ones(m.n, dtype=bool)).unit

    def about(self, q: Array, still: NDArray[np.bool_]) -> LocalCoordinates:
        """Return local coordinates about a posture in which the joints `still` stay at rest."""
        return LocalCoordinates(self.m, q, still, self.prescribed)

    def forces(
        self,
        place: LocalCoordinates,
        way: Array,
        t: Array,
        y: Array,
        u: Array,
        x: Array,
        w: Array,
        share: float = 1.0,
    ) -> Forces:
        """Compute the forces in states that are given in local coordinates.

        Parameters
        ----------
        place : LocalCoordinates
        way : ndarray, shape (n,)
            Sliding directions of all joints, see `rubbing`.
        t : ndarray, shape (N,)
            Times [s].
        y, u : ndarray, shape (N, k)
            Coordinates and their velocities.
        x : ndarray, shape (N, k + r)
            Unknowns: accelerations of the coordinates, then multipliers.
        w : ndarray, shape (N, r)
            Start values for closing the loops; overwritten with the solution.
        share : float
            Fraction of friction that acts.
        """
        m, led = self.m, list(self.prescribed.joints)
        q, dq, ddq, inverse, pose = place.motion(t, y, u, x[:, : place.k], w)
        external, rubbed, force, moment = (
            None,
            np.zeros(len(q)),
            *np.zeros((2, len(q), len(m.closures), 3)),
        )
        if pose is not None:
            force, moment = cut_wrenches(
                m, pose, (x[:, place.k :] @ place.U.T) / place.branch.row_unit
            )
            external = on_links(m, pose, force, moment)
            if self.balls:
                moments, power = cut_balls(m, pose, force, CREEP)
                external, rubbed = external + share * moments, share * power
        loads = joint_loads(self.tree, q, dq, ddq, external)
        friction = share * self.rubbing.friction(dq, way, loads)
        if self.balls:
            held = np.flatnonzero(self.rubbing.sticking & (way == 0.0))
            friction += share * tree_balls(
                m, kinematics(m, q, dq) if pose is None else pose, loads.force, CREEP, held
            )
        driven = self._driven(t, q, dq)
        lacking = driven - loads.tau - rotor_torque(m, ddq) - spring_torque(m, q, dq) - friction
        driven[:, led] -= lacking[:, led]
        lacking[:, led] = 0.0
        return Forces(q, dq, ddq, lacking, friction, driven, loads, force, moment, rubbed, inverse)

    def drives(self, t: float, q: Array, dq: Array) -> Array:
        """Return the driving torques in a state, shape (n,); zero for passive joints."""
        driven = single("torque", self.torque(t, q, dq), self.m)[0].copy()
        driven[self.undriven] = 0.0
        return driven

    def _driven(self, t: Array, q: Array, dq: Array) -> Array:
        """Return the driving torques in states, shape (N, n); `torque` is called once
        for successive equal states.
        """
        out = np.empty_like(q)
        new = np.ones(len(q), dtype=bool)
        new[1:] = (
            (t[1:] != t[:-1]) | (q[1:] != q[:-1]).any(axis=1) | (dq[1:] != dq[:-1]).any(axis=1)
        )
        for row in np.flatnonzero(new):
            out[row] = self.drives(float(t[row]), q[row], dq[row])
        return np.asarray(out[np.maximum.accumulate(np.where(new, np.arange(len(q)), 0))])

    def rows(self, place: LocalCoordinates, forces: Forces) -> Array:
        """Return the scaled lacking torques of the joints that are free
        to move, shape (N, k + r).
        """
        return np.asarray((forces.lacking * self.unit)[:, place.free])

    def slopes(
        self,
        place: LocalCoordinates,
        way: Array,
        t: Array,
        y: Array,
        u: Array,
        x: Array,
        w: Array,
        share: float = 1.0,
    ) -> Slopes:
        """Compute the derivatives by central differences about states as in `forces`.

        Differences are central because a load has a kink where one of its components is zero.
        """
        k, size, states = place.k, x.shape[1], len(x)
        steps = np.repeat(
            [
                _STEP * max(1.0, float(np.abs(x).max(initial=0.0))),
                _NEAR,
                _NEAR * max(1.0, float(np.abs(u).max(initial=0.0))),
            ],
            (size, k, k),
        )
        aside = np.concatenate((np.diag(steps), -np.diag(steps), np.zeros((1, len(steps)))))
        around = (np.hstack((x, y, u))[:, None] + aside).reshape(states * len(aside), len(steps))
        X, Y, V = np.split(around, (size, size + k), axis=1)
        times, W = (np.repeat(value, len(aside), axis=0) for value in (t, w))
        forces = self.forces(place, way, times, Y, V, X, W, share)
        needed = -self.rows(place, forces).reshape(states, len(aside), size)
        change = (
            (needed[:, : len(steps)] - needed[:, len(steps) : -1]) / (2.0 * steps[:, None])
        ).transpose(0, 2, 1)
        J, K, D = np.split(change, (size, size + k), axis=2)
        inverse = forces.inverse.reshape(states, len(aside), place.r, place.r)[:, -1]
        proper = (
            np.isfinite(change).all() and (np.linalg.slogdet(J)[0] == place.signs(inverse)).all()
        )
        return Slopes(J, K, D, bool(proper))

    def balance(
        self, place: LocalCoordinates, way: Array, t: float, dq: Array, guess: Array | None = None
    ) -> tuple[Array, Forces]:
        """Solve for the unknowns at the posture of `place` by Newton's method, shape (k + r,), and
        for the forces of this state.

        Raises
        ------
        InputError
            If friction and loads find no balance.
        """
        u, x = place.rates(dq), np.zeros(len(place.free)) if guess is None else guess
        found = self._newton(place, way, t, u, x, 1.0)
        # increase friction step by step
        for share in () if found is not None else np.linspace(0.0, 1.0, _SHARES + 1):
            found = self._newton(place, way, t, u, x if found is None else found[0], share)
            if found is None:
                raise self.no_balance(t)
        assert found is not None
        self._refuse_undetermined(place, found[1])
        return found

    def _newton(
        self, place: LocalCoordinates, way: Array, t: float, u: Array, x: Array, share: float
    ) -> tuple[Array, Forces] | None:
        """Solve for the unknowns with a share of friction; None if Newton's method fails.

        A solution in which friction outweighs inertia, so that more torque means less
        acceleration, is also refused.
        """
        y, u, w = np.zeros((1, place.k)), u[None], np.zeros((1, place.r))
        before = np.inf
        for _ in range(_NEWTON):
            state = np.array([t]), y, u, x[None], w
            slopes, forces = (
                self.slopes(place, way, *state, share),
                self.forces(place, way, *state, share),
            )
            J = slopes.J[0]
            if not np.isfinite(J).all() or np.linalg.slogdet(J)[0] == 0.0:
                return None
            change = np.linalg.solve(J, self.rows(place, forces)[0])
            moved = float(np.abs(change).max(initial=0.0)) / max(
                1.0, float(np.abs(x).max(initial=0.0))
            )
            if moved <= _SETTLED or before <= moved <= _ROUNDED:
                return (x, forces) if slopes.proper else None
            x, before = x + change, moved
        return None

    def settled(
        self,
        place: LocalCoordinates,
        way: Array,
        t: Array,
        y: Array,
        u: Array,
        x: Array,
        w: Array,
        J: Array,
    ) -> Forces:
        """Correct unknowns that nearly obey the equations, and return the forces;
        parameters as in `forces`.

        J, shape (N, k + r, k + r), holds derivatives at nearby states.
        """
        before = np.inf
        for _ in range(_NEWTON):
            forces = self.forces(place, way, t, y, u, x, w)
            change = np.linalg.solve(J, self.rows(place, forces)[..., None])[..., 0]
            moved = float(np.abs(change).max(initial=0.0)) / max(
                1.0, float(np.abs(x).max(initial=0.0))
            )
            if moved <= _SETTLED or not moved < before:
                break
            x, before = x + change, moved
        return forces

    def _refuse_undetermined(self, place: LocalCoordinates, forces: Forces) -> None:
        """Raise `InputError` if friction depends on undetermined loads; only
        overconstrained chains have such loads.
        """
        if len(place.U) <= place.r or not (self.rubbing.loaded or self.balls):
            return
        pose = kinematics(self.m, forces.q, forces.dq)
        G = place.jacobian(pose)
        solved = tuple(
            int(j)
            for j in np.sort(
                qr(G[0], mode="r", pivoting=True)[1][: np.linalg.matrix_rank(G[0], tol=1e-9)]
            )
        )
        branch = Branch(self.m, tuple(j for j in range(self.m.n) if j not in solved), solved)
        loads, force, _ = InternalForces.of(branch.at(forces.q), pose).hide(
            forces.loads, forces.force, forces.moment
        )
        friction = self.rubbing.friction(forces.dq, np.ones(self.m.n), loads) + tree_balls(
            self.m, pose, loads.force
        )
        refuse_undetermined(self.m, friction, cut_balls(self.m, pose, force)[0])

    def shared(self, place: LocalCoordinates) -> InputError:
        """Return the error for sticking joints that share a load in a way which rigid-body
        mechanics does not determine.
        """
        return InputError(
            f"{self.m.name}: the joints "
            f"{', '.join(self.m.names[j] for j in np.flatnonzero(place.still))} stick at the same "
            "time, and rigid-body mechanics does not determine how they share the load: "
            f"{place.shared} of them could let go without any motion; leave out the friction of "
            "some of these joints"
        )

    def no_balance(self, t: float) -> InputError:
        """Return the error for a state without a solution for the accelerations."""
        if not self.m.friction and not self.balls:
            return InputError(
                f"{self.m.name}: the mass matrix is singular; a link that can move by itself has "
                "neither mass nor inertia about its joint"
            )
        return InputError(
            f"{self.m.name}: friction and joint loads find no balance at t = {t:g} s: the friction "
            "coefficients are too large for a sliding joint "
            f"({', '.join(self.m.names[j] for j in self.rubbing.loaded)})"
        )
