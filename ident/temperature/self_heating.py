r"""State of a joint that friction heats and its surroundings cool, for joints
without a temperature sensor.

One body takes up the power of friction, and loses heat in proportion to its temperature above the
surroundings. Only this temperature relative to a typical one matters, so the state s is
dimensionless: 0 is a cold joint, and 1 the state at which the power P of friction settles if it
stays equal to :math:`P_0`,

.. math:: \tau \dot s = P / P_0 - s, \qquad P = \tau_f(\omega, L, s)\, \omega.

With a second body, s is the mean of two such states with a share each.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from stribeck.ident.arrays import Array, Groups
from stribeck.ident.errors import InputError, unknown_name
from stribeck.ident.laws.law import Law
from stribeck.ident.laws.parameter import Parameter
from stribeck.ident.laws.quantity import HEATING
from stribeck.ident.memory.joint_memory import dry_level

TIME, SECOND_TIME, SECOND_SHARE, POWER = NAMES = tuple(quantity.name for quantity in HEATING)
_PASSES = 6  # passes in which the power follows from the states of the pass before

# factors of the Coulomb and viscous part at states, shape (N,) each
Factors = Callable[[Array], tuple[Array, Array]]


@dataclass(frozen=True)
class SelfHeating:
    """How friction heats one joint.

    Attributes
    ----------
    parameters : dict of str to Parameter
        ``time_constant`` [s] and ``power`` [W], the power at which the state settles at 1; if a
        second time constant is resolved, also ``second_time_constant`` [s] and ``second_share``,
        the share of its body in the state.
    """

    parameters: Mapping[str, Parameter]

    @cached_property
    def times(self) -> Array:
        """Time constant of each body, shape (m,) [s]."""
        return np.array(
            [self._value(name) for name in (TIME, SECOND_TIME) if name in self.parameters]
        )

    @cached_property
    def shares(self) -> Array:
        """Share of each body in the state, shape (m,)."""
        second = self._value(SECOND_SHARE) if SECOND_SHARE in self.parameters else 0.0
        return np.array([1.0 - second, second])[: len(self.times)]

    @property
    def power(self) -> float:
        """Power at which the state settles at 1 [W]."""
        return self._value(POWER)

    def _value(self, name: str) -> float:
        value = self.parameters[name].value
        assert value is not None
        return value

    def advanced(self, bodies: Array, power: float, duration: float) -> Array:
        """Return the states of the bodies after some time at constant power, shape (m,).

        Parameters
        ----------
        bodies : ndarray, shape (m,)
            States before; zeros are a cold joint.
        power : float
            Power of friction [W].
        duration : float
            Time [s].
        """
        kept = np.exp(-duration / self.times)
        return np.asarray(kept * bodies + (1.0 - kept) * power / self.power)

    def state(self, bodies: Array) -> float:
        """Return the state that the bodies make up."""
        return float(self.shares @ bodies)


@dataclass(frozen=True)
class HeatLog:
    """Power of friction over time, in intervals; the joint is cold before the first one.

    Attributes
    ----------
    end, duration : ndarray, shape (B,)
        End and duration of each interval [s].
    dry, viscous : ndarray, shape (B,)
        Mean power of the Coulomb and the viscous part in each interval, at the reference [W].
    span : float
        Time that was recorded, without rests between runs [s].
    """

    end: Array
    duration: Array
    dry: Array
    viscous: Array
    span: float

    def states(
        self,
        t: Array,
        times: Array,
        shares: Array,
        power: float = 1.0,
        factors: Factors | None = None,
    ) -> Array:
        """Return the state at times, shape (N,).

        Parameters
        ----------
        t : ndarray, shape (N,)
            Times [s].
        times, shares : ndarray, shape (m,)
            Time constant [s] and share of each body.
        power : float
            Power at which the state settles at 1 [W].
        factors : callable, optional
            Factors of both parts of friction at states, shape (B,); without it, friction
            is that at the reference.
        """
        whole = self._filtered(self.dry + self.viscous, times, shares) / power
        for _ in range(_PASSES if factors is not None else 0):
            assert factors is not None
            before = np.concatenate(([0.0], whole[:-1]))
            dry, viscous = factors(0.5 * (before + whole))
            whole = self._filtered(self.dry * dry + self.viscous * viscous, times, shares) / power
        return np.interp(
            t, np.append(self.end[0] - self.duration[0], self.end), np.append(0.0, whole)
        )

    def _filtered(self, power: Array, times: Array, shares: Array) -> Array:
        """Return the shares' mean of the power after first-order lags, at the end of each
        interval, shape (B,) [W].
        """
        from scipy.signal import lfilter  # takes a while to load

        out = np.zeros(len(power))
        ends = [*self._changes.tolist(), len(power)]
        for time, share in zip(times.tolist(), shares.tolist(), strict=True):
            body = np.zeros(1)
            for first, end in zip([0, *ends[:-1]], ends, strict=True):
                kept = float(np.exp(-self.duration[first] / time))
                piece, _ = lfilter([1.0 - kept], [1.0, -kept], power[first:end], zi=kept * body)
                body = piece[-1:]
                out[first:end] += share * piece
        return out

    @cached_property
    def _changes(self) -> Groups:
        """First intervals of another duration than the one before, shape (P,)."""
        return np.flatnonzero(np.abs(np.diff(self.duration)) > 1e-9 * self.duration[1:]) + 1


def heat_log(
    law: Law,
    values: Mapping[str, float],
    end: Array,
    duration: Array,
    speed: Array,
    load: Array | None = None,
    span: float | None = None,
) -> HeatLog:
    """Return the power of a law's friction along a motion.

    Parameters
    ----------
    law : Law
    values : mapping of str to float
        Its parameters.
    end, duration, speed : ndarray, shape (B,)
        End [s], duration [s] and unsigned speed [rad/s] of each interval.
    load : ndarray, shape (B,) or (B, m), optional
        Load in each interval.
    span : float, optional
        Time that was recorded [s]; default: the whole.
    """
    dry = dry_level(law, values, speed, load)
    return HeatLog(
        end,
        duration,
        dry * speed,
        (law.torque(speed, values, load) - dry) * speed,
        float(np.sum(duration)) if span is None else span,
    )


def check_heating(found: SelfHeating, where: str) -> None:
    """Refuse parameters that are missing, foreign or impossible; `where` begins the messages.

    Raises
    ------
    InputError
        Names the key.
    """
    needed = (
        NAMES
        if SECOND_TIME in found.parameters or SECOND_SHARE in found.parameters
        else (TIME, POWER)
    )
    for name in found.parameters:
        if name not in needed:
            raise InputError(f"{where}: {unknown_name('parameter', name, needed)}")
    for name in needed:
        value = found.parameters[name].value if name in found.parameters else None
        if value is None:
            raise InputError(f"{where}.{name} has no value; self-heating needs {', '.join(needed)}")
        if value <= 0.0 or (name == SECOND_SHARE and value >= 1.0):
            most = " and below 1" if name == SECOND_SHARE else ""
            raise InputError(f"{where}.{name} = {value:g}; it must be positive{most}")
