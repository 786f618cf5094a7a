r"""Coulomb and viscous friction, without and with a quadratic part."""

from stribeck.ident.arrays import Array, Numbers, floats, library_of
from stribeck.ident.laws.law import Law
from stribeck.ident.laws.load_components import load_level
from stribeck.ident.laws.quantity import COULOMB, COULOMB_PER_LOAD, VISCOUS, VISCOUS_QUADRATIC


def coulomb_viscous(
    w: Numbers,
    coulomb: float,
    viscous: float,
    coulomb_coefficient: float = 0.0,
    load: Numbers | None = None,
) -> Array:
    r"""Sliding friction of one joint without Stribeck effect.

    .. math:: \tau_f = (c_0 + c_1 L) \operatorname{sgn}(\omega) + k_v \omega

    Parameters
    ----------
    w : array_like, shape (N,)
        Joint velocity [rad/s].
    coulomb : float
        Load-independent Coulomb friction c_0 [N·m].
    viscous : float
        Viscous coefficient k_v [N·m·s/rad].
    coulomb_coefficient : float
        Coulomb friction per load, c_1.
    load : array_like, shape (N,), optional
        Load L that the coefficient multiplies [N·m]; None means no load part.

    Returns
    -------
    ndarray, shape (N,)
        Torque that the drive adds to the rigid-body torque [N·m]; zero at w = 0.

    References
    ----------
    Guo, Ju and Wang, Aerospace 11 (2024) 368, Eq. 42.

    Examples
    --------
    >>> from stribeck import coulomb_viscous
    >>> coulomb_viscous([-0.5, 0.0, 0.5], coulomb=2.0, viscous=3.0)
    array([-3.5,  0. ,  3.5])
    """
    w, xp = floats(w), library_of(w)
    return (coulomb + coulomb_coefficient * load_level(load)) * xp.sign(w) + viscous * w


def quadratic_viscous(
    w: Numbers,
    coulomb: float,
    viscous: float,
    viscous_quadratic: float,
    coulomb_coefficient: float = 0.0,
    load: Numbers | None = None,
) -> Array:
    r"""Coulomb and viscous friction with a part that grows with the square of
    velocity, as in churned lubricant.

    .. math:: \tau_f = (c_0 + c_1 L) \operatorname{sgn}(\omega) + k_v \omega + k_2 \omega |\omega|

    Parameters as in `coulomb_viscous`; `viscous_quadratic` is k_2 [N·m·s²/rad²].
    """
    w, xp = floats(w), library_of(w)
    sliding = coulomb + coulomb_coefficient * load_level(load)
    return sliding * xp.sign(w) + viscous * w + viscous_quadratic * w * xp.abs(w)


COULOMB_VISCOUS = Law(
    "coulomb-viscous",
    coulomb_viscous,
    (COULOMB, VISCOUS, COULOMB_PER_LOAD),
    competes=True,
    equation="{lhs} = <i>C</i> sgn {w} + {viscous} {w}",
    c="""
static inline double @_coulomb_viscous(double w, double c0, double viscous, double c1, double load)
{
    return (c0 + c1 * load) * @_sign(w) + viscous * w;
}
""",
)

QUADRATIC = Law(
    "quadratic",
    quadratic_viscous,
    (COULOMB, VISCOUS, VISCOUS_QUADRATIC, COULOMB_PER_LOAD),
    loses=("the quadratic part",),
    competes=True,
    equation="{lhs} = <i>C</i> sgn {w} + {viscous} {w} + {viscous_quadratic} {w} |{w}|",
    c="""
static inline double @_quadratic_viscous(double w, double c0, double viscous, double quadratic, double c1, double load)
{
    return (c0 + c1 * load) * @_sign(w) + viscous * w + quadratic * w * fabs(w);
}
""",
)
