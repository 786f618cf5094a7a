r"""Fit of one friction law with one pair of temperature laws, with the errors of
left-out blocks of round trips.

.. math:: \tau_f = \tau_c(\omega, L) f_c(T - T_0) + \tau_v(\omega, L) f_v(T - T_0)

The Coulomb part :math:`\tau_c` is the law without its viscous part :math:`\tau_v`, so it includes
static friction and growth with the load. All parameters are fitted together. The error of a
left-out block follows from the Jacobian at the optimum.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from scipy.optimize import least_squares
from scipy.special import stdtrit

from stribeck.ident.arrays import Array, Groups, library_of
from stribeck.ident.laws.law import Law
from stribeck.ident.memory.joint_memory import dry_level
from stribeck.ident.temperature.temperature_laws import PARTS, TemperatureLaw

_SPAN = 5.0  # factor up to which nonlinear parameters of the law may leave their start
_STEP = 1e-6  # relative step of derivatives
# part of a parameter's range, or of its value, within which it counts as at a bound
_AT_BOUND = 1e-3
_EDGE = 1e-9  # smallest eigenvalue of a block's share in the fit that is not taken out


@dataclass(frozen=True)
class TemperatureData:
    """Points of one joint with their temperature.

    Attributes
    ----------
    speed, friction, temperature : ndarray, shape (N,)
        Speed, friction in the direction of motion, and temperature above the reference temperature.
    load : ndarray, shape (N,) or (N, m), optional
        Load with which friction grows.
    block : ndarray of int, shape (N,)
        Block of round trips 0 ... B-1 that is left out together.
    prismatic : bool
        Whether the joint slides; decides the units.
    sensitivity : ndarray, shape (N, k), optional
        Derivatives of a temperature that was fitted, too, by its k parameters.
    """

    speed: Array
    friction: Array
    temperature: Array
    load: Array | None
    block: Groups
    prismatic: bool = False
    sensitivity: Array | None = None

    @property
    def width(self) -> float:
        """Range of the temperatures [K]."""
        return float(np.ptp(self.temperature))


@dataclass(frozen=True)
class TemperatureFit:
    """A fitted law with temperature.

    Attributes
    ----------
    data : TemperatureData
    law : Law
    coulomb, viscous : TemperatureLaw
        Temperature laws of both parts.
    names : tuple of str
        All parameters, those of the friction law first.
    vector : ndarray, shape (p,)
        Their values.
    free : ndarray of bool, shape (p,)
        Parameters that are not at a bound.
    """

    data: TemperatureData
    law: Law
    coulomb: TemperatureLaw
    viscous: TemperatureLaw
    names: tuple[str, ...]
    vector: Array
    free: Array

    @property
    def values(self) -> dict[str, float]:
        """Values of all parameters."""
        return dict(zip(self.names, self.vector.tolist(), strict=True))

    def predict(self, speed: Array, theta: Array, load: Array | None = None) -> Array:
        """Return friction at speeds, temperatures above the reference, and
        loads, shape (N,) [N·m or N].
        """
        return _friction(self.law, self.coulomb, self.viscous, self.values, speed, theta, load)

    def jacobian(self, speed: Array, theta: Array, load: Array | None = None) -> Array:
        """Return the derivative of `predict` by the free parameters, shape (N, f)."""
        return _slopes(self.law, self.coulomb, self.viscous, self.values, speed, theta, load)[
            :, self.free
        ]

    @property
    def change(self) -> Array:
        """Friction at each point minus friction there at the reference
        temperature, shape (N,) [N·m or N].
        """
        data = self.data
        at_reference = self.predict(data.speed, np.zeros(len(data.speed)), data.load)
        return self.predict(data.speed, data.temperature, data.load) - at_reference

    @cached_property
    def residual(self) -> Array:
        """Measured minus fitted friction, shape (N,)."""
        data = self.data
        return data.friction - self.predict(data.speed, data.temperature, data.load)

    @cached_property
    def _left_out(self) -> tuple[Array, Array]:
        """Residuals of each point if its block is left out, and the covariance of the free
        parameters from those (CR3).

        The last rows and columns of the covariance are those of the temperature's own parameters.
        """
        data, j = self.data, self.whole_jacobian
        scale = np.maximum(np.linalg.norm(j, axis=0), 1e-300)
        q, r = np.linalg.qr(j / scale)
        out = np.empty(len(self.residual))
        scores = np.zeros((int(data.block.max()) + 1, j.shape[1]))
        for block in range(len(scores)):
            rows = data.block == block
            share = np.eye(int(rows.sum())) - q[rows] @ q[rows].T
            w, v = np.linalg.eigh(share)
            out[rows] = v @ ((v.T @ self.residual[rows]) / np.maximum(w, _EDGE))
            scores[block] = q[rows].T @ out[rows]
        root = np.linalg.pinv(r) @ scores.T / scale[:, None]
        return out, root @ root.T

    @cached_property
    def held_out(self) -> Array:
        """Mean square error of each left-out block, shape (B,)."""
        block = self.data.block
        return np.asarray(np.bincount(block, self._left_out[0] ** 2) / np.bincount(block))

    @property
    def held_out_rmse(self) -> float:
        """Root mean square error of points in left-out blocks [N·m or N]."""
        return float(np.sqrt(np.mean(self._left_out[0] ** 2)))

    @cached_property
    def whole_jacobian(self) -> Array:
        """Derivative of friction at the points by the free parameters, and by those of the
        temperature, shape (N, f + k).
        """
        data = self.data
        return np.column_stack(
            [self.jacobian(data.speed, data.temperature, data.load), *self._by_temperature()]
        )

    def _by_temperature(self) -> list[Array]:
        """Return derivatives of friction by the temperature's own parameters, as columns, if
        it depends on temperature.
        """
        data = self.data
        if data.sensitivity is None or not (self.coulomb.quantities or self.viscous.quantities):
            return []
        step = _STEP * data.width
        warmer = self.predict(data.speed, data.temperature + step, data.load)
        colder = self.predict(data.speed, data.temperature - step, data.load)
        slope = (warmer - colder) / (2.0 * step)
        return list(slope * data.sensitivity.T)

    @property
    def covariance(self) -> Array:
        """Covariance of the free parameters, from leaving out one block at a time, shape (f, f)."""
        free = int(self.free.sum())
        return self._left_out[1][:free, :free]

    @property
    def temperature_covariance(self) -> Array:
        """Covariance of the temperature's own parameters, shape (k, k); empty if friction does
        not depend on temperature.
        """
        free = int(self.free.sum())
        return self._left_out[1][free:, free:]

    @property
    def factor(self) -> float:
        """Half width of a 95 % interval in standard errors."""
        return float(
            stdtrit(
                max(
                    int(self.data.block.max())
                    + 1
                    - len(self.coulomb.quantities)
                    - len(self.viscous.quantities),
                    2,
                ),
                0.975,
            )
        )

    def half_width(self, speed: Array, theta: Array, load: Array | None = None) -> Array:
        """Return the half width of the 95 % interval of `predict`, shape (N,) [N·m or N]."""
        j = self.jacobian(speed, theta, load)
        return np.asarray(
            self.factor * np.sqrt(np.maximum(0.0, np.einsum("ij,jk,ik->i", j, self.covariance, j)))
        )


def fit_temperature_law(
    data: TemperatureData,
    law: Law,
    start: Mapping[str, float],
    coulomb: TemperatureLaw,
    viscous: TemperatureLaw,
) -> TemperatureFit:
    """Fit one friction law with one pair of temperature laws.

    Parameters
    ----------
    data : TemperatureData
    law : Law
    start : mapping of str to float
        Values of the law's parameters.
    coulomb, viscous : TemperatureLaw
        Temperature laws of both parts.
    """
    own = tuple(start)
    names = (*own, *coulomb.parameters("coulomb"), *viscous.parameters("viscous"))
    bounds = (
        [
            (max(value, 1e-9) / _SPAN, _SPAN * max(value, 1e-9))
            if name in law.nonlinear
            else (-np.inf, np.inf)
            for name, value in start.items()
        ]
        + coulomb.bounds(data.width)
        + viscous.bounds(data.width)
    )
    low, high = np.array(bounds).T
    size = np.array(
        [max(abs(start[name]), 1e-3) for name in own]
        + [_size(name, data.width) for name in names[len(own) :]]
    )
    level = max(float(np.sqrt(np.mean(data.friction**2))), 1e-12)

    def residual(vector: Array) -> Array:
        values = dict(zip(names, vector.tolist(), strict=True))
        friction = _friction(law, coulomb, viscous, values, data.speed, data.temperature, data.load)
        return np.asarray((friction - data.friction) / level)

    def jacobian(vector: Array) -> Array:
        values = dict(zip(names, vector.tolist(), strict=True))
        return (
            _slopes(law, coulomb, viscous, values, data.speed, data.temperature, data.load) / level
        )

    found = [
        least_squares(
            residual,
            np.clip([*start.values(), *first, *second], low, high),
            jacobian,
            bounds=(low, high),
            x_scale=size,
            xtol=1e-8,
            ftol=1e-8,
            max_nfev=60,
        )
        for first in coulomb.starts(data.width)
        for second in viscous.starts(data.width)
    ]
    best: Any = min(found, key=lambda one: one.cost)
    range_ = np.where(np.isfinite(high - low), high - low, np.inf)
    near = np.where(
        np.isfinite(range_),
        _AT_BOUND * np.minimum(range_, np.maximum(np.abs(best.x), _AT_BOUND)),
        0.0,
    )
    free = (best.x > low + near) & (best.x < high - near)
    return TemperatureFit(data, law, coulomb, viscous, names, best.x, free)


def _size(name: str, width: float) -> float:
    """Typical size of a parameter of a temperature law."""
    return {"slope": 1.0 / width, "curvature": 1.0 / width**2, "decay": width, "floor": 1.0}[
        name.rsplit("_", 1)[1]
    ]


def _friction(
    law: Law,
    coulomb: TemperatureLaw,
    viscous: TemperatureLaw,
    values: Mapping[str, float],
    speed: Array,
    theta: Array,
    load: Array | None,
) -> Array:
    own = {name: value for name, value in values.items() if "_temperature_" not in name}
    return scaled(
        law,
        own,
        speed,
        load,
        coulomb.factor(theta, values, "coulomb"),
        viscous.factor(theta, values, "viscous"),
    )


def _slopes(
    law: Law,
    coulomb: TemperatureLaw,
    viscous: TemperatureLaw,
    values: Mapping[str, float],
    speed: Array,
    theta: Array,
    load: Array | None,
) -> Array:
    """Return the derivatives of `_friction` by all parameters, shape (N, p).

    Friction is linear in most parameters of the law: with one of them at 1 and the others at 0 it
    is the derivative. The other parameters, and those of the factors, change by small steps.
    """
    own = {name: value for name, value in values.items() if "_temperature_" not in name}
    linear = [name for name in own if name not in law.nonlinear]
    each = np.vstack((np.eye(len(linear)), [own[name] for name in linear]))
    parts = _parts(law, {**own, **dict(zip(linear, each.T[:, :, None], strict=True))}, speed, load)
    factors = tuple(
        one.factor(theta, values, part) for one, part in zip((coulomb, viscous), PARTS, strict=True)
    )
    columns = dict(
        zip(linear, parts[0][:-1] * factors[0] + parts[1][:-1] * factors[1], strict=True)
    )
    for name in own.keys() - columns.keys():
        columns[name] = _by_steps(
            lambda other: scaled(law, other, speed, load, *factors), own, name
        )
    for one, part, torque in zip((coulomb, viscous), PARTS, parts, strict=True):
        for name in one.parameters(part):
            columns[name] = torque[-1] * _by_steps(
                partial(one.factor, theta, part=part), values, name
            )
    return np.column_stack([columns[name] for name in values])


def _by_steps(
    function: Callable[[Mapping[str, float]], Array], values: Mapping[str, float], name: str
) -> Array:
    """Return the derivative of a function of parameters by one of them."""
    step = _STEP * max(abs(values[name]), 1e-4)
    less, more = (function({**values, name: values[name] + way * step}) for way in (-1.0, 1.0))
    return (more - less) / (2.0 * step)


def scaled(
    law: Law,
    values: Mapping[str, float],
    velocity: Array,
    load: Array | None,
    coulomb: Array,
    viscous: Array,
) -> Array:
    """Return the friction of a law with its Coulomb and viscous parts multiplied by
    factors, shape (N,) [N·m or N].
    """
    dry, rest = _parts(law, values, velocity, load)
    return dry * coulomb + rest * viscous


def _parts(
    law: Law, values: Mapping[str, Any], velocity: Array, load: Array | None
) -> tuple[Array, Array]:
    """Return Coulomb and viscous part of a law's friction, shape (N,) each; (K, N) for
    arrays of values, shape (K, 1).
    """
    dry = dry_level(law, values, velocity, load) * library_of(velocity).sign(velocity)
    return dry, law.torque(velocity, values, load) - dry
