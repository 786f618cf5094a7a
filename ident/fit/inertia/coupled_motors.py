r"""Motors that move several joints: what their friction and inertia add to the torque of each of those joints.

With motor travel :math:`\varphi = R\, q`, and virtual work,

.. math:: \tau_j \ni \sum_k R_{kj}\,(c_k\, \mathrm{sgn}\, \dot\varphi_k + v_k \dot\varphi_k + I_k \ddot\varphi_k)

so that each joint of such a motor tells of the same c, v and I. What a motor and its joint rub by themselves look alike while one
joint moves alone, or several in step: only where the parts that two joints give a motor's travel go opposite ways can their friction
be told apart.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from stribeck.ident.arrays import Array
from stribeck.ident.laws.parameter import Parameter, verdict
from stribeck.ident.log.motion.filtered_motion import Log
from stribeck.ident.model.transmission import Transmission

TERMS = ("coulomb", "viscous", "inertia")
_NORMAL = 1.96
_OPPOSITE = 0.1         # part of the samples in which both joints move that have to move the motor opposite ways
_MOVES = 0.01           # part of its greatest speed from which a joint counts as moving


@dataclass(frozen=True)
class CoupledMotors:
    """Unknown friction and inertia of some motors, `TERMS` of each one after the other.

    Attributes
    ----------
    transmission : Transmission
        How they move the joints.
    motors : tuple of int
        Which of its motors.
    units : ndarray, shape (m, 3)
        What a parameter of 1 stands for: by it the torque of a joint is as large as the torques are.
    """

    transmission: Transmission
    motors: tuple[int, ...]
    units: Array

    @classmethod
    def told_by(cls, transmission: Transmission | None, joints: Sequence[str], dq: Array, ddq: Array, tau: Array) -> "CoupledMotors | None":
        """Those whose friction some joints' motion tells apart from that of their joints; None where there are none.

        Parameters
        ----------
        transmission : Transmission, optional
            Of the arm.
        joints : sequence of str
            Joints whose torques count.
        dq, ddq, tau : ndarray, shape (N, n)
            Velocities, accelerations and torques of all joints.
        """
        if transmission is None:
            return None
        counts = {transmission.names.index(name) for name in joints}
        motors = tuple(k for k in transmission.shared
                       if counts.issuperset(np.flatnonzero(transmission.ratios[k])) and goes_opposite_ways(transmission, k, dq))
        if not motors:
            return None
        rate, acceleration = (transmission.of_motors(values)[:, motors] for values in (dq, ddq))
        torque = np.array([_size(tau[:, np.flatnonzero(transmission.ratios[k])].max(axis=1)) for k in motors])
        return cls(transmission, motors, np.column_stack((torque, torque / _sizes(rate), torque / _sizes(acceleration))))

    @property
    def count(self) -> int:
        """Number of parameters."""
        return self.units.size

    def slopes(self, dq: Array, ddq: Array) -> Array:
        """Torque of every joint per parameter, shape (N, n, 3 m)."""
        rate, acceleration = (self.transmission.of_motors(values)[:, self.motors] for values in (dq, ddq))
        terms = self.units * np.stack((np.sign(rate), rate, acceleration), axis=-1)
        return np.asarray(np.einsum("imk,mj->ijmk", terms, self.transmission.ratios[list(self.motors)])
                          .reshape(*dq.shape, self.count))

    def friction(self, y: Array, covariance: Array, prismatic: Array) -> "MotorFriction":
        """What was found, with intervals.

        Parameters
        ----------
        y : ndarray, shape (3 m,)
            Parameters.
        covariance : ndarray, shape (3 m, 3 m)
            Their covariance.
        prismatic : ndarray of bool, shape (n,)
            Which joints slide.
        """
        values, errors = (self.units * numbers.reshape(-1, len(TERMS)) for numbers in (y, np.sqrt(np.diag(covariance))))
        found = {}
        for motor, own, off in zip(self.motors, values.tolist(), errors.tolist(), strict=True):
            units = ("N", "N·s/m", "kg") if prismatic[motor] else ("N·m", "N·m·s/rad", "kg·m²")
            found[self.transmission.names[motor]] = {
                term: Parameter(value, error, low := max(0.0, value - _NORMAL * error), high := value + _NORMAL * error, unit,
                                verdict(value, low, high))
                for term, value, error, unit in zip(TERMS, own, off, units, strict=True)}
        return MotorFriction(found)


@dataclass(frozen=True)
class MotorFriction:
    """Friction of motors that move several joints, and their inertia beside that which the arm file states.

    Attributes
    ----------
    parameters : mapping of str to mapping of str to Parameter
        `TERMS` by motor.
    """

    parameters: Mapping[str, Mapping[str, Parameter]]

    def torque(self, transmission: Transmission, dq: Array, ddq: Array | None = None) -> Array:
        """What the motors add to the torques of the joints, shape (N, n) [N·m or N].

        Parameters
        ----------
        transmission : Transmission
            Of the arm.
        dq : ndarray, shape (N, n)
            Velocities of the joints.
        ddq : ndarray, shape (N, n), optional
            Accelerations; without them, friction alone is counted.
        """
        motors = tuple(map(transmission.names.index, self.parameters))
        values = [float(own[term].value or 0.0) for own in self.parameters.values() for term in TERMS]
        one = CoupledMotors(transmission, motors, np.ones((len(motors), len(TERMS))))
        return np.asarray(one.slopes(dq, np.zeros_like(dq) if ddq is None else ddq) @ values)

    def left_out_of(self, log: Log) -> Log:
        """A log with the torques that its joints would have without these motors."""
        return replace(log, stretches=tuple(
            part if part.mechanism.transmission is None
            else replace(part, tau=part.tau - self.torque(part.mechanism.transmission, part.dq, part.ddq)) for part in log.stretches))


NO_MOTORS = MotorFriction({})


def goes_opposite_ways(transmission: Transmission, motor: int, dq: Array) -> bool:
    """Whether two joints, and no more, give a motor travel of opposite signs in enough of the samples in which both move.

    Parameters
    ----------
    transmission : Transmission
        Of the arm.
    motor : int
        Which motor.
    dq : ndarray, shape (N, n)
        Velocities of all joints.
    """
    row = np.flatnonzero(transmission.ratios[motor])
    if len(row) != 2:
        return False
    part = dq[:, row] * transmission.ratios[motor, row]
    moving = (np.abs(part) > _MOVES * np.abs(part).max(axis=0)).all(axis=1)
    return bool(moving.any() and np.mean(part[moving].prod(axis=1) < 0.0) >= _OPPOSITE)


def _size(values: Array) -> float:
    return float(np.sqrt(np.mean(values**2))) or 1.0


def _sizes(columns: Array) -> Array:
    return np.array([_size(column) for column in columns.T])
