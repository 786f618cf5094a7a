"""The rigid-body model in natural coordinates: a tree of revolute and prismatic joints, closed by cut joints."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stribeck.ident.arrays import Array
from stribeck.ident.model.joint_parts import Ball, Bearing, Closure, Follower, JointFriction, Spring
from stribeck.ident.model.link_constants import LinkConstants, link_constants, own_axes
from stribeck.ident.model.load_arrays import JointLoads
from stribeck.ident.model.transmission import Transmission


@dataclass(frozen=True)
class PassiveJoints:
    """Joints of a closed chain that have no drive and are alike: what is known of their friction.

    Attributes
    ----------
    name : str
        What messages call them.
    joints : tuple of str
        Joints of one axis; or spherical and universal joints, and spherical closures.
    load : str
        That the friction of joints of one axis grows with.
    values : mapping of str to float
        Parameters of their friction; those left out are zero.
    stated : bool
        Whether the arm file states their friction; else it is to be identified.
    """

    name: str
    joints: tuple[str, ...]
    load: str = "radial"
    values: Mapping[str, float] = field(default_factory=dict)
    stated: bool = False


class Chain(Protocol):
    """What a closed chain answers for its driven joints (`driven.driven_joints`); gravity and bearings are those of `driven`."""

    @property
    def whole(self) -> "Mechanism":
        """The closed chain with all its joints."""

    def posture(self, driven: "Mechanism", q: ArrayLike) -> Array:
        """Positions of all joints at those of the driven ones, shape (N, whole.n)."""

    def torque(self, driven: "Mechanism", q: ArrayLike, dq: ArrayLike | None, ddq: ArrayLike | None,
               external: ArrayLike | None) -> Array:
        """As `inverse_dynamics`; external forces act on the links of the whole chain."""

    def loads(self, driven: "Mechanism", q: ArrayLike, dq: ArrayLike | None, ddq: ArrayLike | None,
              external: ArrayLike | None) -> JointLoads:
        """As `joint_loads`; external forces act on the links of the whole chain."""

    def regressor(self, driven: "Mechanism", q: ArrayLike, dq: ArrayLike | None, ddq: ArrayLike | None) -> Array:
        """As `torque_regressor`, by the parameters of the links of the whole chain."""

    @property
    def classes(self) -> tuple[PassiveJoints, ...]:
        """Joints without a drive whose friction is known or sought."""

    def rubbing_rates(self, driven: "Mechanism", q: ArrayLike, dq: ArrayLike) -> Array:
        """Velocities of the joints without a drive whose friction is known or sought, shape (N, k)."""

    def with_classes(self, classes: Sequence[PassiveJoints]) -> "Chain":
        """The same chain with other friction of these."""

    def continued(self) -> "Chain":
        """The same chain, which finds postures from those asked for last where these are near, and rounds otherwise.

        It is for searches that ask for one motion after the other, each hardly different from the last.
        """

    def with_bodies(self, mass: Array, com: Array, inertia: Array) -> "Chain":
        """The same chain with other links."""

    def condition(self, start: Array, target: Array) -> Array:
        """Greatest condition number of the passive joints' Jacobian on straight ways start -> target, (K, n) each, shape (K,).

        Infinite where a way leads out of reach.
        """

    def farthest(self, q: Array) -> tuple[Array, Array]:
        """Which part of the straight way from q = 0 to each posture (N, n) is in reach, and the condition number there, (N,)."""

    def reach(self, driven: "Mechanism") -> Array:
        """How far each drive comes from zero, down and up, while the others stand there, shape (n, 2).

        As far as a turn, or as many characteristic lengths.
        """


@dataclass(frozen=True)
class Mechanism:
    """A tree of n joints, each carrying one link, and the closures that make loops of it (P0, section 2.1).

    At q = 0 all link frames are parallel to the base frame, so axes, origins, centres of mass and
    inertias are all written in base axes.

    Attributes
    ----------
    name : str
        What messages call it.
    names : tuple of str
        Joint names, parents before children; columns of every array of joint values.
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
        Joint range that the model allows; infinite where it states none [rad or m].
    bearings : tuple of Bearing or None
        Bearing of each joint, where known.
    closures : tuple of Closure
        Cut joints of closed chains; none for an arm.
    passive : tuple of int
        Joints without a drive.
    springs : mapping of int to Spring
        Elastic joints; one that is not passive has its spring across its drive.
    friction : mapping of int to JointFriction
        Friction of joints, where the model's file states it.
    rotors : ndarray, shape (n, n), or None
        What rotors add to the inertia of the joints, where the model's file or the arm file states it [kg·m² or kg]: driving
        torques and simulation take them; what speaks of links (`inverse_dynamics`, `joint_loads`, `mass_matrix`) does not.
    balls : tuple of Ball
        Spherical and universal joints of the tree.
    followers : tuple of Follower
        Further joints, which others move. Torques, loads, mass matrix and accelerations have them moved with their
        leaders; what speaks of every link (`joint_wrenches`, `kinematics`, `bodies`, closed chains) refuses them:
        there `tree` has them as joints.
    transmission : Transmission, optional
        How motors move the joints, where each has not its own.
    sharing : str
        How the joints of an overconstrained chain share what rigid bodies leave open: "equal", as if all were equally stiff.
    chain : Chain or None
        Where these are the driven joints of a closed chain: what answers for its other joints. Torques, loads, mass matrix and
        accelerations are those of the whole chain; what speaks of every link, or of a tree, refuses it.

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
        return f"<Mechanism {self.name}: {self.n} joint{'s' * (self.n != 1)} {', '.join(self.names)}>"

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
        """Unit of a joint's position; its speed has that per second."""
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
        return link_constants(self.parent, self.own_axes, self.origin, self.mass, self.com, self.inertia)

    @cached_property
    def carries(self) -> NDArray[np.bool_]:
        """Whether joint k carries the link of joint j, its own among them, shape (k, j)."""
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
        """The tree of all links whose inertia torques depend on: followers', and those of a chain that the joints move."""
        return self.tree if self.chain is None else replace(self.chain.whole, closures=())

    @cached_property
    def tree(self) -> "Mechanism":
        """The same mechanism with its followers as independent joints, behind its own."""
        if not self.followers:
            return self
        added: dict[str, Any] = {
            key: np.concatenate([getattr(self, key), [getattr(follower, key) for follower in self.followers]])
            for key in ("prismatic", "axis", "origin", "mass", "com", "inertia")}
        return replace(self, names=self.names + tuple(follower.name for follower in self.followers),
                       parent=self.parent + tuple(follower.parent for follower in self.followers),
                       position=np.vstack([self.position, np.tile([-np.inf, np.inf], (len(self.followers), 1))]),
                       rotors=None if self.rotors is None else np.pad(self.rotors, (0, len(self.followers))),
                       bearings=self.bearings + (None,) * len(self.followers), followers=(), transmission=None, **added)
