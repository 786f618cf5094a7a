r"""Transmissions that couple motors and joints: relation of motor travel to joint travel, and of
motor torque to joint torque.

.. math:: \varphi = R\, q, \qquad \tau = R^T u

Motor travel :math:`\varphi` and motor torque u are taken on the output side of each motor's own
gear. R describes a wrist whose axis 6 is driven through the housing of axis 5, a differential or a
parallelogram. A motor that moves its own joint only has a row of the unit matrix. The second
equation follows from the first by virtual work.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from stribeck.ident.arrays import Array
from stribeck.ident.errors import InputError, unknown_name

# a motor stands still if its travel is below this fraction of the largest contribution of a joint
_STANDS = 0.05
_TIED = 0.01  # of a combination of rows that is zero: parts that are smaller do not count
# condition number of R from which motor positions do not determine joint positions
_SINGULAR = 1e8


@dataclass(frozen=True)
class Transmission:
    """Motors and the joints that they move. Each motor has the name of the joint whose table in
    the arm file describes it.

    Attributes
    ----------
    names : tuple of str
        Names of the joints, which are also the names of the motors.
    ratios : ndarray, shape (n, n)
        R above: travel of each motor (row) per travel of each joint (column).
    """

    names: tuple[str, ...]
    ratios: Array

    @classmethod
    def of_pairs(
        cls, names: Sequence[str], pairs: Mapping[str, Mapping[str, float]]
    ) -> "Transmission":
        """Return the transmission with the ratios motor -> joint -> ratio; the ratio of a
        motor's own joint defaults to 1.

        Raises
        ------
        InputError
            If a name is not the name of a joint, or if motor positions do not
            determine joint positions.
        """
        ratios = np.eye(len(names))
        for motor, row in pairs.items():
            for joint, ratio in {motor: 1.0, **row}.items():
                for name in (motor, joint):
                    if name not in names:
                        raise unknown_name("joint", name, names)
                ratios[names.index(motor), names.index(joint)] = ratio
        return cls(tuple(names), ratios).checked()

    @classmethod
    def of_matrix(cls, names: Sequence[str], matrix: Sequence[Sequence[float]]) -> "Transmission":
        """Return the transmission with the matrix R: one row for each motor, one column for each
        joint, in the model's order.

        Raises
        ------
        InputError
            If the matrix is not square, or if motor positions do not determine joint positions.
        """
        shape = [len(row) for row in matrix]
        if shape != [len(names)] * len(names):
            raise InputError(
                f"the matrix has {len(shape)} rows with {shape} numbers; {len(names)} rows with "
                f"{len(names)} numbers each are needed: one row for each motor, one column for "
                f"each joint, in the order {', '.join(names)}"
            )
        return cls(tuple(names), np.array(matrix, dtype=float)).checked()

    def checked(self) -> "Transmission":
        """Return this transmission if R is invertible.

        Raises
        ------
        InputError
            If motor positions do not determine joint positions.
        """
        left, values, _ = np.linalg.svd(self.ratios)
        if not values[-1] * _SINGULAR > values[0]:
            tied = [self.names[k] for k in np.flatnonzero(np.abs(left[:, -1]) > _TIED)]
            fault = (
                "are linearly dependent" if len(tied) > 1 else "are zero or tiny beside the others"
            )
            raise InputError(
                "the motor positions do not determine the joint positions: the ratios of the "
                f"motor of {' and of '.join(tied)} {fault}; state for each motor how far it turns "
                "when each joint turns by 1"
            )
        return self

    @property
    def pairs(self) -> dict[str, dict[str, float]]:
        """Ratios motor -> joint -> ratio of the coupled motors, in the form of the arm file."""
        return {
            self.names[k]: {
                self.names[j]: float(self.ratios[k, j]) for j in np.flatnonzero(self.ratios[k])
            }
            for k in range(len(self.names))
            if not np.array_equal(self.ratios[k], np.eye(len(self.names))[k])
        }

    @property
    def shared(self) -> tuple[int, ...]:
        """Indices of the motors that move several joints."""
        return tuple(int(k) for k in np.flatnonzero((self.ratios != 0.0).sum(axis=1) > 1))

    def motors_of(self, joint: int) -> tuple[int, ...]:
        """Return the indices of the motors that move this joint together with other joints."""
        return tuple(k for k in self.shared if self.ratios[k, joint] != 0.0)

    def standing(self, dq: Array, joint: int) -> str:
        """Return the name of a motor shared by this joint that stands still at joint velocities
        dq, shape (n,); "" if none.
        """
        for motor in self.motors_of(joint):
            parts = self.ratios[motor] * dq
            if abs(parts.sum()) < _STANDS * np.abs(parts).max():
                return self.names[motor]
        return ""

    def of_motors(self, q: Array) -> Array:
        """Return travel, velocity or acceleration of the motors for that of
        the joints, shape (..., n).
        """
        return np.asarray(q @ self.ratios.T)

    def of_joints(self, travel: Array) -> Array:
        """Return travel, velocity or acceleration of the joints for that of
        the motors, shape (..., n).
        """
        return np.asarray(travel @ self._inverse.T)

    def torque_of_joints(self, torque: Array) -> Array:
        """Return the joint torques for given motor torques, shape (..., n)."""
        return np.asarray(torque @ self.ratios)

    def torque_of_motors(self, torque: Array) -> Array:
        """Return the motor torques for given joint torques, shape (..., n)."""
        return np.asarray(torque @ self._inverse)

    @cached_property
    def _inverse(self) -> Array:
        return np.asarray(np.linalg.inv(self.ratios))
