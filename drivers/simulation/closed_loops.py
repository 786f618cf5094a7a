"""Closed loops of the simulated machine as MuJoCo's equality constraints: closing them, and the
motion that drives cause.
"""

from dataclasses import dataclass

import mujoco
import numpy as np
from numpy.typing import NDArray

from stribeck.drivers.arm import Array
from stribeck.drivers.errors import DriverError
from stribeck.ident.model.files.mujoco_loops import (
    CLOSED,
    close_by_constraints,
    constraint_jacobian,
)

SOLIMP = [0.9999, 0.9999, 0.001, 0.5, 2.0]  # the stiffest constraints that MuJoCo offers


@dataclass(frozen=True)
class ClosedLoops:
    """Equality constraints of a model and the drives that move it.

    Attributes
    ----------
    model : mujoco.MjModel
        The model, with equality constraints.
    drives, others : ndarray of int
        Degrees of freedom with a drive, and the other ones, which the loops move.
    """

    model: "mujoco.MjModel"
    drives: NDArray[np.int_]
    others: NDArray[np.int_]

    def close(self, data: "mujoco.MjData", q: Array) -> None:
        """Put the drives at q, shape (n,), at rest, and all other joints where the loops close.

        The drives move along a straight line from q = 0.

        Raises
        ------
        DriverError
            If the loops do not close along this line.
        """
        if close_by_constraints(self.model, data, self.drives, q) > CLOSED:
            raise DriverError(
                "the simulated machine's loops do not close with the drives at "
                f"{np.round(q, 4).tolist()}"
            )

    def moves(self, data: "mujoco.MjData") -> Array:
        """Return the Jacobian of all joint velocities by drive velocities, shape (nv, n); call
        after ``mj_fwdPosition``.
        """
        J = constraint_jacobian(self.model, data)
        out = np.zeros((self.model.nv, len(self.drives)))
        out[self.drives] = np.eye(len(self.drives))
        out[self.others] = -np.linalg.lstsq(J[:, self.others], J[:, self.drives], rcond=1e-12)[0]
        return out
