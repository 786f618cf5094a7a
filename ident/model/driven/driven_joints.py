r"""The driven joints of a closed chain as a mechanism: the drives move all
other joints (P0, Eqs. 23-27).

The positions of the driven joints determine the whole posture, and with it velocities and
accelerations of the other joints. By virtual work, the torque of a drive (index a) includes the
torques of the joints that the drive moves (index p),

.. math:: \tau = \left(M \ddot q + h\right)_a + D^T \left(M \ddot q + h\right)_p, \qquad D = -G_p^+ G_a,

with the Jacobian G of the closures. Loads of the driven joints follow from the cut-joint forces. If
joints without a drive have friction, torques and loads include this friction, and both follow from
the cut-joint forces (`closed_driving_torque`).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from stribeck.ident.arrays import Array
from stribeck.ident.errors import InputError
from stribeck.ident.model.chains.closed_chain import (
    ForceBalance,
    LoopsInMotion,
    branch_of,
    closed_rates,
    swinging_joints,
)
from stribeck.ident.model.chains.posture_following import Branch, Linearised, apply
from stribeck.ident.model.driven.driving_torques import balanced_torque
from stribeck.ident.model.driven.passive_joints import rubs, with_friction, without_friction
from stribeck.ident.model.dynamics import inverse_dynamics
from stribeck.ident.model.elastic_joints import spring_torque
from stribeck.ident.model.load_arrays import JointLoads, WrenchSlopes
from stribeck.ident.model.mechanism import Mechanism, PassiveJoints
from stribeck.ident.model.recursion import batch, blocks
from stribeck.ident.model.regressor import PER_LINK, torque_regressor

# condition number and shortest step that end a first search along a path; `posture` searches on
_WORST, _LEAST = 1e4, 1e-3
# number of cached batches of postures: callers ask for loads and torques of one motion
_RECENT = 8
# number of cached samples of motion: a fit needs a motion many times, with other masses
_KEPT = 8192
_PLACES = 9  # number of postures along a path at which the condition number is computed,
# part of the greatest value from which a peak among them is searched on, and halvings of its width
_PEAK, _CLOSER = 0.7, 3


def driven_joints(whole: Mechanism) -> Mechanism:
    """Return a mechanism of the driven joints of a closed chain; torques, loads and mass matrix are
    those of the whole chain.

    Parameters
    ----------
    whole : Mechanism
        Mechanism with closures.

    Raises
    ------
    InputError
        If the chain has no drive, more drives than degrees of freedom, or elastic joints
        that the loops leave free.
    PostureError
        If the driven joints do not determine the posture at q = 0, or if the
        loops do not close at q = 0.
    """
    drives = list(whole.active)
    if not drives:
        raise InputError(f"{whole.name}: every joint is passive; at least one joint needs a drive")
    if swinging := swinging_joints(whole):
        raise InputError(
            f"{whole.name}: elastic joints (for example {whole.names[swinging[0]]}) move by "
            "themselves, so the drive positions do not determine the posture, as they must for an "
            "arm; leave out the springs of the model, or give the model's file to stribeck loads "
            "and simulate, which accept elastic joints"
        )
    _ = branch_of(whole, drives).home
    return Mechanism(
        whole.name,
        tuple(whole.names[j] for j in drives),
        (-1,) * len(drives),
        whole.prismatic[drives],
        whole.axis[drives],
        whole.origin[drives],
        whole.mass[drives],
        whole.com[drives],
        whole.inertia[drives],
        whole.gravity,
        whole.position[drives],
        tuple(whole.bearings[j] for j in drives),
        rotors=None if whole.rotors is None else whole.rotors[np.ix_(drives, drives)],
        chain=DrivenChain(whole),
    )


@dataclass(frozen=True)
class DrivenChain:
    """Functions of a closed chain for its driven joints, see `mechanism.Chain`.

    Attributes
    ----------
    whole : Mechanism
        Mechanism with closures; its friction and rotors are not used.
    classes : tuple of PassiveJoints
        Joints without a drive that have friction.
    continues : bool
        Whether a search of postures starts from the previous postures if they are near.
    """

    whole: Mechanism
    classes: tuple[PassiveJoints, ...] = ()
    continues: bool = False
    _recent: dict[bytes, tuple[Array, Array]] = field(
        default_factory=dict, repr=False, compare=False
    )
    _known: dict[bytes, LoopsInMotion] = field(default_factory=dict, repr=False, compare=False)

    def posture(self, driven: Mechanism, q: ArrayLike) -> Array:
        """Return the positions of all joints, shape (N, whole.n).

        Raises
        ------
        PostureError
            If a posture cannot be reached; the message states the reachable
            range of the driven joints.
        """
        wanted = batch("q", q, driven)
        posture, reached = self._reach(wanted, motion=True)
        if (rest := np.flatnonzero(reached < 1.0)).size:
            posture = posture.copy()
            posture[rest], reached = self._branch.follow(wanted[rest])
            for row, part in zip(rest, reached.tolist(), strict=True):
                if part < 1.0:
                    raise self._branch.unreachable(wanted[row], part)
        return posture

    def torque(
        self,
        driven: Mechanism,
        q: ArrayLike,
        dq: ArrayLike | None,
        ddq: ArrayLike | None,
        external: ArrayLike | None,
    ) -> Array:
        """Return the torques of the drives, shape (N, n), see
        `mechanism.Chain`; errors as in `posture`.
        """
        m, posture, rates = self._as(driven), *self._states(driven, q, dq, ddq)
        if not len(posture):
            return np.zeros((0, driven.n))
        return np.concatenate(
            [
                self._torque(
                    self._balance(m, posture[rows], rates[:, rows]),
                    None if external is None else np.asarray(external)[rows],
                )
                for rows in blocks(len(posture))
            ]
        )

    def _torque(self, balance: ForceBalance, external: Array | None) -> Array:
        m, motion = balance.mechanism, balance.motion
        if rubs(m) and motion.dq.any():
            return np.asarray(balanced_torque(balance, external).tau[:, list(m.active)])
        rest = inverse_dynamics(balance.tree, motion.q, motion.dq, motion.ddq, external)
        if m.springs:
            rest += spring_torque(m, motion.q, motion.dq)
        return self._moved(balance.loops.linearised, rest)

    def loads(
        self,
        driven: Mechanism,
        q: ArrayLike,
        dq: ArrayLike | None,
        ddq: ArrayLike | None,
        external: ArrayLike | None,
    ) -> JointLoads:
        """Return the loads of the driven joints, (N, n) each, see `mechanism.Chain`; errors as in
        `posture`, `closed_loads`.
        """
        m, posture, rates = self._as(driven), *self._states(driven, q, dq, ddq)
        found = [
            _loads(
                self._balance(m, posture[rows], rates[:, rows]),
                None if external is None else np.asarray(external)[rows],
            )
            for rows in blocks(len(posture))
        ]
        drives = list(self.whole.active)
        return JointLoads(
            *(
                np.concatenate([getattr(joints, one.name)[:, drives] for joints in found])
                if found
                else np.zeros((0, driven.n, *(3,) * (one.name in ("force", "moment"))))
                for one in fields(JointLoads)
            )
        )

    def regressor(
        self, driven: Mechanism, q: ArrayLike, dq: ArrayLike | None, ddq: ArrayLike | None
    ) -> Array:
        """Return the torque regressor for all links, (N, n, 10 whole.n), see
        `mechanism.Chain`; errors as in `posture`.
        """
        m, posture, rates = self._as(driven), *self._states(driven, q, dq, ddq)
        out = np.zeros((driven.n, PER_LINK * m.n, len(posture)))
        for rows in blocks(len(posture)):
            balance = self._balance(m, posture[rows], rates[:, rows])
            motion, linearised = balance.motion, balance.loops.linearised
            of_tree = torque_regressor(balance.tree, motion.q, motion.dq, motion.ddq)
            known, unit = list(linearised.branch.known), linearised.branch.unit
            own = out[:, :, rows]
            own[:] = of_tree[:, known].transpose(1, 2, 0)
            for k, joint in enumerate(linearised.branch.solved):
                carried = np.flatnonzero(np.repeat(m.carries[joint], PER_LINK))
                moves = linearised.ratio[:, k].T * (unit[joint] / unit[known])[:, None]
                own[:, carried] += moves[:, None] * of_tree[:, joint, carried].T
        return out.transpose(2, 0, 1)

    def wrench_slopes(
        self,
        driven: Mechanism,
        directions: Array,
        q: ArrayLike,
        dq: ArrayLike | None,
        ddq: ArrayLike | None,
    ) -> Iterator[WrenchSlopes] | None:
        """See `mechanism.Chain`; errors as in `posture`."""
        m = self._as(driven)
        if rubs(m) or m.sharing == "equal":
            return None
        posture, rates = self._states(driven, q, dq, ddq)
        return (
            replace(own, rows=rows)
            for rows in blocks(len(posture))
            for own in self._balance(m, posture[rows], rates[:, rows]).wrench_slopes(directions)
        )

    def rubbing_rates(self, driven: Mechanism, q: ArrayLike, dq: ArrayLike) -> Array:
        """See `mechanism.Chain`; spherical and universal joints give the norm of their
        velocities; errors as in `posture`.
        """
        posture, rates = self._states(driven, q, dq, None)
        velocity = np.concatenate(
            [
                self._balance(self.whole, posture[rows], rates[:, rows]).motion.dq
                for rows in blocks(len(posture))
            ]
            or [np.zeros((0, self.whole.n))]
        )
        parts = {ball.name: list(ball.joints) for ball in self.whole.balls} | {
            name: [j] for j, name in enumerate(self.whole.names)
        }
        found = [
            np.linalg.norm(velocity[:, parts[joint]], axis=1)
            if len(parts[joint]) > 1
            else velocity[:, parts[joint][0]]
            for one in self.classes
            for joint in one.joints
            if joint in parts
        ]
        return np.stack(found, axis=1) if found else np.zeros((len(posture), 0))

    def with_classes(self, classes: Sequence[PassiveJoints]) -> "DrivenChain":
        """Return the chain with other friction of joints without a drive."""
        return replace(self, classes=tuple(classes))

    def continued(self) -> "DrivenChain":
        """See `mechanism.Chain`."""
        return replace(self, continues=True, _recent={})

    def with_bodies(self, mass: Array, com: Array, inertia: Array) -> "DrivenChain":
        """See `mechanism.Chain`; the cached postures and motions stay valid."""
        return replace(self, whole=replace(self.whole, mass=mass, com=com, inertia=inertia))

    def _moved(self, linearised: Linearised, rest: Array) -> Array:
        """Convert torques of all joints, (N, whole.n), to torques of the drives by virtual work."""
        known, solved = list(linearised.branch.known), list(linearised.branch.solved)
        unit = linearised.branch.unit
        carried = apply(linearised.ratio.transpose(0, 2, 1), rest[:, solved] * unit[solved])
        return np.asarray(rest[:, known] + carried / unit[known])

    def condition(self, start: Array, target: Array) -> Array:
        """Return the greatest condition number on straight paths, shape
        (K,), see `mechanism.Chain`.
        """
        if not np.any(start != target):
            return self._condition_of(*self._reach(start))
        way, part = (target - start)[:, None], np.linspace(0.0, 1.0, _PLACES)
        places = start[:, None] + part[:, None] * way
        posture, reached = self._reach(places.reshape(-1, start.shape[1]))
        found = self._condition_of(posture, reached).reshape(-1, _PLACES)
        greatest = np.asarray(found.max(axis=1))
        beside = np.pad(found, ((0, 0), (1, 1)), constant_values=-np.inf)
        peaks = (
            (found > beside[:, :-2])
            & (found >= beside[:, 2:])
            & (found > _PEAK * greatest[:, None])
            & np.isfinite(greatest)[:, None]
            & np.any(start != target, axis=1)[:, None]
        )
        row, k = np.nonzero(peaks)
        middle, top, width = part[k], found[row, k], part[1]
        near = np.repeat(posture[_PLACES * row + k], 2, axis=0)
        for _ in range(_CLOSER if len(row) else 0):
            width *= 0.5
            tried = np.clip(middle[:, None] + [-width, width], 0.0, 1.0)
            wanted = (start[row, None] + tried[..., None] * way[row]).reshape(-1, start.shape[1])
            values = self._condition_of(
                *self._branch.follow_near(near, np.ones(len(near)), wanted, _WORST, _LEAST)
            ).reshape(-1, 2)
            side = np.argmax(values, axis=1)[:, None]
            higher = np.take_along_axis(values, side, axis=1)[:, 0]
            middle = np.where(higher > top, np.take_along_axis(tried, side, axis=1)[:, 0], middle)
            top = np.maximum(top, higher)
        np.maximum.at(greatest, row, top)
        return greatest

    def _condition_of(self, posture: Array, reached: Array) -> Array:
        """Return the condition numbers of postures, (N, whole.n), shape (N,); infinite where
        the reached fraction, (N,), of the path to the posture is below 1.
        """
        condition = np.full(len(posture), np.inf)
        there = np.flatnonzero(reached >= 1.0)
        for rows in blocks(len(there)):
            condition[there[rows]] = self._branch.condition(posture[there[rows]])
        return condition

    def farthest(self, q: Array) -> tuple[Array, Array]:
        """See `mechanism.Chain`."""
        posture, reached = self._reach(q)
        return reached, np.concatenate(
            [self._branch.condition(posture[rows]) for rows in blocks(len(q))]
        )

    def reach(self, driven: Mechanism) -> Array:
        """Return the range of each drive alone, shape (n, 2), see `mechanism.Chain`."""
        branch = self._branch
        far = 2.0 * np.pi * np.diag(branch.unit[list(branch.known)])
        ways = np.concatenate((-far, far))
        reached = branch.follow(ways, _WORST, _LEAST)[1]
        return np.asarray((reached[:, None] * ways).sum(axis=1).reshape(2, driven.n).T)

    def _states(
        self, driven: Mechanism, q: ArrayLike, dq: ArrayLike | None, ddq: ArrayLike | None
    ) -> tuple[Array, Array]:
        """Return positions of all joints, (N, whole.n), and velocities and accelerations of the
        driven joints, (2, N, n).
        """
        posture = self.posture(driven, q)
        return posture, np.array(
            [
                np.zeros((len(posture), driven.n))
                if rate is None
                else batch(name, rate, driven, len(posture))
                for name, rate in (("dq", dq), ("ddq", ddq))
            ]
        )

    def _as(self, driven: Mechanism) -> Mechanism:
        """Return the whole chain with gravity and bearings of `driven`, and with the friction of
        the joints without a drive.
        """
        bearings = list(self.whole.bearings)
        for j, bearing in zip(self.whole.active, driven.bearings, strict=True):
            bearings[j] = bearing
        m = replace(self.whole, gravity=driven.gravity, bearings=tuple(bearings), rotors=None)
        return with_friction(without_friction(m), self.classes)

    @cached_property
    def _branch(self) -> Branch:
        return branch_of(self.whole, self.whole.active)

    def _balance(self, m: Mechanism, posture: Array, rates: Array) -> ForceBalance:
        """Return the balance of a mechanism of this geometry in one block; the last motions
        are kept for other masses.
        """
        key = posture.tobytes() + rates.tobytes()
        if key not in self._known:
            kept = sum(len(one.motion.q) for one in self._known.values())
            while self._known and kept + len(posture) > _KEPT:
                kept -= len(self._known.pop(next(iter(self._known))).motion.q)
            self._known[key] = LoopsInMotion(m, closed_rates(self._branch, posture, *rates))
        return ForceBalance(m, self._known[key])

    def _reach(self, wanted: Array, motion: bool = False) -> tuple[Array, Array]:
        """Return the last closed posture on each straight path from q = 0 to `wanted`, and the
        completed part of the path; rows of a `motion` are near their neighbours.
        """
        if not len(wanted):
            return np.zeros((0, self.whole.n)), np.ones(0)
        # repeated rows are solved once
        first = np.concatenate(([True], np.any(np.diff(wanted, axis=0) != 0.0, axis=1)))
        again, single = np.cumsum(first) - 1, wanted[first]
        if (key := single.tobytes()) not in self._recent:
            found = self._follow(single, motion)
            if len(self._recent) == _RECENT:
                del self._recent[next(iter(self._recent))]
            self._recent[key] = found
        posture, reached = self._recent[key]
        return posture[again], reached[again]

    def _follow(self, wanted: Array, motion: bool) -> tuple[Array, Array]:
        """As `Branch.follow`; a `continued` chain starts from the previous postures."""
        branch = self._branch
        last = next(
            (found for found in reversed(self._recent.values()) if len(found[0]) == len(wanted)),
            None,
        )
        if self.continues and last is not None and branch.solved:
            return branch.follow_near(*last, wanted, _WORST, _LEAST)
        follow = branch.follow_motion if motion and branch.solved else branch.follow
        return follow(wanted, _WORST, _LEAST)


def _loads(balance: ForceBalance, external: Array | None) -> JointLoads:
    return (
        balanced_torque(balance, external).loads
        if rubs(balance.mechanism)
        else balance.loads(external=external).joints
    )
