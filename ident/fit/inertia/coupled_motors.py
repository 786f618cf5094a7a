r"""Unknown friction and inertia of motors that move several joints, and their
contribution to the joint torques.

With the motor travel :math:`\varphi = R\, q`, virtual work gives

.. math:: \tau_j \ni \sum_k R_{kj}\,(f_k(\dot\varphi_k) + I_k \ddot\varphi_k)

so the torque of every joint of motor k contains the same friction f and inertia I. Friction of the
motor cannot be separated from friction of the joint while one joint moves alone or several joints
move in step. The two can be separated where two joints turn the motor in opposite directions.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from stribeck.ident.arrays import Array
from stribeck.ident.fit.inertia.link_prior import is_told
from stribeck.ident.fit.inertia.motor_friction import INERTIA, MotorFriction, RubbingMotor
from stribeck.ident.laws.law import Law
from stribeck.ident.laws.law_table import law_named, unit
from stribeck.ident.laws.parameter import Parameter, verdict
from stribeck.ident.model.transmission import Transmission

# candidate friction laws of a motor, the simplest first
LAWS = ("coulomb-viscous", "stribeck", "power")
_NORMAL = 1.96
# least part of the samples with both joints moving in which they turn the
# motor in opposite directions
_OPPOSITE = 0.1
_MOVES = 0.01  # of its greatest speed, above which a joint counts as moving
_KNEES = 6  # number of Stribeck velocities that are tried,
_LOWEST, _HIGHEST = 0.02, 0.25  # between these quantiles of the motor's speeds
_EXPONENTS = 0.4, 0.6, 0.8  # viscous exponents that are tried
_STEP = 1e-4  # step of finite differences, in the logarithm of a parameter
# factor on the nonlinear parameter, and number of speeds, that show a bend of the curve
_OTHER, _SPEEDS = 1.3, 30
_NOTHING = 1e-3  # of friction: a smaller change counts as zero


@dataclass(frozen=True)
class CoupledMotor:
    """A motor of unknown friction and inertia, linearised about current parameters.

    Attributes
    ----------
    motor : int
        Index of the motor.
    law : Law
        Friction law.
    values : mapping of str to float
        Parameters of the law about which it is linearised.
    sizes : tuple of float
        Typical torque [N·m or N], speed and acceleration; they set the units of the parameters.
    """

    motor: int
    law: Law
    values: Mapping[str, float]
    sizes: tuple[float, float, float]

    @property
    def terms(self) -> tuple[str, ...]:
        """Names of the parameters: linear ones, nonlinear ones (as logarithms), and the inertia."""
        return (*self.law.linear, *self.law.nonlinear, INERTIA)

    @cached_property
    def units(self) -> Array:
        """Physical value of a scaled parameter of 1, shape (p,); such a parameter causes
        a torque of typical size.
        """
        torque, speed, acceleration = self.sizes
        at = {name: self.values[name] for name in self.law.nonlinear}
        sizes = np.abs(self.law.columns(np.array([speed]), None, at)[0])
        linear = torque / np.where(sizes > 1e-3, sizes, 1.0)
        return np.array([*linear, *np.ones(len(self.law.nonlinear)), torque / acceleration])

    def slopes(self, rate: Array, acceleration: Array) -> Array:
        """Derivative of the motor's torque by the scaled parameters, shape (N, p)."""
        at = {name: self.values[name] for name in self.law.nonlinear}
        columns = [self.law.columns(rate, None, at)]
        for name in at:
            up, down = (
                self.law.torque(rate, {**self.values, name: at[name] * np.exp(way * _STEP)})
                for way in (1.0, -1.0)
            )
            columns.append(((up - down) / (2.0 * _STEP))[:, None])
        return np.asarray(np.column_stack((*columns, acceleration)) * self.units)

    def at(self, y: Array) -> "CoupledMotor":
        """Return the motor linearised about scaled parameters y, shape (p,)."""
        values = dict(zip(self.terms, (self.units * y).tolist(), strict=True))
        moved = {
            name: self.values[name] * float(np.exp(np.clip(values[name], -1.0, 1.0)))
            for name in self.law.nonlinear
        }
        return replace(self, values={name: values[name] for name in self.law.linear} | moved)

    def straight(self, y: Array, speeds: tuple[float, float]) -> bool:
        """Return True if friction at parameters y, shape (p,), shows no effect of the
        law's nonlinear parameter.

        Friction is then Coulomb and viscous only, or its static level does not
        exceed the Coulomb level.
        """
        if not self.law.nonlinear:
            return False
        values, rate = self.at(y).values, np.geomspace(*speeds, _SPEEDS)
        (name,) = self.law.nonlinear
        bend = self.law.torque(rate, {**values, name: _OTHER * values[name]}) - self.law.torque(
            rate, values
        )
        no_fall = name == self.law.knee and values["static"] <= values["coulomb"]
        return bool(
            no_fall
            or np.abs(bend).max()
            < _NOTHING * max(float(np.abs(self.law.torque(rate, values)).max()), 1e-300)
        )

    def found(
        self, y: Array, covariance: Array, prismatic: bool, speeds: tuple[float, float]
    ) -> RubbingMotor:
        """Return the identified friction and inertia with 95 % intervals."""
        values, errors = self.at(y).values, self.units * np.sqrt(np.diag(covariance))
        parameters = {}
        for name, value, error in zip(
            self.terms, (self.units * y).tolist(), errors.tolist(), strict=True
        ):
            if name in self.law.nonlinear:
                value = values[name]
                low, high, error = (
                    value * np.exp(-_NORMAL * error),
                    value * np.exp(_NORMAL * error),
                    value * error,
                )
            else:
                low, high = max(0.0, value - _NORMAL * error), value + _NORMAL * error
            parameters[name] = Parameter(
                float(value),
                float(error),
                float(low),
                float(high),
                unit(name, prismatic),
                verdict(value, low, high),
            )
        if not is_told(float(errors[-1]), float(self.units[-1])):
            parameters[INERTIA] = Parameter(
                None,
                None,
                None,
                None,
                unit(INERTIA, prismatic),
                "unidentifiable",
                "constant speeds do not show inertia; the motion needs acceleration",
            )
        return RubbingMotor(self.law.name, parameters, speeds)


