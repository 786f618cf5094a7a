"""Loads of joints from the reaction forces that MuJoCo computes."""

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from stribeck.ident.arrays import Array
from stribeck.ident.model.loads import LOAD_PARTS

if TYPE_CHECKING:
    import mujoco

# for einsum; np.cross costs several times as much
_CROSS = np.cross(np.eye(3)[:, None], np.eye(3)).transpose(2, 0, 1)


class Reactions:
    """Wrenches between the links of joints, from the present accelerations in MuJoCo's data.

    Parameters
    ----------
    model : mujoco.MjModel
    data : mujoco.MjData
    joints : ndarray of int, shape (n,)
        Hinges and slides of the model.
    """

    def __init__(
        self, model: "mujoco.MjModel", data: "mujoco.MjData", joints: NDArray[np.int_]
    ) -> None:
        import mujoco

        self._update = partial(mujoco.mj_rnePostConstraint, model, data)
        body, slides = (
            model.jnt_bodyid[joints],
            model.jnt_type[joints] == mujoco.mjtJoint.mjJNT_SLIDE,
        )
        self._joints, self._body, self._root = joints, body, model.body_rootid[body]
        self._reaction, self._centre, self._origin = data.cfrc_int, data.subtree_com, data.xpos
        self._axis, self._turned = data.xaxis, data.xmat
        place = model.jnt_pos[joints]
        # of a joint's origin on its link; xanchor of a slide does not move along
        self._place = place if place.any() else None
        self._drive_entries = 2 * np.arange(len(joints)) + slides  # of (n, 2), flattened
        self._parts = np.zeros((len(LOAD_PARTS), len(joints)))

    def update(self) -> tuple[Array, Array]:
        """Compute the reactions at the present motion.

        Returns
        -------
        parts : ndarray, shape (5, n)
            `LOAD_PARTS` of each joint, not negative; a buffer that the next call overwrites.
        drive : ndarray, shape (n,)
            Torque about, or force along, each axis that moves the links beyond the joint.
        """
        self._update()
        wrench, axis, parts = self._wrenches(), self._axis[self._joints], self._parts
        along = np.einsum("jkc,jc->jk", wrench, axis)
        wrench -= along[:, :, None] * axis[:, None]
        # the rest is perpendicular to the axis
        np.sqrt(np.einsum("jkc,jkc->kj", wrench, wrench), out=parts[1:3])
        drive = along.ravel()[self._drive_entries]
        parts[0], parts[3], parts[4] = drive, along[:, 1], along[:, 0]
        np.abs(parts, out=parts)
        return parts, drive

    def _wrenches(self) -> Array:
        """Return moment and force on the subtree of each joint, about the joint's origin, in
        base axes, shape (n, 2, 3).
        """
        wrench = self._reaction[self._body].reshape(-1, 2, 3)
        # MuJoCo's moment is about the tree's centre of mass
        lever = self._centre[self._root] - self._origin[self._body]
        if self._place is not None:
            lever -= np.einsum(
                "jab,jb->ja", self._turned[self._body].reshape(-1, 3, 3), self._place
            )
        wrench[:, 0] += np.einsum("abc,jb,jc->ja", _CROSS, lever, wrench[:, 1])
        return wrench
