"""Named arrays of joint loads."""

from dataclasses import dataclass, fields

import numpy as np

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
