r"""Independent coordinates of a mechanism near one posture, with closed loops and
with some joints at rest.

G is the Jacobian of the closures for the joints that are free to move. With :math:`G = U S N^T` and
:math:`G T = 0`, postures near :math:`q_0` are

.. math:: q = q_0 + T y + N w(y), \qquad \dot q = B \dot y, \qquad \ddot q = B \ddot y - N (U^T G N)^{-1} U^T \gamma,

where w closes the loops, :math:`B = T - N (U^T G N)^{-1} U^T G T`, and gamma is the acceleration of
the gaps at zero joint accelerations. Any motion of y keeps the loops closed, without drift. T and N
are orthonormal, so the coordinates are valid in every posture in which the closures themselves are
regular; a choice of independent joints could fail earlier.

Joints with prescribed motion are further coordinates, given as functions of time (rheonomic
constraints). Each has a column of T, a unit vector.

References
----------
Potra and Rheinboldt, Mech. Struct. Mach. 19 (1991) 1; Haug, Computer Aided
Kinematics and Dynamics (1989).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stribeck.ident.arrays import Array
from stribeck.ident.model.chains.loop_geometry import gap, gap_acceleration, gap_jacobian
from stribeck.ident.model.chains.posture_following import Branch, PostureError
from stribeck.ident.model.dynamics import Kinematics, kinematics
from stribeck.ident.model.mechanism import Mechanism

_RANK = 1e-9  # singular values below this fraction of the greatest count as zero
_SINGULAR = 1e6  # condition number of the closures from which a posture is singular
_CLOSED = 1e-13  # characteristic lengths and rad; a loop with smaller Newton steps is closed
# steps up to this size count as closed, too, if rounding prevents smaller steps
_ROUNDED = 1e-11
_NEWTON = 8  # iterations of Newton's method


@dataclass(frozen=True)
class Prescribed:
    """Joints with prescribed motion.

    Attributes
    ----------
    joints : tuple of int
        Indices of the joints.
    motion : callable
        Positions, velocities and accelerations at times (N,): ``motion(t)``,
        shape (3, N, len(joints)).
    """

    joints: tuple[int, ...]
    motion: Callable[[Array], Array]


NOTHING = Prescribed((), lambda t: np.zeros((3, len(t), 0)))


class LocalCoordinates:
    """Local coordinates y about a posture, measured in rad and characteristic lengths.

    Attributes
    ----------
    free : ndarray of int
        Joints that are free to move: neither at rest nor prescribed.
    k, r : int
        Number of coordinates y, and of independent closing conditions (components of w).
    shared : int
        Number of closing conditions that become redundant because of the
        joints at rest or prescribed.
    unit : ndarray, shape (n,)
        Unit of each joint's position: 1 rad or the characteristic length.
    T : ndarray, shape (n, k + p)
        Directions of the coordinates, then of the p prescribed joints; the rows
        of joints at rest are zero.
    U : ndarray, shape (rows, r)
        Independent combinations of the closing conditions.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        q: Array,
        still: NDArray[np.bool_],
        prescribed: Prescribed = NOTHING,
    ) -> None:
        self.mechanism, self.q, self.still, self.prescribed = mechanism, q, still, prescribed
        led = list(prescribed.joints)
        fixed = still.copy()
        fixed[led] = True
        self.free = np.flatnonzero(~fixed)
        self.branch = Branch(mechanism, (), tuple(range(mechanism.n)))
        self.unit = self.branch.unit
        G = (
            self.jacobian(kinematics(mechanism, q[None]))[0]
            if mechanism.closures
            else np.zeros((0, mechanism.n))
        )
        U, S, Vt = np.linalg.svd(G[:, self.free])
        self.r = int((_RANK * max(1.0, S.max(initial=0.0)) < S).sum())
        self.k = len(self.free) - self.r
        everything = np.linalg.svd(G, compute_uv=False) if self.r and fixed.any() else S
        self.shared = (
            int((everything > _RANK * max(1.0, everything.max(initial=0.0))).sum()) - self.r
        )
        self.U, self.S = U[:, : self.r], S[: self.r]
        self.T, self.N = np.zeros((mechanism.n, self.k + len(led))), np.zeros((mechanism.n, self.r))
        self.T[self.free, : self.k], self.N[self.free] = (
            (Vt[self.r :].T, Vt[: self.r].T) if self.r else (np.eye(self.k), Vt[:0].T)
        )
        self.T[led, self.k + np.arange(len(led))] = 1.0

    def refuse_singular(self) -> None:
        """Raise `PostureError` if the closures hardly determine the motion (condition number
        of the closures' Jacobian).
        """
        if self.r and self.S[-1] * _SINGULAR < self.S[0]:
            raise PostureError(
                f"{self.mechanism.name}: the motion reaches a singular posture: condition number "
                f"{self.S[0] / self.S[-1]:.1e} of the closures' Jacobian, at most {_SINGULAR:.0e} "
                "is allowed; a singular posture does not determine the forces",
                float(self.S[0] / self.S[-1]),
            )

    def jacobian(self, pose: Kinematics) -> Array:
        """Return the Jacobian of the closures in characteristic lengths
        and rad, shape (N, rows, n).
        """
        return np.asarray(
            gap_jacobian(self.mechanism, pose) * (self.unit / self.branch.row_unit[:, None])
        )

    def rates(self, dq: Array) -> Array:
        """Convert joint velocities at the central posture to velocities of
        the coordinates, shape (k,).
        """
        return np.asarray(self.T[:, : self.k].T @ (dq / self.unit))

    def motion(
        self, t: Array, y: Array, u: Array, a: Array, w: Array
    ) -> tuple[Array, Array, Array, Array, Kinematics | None]:
        """Return the motion of all joints at times (N,) for coordinates, their velocities and
        accelerations, (N, k) each.

        `w` holds start values as in `place`.

        Returns
        -------
        q, dq, ddq : ndarray, shape (N, n)
        inverse : ndarray, shape (N, r, r)
            As in `place`.
        pose : Kinematics or None
            Pose and velocities of the links of a closed chain; None for a tree.
        """
        y, u, a = (np.hstack(parts) for parts in zip((y, u, a), self._led(t), strict=True))
        q, B, inverse = self.place(y, w)
        dq, ddq = (self.unit * np.einsum("nik,nk->ni", B, rate) for rate in (u, a))
        if not self.r:
            return q, dq, ddq, inverse, None
        runaway, pose = self.runaway(q, dq, inverse)
        return q, dq, ddq + runaway, inverse, pose

    def directions(self, t: float, y: Array, w: Array) -> Array:
        """Return joint velocities per velocity of the coordinates, (n, k), at coordinates (k,);
        w, (r,), are start values.
        """
        placed = self.place(np.hstack((y[None], self._led(np.array([t]))[0])), w[None].copy())
        return placed[1][0, :, : self.k]

    def _led(self, t: Array) -> Array:
        """Return coordinates of the prescribed joints, with velocities and
        accelerations, shape (3, N, p).
        """
        joints = list(self.prescribed.joints)
        out = np.array(self.prescribed.motion(t), dtype=float)
        out[0] -= self.q[joints]
        return np.asarray(out / self.unit[joints])

    def place(self, y: Array, w: Array) -> tuple[Array, Array, Array]:
        """Find closed postures at coordinates (N, k + p).

        `w`, shape (N, r), holds start values and is overwritten with the solution.

        Returns
        -------
        q : ndarray, shape (N, n)
        B : ndarray, shape (N, n, k + p)
            Joint velocities per velocity of the coordinates.
        inverse : ndarray, shape (N, r, r)
            Inverse of :math:`U^T G N`.

        Raises
        ------
        PostureError
            If the loops do not close.
        """
        m, posture = self.mechanism, self.q + self.unit * (y @ self.T.T)
        if not self.r:
            return (
                posture,
                np.broadcast_to(self.T, (len(y), *self.T.shape)),
                np.zeros((len(y), 0, 0)),
            )
        before = np.inf
        for _ in range(_NEWTON):
            q = posture + self.unit * (w @ self.N.T)
            pose = kinematics(m, q)
            UG = self.U.T @ self.jacobian(pose)
            try:
                inverse = np.asarray(np.linalg.inv(UG @ self.N))
            except np.linalg.LinAlgError:
                break
            step = np.einsum("nij,nj->ni", inverse, (gap(m, pose) / self.branch.row_unit) @ self.U)
            most = np.abs(step).max(initial=0.0)
            if most < _CLOSED or 0.1 * before < most < _ROUNDED:
                return q, self.T - self.N @ (inverse @ (UG @ self.T)), inverse
            if not most < 1.0:
                break
            w -= step
            before = most
        raise PostureError(
            f"{m.name}: the loops cannot be closed near the current posture of the motion", np.inf
        )

    def runaway(self, q: Array, dq: Array, inverse: Array) -> tuple[Array, Kinematics]:
        """Return joint accelerations at zero accelerations of the coordinates, shape (N, n),
        and the motion of the links.
        """
        pose = kinematics(self.mechanism, q, dq)
        gamma = (gap_acceleration(self.mechanism, pose) / self.branch.row_unit) @ self.U
        return -self.unit * (np.einsum("nij,nj->ni", inverse, gamma) @ self.N.T), pose

    def signs(self, inverse: Array) -> Array:
        """Return the sign of the determinant of the frictionless equations of motion in ddy
        and multipliers, shape (N,).
        """
        turned = np.linalg.det(np.hstack((self.T[:, : self.k], self.N))[self.free])
        return np.asarray(np.sign(turned) * (-1.0) ** self.r * np.sign(np.linalg.det(inverse)))