@dataclass(frozen=True)
class CoupledMotors:
    """All motors of unknown friction and inertia; y holds the parameters of
    one motor after the other.

    Attributes
    ----------
    transmission : Transmission
        Ratios between motors and joints.
    members : tuple of CoupledMotor
        The motors.
    speeds : tuple of (float, float)
        Lowest and highest speed of each motor.
    knees : tuple of (float, float)
        Range of each motor's Stribeck velocity.
    """

    transmission: Transmission
    members: tuple[CoupledMotor, ...]
    speeds: tuple[tuple[float, float], ...]
    knees: tuple[tuple[float, float], ...]

    @classmethod
    def told_by(
        cls,
        transmission: Transmission | None,
        joints: Sequence[str],
        dq: Array,
        ddq: Array,
        tau: Array,
    ) -> "CoupledMotors | None":
        """Motors whose friction the motion separates from the friction of their joints;
        None without such a motor.

        Parameters
        ----------
        transmission : Transmission, optional
            Ratios between motors and joints of the arm.
        joints : sequence of str
            Joints whose torques are used.
        dq, ddq, tau : ndarray, shape (N, n)
            Velocities, accelerations and torques of all joints.
        """
        if transmission is None:
            return None
        counts, members, speeds, knees = (
            {transmission.names.index(name) for name in joints},
            [],
            [],
            [],
        )
        rate, acceleration = transmission.of_motors(dq), transmission.of_motors(ddq)
        for motor in transmission.shared:
            row = np.flatnonzero(transmission.ratios[motor])
            if counts.issuperset(row) and goes_opposite_ways(transmission, motor, dq):
                sizes = _size(tau[:, row]), _size(rate[:, motor]), _size(acceleration[:, motor])
                members.append(CoupledMotor(motor, law_named(LAWS[0]), {}, sizes))
                speed = np.abs(rate[:, motor])
                moving = speed[speed > _MOVES * speed.max()]
                speeds.append((float(moving.min()), float(moving.max())))
                knees.append(tuple(np.quantile(moving, (_LOWEST, _HIGHEST)).tolist()))
        return cls(transmission, tuple(members), tuple(speeds), tuple(knees)) if members else None

    @property
    def count(self) -> int:
        """Number of parameters."""
        return sum(len(one.terms) for one in self.members)

    @property
    def linear(self) -> tuple[tuple[str, ...], Array]:
        """Names of the linear parameters ("motor of j6: coulomb"), and rows that give their
        values from y, shape (m, p).
        """
        names = [
            f"motor of {self.transmission.names[one.motor]}: {term}"
            if term not in one.law.nonlinear
            else ""
            for one in self.members
            for term in one.terms
        ]
        rows = np.diag(np.concatenate([one.units for one in self.members]))
        return tuple(filter(None, names)), rows[[bool(name) for name in names]]

    @property
    def bounds(self) -> tuple[Array, Array]:
        """Lower and upper bounds of y: friction and inertia are not negative, and
        logarithms change by at most 1.
        """
        free = np.concatenate(
            [[name in one.law.nonlinear for name in one.terms] for one in self.members]
        )
        return np.where(free, -1.0, 0.0), np.where(free, 1.0, np.inf)

    def moves(self, joint: int) -> bool:
        """Return True if one of the motors moves this joint."""
        return any(self.transmission.ratios[one.motor, joint] != 0.0 for one in self.members)

    def slopes(self, dq: Array, ddq: Array) -> Array:
        """Derivative of every joint's torque by y, shape (N, n, p)."""
        rate, acceleration = self.transmission.of_motors(dq), self.transmission.of_motors(ddq)
        return np.concatenate(
            [
                one.slopes(rate[:, one.motor], acceleration[:, one.motor])[:, None]
                * self.transmission.ratios[one.motor][:, None]
                for one in self.members
            ],
            axis=2,
        )

    def at(self, y: Array) -> "CoupledMotors":
        """Return the motors linearised about y, shape (p,)."""
        return replace(
            self,
            members=tuple(
                one.at(y[own]) for one, own in zip(self.members, self._places, strict=True)
            ),
        )

    def found(self, y: Array, covariance: Array, prismatic: NDArray[np.bool_]) -> MotorFriction:
        """Return the identified friction and inertia of every motor with 95 % intervals.

        Parameters
        ----------
        y : ndarray, shape (p,)
            Scaled parameters.
        covariance : ndarray, shape (p, p)
            Covariance of y.
        prismatic : ndarray of bool, shape (n,)
            True for prismatic joints.
        """
        return MotorFriction(
            {
                self.transmission.names[one.motor]: one.found(
                    y[own], covariance[own, own], bool(prismatic[one.motor]), speeds
                )
                for one, own, speeds in zip(self.members, self._places, self.speeds, strict=True)
            }
        )

    @property
    def laws(self) -> list[str]:
        """Names of the motors' friction laws."""
        return [one.law.name for one in self.members]

    def plain(self, y: Array) -> "CoupledMotors":
        """Return the motors with the simplest law wherever y, shape (p,), shows no effect
        of the nonlinear parameter.
        """
        return replace(
            self,
            members=tuple(
                replace(one, law=law_named(LAWS[0]), values={})
                if one.straight(y[own], speeds)
                else one
                for one, own, speeds in zip(self.members, self._places, self.speeds, strict=True)
            ),
        )

    def likeliest(
        self, laws: Sequence[str], misfit: Callable[["CoupledMotors"], float], points: int
    ) -> "CoupledMotors":
        """Return the motors with the laws that the Bayesian information
        criterion (Schwarz) prefers.

        The criterion is the misfit plus log(points) per additional parameter.

        Parameters
        ----------
        laws : sequence of str
            Candidate laws out of `LAWS`, in addition to the present law.
        misfit : callable
            Sum of squared whitened residuals of all joints with given motors.
        points : int
            Number of residuals.
        """
        offered = [law_named(name) for name in laws if name != LAWS[0]]
        chosen, least = self, misfit(self) if offered else 0.0
        for place, knees in enumerate(self.knees):
            for law in offered:
                for values in _starts(law, knees):
                    members = list(chosen.members)
                    members[place] = replace(members[place], law=law, values=values)
                    tried = replace(chosen, members=tuple(members))
                    found = misfit(tried) + (tried.count - self.count) * np.log(points)
                    if found < least:
                        chosen, least = tried, found
        return chosen

    @property
    def _places(self) -> list[slice]:
        """Slice of y that belongs to each motor."""
        ends = np.cumsum([0, *(len(one.terms) for one in self.members)]).tolist()
        return [slice(begin, end) for begin, end in pairwise(ends)]


def _starts(law: Law, knees: tuple[float, float]) -> list[dict[str, float]]:
    """Starting values of a law's parameters: a grid over the nonlinear parameter,
    zero for the linear ones.
    """
    (name,) = law.nonlinear
    tried = np.geomspace(*knees, _KNEES).tolist() if name == law.knee else _EXPONENTS
    return [dict.fromkeys(law.linear, 0.0) | {name: value} for value in tried]


def goes_opposite_ways(transmission: Transmission, motor: int, dq: Array) -> bool:
    """Return True if exactly two joints move the motor, and often enough in opposite directions.

    Samples count in which both joints move.

    Parameters
    ----------
    transmission : Transmission
        Ratios between motors and joints of the arm.
    motor : int
        Index of the motor.
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
