"""Parts of joints beside axis and link: bearing, spring, friction, joints of several axes, cut joints, followers."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np

from stribeck.ident.arrays import Array


@dataclass(frozen=True)
class Bearing:
    """Geometry that turns forces into a normal load (Eq. 47).

    Attributes
    ----------
    pin_radius : float
        R_p, radius at which the radial force rubs [m].
    friction_arm : float
        R_n, arm at which the axial force rubs [m].
    bending_arm : float
        R_b, arm over which the bending moment is carried [m].
    """

    pin_radius: float
    friction_arm: float
    bending_arm: float
    __pydantic_config__: ClassVar[dict[str, object]] = {"extra": "forbid", "allow_inf_nan": False}

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not value > 0.0:
                raise ValueError(f"{name} = {value:g} m, a positive length is needed")


@dataclass(frozen=True)
class Spring:
    """Elastic joint: it resists its displacement from zero.

    Attributes
    ----------
    stiffness : float
        K [N·m/rad or N/m].
    damping : float
        D [N·m·s/rad or N·s/m].
    """

    stiffness: float
    damping: float = 0.0
    __pydantic_config__: ClassVar[dict[str, object]] = {"extra": "forbid", "allow_inf_nan": False}

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not value >= 0.0:
                raise ValueError(f"{name} = {value:g}, zero or more is needed")


@dataclass(frozen=True)
class JointFriction:
    """Friction of a joint as a mechanism's file states it.

    Attributes
    ----------
    law : str
        Name of a law.
    load : str
        Name of the load that its coefficients multiply, "none" without.
    parameters : mapping of str to float
        Parameters of the law.
    """

    law: str
    load: str
    parameters: Mapping[str, float]


@dataclass(frozen=True)
class Ball:
    """Spherical or universal joint: coincident revolute joints that rub as one (P4, Eqs. 3-5).

    Attributes
    ----------
    name : str
        What messages call it.
    joints : tuple of int
        The revolute joints it is made of, from the ground outwards; their axes meet in one point.
    friction_arm : float
        Friction coefficient times radius: friction moment over resultant reaction [m].
    """

    name: str
    joints: tuple[int, ...]
    friction_arm: float = 0.0


@dataclass(frozen=True)
class Closure:
    """A joint at which a loop was cut: two points, on two links, that coincide (P0, section 2.4).

    Pins and rigid closures never rub: a hinge with friction belongs in the tree, and the loop is cut elsewhere.

    Attributes
    ----------
    name : str
        What messages call it.
    kind : str
        "pin" (turns about one axis), "spherical" or "rigid".
    links : tuple of int
        Joints that carry the links a and b; -1 is the ground.
    points : ndarray, shape (2, 3)
        The point on a and on b, from the joint origin of each, in base axes at q = 0 [m].
    axis : ndarray, shape (3,)
        Axis of a pin, in base axes at q = 0, fixed to a and to b.
    friction_arm : float
        As in `Ball`; spherical closures only [m].
    """

    name: str
    kind: Literal["pin", "spherical", "rigid"]
    links: tuple[int, int]
    points: Array
    axis: Array
    friction_arm: float = 0.0

    @cached_property
    def across(self) -> Array:
        """Directions about which it does not turn, fixed to link a, shape (0, 2 or 3; 3)."""
        if self.kind == "spherical":
            return np.zeros((0, 3))
        if self.kind == "rigid":
            return np.eye(3)
        first = np.cross(self.axis, np.eye(3)[np.argmin(np.abs(self.axis))])
        first /= np.linalg.norm(first)
        return np.array([first, np.cross(self.axis, first)])


@dataclass(frozen=True)
class Follower:
    """A joint that a transmission moves with another, and its link: q = ratio q_leader + shift (URDF ``mimic``).

    It has no drive and no column of its own; its leader's drive carries it.

    Attributes
    ----------
    name : str
        Of the joint.
    leader : int
        Joint that it follows.
    ratio, shift : float
        Travel per travel of the leader, and position where the leader is at zero [rad or m].
    parent : int
        Joint that carries it: -1 is the ground, from n on the followers.
    prismatic, axis, origin, mass, com, inertia
        As in `Mechanism`, of this joint.
    """

    name: str
    leader: int
    ratio: float
    shift: float
    parent: int
    prismatic: bool
    axis: Array
    origin: Array
    mass: float
    com: Array
    inertia: Array
