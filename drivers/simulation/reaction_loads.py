"""True loads of the simulated arm's joints from MuJoCo's reaction forces, never from our model."""

from collections.abc import Sequence
from math import sqrt

import mujoco
import numpy as np

from stribeck.drivers.simulation.physics_model import Axes
from stribeck.drivers.simulation.truth import JointTruth
from stribeck.ident.errors import InputError


class ReactionLoads:
    """Computes the true load of each joint, of the kind in its truth, from
    MuJoCo's reaction forces.

    ``cfrc_int`` is the wrench that each body's parent exerts on the body: moment first, in world
    axes, about the centre of mass of the body's whole tree.
    """

    def __init__(self, model: "mujoco.MjModel", joints: Sequence[JointTruth], axes: Axes) -> None:
        self._axes = axes
        self._body = model.jnt_bodyid[axes.drives].copy()
        self._root = model.body_rootid[self._body].copy()
        self._start = model.qpos0[axes.drives].copy()
        n = len(self._body)
        if len(set(self._body)) < n:
            raise InputError(
                "the simulated arm needs one joint per body; split the bodies that have several "
                "joints"
            )
        kinds = [joint.load for joint in joints]
        self._slides: list[bool] = (
            model.jnt_type[axes.drives] == mujoco.mjtJoint.mjJNT_SLIDE
        ).tolist()
        # weights of axial, radial, bending and moment for each joint
        self._counts = [(0.0, 0.0, 0.0, 0.0)] * n
        for j, (kind, joint) in enumerate(zip(kinds, joints, strict=True)):
            if kind == "torque":
                self._counts[j] = (1.0, 0.0, 0.0, 0.0) if self._slides[j] else (0.0, 0.0, 0.0, 1.0)
            elif kind in ("radial", "axial"):
                self._counts[j] = (float(kind == "axial"), float(kind == "radial"), 0.0, 0.0)
            elif kind == "bending":
                self._counts[j] = (0.0, 0.0, 1.0, 0.0)
            elif kind == "normal" and joint.bearing is not None:
                pin, arm, bending = (
                    joint.bearing.pin_radius,
                    joint.bearing.friction_arm,
                    joint.bearing.bending_arm,
                )
                self._counts[j] = (
                    (0.0, 1.0, 1.0 / bending, 1.0 / arm)
                    if self._slides[j]
                    else (arm, pin, pin / bending, 0.0)
                )

    def __call__(self, data: "mujoco.MjData") -> tuple[list[float], list[float]]:
        """Return the load and the signed transmitted torque of each joint; call after
        ``mj_rnePostConstraint``.
        """
        axes = data.xaxis[self._axes.drives]
        origins = data.xanchor[self._axes.drives] - data.subtree_com[self._root]
        # MuJoCo's anchor of a slide is fixed, but the origin of the joint moves with its link
        if any(self._slides):
            origins += (np.array(self._slides) * (self._axes.link(data.qpos) - self._start))[
                :, None
            ] * axes
        load, transmitted = [], []
        for (mx, my, mz, fx, fy, fz), (rx, ry, rz), (nx, ny, nz), counts, slide in zip(
            data.cfrc_int[self._body].tolist(),
            origins.tolist(),
            axes.tolist(),
            self._counts,
            self._slides,
            strict=True,
        ):
            mx, my, mz = (
                mx - (ry * fz - rz * fy),
                my - (rz * fx - rx * fz),
                mz - (rx * fy - ry * fx),
            )
            axial, moment = fx * nx + fy * ny + fz * nz, mx * nx + my * ny + mz * nz
            radial = sqrt(max(0.0, fx * fx + fy * fy + fz * fz - axial * axial))
            bending = sqrt(max(0.0, mx * mx + my * my + mz * mz - moment * moment))
            load.append(
                counts[0] * abs(axial)
                + counts[1] * radial
                + counts[2] * bending
                + counts[3] * abs(moment)
            )
            transmitted.append(axial if slide else moment)
        return load, transmitted
