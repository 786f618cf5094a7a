r"""Temperature of a simulated joint: a body that friction heats and the surroundings cool,
and its effect on friction.

.. math:: \tau \dot T = T_a + r P - T, \qquad P = \tau_f \omega.

Friction changes with temperature as in the law of Bittencourt, Wernholt, Sander-Tavallaey and
Brogårdh (IROS 2010): with :math:`\theta = T - T_r`, static friction grows along a line, the
Stribeck velocity along a line, and viscous friction decays to a floor,

.. math:: \tau_f = [C + (S - C)(1 + a\theta)\, e^{-|\omega/(\omega_s (1 + b\theta))|^\delta}] (1 + c\theta)
          \operatorname{sgn}\omega + k_v [f + (1 - f) e^{-\theta/T_v}]\, \omega.

The factor :math:`1 + c\theta` of the dry part is not in that law. Levels C and S grow with
the load as without temperature. The default coefficients are our own, for 20 to 60 °C; they
are not those of the paper.
"""

from dataclasses import dataclass
from math import exp

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, NonNegativeFloat, PositiveFloat

Array = NDArray[np.float64]
_LEAST = 0.1  # least factor of the Stribeck velocity


class HeatTruth(BaseModel):
    """How friction heats a joint, and how friction changes with its temperature."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False, frozen=True)
    ambient: float = Field(22.0, description="temperature of the surroundings, °C")
    time_constant: PositiveFloat = Field(600.0, description="time constant of the body, s")
    warming: NonNegativeFloat = Field(
        description="rise of the settled temperature per power of friction, K/W"
    )
    reference: float = Field(
        30.0, description="temperature at which the friction parameters hold, °C"
    )
    static_growth: float = Field(
        0.02, description="relative growth of static minus Coulomb friction, 1/K"
    )
    stribeck_velocity_growth: float = Field(
        0.02, description="relative growth of the Stribeck velocity, 1/K"
    )
    dry_growth: float = Field(0.0, description="relative growth of all dry friction, 1/K")
    viscous_decay: PositiveFloat = Field(
        20.0, description="temperature over which viscous friction decays, K"
    )
    viscous_floor: float = Field(
        0.3, ge=0.0, le=1.0, description="viscous friction of a hot joint, as a fraction"
    )
    sensor: bool = Field(True, description="whether the drive reports this temperature")

    def factors(self, temperature: Array | float) -> tuple[Array, Array, Array, Array]:
        """Return the factors of dry friction, static minus Coulomb friction, Stribeck
        velocity, and viscous friction.
        """
        above = np.asarray(temperature, dtype=float) - self.reference
        viscous = self.viscous_floor + (1.0 - self.viscous_floor) * np.exp(
            -above / self.viscous_decay
        )
        return (
            np.maximum(0.0, 1.0 + self.dry_growth * above),
            np.maximum(0.0, 1.0 + self.static_growth * above),
            np.maximum(_LEAST, 1.0 + self.stribeck_velocity_growth * above),
            viscous,
        )


@dataclass(slots=True)
class HeatedBody:
    """The body of one joint.

    Attributes
    ----------
    truth : HeatTruth
    temperature : float
        Present temperature [°C].
    time : float
        Time up to which it is computed [s].
    dry, static, slow, viscous : float
        Present factors, see `HeatTruth.factors`.
    """

    truth: HeatTruth
    temperature: float
    time: float = 0.0
    dry: float = 1.0
    static: float = 1.0
    slow: float = 1.0
    viscous: float = 1.0

    @classmethod
    def cold(cls, truth: HeatTruth) -> "HeatedBody":
        """Return a body at the temperature of its surroundings."""
        body = cls(truth, truth.ambient)
        body.advance(0.0, 0.0)
        return body

    def advance(self, time: float, power: float) -> None:
        """Let the body take up heat until a time [s] at this power [W], and set the factors."""
        truth = self.truth
        settled = truth.ambient + truth.warming * power
        self.temperature = settled + (self.temperature - settled) * exp(
            -(time - self.time) / truth.time_constant
        )
        self.time = time
        self.dry, self.static, self.slow, self.viscous = map(float, truth.factors(self.temperature))
