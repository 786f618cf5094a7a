"""Named arrays of joint loads, and the derivatives of the wrenches from which they follow."""

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from stribeck.ident.arrays import Array
from stribeck.ident.errors import InputError

LOADS = ("torque", "bending", "radial", "axial", "normal")
# every load is a weighted sum of these parts
LOAD_PARTS = ("torque", "bending", "radial", "axial", "twist")


@dataclass(frozen=True)
class JointLoads:
    """Loads of every joint along a motion, or at one sample (then the arrays have no axis N).

    Attributes
    ----------
    torque : ndarray, shape (N, n)
        Transmitted torque ``|tau_rigid|`` (force, where prismatic), link side, without rotor
        inertia. If motors move several joints, this is the torque of the joint's own motor.
    bending : ndarray, shape (N, n)
        ``|m - n(n.m)|`` [N·m].
    radial, axial : ndarray, shape (N, n)
        ``|f - n(n.f)|`` and ``|n.f|`` [N].
    normal : ndarray, shape (N, n)
        Normal load of Eq. 47 [N·m; N where prismatic]; nan where the bearing is unknown.
    tau : ndarray, shape (N, n)
        Signed rigid-body torque (force) of the drive [N·m or N].
    force, moment : ndarray, shape (N, n, 3)
        Force [N], and moment about the joint origin [N·m], that the joint exerts
        on its subtree; base axes.
    """

    torque: Array
    bending: Array
    radial: Array
    axial: Array
    normal: Array
    tau: Array
    force: Array
    moment: Array

    def at(self, row: int) -> "JointLoads":
        """Return the loads at one sample, without the axis N."""
        return JointLoads(*(getattr(self, one.name)[row] for one in fields(self)))

    def get(self, load: str) -> Array:
        """Return a load by name, shape (N, n)."""
        if load not in LOADS:
            raise InputError(f"unknown load {load!r} (valid: {', '.join(LOADS)})")
        return np.asarray(getattr(self, load))


@dataclass(frozen=True)
class WrenchSlopes:
    """Force and moment that one joint transmits in a block of samples, and their derivatives by
    changes of the links' inertial parameters; the third of the joint's own axes is the joint axis.

    Attributes
    ----------
    rows : slice
        Samples of the block.
    joint : int
        Index of the joint.
    wrench : ndarray, shape (2, 3, N)
        Force on the subtree, and moment about the joint origin, in own axes [N, N·m].
    columns : ndarray of int, shape (c,)
        Changes that the wrench depends on.
    slopes : ndarray, shape (2, 3, c, N)
        Derivatives of the wrench by these changes.
    base : ndarray, shape (3, 3, N)
        ``base[:, i]`` is base axis i in the joint's own axes.
    """

    rows: slice
    joint: int
    wrench: Array
    columns: NDArray[np.int_]
    slopes: Array
    base: Array
