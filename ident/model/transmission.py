r"""Transmissions that couple motors and joints: how the motors travel when the joints do, and what that makes of torques.

.. math:: \varphi = R\, q, \qquad \tau = R^T u

Motor travel :math:`\varphi` and torque u are those on the joints' side of each motor's own gear. A wrist whose axis 6 is driven
through the housing of axis 5, a differential and a parallelogram are matrices R; a joint with a motor of its own is a row of the
unit matrix. The second equation is the first by virtual work.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from stribeck.ident.arrays import Array
from stribeck.ident.errors import InputError, unknown_name

_STANDS = 0.05          # part of what one joint gives a motor's travel, below which the motor stands
_SINGULAR = 1e8         # condition number from which motors do not tell where the joints are


@dataclass(frozen=True)
class Transmission:
    """Motors and the joints that they move. A motor is called as the joint whose table in the arm file describes it.

    Attributes
    ----------
    names : tuple of str
        Of the joints, and of the motors.
    ratios : ndarray, shape (n, n)
        R above: travel of each motor (row) per travel of each joint (column).
    """

    names: tuple[str, ...]
    ratios: Array

    @classmethod
    def of_pairs(cls, names: Sequence[str], pairs: Mapping[str, Mapping[str, float]]) -> "Transmission":
        """From motor -> joint -> ratio; a motor's own joint counts 1 where nothing else is stated.

        Raises
        ------
        InputError
            If a name is no joint, or motors do not tell where the joints are.
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
        """From rows, a motor each, of the joints in the model's order.

        Raises
        ------
        InputError
            If the matrix is not square, or motors do not tell where the joints are.
        """
        shape = [len(row) for row in matrix]
        if shape != [len(names)] * len(names):
            raise InputError(f"the matrix has {len(shape)} rows of {shape} numbers; {len(names)} of {len(names)} are needed, a "
                             f"row a motor and a column a joint, in the order {', '.join(names)}")
        return cls(tuple(names), np.array(matrix, dtype=float)).checked()

    def checked(self) -> "Transmission":
        """The same, where the motors tell where the joints are.

        Raises
        ------
        InputError
        """
        values = np.linalg.svd(self.ratios, compute_uv=False)
        if not values[-1] * _SINGULAR > values[0]:
            raise InputError("the motors do not tell where the joints are: the rows of ratios depend on each other; state for "
                             "each motor how far it turns when each joint turns by 1")
        return self

    @property
    def pairs(self) -> dict[str, dict[str, float]]:
        """Motor -> joint -> ratio of the motors that are coupled, as a file states them."""
        return {self.names[k]: {self.names[j]: float(self.ratios[k, j]) for j in np.flatnonzero(self.ratios[k])}
                for k in range(len(self.names)) if not np.array_equal(self.ratios[k], np.eye(len(self.names))[k])}

    @property
    def shared(self) -> tuple[int, ...]:
        """Motors that move several joints."""
        return tuple(int(k) for k in np.flatnonzero((self.ratios != 0.0).sum(axis=1) > 1))

    def motors_of(self, joint: int) -> tuple[int, ...]:
        """Motors that move this joint and others."""
        return tuple(k for k in self.shared if self.ratios[k, joint] != 0.0)

    def standing(self, dq: Array, joint: int) -> str:
        """A motor of this joint and others that stands still at these velocities of the joints, shape (n,); "" if none does."""
        for motor in self.motors_of(joint):
            parts = self.ratios[motor] * dq
            if abs(parts.sum()) < _STANDS * np.abs(parts).max():
                return self.names[motor]
        return ""

    def of_motors(self, q: Array) -> Array:
        """Travel, velocity or acceleration of the motors from that of the joints, shape (..., n)."""
        return np.asarray(q @ self.ratios.T)

    def of_joints(self, travel: Array) -> Array:
        """Travel, velocity or acceleration of the joints from that of the motors, shape (..., n)."""
        return np.asarray(travel @ self._inverse.T)

    def torque_of_joints(self, torque: Array) -> Array:
        """Torques of the joints from those of the motors, shape (..., n)."""
        return np.asarray(torque @ self.ratios)

    def torque_of_motors(self, torque: Array) -> Array:
        """Torques of the motors from those of the joints, shape (..., n)."""
        return np.asarray(torque @ self._inverse)

    @cached_property
    def _inverse(self) -> Array:
        return np.asarray(np.linalg.inv(self.ratios))
