r"""Following one assembly branch of a closed chain from its posture at q = 0 (P0, Eqs. 23-25).

A closed chain has several postures at one crank angle. This module returns the posture that is
reached from q = 0 without passing a singular posture. Steps must be short enough to stay on the
branch. A step is accepted only if the Jacobian :math:`G_s` of the solved joints changes little,
:math:`\lVert G_s^+(q_0)\,G_s(q_1) - 1 \rVert < 0.8`. Below 1 the closed posture is unique
(Newton's iteration contracts), and no posture is singular. Each posture of a batch is followed
independently of the others.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from stribeck.ident.arrays import Array
from stribeck.ident.errors import InputError
from stribeck.ident.model.chains.loop_geometry import gap, gap_jacobian, turning_rows
from stribeck.ident.model.dynamics import kinematics
from stribeck.ident.model.mechanism import Mechanism
from stribeck.ident.model.recursion import blocks

# condition number from which a posture is singular; forces are then this many times the loads
SINGULAR = 1e4
# condition number that ends a path: two branches of solutions are too close to distinguish
_MEET = 1e6
_CLOSED = 1e-12  # m and rad; smaller gaps count as closed
_TRAVEL = 0.2  # rad, or characteristic lengths, that a joint may travel in a step
_CHANGE = 0.8  # greatest change of the Jacobian in a step
_AIM = 0.5  # change of the Jacobian at which the step length aims
_LEAST = 1e-8  # shortest step, as a fraction of a unit of the known joints
# of a motion, every this many postures one is followed from home; a power of two
_STRIDE = 64
# rad, or characteristic lengths; largest distance to which a chain is followed
_FAR = 1e3
_NEWTON = 12  # iterations of Newton's method; three are usual from a prediction
RANK = 1e-8  # smaller singular values count as zero


class PostureError(InputError):
    """A posture that a closed chain cannot reach, or that does not determine the forces.

    Attributes
    ----------
    condition : float
        Condition number of the passive joints' Jacobian at this posture; infinite if no
        posture closes the loops.
    reachable : ndarray, shape (k, 2) or None
        Reachable range of the known joints on the straight path through zero: lower and upper end.
    """

    def __init__(self, message: str, condition: float, reachable: Array | None = None) -> None:
        super().__init__(message)
        self.condition, self.reachable = condition, reachable


@dataclass(frozen=True)
class Branch:
    """One assembly branch of a closed chain: positions of some joints are known, positions of
    the others are solved for.

    Attributes
    ----------
    mechanism : Mechanism
        Mechanism with closures.
    known, solved : tuple of int
        Indices of the known joints and of the solved joints.
    """

    mechanism: Mechanism
    known: tuple[int, ...]
    solved: tuple[int, ...]

    @cached_property
    def home(self) -> Array:
        """Posture at q = 0 with closed loops, shape (1, n).

        Raises
        ------
        PostureError
            If the loops do not close at q = 0, or the closures do not determine the solved joints.
        """
        m, home = self.mechanism, np.zeros((1, self.mechanism.n))
        G = self.jacobian(home)[0]
        rank, rank_all = (
            int(np.linalg.matrix_rank(part, tol=RANK)) for part in (G[:, self.solved], G)
        )
        if rank < len(self.solved):
            condition = float(self.condition(home)[0])
            rigid = [j for j in self.solved if j not in m.springs]
            told = len(rigid) < len(self.solved) and int(
                np.linalg.matrix_rank(G[:, rigid], tol=RANK)
            ) == len(rigid)
            loose = next((m.names[j] for j in self.solved if j in m.springs), "")
            cause = (
                f"elastic joints (for example {loose}) are free; use equilibrium for their rest "
                "posture, simulate for their motion"
                if told
                else "a closure is missing, one of these joints has a drive, or the posture is "
                "singular"
            )
            raise PostureError(
                f"{m.name}: at q = 0 the closures determine only {rank} of {len(self.solved)} "
                "joints (condition "
                f"number {condition:.1e}): {cause}; these joints are {self._names(self.solved)}",
                condition,
            )
        if rank_all > rank:
            raise InputError(
                f"{m.name}: the known joints {self._names(self.known)} cannot move independently: "
                f"the closures leave {m.n - rank_all} degree(s) of freedom, {len(self.known)} "
                "joints are given; as many joints as degrees of freedom must have drives"
            )
        if not self.close(home).all():
            raise PostureError(
                f"{m.name}: the loops do not close at q = 0; correct the joint origins, axes or "
                "cut points",
                np.inf,
            )
        return home

    def follow(
        self, wanted: Array, worst: float = _MEET, least: float = _LEAST
    ) -> tuple[Array, Array]:
        """Follow the branch from home along straight paths of the known joints.

        Parameters
        ----------
        wanted : ndarray, shape (N, k)
            Positions of the known joints at the ends of the paths.
        worst : float
            Condition number, in Frobenius norms, up to which paths are followed.
        least : float
            Shortest step in the search for the end of the reachable range, as a fraction of a
            unit of the known joints.

        Returns
        -------
        q : ndarray, shape (N, n)
            The last closed posture on each path.
        reached : ndarray, shape (N,)
            Completed fraction of each path; 1 at its end.
        """
        far = np.abs(wanted / self.unit[list(self.known)]) > _FAR
        if far.any():
            row, k = np.argwhere(far)[0]
            raise InputError(
                f"{self.mechanism.name}: {self.mechanism.names[self.known[k]]} = "
                f"{wanted[row, k]:.3g} "
                f"{self._length_unit(k)} is beyond the range in which a chain is followed, "
                f"{_FAR * self.unit[self.known[k]]:.3g}; give a value within this range"
            )
        q, reached = np.repeat(self.home, len(wanted), axis=0), np.ones(len(wanted))
        if not self.solved:
            q[:, self.known] = wanted
        else:
            for rows in blocks(len(wanted)):
                reached[rows] = self._follow(q[rows], wanted[rows], worst, least)
        return q, reached

    def _follow(self, q: Array, wanted: Array, worst: float, least: float) -> Array:
        """As `follow`, from the postures q, which are overwritten; return `reached`."""
        known, solved = list(self.known), list(self.solved)
        way = np.zeros_like(q)
        way[:, known] = wanted / self.unit[known]
        length = np.abs(way).max(axis=1, initial=0.0)
        reached, size = np.where(length > 0.0, 0.0, 1.0), np.ones(len(q))
        G = self.jacobian(q)
        inverse = pseudoinverse(G[:, :, solved])
        rows = np.flatnonzero(reached < 1.0)
        while len(rows):
            tangent = way[rows]
            tangent[:, solved] = -apply(inverse[rows], apply(G[rows], tangent))
            step = np.minimum(
                np.minimum(size[rows], 1.0 - reached[rows]), _TRAVEL / np.abs(tangent).max(axis=1)
            )
            last = step >= 1.0 - reached[rows]
            trial = q[rows] + step[:, None] * tangent * self.unit
            trial[:, known] = np.where(last[:, None], wanted[rows], trial[:, known])
            good, regular, change, there, back = self._tried(trial, inverse[rows], worst)
            went = rows[good]
            q[went], G[went], inverse[went] = trial[good], there[good], back[good]
            reached[went] = np.where(last[good], 1.0, reached[went] + step[good])
            size[rows] = step * np.where(
                regular, np.clip(_AIM / np.maximum(change, 1e-9), 0.1, 2.0), 0.25
            )
            rows = rows[(reached[rows] < 1.0) & (size[rows] * length[rows] > least)]
        return reached

    def follow_motion(self, wanted: Array, worst: float, least: float) -> tuple[Array, Array]:
        """As `follow`, for a sequence in which many positions of the known joints are near their
        neighbours: their postures are reached by a step from a neighbour.

        Postures at a distance of `_STRIDE` rows are followed from home. Then each round reaches
        the postures in the middle between those that are reached already.
        """
        unit, rows = self.unit[list(self.known)], np.arange(len(wanted))
        stride = np.minimum(rows & -rows, _STRIDE)
        stride[0] = _STRIDE
        before = wanted[np.maximum(rows - stride, 0)]
        stride[np.abs((wanted - before) / unit).max(axis=1) > _TRAVEL] = _STRIDE
        far = np.flatnonzero(stride == _STRIDE)
        q, reached = np.zeros((len(wanted), self.mechanism.n)), np.zeros(len(wanted))
        q[far], reached[far] = self.follow(wanted[far], worst, least)
        size = _STRIDE // 2
        while size:
            here = rows[(stride == size) & (reached[np.maximum(rows - size, 0)] >= 1.0)]
            for block in blocks(len(here)):
                own = here[block]
                q[own], reached[own] = self.step(q[own - size], wanted[own], worst)
            size //= 2
        rest = np.flatnonzero((reached < 1.0) & (stride < _STRIDE))
        q[rest], reached[rest] = self.follow(wanted[rest], worst, least)
        return q, reached

    def follow_near(
        self, near: Array, reached: Array, wanted: Array, worst: float, least: float
    ) -> tuple[Array, Array]:
        """As `follow`, by a step from postures `near`, (N, n), that are `reached`, where such a step
        is valid.
        """
        q, good = np.empty_like(near), np.zeros(len(near), dtype=bool)
        way = (wanted - near[:, self.known]) / self.unit[list(self.known)]
        close = np.flatnonzero((reached >= 1.0) & (np.abs(way).max(axis=1) <= _TRAVEL))
        for block in blocks(len(close)):
            rows = close[block]
            q[rows], good[rows] = self.step(near[rows], wanted[rows], worst)
        out = np.ones(len(near))
        q[~good], out[~good] = self.follow(wanted[~good], worst, least)
        return q, out

    def step(self, near: Array, wanted: Array, worst: float) -> tuple[Array, NDArray[np.bool_]]:
        """Return closed postures at known joints `wanted`, (N, k), a step from postures `near`, (N,
        n), and a mask of success.
        """
        known, solved, G = list(self.known), list(self.solved), self.jacobian(near)
        inverse, way = pseudoinverse(G[:, :, solved]), np.zeros_like(near)
        way[:, known] = (wanted - near[:, known]) / self.unit[known]
        way[:, solved] = -apply(inverse, apply(G, way))
        trial = near + way * self.unit
        trial[:, known] = wanted
        good = self._tried(trial, inverse, worst)[0]
        return trial, np.asarray(good & (np.abs(way).max(axis=1) <= _TRAVEL))

    def _tried(
        self, trial: Array, inverse: Array, worst: float
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_], Array, Array, Array]:
        """Close the loops in place after a step; `inverse` belongs to the solved joints' Jacobian
        at the start of the step.

        Returns masks of accepted steps and of closed, regular ends, the change of the Jacobian, the
        Jacobian and its inverse.
        """
        solved, predicted = list(self.solved), trial.copy()
        closed, there = self._closed(trial)
        back = pseudoinverse(there[:, :, solved])
        change = np.linalg.norm(inverse @ there[:, :, solved] - np.eye(len(solved)), axis=(1, 2))
        off = np.abs((trial - predicted) / self.unit).max(axis=1)
        regular = closed & (
            np.linalg.norm(there[:, :, solved], axis=(1, 2)) * np.linalg.norm(back, axis=(1, 2))
            < worst
        )
        return regular & (change <= _CHANGE) & (off <= _TRAVEL), regular, change, there, back

    def close(self, q: Array) -> NDArray[np.bool_]:
        """Close the loops by Newton's method from q, in place; return a mask of closed rows."""
        return self._closed(q)[0]

    def _closed(self, q: Array) -> tuple[NDArray[np.bool_], Array]:
        """As `close`; also return the Jacobian at the closed postures."""
        m, tolerance = self.mechanism, _CLOSED * max(1.0, self.length)
        rows = np.arange(len(q))
        open_by, G = (
            np.empty((len(q), len(self.row_unit))),
            np.empty((len(q), len(self.row_unit), m.n)),
        )
        for _ in range(_NEWTON + 1):
            pose = kinematics(m, q[rows])
            open_by[rows], G[rows] = gap(m, pose), self._scaled(gap_jacobian(m, pose))
            rows = rows[np.abs(open_by[rows]).max(axis=1, initial=0.0) > 0.01 * tolerance]
            if not self.solved or not len(rows):
                break
            step = least_squares(G[rows][:, :, self.solved], open_by[rows] / self.row_unit)
            q[np.ix_(rows, self.solved)] -= np.clip(step, -0.5, 0.5) * self.unit[list(self.solved)]
        return np.asarray(np.abs(open_by).max(axis=1, initial=0.0) < tolerance, dtype=bool), G

    def unreachable(self, wanted: Array, reached: float) -> PostureError:
        """Return the error for a path to `wanted`, shape (k,), that ends at fraction `reached`,
        with the range both ways.
        """
        m, moving = self.mechanism, [int(k) for k in np.flatnonzero(wanted)]
        # one turn, or 2 pi lengths
        turn = 2.0 * np.pi / np.abs(wanted / self.unit[list(self.known)]).max()
        back = turn * float(self.follow(-turn * wanted[None])[1][0])
        far = np.sort(np.array([-back * wanted, reached * wanted]).T, axis=1)
        names = {k: m.names[self.known[k]] for k in moving}
        said = ", ".join(
            f"{name} from {far[k, 0]:.4f} to {far[k, 1]:.4f} {self._length_unit(k)}"
            for k, name in names.items()
        )
        more = " at least" if back >= turn else ""
        asked = ", ".join(f"{name} = {wanted[k]:.4f}" for k, name in names.items())
        return PostureError(
            f"{m.name}: {asked} is not reached: on the straight path from q = 0 the chain comes to "
            "a singular posture (condition number infinite): beyond it the loops do not close, or "
            f"they close in several ways; on this path the reachable range is{more} {said}",
            np.inf,
            far,
        )

    def jacobian(self, q: Array) -> Array:
        """Return the Jacobian of the closures in characteristic lengths
        and rad, shape (N, rows, n).
        """
        return self._scaled(gap_jacobian(self.mechanism, kinematics(self.mechanism, q)))

    def at(self, q: Array) -> "Linearised":
        """Return the closures linearised at closed postures q, shape (N, n)."""
        return Linearised(self, q)

    def condition(self, q: Array) -> Array:
        """Return the condition number of the solved joints' Jacobian, in characteristic
        lengths and rad, shape (N,).
        """
        G = self.jacobian(q)[:, :, self.solved]
        if not self.solved:
            return np.ones(len(q))
        if G.shape[1] < G.shape[2]:
            return np.full(len(q), np.inf)
        return _condition(np.asarray(np.linalg.svd(G, compute_uv=False), dtype=np.float64))

    @cached_property
    def length(self) -> float:
        """Characteristic length: the mean distance between neighbouring
        joints and cut points [m].
        """
        m = self.mechanism
        reach = np.linalg.norm(
            np.vstack([m.origin, *(closure.points for closure in m.closures)]), axis=1
        )
        return float(reach[reach > 0.0].mean()) if reach.any() else 1.0

    @cached_property
    def unit(self) -> Array:
        """Unit of each joint's position, shape (n,): 1 rad, or the characteristic length."""
        return np.asarray(np.where(self.mechanism.prismatic, self.length, 1.0), dtype=np.float64)

    @cached_property
    def row_unit(self) -> Array:
        """Unit of each row of the gaps, shape (rows,): 1 rad, or the characteristic length."""
        return np.asarray(
            np.where(turning_rows(self.mechanism), 1.0, self.length), dtype=np.float64
        )

    def _scaled(self, G: Array) -> Array:
        return np.asarray(G * (self.unit / self.row_unit[:, None]))

    def _names(self, joints: Sequence[int]) -> str:
        return ", ".join(self.mechanism.names[joint] for joint in joints)

    def _length_unit(self, k: int) -> str:
        return self.mechanism.position_unit(self.known[k])


