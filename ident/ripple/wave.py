r"""A wave of torque over the position of a joint: the result of the estimation, and the
torque that follows from it.

.. math:: \tau_r(q, \dot q) = \sum_i A_i \sin(k_i q + \varphi_i)\, s_i, \qquad
          s_i = 1 \text{ (cogging)}, \quad \operatorname{sgn}(\dot q) \text{ (friction ripple)}

Cogging is the same torque at a position in both directions, so it gives back what it takes: it does
not dissipate. Friction ripple changes its sign with the direction.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from stribeck.ident.arrays import Array, Numbers, floats, library_of
from stribeck.ident.laws.parameter import Parameter

COGGING, FRICTION = "cogging", "friction"
KINDS = COGGING, FRICTION
_ALIKE = 0.01  # relative difference of orders that count as equal in two calibrations
KNOWN, FOUND = "known", "found"  # whether the arm file gives the order, or the samples


@dataclass(frozen=True)
class Wave:
    """One harmonic of torque over position.

    Attributes
    ----------
    order : float
        Waves per turn of the joint; for a slide, waves per 2 pi m.
    kind : str
        "cogging" (same torque in both directions) or "friction" (changes its
        sign with the direction).
    origin : str
        "known": the arm file gives the order; "found": the samples show it.
    amplitude, std_error, low, high : float
        Amplitude, its standard error and 95 % interval [N·m or N].
    phase, phase_low, phase_high : float
        Phase of the sine at q = 0, and its 95 % interval [rad].
    unit : str
        Unit of the amplitude.
    verdict : str
        As for parameters: identified | weak.
    """

    order: float
    kind: str
    origin: str
    amplitude: float
    std_error: float
    low: float
    high: float
    phase: float
    phase_low: float
    phase_high: float
    unit: str
    verdict: str

    @property
    def label(self) -> str:
        """Name of the wave in tables: kind and order."""
        return f"{self.kind}{' ripple' if self.kind == FRICTION else ''}, {self.order:.4g} a turn"

    @property
    def parameter(self) -> Parameter:
        """The amplitude with its interval."""
        return Parameter(
            self.amplitude, self.std_error, self.low, self.high, self.unit, self.verdict
        )

    def same(self, other: "Wave") -> bool:
        """Whether another wave has the same kind and, within the resolution of
        a search, the same order.
        """
        return self.kind == other.kind and abs(self.order - other.order) < _ALIKE * self.order

    def torque(self, q: Numbers, dq: Numbers) -> Array:
        """Return the torque of the wave at positions and velocities, shape (N,) [N·m or N]."""
        q, xp = floats(q), library_of(q)
        sine = float(self.amplitude) * xp.sin(float(self.order) * q + float(self.phase))
        return sine if self.kind == COGGING else sine * xp.sign(floats(dq))


def ripple_torque(waves: Sequence[Wave], q: Numbers, dq: Numbers) -> Array:
    """Return the torque of all waves of a joint at positions and
    velocities, shape (N,) [N·m or N].
    """
    return sum((wave.torque(q, dq) for wave in waves), 0.0 * floats(q))
