"""Loops of the simulated machine, by MuJoCo's own equality constraints: how they close, what the drives move with them."""

from dataclasses import dataclass

import mujoco
import numpy as np
from numpy.typing import NDArray

from stribeck.drivers.arm import Array
from stribeck.drivers.errors import DriverError

SOLIMP = [0.9999, 0.9999, 0.001, 0.5, 2.0]      # as stiff as MuJoCo makes constraints
_TRAVEL = 0.02          # m or rad that a drive goes in a step on its way to where loops are to be closed
_CLOSED = 1e-12         # m; what counts as closed
_NEWTON = 12            # corrections; from one step to the next it takes three


@dataclass(frozen=True)
class ClosedLoops:
    """Equality constraints of a model and the drives that move it.

    Attributes
    ----------
    model : mujoco.MjModel
        With equality constraints.
    drives, others : ndarray of int
        Degrees of freedom with a drive, and those that the loops move with them.
    """

    model: "mujoco.MjModel"
    drives: NDArray[np.int_]
    others: NDArray[np.int_]

    def close(self, data: "mujoco.MjData", q: Array) -> None:
        """Put the drives at q, shape (n,), at rest, and all other joints where the loops want them: straight from q = 0.

        Raises
        ------
        DriverError
            If the loops do not close on that way.
        """
        data.qpos[:] = self.model.qpos0
        data.qvel[:] = 0.0
        start = data.qpos[self.drives].copy()
        steps = 1 + int(np.abs(q - start).max(initial=0.0) / _TRAVEL)
        for part in np.linspace(0.0, 1.0, steps + 1):
            data.qpos[self.drives] = start + part * (q - start)
            self._correct(data, q)

    def _correct(self, data: "mujoco.MjData", q: Array) -> None:
        for _ in range(_NEWTON):
            mujoco.mj_fwdPosition(self.model, data)
            open_by, J = data.efc_pos[:data.ne], self._jacobian(data)
            if np.abs(open_by).max() < _CLOSED:
                return
            data.qpos[self.others] -= np.linalg.lstsq(J[:, self.others], open_by, rcond=1e-12)[0]
        raise DriverError(f"the simulated machine's loops do not close with its drives at {np.round(q, 4).tolist()}")

    def moves(self, data: "mujoco.MjData") -> Array:
        """Velocities of all joints over those of the drives, shape (nv, n), after ``mj_fwdPosition``."""
        J = self._jacobian(data)
        out = np.zeros((self.model.nv, len(self.drives)))
        out[self.drives] = np.eye(len(self.drives))
        out[self.others] = -np.linalg.lstsq(J[:, self.others], J[:, self.drives], rcond=1e-12)[0]
        return out

    def _jacobian(self, data: "mujoco.MjData") -> Array:
        return np.asarray(data.efc_J.reshape(-1, self.model.nv)[:data.ne])
