"""True loads of the simulated arm's joints at given positions and constant speeds, from
MuJoCo's reaction forces.
"""

import copy

import mujoco
import numpy as np

from stribeck.drivers.arm import Array
from stribeck.drivers.simulation.physics_model import PhysicsModel
from stribeck.drivers.simulation.reaction_loads import ReactionLoads

_HELD = 1e6  # kg or kg·m²: so heavy that drives keep their speeds
_SETTLING = 40  # steps in which the forces of loops settle


class Scales:
    """Computes the true loads of an arm in any state.

    In a closed chain, the drives keep their speeds until the forces in its loops have settled.

    Parameters
    ----------
    physics : PhysicsModel
        The arm; loads in motion need its time step to be set.
    """

    def __init__(self, physics: PhysicsModel) -> None:
        self._physics, self._model = physics, physics.model
        if physics.loops is not None:
            self._model = copy.copy(physics.model)
            self._model.dof_armature[physics.axes.drives] = _HELD
            self._model.dof_frictionloss[:] = self._model.dof_damping[:] = 0.0
            # next to such masses, the solver would neglect the forces of the loops
            self._model.opt.tolerance = 0.0
            self._model.eq_solref[:] = [2.0 * self._model.opt.timestep, 1.0]
        self._data = mujoco.MjData(self._model)
        self._loads = ReactionLoads(self._model, physics.truth.joints, physics.axes)

    def __call__(self, q: Array, rate: Array | None = None) -> tuple[list[float], list[float]]:
        """Return load and signed transmitted torque of each joint at positions q and speeds `rate`
        of the drives, shape (n,).
        """
        data, model, drives = self._data, self._model, self._physics.axes.drives
        speeds = np.zeros(len(q)) if rate is None else rate
        if (loops := self._physics.loops) is None:
            data.qvel[:] = 0.0
            self._physics.stand(data, q)
            data.qvel[drives] = speeds
            mujoco.mj_fwdVelocity(model, data)
            data.qacc[:] = 0.0
        else:
            loops.close(data, q - _SETTLING * model.opt.timestep * speeds)
            data.qvel[:] = loops.moves(data) @ speeds
            data.qacc_warmstart[:] = 0.0
            for _ in range(_SETTLING):
                mujoco.mj_step(model, data)
            mujoco.mj_forward(model, data)
        mujoco.mj_rnePostConstraint(model, data)
        return self._loads(data)
