r"""Equations of motion with friction, springs and closed loops, for many states at once (P0, Eqs. 22, 42, 52, 56).

.. math:: (M + A) \ddot q + h + K q + D \dot q + \tau_f(\dot q, N(\ddot q, \lambda)) - G^T \lambda - \tau_d = 0

in local coordinates: the unknowns of a state are the accelerations of the coordinates and the multipliers of the
closing conditions, and the equations are the rows of the joints that may move; A is what rotors add. Loads and friction
are unknowns' functions like everything else; no iteration between them is nested.
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

CREEP = 1e-6            # rad/s below which the friction of balls falls with their speed
_NEWTON = 20
_SHARES = 20            # steps in which friction is grown where Newton's method fails at once
_SETTLED = 1e-12        # relative change of the unknowns in the last of Newton's steps
_ROUNDED = 1e-6          # the same where rounding keeps the steps from becoming smaller
_STEP = 1e-4            # of a finite difference in accelerations and multipliers, relative; torques are linear but for friction
_NEAR = 1e-8            # the same in positions and velocities


@dataclass(frozen=True)
class Forces:
    """What acts in some states, rows for states.

    Attributes
    ----------
    q, dq, ddq : ndarray, shape (N, n)
        Motion of all joints.
    lacking : ndarray, shape (N, n)
        Driving torque less what the motion needs: zero where the motion obeys the equations; of a joint that sticks what
        friction holds [N·m or N].
    friction, driven : ndarray, shape (N, n)
        Torques of friction, but what holds joints that stick, and of the drives [N·m or N].
    loads : JointLoads
        Of the tree's joints under the cut-joint forces.
    force, moment : ndarray, shape (N, closures, 3)
        On link a of each closure from its link b [N, N·m].
    rubbed : ndarray, shape (N,)
        Power that friction of spherical cut joints takes [W].
    inverse : ndarray, shape (N, r, r)
        As of `LocalCoordinates.place`.
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
    """Slopes of what is needed in the rows of the joints that may move: in the unknowns, in y and in its velocities.

    Attributes
    ----------
    J : ndarray, shape (N, k + r, k + r)
    K, D : ndarray, shape (N, k + r, k)
    proper : bool
        Whether inertia outweighs friction: the determinant of J has its sign without friction.
    """

    J: Array
    K: Array
    D: Array
    proper: bool


