r"""Stribeck friction that is smooth through zero velocity, for simulation."""

from stribeck.ident.arrays import Array, Numbers, floats, library_of
from stribeck.ident.laws.law import Law
from stribeck.ident.laws.load_components import load_level
from stribeck.ident.laws.quantity import (
    COULOMB,
    COULOMB_PER_LOAD,
    STATIC,
    STATIC_PER_LOAD,
    STRIBECK_VELOCITY,
    TANH_VELOCITY,
    VISCOUS,
)


def brown_mcphee(
    w: Numbers,
    coulomb: float,
    static: float,
    stribeck_velocity: float,
    viscous: float,
    coulomb_coefficient: float = 0.0,
    static_coefficient: float = 0.0,
    load: Numbers | None = None,
) -> Array:
    r"""Friction that is smooth through zero velocity and greatest at the Stribeck velocity.

    .. math:: \tau_f = C \tanh(4 u) + (S - C) \frac{u}{(u^2/4 + 3/4)^2} + k_v \omega, \quad u = \omega / \omega_s

    Parameters as in `stribeck`, but w_s is where friction peaks: close to `static` [rad/s]. Made
    for simulation: below w_s it falls to zero at rest.

    References
    ----------
    Brown and McPhee, J. Computational and Nonlinear Dynamics 11 (2016) 054502, Eq. 7.
    """
    w, xp, load = floats(w), library_of(w), load_level(load)
    sliding = coulomb + coulomb_coefficient * load
    excess = static + static_coefficient * load - sliding
    u = w / stribeck_velocity
    return sliding * xp.tanh(4.0 * u) + excess * u / (0.25 * u**2 + 0.75) ** 2 + viscous * w


def andersson(
    w: Numbers,
    coulomb: float,
    static: float,
    stribeck_velocity: float,
    tanh_velocity: float,
    viscous: float,
    coulomb_coefficient: float = 0.0,
    static_coefficient: float = 0.0,
    load: Numbers | None = None,
) -> Array:
    r"""`stribeck` with the jump at zero velocity made smooth: sgn(w) becomes tanh(w / w_t).

    .. math:: \tau_f = [C + (S - C) e^{-|\omega/\omega_s|^2}] \tanh(\omega / \omega_t) + k_v \omega

    Parameters as in `stribeck`; `tanh_velocity` w_t is where tanh has reached 0.76 [rad/s].

    References
    ----------
    Andersson, Söderberg and Björklund, Tribology International 40 (2007) 580, Eq. 6.
    """
    w, xp, load = floats(w), library_of(w), load_level(load)
    sliding = coulomb + coulomb_coefficient * load
    excess = static + static_coefficient * load - sliding
    fading = xp.exp(-((w / stribeck_velocity) ** 2))
    return (sliding + excess * fading) * xp.tanh(w / tanh_velocity) + viscous * w


_QUANTITIES = (COULOMB, STATIC, VISCOUS, COULOMB_PER_LOAD, STATIC_PER_LOAD, STRIBECK_VELOCITY)
_LOSES = ("the Stribeck effect",)

BROWN_MCPHEE = Law(
    "brown-mcphee",
    brown_mcphee,
    _QUANTITIES,
    loses=_LOSES,
    c="""
static inline double @_brown_mcphee(double w, double c0, double s0, double ws, double viscous, double c1, double s1, double load)
{
    const double c = c0 + c1 * load, s = s0 + s1 * load, u = w / ws, d = 0.25 * u * u + 0.75;
    return c * tanh(4.0 * u) + (s - c) * u / (d * d) + viscous * w;
}
""",
)

ANDERSSON = Law(
    "andersson",
    andersson,
    (*_QUANTITIES, TANH_VELOCITY),
    loses=_LOSES,
    c="""
static inline double @_andersson(double w, double c0, double s0, double ws, double wt, double viscous, double c1, double s1,
                                 double load)
{
    const double c = c0 + c1 * load, s = s0 + s1 * load;
    return (c + (s - c) * exp(-(w / ws) * (w / ws))) * tanh(w / wt) + viscous * w;
}
""",
)
