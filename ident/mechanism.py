"""The rigid-body model in natural coordinates: a tree of revolute and prismatic joints."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


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
class Mechanism:
    """A tree of n joints, each carrying one link (P0, section 2.1).

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

    @property
    def n(self) -> int:
        """Number of joints."""
        return len(self.names)

    def unit(self, joint: int) -> str:
        """Unit of the joint's drive torque or force."""
        return "N" if self.prismatic[joint] else "N·m"
