r"""Friction that falls from a static level to Coulomb friction as speed grows (Stribeck effect)."""

from stribeck.ident.arrays import Array, Numbers, floats, library_of
from stribeck.ident.laws.law import Law
from stribeck.ident.laws.load_components import load_level
from stribeck.ident.laws.quantity import (
    COULOMB,
    COULOMB_PER_LOAD,
    STATIC,
    STATIC_PER_LOAD,
    STRIBECK_EXPONENT,
    STRIBECK_VELOCITY,
    VISCOUS,
)


def stribeck(
    w: Numbers,
    coulomb: float,
    static: float,
    stribeck_velocity: float,
    viscous: float,
    coulomb_coefficient: float = 0.0,
    static_coefficient: float = 0.0,
    stribeck_exponent: float = 2.0,
    load: Numbers | None = None,
) -> Array:
    r"""Sliding friction of one joint with Stribeck effect.

    .. math:: \tau_f = [C + (S - C) e^{-|\omega/\omega_s|^\delta}] \operatorname{sgn}(\omega) + k_v \omega,
              \quad C = c_0 + c_1 L, \quad S = s_0 + s_1 L

    Parameters
    ----------
    w : array_like, shape (N,)
        Joint velocity [rad/s].
    coulomb, static : float
        Load-independent Coulomb and low-speed sliding friction, c_0 and s_0 [N·m].
    stribeck_velocity : float
        Velocity w_s at which the excess over Coulomb has faded to 1/e [rad/s].
    viscous : float
        Viscous coefficient k_v [N·m·s/rad].
    coulomb_coefficient, static_coefficient : float
        Friction per load, c_1 and s_1.
    stribeck_exponent : float
        Exponent delta.
    load : array_like, shape (N,), optional
        Load L that the coefficients multiply [N·m]; None means no load part.

    Returns
    -------
    ndarray, shape (N,)
        Torque that the drive adds to the rigid-body torque [N·m]; zero at w = 0.

    References
    ----------
    Bo and Pavelescu, Wear 82 (1982) 277; Guo, Ju and Wang, Aerospace 11 (2024) 368, Eq. 52.

    Examples
    --------
    >>> from stribeck import stribeck
    >>> stribeck([0.001, 0.05, 1.0], coulomb=6.0, static=8.0, stribeck_velocity=0.05, viscous=11.0).round(2)
    array([ 8.01,  7.29, 17.  ])
    """
    w, xp, load = floats(w), library_of(w), load_level(load)
    sliding = coulomb + coulomb_coefficient * load
    excess = static + static_coefficient * load - sliding
    fading = xp.exp(-(xp.abs(w / stribeck_velocity) ** stribeck_exponent))
    return (sliding + excess * fading) * xp.sign(w) + viscous * w


def tustin(
    w: Numbers,
    coulomb: float,
    static: float,
    stribeck_velocity: float,
    viscous: float,
    coulomb_coefficient: float = 0.0,
    static_coefficient: float = 0.0,
    load: Numbers | None = None,
) -> Array:
    """Sliding friction whose low-speed excess fades exponentially: `stribeck` with exponent
    1 and the same parameters.

    References
    ----------
    Tustin, J. IEE 94 (1947) 143; Rosyid and El-Khasawneh, Applied Sciences 10 (2020) 4820 (P2).
    """
    return stribeck(
        w,
        coulomb,
        static,
        stribeck_velocity,
        viscous,
        coulomb_coefficient,
        static_coefficient,
        1.0,
        load,
    )


_QUANTITIES = (COULOMB, STATIC, VISCOUS, COULOMB_PER_LOAD, STATIC_PER_LOAD, STRIBECK_VELOCITY)
_LOSES = ("the Stribeck effect",)
_EQUATION = (
    "{lhs} = [<i>C</i> + (<i>S</i> − <i>C</i>) <i>e</i><sup>−(|{w}|/{stribeck_velocity})"
    '<span class="up">EXPONENT</span></sup>] sgn {w} + {viscous} {w}'
)
_C = """
static inline double @_stribeck(double w, double c0, double s0, double ws, double viscous, double c1, double s1, double delta,
                                double load)
{
    const double c = c0 + c1 * load, s = s0 + s1 * load;
    return (c + (s - c) * exp(-pow(fabs(w / ws), delta))) * @_sign(w) + viscous * w;
}
"""

STRIBECK = Law(
    "stribeck",
    stribeck,
    _QUANTITIES,
    _EQUATION.replace("EXPONENT", "2"),
    _C,
    loses=_LOSES,
    competes=True,
)

STRIBECK_FREE = Law(
    "stribeck-free",
    stribeck,
    (*_QUANTITIES, STRIBECK_EXPONENT),
    _EQUATION.replace("EXPONENT", "{stribeck_exponent}"),
    _C,
    loses=_LOSES,
    competes=True,
)

TUSTIN = Law(
    "tustin",
    tustin,
    _QUANTITIES,
    _EQUATION.replace("EXPONENT", "1"),
    loses=_LOSES,
    competes=True,
    c="""
static inline double @_tustin(double w, double c0, double s0, double ws, double viscous, double c1, double s1, double load)
{
    const double c = c0 + c1 * load, s = s0 + s1 * load;
    return (c + (s - c) * exp(-fabs(w / ws))) * @_sign(w) + viscous * w;
}
""",
)
