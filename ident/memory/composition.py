r"""What is fitted beside law and memory: differences of the directions, waves with the position,
load, and the torque signal.

With direction-dependent viscous friction, waves of orders k and load L, the torque
of a joint with memory z is

.. math:: \tau = [D(|\omega|, L) + \sum_k f_k^T (\cos k q, \sin k q)]\, z + \tau_v(\omega) + \Delta_v |\omega|
          + \sum_k e_k^T (\cos k q, \sin k q) + J \ddot q + g_s \sin q + g_c \cos q + \text{offset}

where e is cogging and f friction ripple; the load that a joint transmits is :math:`L = |J \ddot q +
g_s \sin q + g_c \cos q|`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from stribeck.ident.arrays import Array
from stribeck.ident.laws.parameter import verdict
from stribeck.ident.memory.memory_data import DIFFERENCE, GRAVITY, INERTIA, MemoryData
from stribeck.ident.ripple.wave import COGGING, FOUND, FRICTION, KNOWN, Wave

_RIGID = INERTIA, *GRAVITY
_NORMAL = 1.96  # half width of a 95 % interval in standard errors

Order = tuple[float, str]  # waves per turn; "cogging" or "friction"


@dataclass(frozen=True)
class Composition:
    """Parts of a fit beside law and memory.

    Attributes
    ----------
    difference : bool
        Whether viscous friction differs between the directions.
    waves : tuple of (float, str)
        Orders [waves per turn] and kinds of torque that waves with the position.
    load : tuple of float
        Inertia and gravity, by sine and cosine, of the torque that presses on the
        gear; empty without this load.
    signal : tuple of str
        "delay" or "lag", if the torque signal follows the torque.
    """

    difference: bool = False
    waves: tuple[Order, ...] = ()
    load: tuple[float, ...] = ()
    signal: tuple[str, ...] = ()

    def applied(self, data: MemoryData) -> MemoryData:
        """Return samples with the columns of these parts."""
        beside, along = dict(data.beside), dict[str, Array]()
        if self.difference:
            beside[DIFFERENCE] = np.abs(data.velocity)
        for order, kind in self.waves:
            sine, cosine = names_of(order, kind)
            columns = beside if kind == COGGING else along
            columns |= {sine: np.sin(order * data.position), cosine: np.cos(order * data.position)}
        load = data.load
        if self.load:
            load = np.abs(
                sum(
                    (
                        value * data.beside[name]
                        for name, value in zip(_RIGID, self.load, strict=True)
                    ),
                    np.zeros(len(data.velocity)),
                )
            )
        return replace(
            data,
            beside=beside,
            along=along,
            load=load,
            signal=self.signal,
            waving=(*data.waving, *self.columns),
        )

    def with_waves(self, *orders: Order) -> "Composition":
        """Return the composition with further waves."""
        return replace(self, waves=(*self.waves, *orders))

    def with_load_of(self, values: Mapping[str, float]) -> "Composition":
        """Return the composition with the load of inertia and gravity of a fit."""
        return replace(self, load=tuple(values[name] for name in _RIGID))

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the coefficients of all waves."""
        return tuple(name for wave in self.waves for name in names_of(*wave))


def names_of(order: float, kind: str) -> tuple[str, str]:
    """Return the names of the coefficients of sine and cosine of a wave."""
    return f"{kind}_sin_{order:.6g}", f"{kind}_cos_{order:.6g}"


def as_waves(
    orders: Sequence[Order],
    known: Sequence[float],
    values: Mapping[str, float],
    names: Sequence[str],
    covariance: Array,
    unit: str,
) -> tuple[Wave, ...]:
    """Return waves with amplitude, phase and intervals from fitted coefficients."""
    out = []
    for order, kind in orders:
        pair = names_of(order, kind)
        value = np.array([values[name] for name in pair])
        rows = [list(names).index(name) for name in pair]
        own = covariance[np.ix_(rows, rows)]
        size = max(float(np.hypot(*value)), 1e-300)
        along = value / size
        across = np.array([-along[1], along[0]])
        error, turn = (float(np.sqrt(way @ own @ way)) for way in (along, across))
        phase, low, high = (
            float(np.arctan2(value[1], value[0])),
            max(0.0, size - _NORMAL * error),
            size + _NORMAL * error,
        )
        out.append(
            Wave(
                order,
                kind,
                KNOWN if order in known else FOUND,
                size,
                error,
                low,
                high,
                phase,
                phase - _NORMAL * turn / size,
                phase + _NORMAL * turn / size,
                unit,
                verdict(size, low, high),
            )
        )
    return tuple(out)


PLAIN = Composition()
# slow waves that may compete
PLACES: tuple[Order, ...] = ((1.0, FRICTION), (2.0, FRICTION), (2.0, COGGING))
