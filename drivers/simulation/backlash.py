"""Play between drive and link of simulated joints: the spring between them
acts only beyond the gap.

MuJoCo's spring of an elastic joint gets, before each physics step, the flank that its deflection
touches: stiffness, damping and rest position at the edge of the gap; within the gap, no spring at
all. A flank pushes and never pulls.
"""

import mujoco
import numpy as np

from stribeck.drivers.arm import Array
from stribeck.drivers.simulation.truth import Truth

_BALANCED = 1e-9  # N·m of weight up to which a link rests in the middle of its gap


class Gaps:
    """Gaps of an arm's elastic joints.

    Parameters
    ----------
    model : mujoco.MjModel
        The compiled model, with the full stiffness of all springs.
    springs : ndarray of int
        The springs between drives and links among MuJoCo's joints.
    play : ndarray, shape (len(springs),)
        Width of each gap [rad or m].
    """

    def __init__(self, model: "mujoco.MjModel", springs: np.ndarray, play: Array) -> None:
        own = np.flatnonzero(play > 0.0)
        self._springs, self._half = springs[own], 0.5 * play[own]
        self._stiffness, self._damping = (
            model.jnt_stiffness[self._springs].copy(),
            model.dof_damping[self._springs].copy(),
        )
        self._rows = list(
            zip(
                self._springs.tolist(),
                self._half.tolist(),
                self._stiffness.tolist(),
                self._damping.tolist(),
                strict=True,
            )
        )

    def __bool__(self) -> bool:
        return bool(self._rows)

    def lean(self, model: "mujoco.MjModel", data: "mujoco.MjData") -> None:
        """Rest each link on the flank that its weight presses; call it after
        ``mj_fwdVelocity``, until the arm stands.
        """
        weight = data.qfrc_bias[self._springs]
        model.jnt_stiffness[self._springs] = self._stiffness
        model.qpos_spring[self._springs] = np.where(
            np.abs(weight) > _BALANCED, -np.sign(weight) * self._half, 0.0
        )
        mujoco.mj_passive(model, data)

    def touch(self, model: "mujoco.MjModel", data: "mujoco.MjData") -> None:
        """Set the spring of each joint for the next physics step."""
        for spring, half, stiffness, damping in self._rows:
            x, rate = data.qpos[spring], data.qvel[spring]
            side = 1.0 if x > half else -1.0 if x < -half else 0.0
            pushes = side != 0.0 and side * (stiffness * (x - side * half) + damping * rate) > 0.0
            model.qpos_spring[spring] = side * half
            model.jnt_stiffness[spring], model.dof_damping[spring] = (
                (stiffness, damping) if pushes else (0.0, 0.0)
            )


def gaps_of(model: "mujoco.MjModel", truth: Truth, springs: np.ndarray, owner: np.ndarray) -> Gaps:
    """Return the gaps of an arm; `owner` has the joint of each spring."""
    return Gaps(model, springs, np.nan_to_num(truth.column("backlash")[owner]))
