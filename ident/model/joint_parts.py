"""Optional parts of joints: bearing, spring, friction, joints of several
axes, cut joints, followers.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np

from stribeck.ident.arrays import Array


@dataclass(frozen=True)
class Bearing:
    """Bearing geometry that converts joint forces and moments into a normal load (Eq. 47).

    Attributes
    ----------
    pin_radius : float
        R_p, radius at which friction of the radial force acts [m].
    friction_arm : float
        R_n, arm at which friction of the axial force acts [m].
    bending_arm : float
        R_b, lever arm over which the bearing supports the bending moment [m].
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
    """Spring and damper of an elastic joint; the spring is relaxed at position zero.

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
    """Friction of a joint as stated in the mechanism's file.

    Attributes
    ----------
    law : str
        Name of the friction law.
    load : str
        Name of the load that the coefficients multiply; "none" for friction without a load.
    parameters : mapping of str to float
        Parameters of the friction law.
    """

    law: str
    load: str
    parameters: Mapping[str, float]


@dataclass(frozen=True)
class Ball:
    """Spherical or universal joint: coincident revolute joints with one common
    friction moment (P4, Eqs. 3-5).

    Attributes
    ----------
    name : str
        Name for messages.
    joints : tuple of int
        Its revolute joints, from the ground outwards; their axes meet in one point.
    friction_arm : float
        Friction coefficient times ball radius: ratio of friction moment to resultant reaction [m].
    """

    name: str
    joints: tuple[int, ...]
    friction_arm: float = 0.0


@dataclass(frozen=True)
class Closure:
    """A cut joint of a loop: a point on link a and a point on link b coincide (P0, section 2.4).

    Pins and rigid closures have no friction. Put a hinge with friction into the tree, and cut
    the loop at another joint.

    Attributes
    ----------
    name : str
        Name for messages.
    kind : str
        "pin" (turns about one axis), "spherical" or "rigid".
    links : tuple of int
        Joints that carry links a and b; -1 is the ground.
    points : ndarray, shape (2, 3)
        Point on a and point on b, each from the joint origin of its link,
        in base axes at q = 0 [m].
    axis : ndarray, shape (3,)
        Axis of a pin, fixed to a and to b, in base axes at q = 0.
    friction_arm : float
        As in `Ball`; for spherical closures only [m].
    """

    name: str
    kind: Literal["pin", "spherical", "rigid"]
    links: tuple[int, int]
    points: Array
    axis: Array
    friction_arm: float = 0.0

    @cached_property
    def across(self) -> Array:
        """Directions, fixed to link a, about which the closure prevents
        rotation, shape (0, 2 or 3; 3).
        """
        if self.kind == "spherical":
            return np.zeros((0, 3))
        if self.kind == "rigid":
            return np.eye(3)
        first = np.cross(self.axis, np.eye(3)[np.argmin(np.abs(self.axis))])
        first /= np.linalg.norm(first)
        return np.array([first, np.cross(self.axis, first)])


@dataclass(frozen=True)
class Follower:
    """A joint with its link that a transmission couples to a leader: q = ratio q_leader
    + shift (URDF ``mimic``).

    A follower has no drive and no column in arrays of joint values. The leader's drive moves it.

    Attributes
    ----------
    name : str
        Name of the joint.
    leader : int
        Index of the joint that the follower follows; -1 for a follower that is held at
        `shift` (its ratio is 0).
    ratio, shift : float
        Follower travel per leader travel, and follower position at leader position zero [rad or m].
    parent : int
        Index of the joint that carries the follower: -1 is the ground,
        indices from n on are followers.
    prismatic, axis, origin, mass, com, inertia
        As in `Mechanism`, for this joint.
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