@dataclass(frozen=True)
class Linearised:
    """The closures of a branch, linearised at closed postures; each part is
    computed once, when it is needed.

    Attributes
    ----------
    branch : Branch
        The branch.
    q : ndarray, shape (N, n)
        Closed postures.
    """

    branch: Branch
    q: Array

    @cached_property
    def jacobian(self) -> Array:
        """Scaled Jacobian of the closures, shape (N, rows, n)."""
        return self.branch.jacobian(self.q)

    @cached_property
    def singular(self) -> tuple[Array, Array, Array]:
        """Singular value decomposition of the solved joints' Jacobian; of left vectors (N,
        rows, rows) the last are idle.
        """
        left, values, right = np.linalg.svd(self.jacobian[:, :, self.branch.solved])
        return left, values, right

    @cached_property
    def condition(self) -> Array:
        """Condition number of the solved joints' Jacobian, in characteristic
        lengths and rad, shape (N,).
        """
        if not self.branch.solved:
            return np.ones(len(self.q))
        if len(self.branch.row_unit) < len(self.branch.solved):
            return np.full(len(self.q), np.inf)
        return _condition(self.singular[1])

    @cached_property
    def inverse(self) -> Array:
        """Pseudoinverse of the solved joints' Jacobian, of full rank, shape (N, solved, rows)."""
        left, values, right = self.singular
        V, UT = right.swapaxes(1, 2), left[:, :, : values.shape[1]].swapaxes(1, 2)
        return np.asarray(V @ (UT / values[..., None]))

    @cached_property
    def ratio(self) -> Array:
        """Velocities of the solved joints per velocity of the known joints, scaled
        units, (N, solved, known).
        """
        return np.asarray(-self.inverse @ self.jacobian[:, :, self.branch.known])


def _condition(singular: Array) -> Array:
    """Return condition numbers from singular values (N, k), the greatest first."""
    return np.asarray(
        np.where(singular[:, 0] > 0.0, singular[:, 0] / np.maximum(singular[:, -1], 1e-300), np.inf)
    )


def pseudoinverse(G: Array) -> Array:
    """Return pseudoinverses of matrices with full column rank, (N, columns, rows),
    accurate enough for Newton steps.
    """
    return np.asarray(np.linalg.solve(_gram(G), G.transpose(0, 2, 1)))


def least_squares(G: Array, right: Array) -> Array:
    """Return the products of `pseudoinverse` and vectors, shape (N, columns)."""
    return np.asarray(np.linalg.solve(_gram(G), G.transpose(0, 2, 1) @ right[..., None])[..., 0])


def _gram(G: Array) -> Array:
    gram = G.transpose(0, 2, 1) @ G
    gram += 1e-16 * np.trace(gram, axis1=1, axis2=2)[:, None, None] * np.eye(gram.shape[1])
    return np.asarray(gram)


def apply(matrix: Array, vector: Array) -> Array:
    """Multiply matrix and vector in every row of a batch."""
    return np.asarray((matrix @ vector[..., None])[..., 0])
