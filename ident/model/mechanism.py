"""The rigid-body model in natural coordinates: a tree of revolute and prismatic
joints, closed by cut joints.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stribeck.ident.arrays import Array
from stribeck.ident.model.joint_parts import Ball, Bearing, Closure, Follower, JointFriction, Spring
from stribeck.ident.model.link_constants import LinkConstants, link_constants, own_axes
from stribeck.ident.model.load_arrays import JointLoads, WrenchSlopes
from stribeck.ident.model.transmission import Transmission


@dataclass(frozen=True)
class PassiveJoints:
    """Friction of a class of alike joints without a drive in a closed chain.

    Attributes
    ----------
    name : str
        Name of the class for messages.
    joints : tuple of str
        Either joints of one axis, or spherical joints, universal joints and spherical closures.
    load : str
        Load with which the friction of joints of one axis grows.
    values : mapping of str to float
        Friction parameters; omitted parameters are zero.
    stated : bool
        True if the arm file states the friction; False if the friction is to be identified.
    """

    name: str
    joints: tuple[str, ...]
    load: str = "radial"
    values: Mapping[str, float] = field(default_factory=dict)
    stated: bool = False


class Chain(Protocol):
    """Functions of a closed chain for its driven joints (`driven.driven_joints`); gravity and
    bearings come from `driven`.
    """

    @property
    def whole(self) -> "Mechanism":
        """The closed chain with all its joints."""

    def posture(self, driven: "Mechanism", q: ArrayLike) -> Array:
        """Return the positions of all joints for given positions of the driven
        joints, shape (N, whole.n).
        """

    def torque(
        self,
        driven: "Mechanism",
        q: ArrayLike,
        dq: ArrayLike | None,
        ddq: ArrayLike | None,
        external: ArrayLike | None,
    ) -> Array:
        """As `inverse_dynamics`; external forces act on the links of the whole chain."""

    def loads(
        self,
        driven: "Mechanism",
        q: ArrayLike,
        dq: ArrayLike | None,
        ddq: ArrayLike | None,
        external: ArrayLike | None,
    ) -> JointLoads:
        """As `joint_loads`; external forces act on the links of the whole chain."""

    def regressor(
        self, driven: "Mechanism", q: ArrayLike, dq: ArrayLike | None, ddq: ArrayLike | None
    ) -> Array:
        """As `torque_regressor`, with columns for the parameters of all links of the chain."""

    def wrench_slopes(
        self,
        driven: "Mechanism",
        directions: Array,
        q: ArrayLike,
        dq: ArrayLike | None,
        ddq: ArrayLike | None,
    ) -> Iterator[WrenchSlopes] | None:
        """As `wrench_slopes` for the driven joints, by parameters of all links of the chain.

        None if wrenches are not linear in the parameters, because joints without a drive have
        friction, or if a rule shares internal forces.
        """

    @property
    def classes(self) -> tuple[PassiveJoints, ...]:
        """Classes of joints without a drive whose friction is known or to be identified."""

    def rubbing_rates(self, driven: "Mechanism", q: ArrayLike, dq: ArrayLike) -> Array:
        """Return the velocities of the k joints in `classes`, shape (N, k)."""

    def with_classes(self, classes: Sequence[PassiveJoints]) -> "Chain":
        """Return the chain with other classes of joints without a drive."""

    def continued(self) -> "Chain":
        """Return the chain in a mode that starts each search of postures from the previous
        postures if they are near.

        This mode is fast for searches over many motions that differ little. Its rounding errors
        differ from the default mode.
        """

    def with_bodies(self, mass: Array, com: Array, inertia: Array) -> "Chain":
        """Return the chain with other masses, centres of mass and inertias of its links."""

    def condition(self, start: Array, target: Array) -> Array:
        """Return the greatest condition number of the passive joints' Jacobian on straight paths
        start -> target, shape (K,).

        Arrays `start` and `target` have shape (K, n). The result is infinite for a
        path that leads out of reach.
        """

    def farthest(self, q: Array) -> tuple[Array, Array]:
        """Return the reachable fraction of the straight path from q = 0 to each posture, and the
        condition number at its end.

        `q` has shape (N, n), both results have shape (N,).
        """

    def reach(self, driven: "Mechanism") -> Array:
        """Return the range of each drive, down and up from zero, while the other drives
        stay at zero, shape (n, 2).

        The range is limited to one turn, or to 2 pi characteristic lengths.
        """


@dataclass(frozen=True)
class Mechanism:
    """A tree of n joints, each carrying one link, and the closures that form loops in
    the tree (P0, section 2.1).

    At q = 0 all link frames are parallel to the base frame, so axes, origins, centres of mass and
    inertias are all written in base axes.

    Attributes
    ----------
    name : str
        Name for messages.
    names : tuple of str
        Joint names, parents before children. Arrays of joint values have
        their columns in this order.
    parent : tuple of int
        Index of the parent joint; -1 is the ground.
    prismatic : ndarray of bool, shape (n,)
        True where the joint slides.
    axis : ndarray, shape (n, 3)
        Unit vector of the joint axis.
    origin : ndarray, shape (n, 3)
        Joint origin, from the parent's origin (from the base origin for parent -1) [m].
    mass : ndarray, shape (n,)
        Link mass [kg].
    com : ndarray, shape (n, 3)
        Centre of mass, from the joint's origin [m].
    inertia : ndarray, shape (n, 3, 3)
        Link inertia about its centre of mass [kg·m²].
    gravity : ndarray, shape (3,)
        Gravitational acceleration in base axes [m/s²].
    position : ndarray, shape (n, 2)
        Joint range that the model allows; infinite where the model states no limits [rad or m].
    bearings : tuple of Bearing or None
        Bearing of each joint, where known.
    closures : tuple of Closure
        Cut joints of closed chains; empty for an open chain.
    passive : tuple of int
        Joints without a drive.
    springs : mapping of int to Spring
        Springs of elastic joints. The spring of a driven joint acts in parallel with the drive.
    friction : mapping of int to JointFriction
        Friction of the joints for which the model's file states friction.
    rotors : ndarray, shape (n, n), or None
        Rotor part of the mass matrix, from the model's file or the arm file [kg·m² or kg]. Driving
        torques and simulation include the rotors. Functions of the links (`inverse_dynamics`,
        `joint_loads`, `mass_matrix`) do not.
    balls : tuple of Ball
        Spherical and universal joints of the tree.
    followers : tuple of Follower
        Further joints, each moved by a leader. Torques, loads, mass matrix and accelerations
        include the followers. Functions of every link (`joint_wrenches`, `kinematics`, `bodies`,
        closed chains) refuse followers; give them `tree`, in which followers are independent
        joints.
    transmission : Transmission, optional
        Coupling of motors and joints, if not every joint has its own motor.
    sharing : str
        Rule for loads of an overconstrained chain that rigid bodies do not determine: "equal"
        shares them as if all joints were equally stiff; with "unknown" they are nan.
    chain : Chain or None
        The closed chain, if this mechanism holds only its driven joints. Torques, loads, mass
        matrix and accelerations are those of the whole chain. Functions of every link, or of a
        tree, refuse such a mechanism.

    Examples
    --------
    >>> from stribeck import load_mechanism
    >>> arm = load_mechanism("lab6")
    >>> arm, round(float(arm.mass.sum()), 1)
    (<Mechanism lab6: 6 joints j1, j2, j3, j4, j5, j6>, 16.3)
    """

    name: str
    names: tuple[str, ...]
    parent: tuple[int, ...]
    prismatic: NDArray[np.bool_]
    axis: Array
    origin: Array
    mass: Array
    com: Array
    inertia: Array
    gravity: Array
    position: Array
    bearings: tuple[Bearing | None, ...]
    closures: tuple[Closure, ...] = ()
    passive: tuple[int, ...] = ()
    springs: Mapping[int, Spring] = field(default_factory=dict)
    friction: Mapping[int, JointFriction] = field(default_factory=dict)
    rotors: Array | None = None
    balls: tuple[Ball, ...] = ()
    followers: tuple[Follower, ...] = ()
    transmission: Transmission | None = None
    chain: Chain | None = None
    sharing: Literal["unknown", "equal"] = "unknown"

    def __repr__(self) -> str:
        return (
            f"<Mechanism {self.name}: {self.n} joint{'s' * (self.n != 1)} {', '.join(self.names)}>"
        )

    @property
    def n(self) -> int:
        """Number of joints."""
        return len(self.names)

    @property
    def active(self) -> tuple[int, ...]:
        """Joints with a drive."""
        return tuple(joint for joint in range(self.n) if joint not in self.passive)

    def unit(self, joint: int) -> str:
        """Unit of the joint's drive torque or force."""
        return "N" if self.prismatic[joint] else "N·m"

    def position_unit(self, joint: int) -> str:
        """Unit of a joint's position; the unit of its speed is this unit per second."""
        return "m" if self.prismatic[joint] else "rad"

    @cached_property
    def own_axes(self) -> Array:
        """Axes of each link, the third along its joint, in natural coordinates, shape (n, 3, 3)."""
        return own_axes(self.axis)

    @cached_property
    def axis_cross(self) -> Array:
        """Matrices of the vector products with the axes, shape (n, 3, 3)."""
        return np.asarray(np.cross(np.eye(3)[None], self.axis[:, None]))

    @cached_property
    def links(self) -> tuple[LinkConstants, ...]:
        """Constants of every link in its own axes."""
        return link_constants(
            self.parent, self.own_axes, self.origin, self.mass, self.com, self.inertia
        )

    @cached_property
    def carries(self) -> NDArray[np.bool_]:
        """True at [k, j] if joint k carries the link of joint j; every joint carries
        its own link, shape (n, n).
        """
        carries = np.eye(self.n, dtype=bool)
        for j, parent in enumerate(self.parent):
            if parent >= 0:
                carries[:, j] |= carries[:, parent]
        return carries

    @cached_property
    def weightless(self) -> "Mechanism":
        """The same mechanism without gravity."""
        return replace(self, gravity=np.zeros(3))

    @cached_property
    def link_tree(self) -> "Mechanism":
        """Tree of all links that affect the torques: includes the links of followers, or all
        links of the closed chain.
        """
        return self.tree if self.chain is None else replace(self.chain.whole, closures=())

    @cached_property
    def tree(self) -> "Mechanism":
        """The same mechanism with its followers as independent joints, in
        columns behind its own joints.
        """
        if not self.followers:
            return self
        added: dict[str, Any] = {
            key: np.concatenate(
                [getattr(self, key), [getattr(follower, key) for follower in self.followers]]
            )
            for key in ("prismatic", "axis", "origin", "mass", "com", "inertia")
        }
        return replace(
            self,
            names=self.names + tuple(follower.name for follower in self.followers),
            parent=self.parent + tuple(follower.parent for follower in self.followers),
            position=np.vstack(
                [self.position, np.tile([-np.inf, np.inf], (len(self.followers), 1))]
            ),
            rotors=None if self.rotors is None else np.pad(self.rotors, (0, len(self.followers))),
            bearings=self.bearings + (None,) * len(self.followers),
            followers=(),
            transmission=None,
            **added,
        )
