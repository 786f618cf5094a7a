"""Search for the mistake that explains torques which contradict the model's gravity: a sign, a
zero, two exchanged joints.

A wrong position of one joint also changes the modelled gravity of the joints that carry it. The
search therefore compares the even parts of all joints with the model for each possible mistake. The
finding names the mistake that explains all joints, and the correct value.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import pandas as pd
from scipy.optimize import minimize_scalar

from stribeck.ident.arm.arm_tables import JointTable
from stribeck.ident.arrays import Array
from stribeck.ident.log.finding import Finding
from stribeck.ident.log.health.points_health import UNIT
from stribeck.ident.model.dynamics import inverse_dynamics
from stribeck.ident.model.mechanism import Mechanism

MISTAKES = ("direction", "zero", "order")
_POINTS = 600  # largest number of points, spread over all points
_LEAST = 24  # smallest number of points of a joint
_SCATTER = 0.05  # scatter of a joint's even part about gravity, as a part of its friction
# a deviation above this multiple of the scatter means that the torque contradicts the model,
_AMISS = 3.0
_EXPLAINS = 0.2  # part of the squared deviations that an explanation may leave,
_BETTER = 0.6  # and largest ratio to the squared deviations of the second-best explanation
_GRID = 24  # number of shifts that are tried
_PRECISE = 1e-4  # rad


@dataclass(frozen=True)
class Mistake:
    """A possible mistake in the log: the positions of the model are q' = sign q[:, order] + shift.

    Attributes
    ----------
    kind : str
        One of `MISTAKES`.
    joints : tuple of int
        Joints with wrong positions.
    order : ndarray of int, shape (n,)
        Recorded joint whose position and torque belong to each joint of the model.
    sign, shift : ndarray, shape (n,)
        Correction of the positions [shift in rad or m]; the sign also applies to torques.
    moved : bool
        True if positions and torques are exchanged, False if only torques are exchanged.
    """

    kind: str
    joints: tuple[int, ...]
    order: np.ndarray
    sign: Array
    shift: Array
    moved: bool = True


def misplaced(
    points: pd.DataFrame,
    q: Array,
    dq: Array,
    mechanism: Mechanism,
    tables: Mapping[str, JointTable],
) -> list[Finding]:
    """Finding about the mistake that explains the even parts of all joints; empty if no mistake is
    needed or none explains them.

    Parameters
    ----------
    points : DataFrame
        Points of a reduction, with columns joint, even and odd.
    q, dq : ndarray, shape (N, n)
        Positions and velocities of all joints at the points.
    mechanism : Mechanism
        Model with the same joint order.
    tables : mapping of str to JointTable
        Joint tables of the arm file.
    """
    even = _Even.of(points, q, dq, mechanism)
    plain = even.amiss(_unchanged(mechanism.n))
    if not (plain > _AMISS**2).any():
        return []
    zero = np.array(
        [tables[name].zero_offset if name in tables else 0.0 for name in mechanism.names]
    )
    found = [(even.amiss(one), one) for one in _mistakes(mechanism, zero, even)]
    found.sort(key=lambda case: float(case[0].sum()))
    left, best = found[0]
    rest = [
        float(other.sum())
        for other, one in found
        if (one.kind, one.joints) != (best.kind, best.joints)
    ]
    if _beyond(left) > _EXPLAINS * _beyond(plain) or (
        rest and float(left.sum()) > _BETTER * rest[0]
    ):
        return []
    return [replace(_said(best, even, mechanism, tables), moot=MISTAKES)]


@dataclass(frozen=True)
class _Even:
    """Even parts of the joints with enough points: positions, joint and value of each
    point, and allowed scatter.
    """

    mechanism: Mechanism
    q: Array
    dq: Array
    joint: np.ndarray
    value: Array
    scatter: Array

    @classmethod
    def of(cls, points: pd.DataFrame, q: Array, dq: Array, mechanism: Mechanism) -> "_Even":
        """Select at most `_POINTS` points, spread over all points."""
        joint = np.array([mechanism.names.index(str(name)) for name in points["joint"]], dtype=int)
        often = np.bincount(joint, minlength=mechanism.n)
        rows = np.flatnonzero(often[joint] >= _LEAST)
        rows = rows[:: max(1, len(rows) // _POINTS)]
        odd = points["odd"].to_numpy(dtype=float)
        scatter = np.array(
            [
                _SCATTER * float(np.median(odd[joint == j])) if often[j] else 1.0
                for j in range(mechanism.n)
            ]
        )
        return cls(
            mechanism,
            q[rows],
            dq[rows],
            joint[rows],
            points["even"].to_numpy(dtype=float)[rows],
            scatter,
        )

    def torque(self, mistake: Mistake) -> Array:
        """Modelled torque for each even part, if the mistake was made; infinite if a closed chain
        cannot reach the postures.
        """
        order = mistake.order if mistake.moved else np.arange(self.mechanism.n)
        q, chain = mistake.sign * self.q[:, order] + mistake.shift, self.mechanism.chain
        if chain is not None and np.isinf(chain.condition(q, q)).any():
            return np.full(len(q), np.inf)
        tau = inverse_dynamics(self.mechanism, q, mistake.sign * self.dq[:, order])
        own = np.empty_like(mistake.order)
        # joint of the model for each recorded joint
        own[mistake.order] = np.arange(len(own))
        return np.asarray((mistake.sign * tau)[np.arange(len(q)), own[self.joint]])

    def amiss(self, mistake: Mistake) -> Array:
        """Mean squared deviation of each joint's even part from the model, in squares
        of its scatter, shape (n,).
        """
        left, tau = np.zeros(self.mechanism.n), self.torque(mistake)
        if np.isinf(tau).any():
            return np.full(self.mechanism.n, np.inf)
        for j in np.unique(self.joint):
            even, model = (
                values[self.joint == j] - values[self.joint == j].mean()
                for values in (self.value, tau)
            )
            square = float(model @ model)
            scale = (
                min(max(float(even @ model) / square, 1.0 / UNIT), UNIT) if square > 1e-12 else 0.0
            )
            left[j] = float(np.mean((even - scale * model) ** 2)) / self.scatter[j] ** 2
        return left


def _beyond(amiss: Array) -> float:
    """Sum of the deviations beyond the allowed scatter."""
    return float(np.maximum(amiss - 1.0, 0.0).sum())


def _unchanged(n: int) -> Mistake:
    return Mistake("", (), np.arange(n), np.ones(n), np.zeros(n))


def _mistakes(mechanism: Mechanism, zero: Array, even: _Even) -> Iterator[Mistake]:
    """Yield all single mistakes: reversed joints, shifted zeros, exchanged joints."""
    n, turning = mechanism.n, ~mechanism.prismatic
    for j in range(n):
        sign, shift = np.ones(n), np.zeros(n)
        sign[j], shift[j] = -1.0, 2.0 * zero[j]
        yield Mistake("direction", (j,), np.arange(n), sign, shift)
        if turning[j]:
            yield _best_shift(j, even)
    for a, b in combinations(range(n), 2):
        if turning[a] == turning[b]:
            order = np.arange(n)
            order[[a, b]] = b, a
            for moved in (True, False):
                yield Mistake("order", (a, b), order, np.ones(n), np.zeros(n), moved)


def _best_shift(j: int, even: _Even) -> Mistake:
    """The zero shift of one joint that explains the even parts best."""
    n = even.mechanism.n

    def shifted(by: float) -> Mistake:
        shift = np.zeros(n)
        shift[j] = by
        return Mistake("zero", (j,), np.arange(n), np.ones(n), shift)

    def left(by: float) -> float:
        return float(even.amiss(shifted(by)).sum())

    step = 2.0 * np.pi / _GRID
    nearest = min(np.arange(-_GRID // 2, _GRID // 2) * step, key=left)
    return shifted(
        float(
            minimize_scalar(
                left,
                bounds=(nearest - step, nearest + step),
                method="bounded",
                options={"xatol": _PRECISE},
            ).x
        )
    )


def _said(
    mistake: Mistake, even: _Even, mechanism: Mechanism, tables: Mapping[str, JointTable]
) -> Finding:
    names = [mechanism.names[j] for j in mistake.joints]
    fits = (
        "the torques of all joints fit the model's gravity"
        if len(np.unique(even.joint)) > 1
        else "its torque fits gravity"
    )
    name = names[0]
    table = tables.get(name, JointTable())
    if mistake.kind == "direction":
        return Finding(
            name,
            "direction",
            f"{name}: {fits} if the joint turns in the opposite direction; write direction = "
            f"{-table.direction} in joints.{name} and import or record again. The present loads "
            "belong to another posture",
        )
    if mistake.kind == "zero":
        shift = float(mistake.shift[mistake.joints[0]])
        return Finding(
            name,
            "zero",
            f"{name}: {fits} if the positions of the log are shifted by {shift:+.3f} rad; write "
            f"zero_offset = {table.zero_offset + shift:.3f} in joints.{name} and import or record "
            "again, unless a centre of mass in the model is wrong. The present loads belong to "
            "another posture",
        )
    what = "positions and torques" if mistake.moved else "torques"
    return Finding(
        name,
        "order",
        f"{' and '.join(names)}: {fits} if the {what} of these two joints are exchanged; check the "
        "order of the log's columns, or of the drives. The present friction belongs to the other "
        "joint",
    )