class MotionEquations:
    """Equations of a mechanism under driving torques ``torque(t, q, dq)``, or whose drives' motion is prescribed."""

    def __init__(self, m: Mechanism, torque: Torque, prescribed: Prescribed = NOTHING) -> None:
        self.m, self.torque, self.rubbing, self.prescribed = m, torque, Rubbing(m, prescribed.joints), prescribed
        self.tree = replace(m, closures=())
        self.balls = balls_rub(m)
        self.undriven = np.array(m.passive, dtype=int)
        self.unit = LocalCoordinates(m, np.zeros(m.n), np.ones(m.n, dtype=bool)).unit

    def about(self, q: Array, still: NDArray[np.bool_]) -> LocalCoordinates:
        """Local coordinates about a posture while joints stand still."""
        return LocalCoordinates(self.m, q, still, self.prescribed)

    def forces(self, place: LocalCoordinates, way: Array, t: Array, y: Array, u: Array, x: Array, w: Array,
               share: float = 1.0) -> Forces:
        """Forces in states of local coordinates.

        Parameters
        ----------
        place : LocalCoordinates
        way : ndarray, shape (n,)
            Ways of all joints.
        t : ndarray, shape (N,)
            Times [s].
        y, u : ndarray, shape (N, k)
            Coordinates and their velocities.
        x : ndarray, shape (N, k + r)
            Unknowns: accelerations of the coordinates, then multipliers.
        w : ndarray, shape (N, r)
            From where loops are closed; moved.
        share : float
            Of friction that acts.
        """
        m, led = self.m, list(self.prescribed.joints)
        q, dq, ddq, inverse, pose = place.motion(t, y, u, x[:, :place.k], w)
        external, rubbed, force, moment = None, np.zeros(len(q)), *np.zeros((2, len(q), len(m.closures), 3))
        if pose is not None:
            force, moment = cut_wrenches(m, pose, (x[:, place.k:] @ place.U.T) / place.branch.row_unit)
            external = on_links(m, pose, force, moment)
            if self.balls:
                moments, power = cut_balls(m, pose, force, CREEP)
                external, rubbed = external + share * moments, share * power
        loads = joint_loads(self.tree, q, dq, ddq, external)
        friction = share * self.rubbing.friction(dq, way, loads)
        if self.balls:
            held = np.flatnonzero(self.rubbing.sticking & (way == 0.0))
            friction += share * tree_balls(m, kinematics(m, q, dq) if pose is None else pose, loads.force, CREEP, held)
        driven = self._driven(t, q, dq)
        lacking = driven - loads.tau - rotor_torque(m, ddq) - spring_torque(m, q, dq) - friction
        driven[:, led] -= lacking[:, led]
        lacking[:, led] = 0.0
        return Forces(q, dq, ddq, lacking, friction, driven, loads, force, moment, rubbed, inverse)

    def drives(self, t: float, q: Array, dq: Array) -> Array:
        """Driving torques in a state, shape (n,); passive joints have none, nor those whose motion is prescribed."""
        driven = single("torque", self.torque(t, q, dq), self.m)[0].copy()
        driven[self.undriven] = 0.0
        return driven

    def _driven(self, t: Array, q: Array, dq: Array) -> Array:
        """Driving torques in states, shape (N, n); what is asked for the same state twice in a row is asked once."""
        out = np.empty_like(q)
        new = np.ones(len(q), dtype=bool)
        new[1:] = (t[1:] != t[:-1]) | (q[1:] != q[:-1]).any(axis=1) | (dq[1:] != dq[:-1]).any(axis=1)
        for row in np.flatnonzero(new):
            out[row] = self.drives(float(t[row]), q[row], dq[row])
        return np.asarray(out[np.maximum.accumulate(np.where(new, np.arange(len(q)), 0))])

    def rows(self, place: LocalCoordinates, forces: Forces) -> Array:
        """What is lacking in the joints that may move, scaled, shape (N, k + r)."""
        return np.asarray((forces.lacking * self.unit)[:, place.free])

    def slopes(self, place: LocalCoordinates, way: Array, t: Array, y: Array, u: Array, x: Array, w: Array,
               share: float = 1.0) -> Slopes:
        """By central differences about states as in `forces`.

        Central, since loads have a kink where a part of theirs is zero, as what is lacking along a free axis is.
        """
        k, size, states = place.k, x.shape[1], len(x)
        steps = np.repeat([_STEP * max(1.0, float(np.abs(x).max(initial=0.0))), _NEAR,
                           _NEAR * max(1.0, float(np.abs(u).max(initial=0.0)))], (size, k, k))
        aside = np.concatenate((np.diag(steps), -np.diag(steps), np.zeros((1, len(steps)))))
        around = (np.hstack((x, y, u))[:, None] + aside).reshape(states * len(aside), len(steps))
        X, Y, V = np.split(around, (size, size + k), axis=1)
        times, W = (np.repeat(value, len(aside), axis=0) for value in (t, w))
        forces = self.forces(place, way, times, Y, V, X, W, share)
        needed = -self.rows(place, forces).reshape(states, len(aside), size)
        change = ((needed[:, :len(steps)] - needed[:, len(steps):-1]) / (2.0 * steps[:, None])).transpose(0, 2, 1)
        J, K, D = np.split(change, (size, size + k), axis=2)
        inverse = forces.inverse.reshape(states, len(aside), place.r, place.r)[:, -1]
        proper = np.isfinite(change).all() and (np.linalg.slogdet(J)[0] == place.signs(inverse)).all()
        return Slopes(J, K, D, bool(proper))

    def balance(self, place: LocalCoordinates, way: Array, t: float, dq: Array,
                guess: Array | None = None) -> tuple[Array, Forces]:
        """Unknowns at the posture of `place` itself by Newton's method, shape (k + r,), and the forces of this one state.

        Raises
        ------
        InputError
            If friction and loads find no balance.
        """
        u, x = place.rates(dq), np.zeros(len(place.free)) if guess is None else guess
        found = self._newton(place, way, t, u, x, 1.0)
        for share in () if found is not None else np.linspace(0.0, 1.0, _SHARES + 1):       # friction grown step by step
            found = self._newton(place, way, t, u, x if found is None else found[0], share)
            if found is None:
                raise self.no_balance(t)
        assert found is not None
        self._refuse_undetermined(place, found[1])
        return found

    def _newton(self, place: LocalCoordinates, way: Array, t: float, u: Array, x: Array,
                share: float) -> tuple[Array, Forces] | None:
        """Unknowns under a share of friction, or None.

        A solution where friction outweighs inertia, so that more torque means less acceleration, is none either.
        """
        y, u, w = np.zeros((1, place.k)), u[None], np.zeros((1, place.r))
        before = np.inf
        for _ in range(_NEWTON):
            state = np.array([t]), y, u, x[None], w
            slopes, forces = self.slopes(place, way, *state, share), self.forces(place, way, *state, share)
            J = slopes.J[0]
            if not np.isfinite(J).all() or np.linalg.slogdet(J)[0] == 0.0:
                return None
            change = np.linalg.solve(J, self.rows(place, forces)[0])
            moved = float(np.abs(change).max(initial=0.0)) / max(1.0, float(np.abs(x).max(initial=0.0)))
            if moved <= _SETTLED or before <= moved <= _ROUNDED:
                return (x, forces) if slopes.proper else None
            x, before = x + change, moved
        return None

    def settled(self, place: LocalCoordinates, way: Array, t: Array, y: Array, u: Array, x: Array, w: Array, J: Array) -> Forces:
        """Forces in states as in `forces`, whose unknowns nearly obey the equations: these are corrected, with slopes J nearby.

        J has shape (N, k + r, k + r).
        """
        before = np.inf
        for _ in range(_NEWTON):
            forces = self.forces(place, way, t, y, u, x, w)
            change = np.linalg.solve(J, self.rows(place, forces)[..., None])[..., 0]
            moved = float(np.abs(change).max(initial=0.0)) / max(1.0, float(np.abs(x).max(initial=0.0)))
            if moved <= _SETTLED or not moved < before:
                break
            x, before = x + change, moved
        return forces

    def _refuse_undetermined(self, place: LocalCoordinates, forces: Forces) -> None:
        """Friction of loads that rigid bodies do not determine is none; the question arises in overconstrained chains only."""
        if len(place.U) <= place.r or not (self.rubbing.loaded or self.balls):
            return
        pose = kinematics(self.m, forces.q, forces.dq)
        G = place.jacobian(pose)
        solved = tuple(int(j) for j in np.sort(qr(G[0], mode="r", pivoting=True)[1][:np.linalg.matrix_rank(G[0], tol=1e-9)]))
        branch = Branch(self.m, tuple(j for j in range(self.m.n) if j not in solved), solved)
        loads, force, _ = InternalForces.of(branch, pose, G).hide(forces.loads, forces.force, forces.moment)
        friction = self.rubbing.friction(forces.dq, np.ones(self.m.n), loads) + tree_balls(self.m, pose, loads.force)
        refuse_undetermined(self.m, friction, cut_balls(self.m, pose, force)[0])

    def shared(self, place: LocalCoordinates) -> InputError:
        """Error where rigid bodies do not tell what each of the joints that stick holds, since another could hold it too."""
        return InputError(f"{self.m.name}: the joints {', '.join(self.m.names[j] for j in np.flatnonzero(place.still))} stick "
                          "at the same time, and rigid-body mechanics does not determine how they share the load: "
                          f"{place.shared} of them could let go without any motion; leave out the friction of some of these "
                          "joints")

    def no_balance(self, t: float) -> InputError:
        """Error where no accelerations are found."""
        if not self.m.friction and not self.balls:
            return InputError(f"{self.m.name}: the mass matrix is singular; a link that can move by itself has neither mass nor "
                              "inertia about its joint")
        return InputError(f"{self.m.name}: friction and joint loads find no balance at t = {t:g} s: the friction coefficients "
                          f"are too large for a sliding joint ({', '.join(self.m.names[j] for j in self.rubbing.loaded)})")
