r"""Friction whose viscous part grows with the load, too: pressure makes
a lubricant more viscous.
"""

from stribeck.ident.arrays import Array, Numbers, floats, library_of
from stribeck.ident.laws.law import Law
from stribeck.ident.laws.load_components import load_level
from stribeck.ident.laws.quantity import (
    COULOMB,
    COULOMB_PER_LOAD,
    STATIC,
    STATIC_PER_LOAD,
    STRIBECK_VELOCITY,
    VISCOUS,
    VISCOUS_PER_LOAD,
)
from stribeck.ident.laws.stribeck import stribeck


def loaded_viscous(
    w: Numbers,
    coulomb: float,
    viscous: float,
    coulomb_coefficient: float = 0.0,
    viscous_coefficient: float = 0.0,
    load: Numbers | None = None,
) -> Array:
    r"""Coulomb and viscous friction, both of which grow with the load.

    .. math:: \tau_f = (c_0 + c_1 L) \operatorname{sgn}(\omega) + (k_v + k_1 L) \omega

    Parameters as in `coulomb_viscous`; `viscous_coefficient` is k_1, the viscous
    coefficient per load [s/rad].
    """
    w, xp, load = floats(w), library_of(w), load_level(load)
    C = coulomb + coulomb_coefficient * load
    k_v = viscous + viscous_coefficient * load
    return C * xp.sign(w) + k_v * w


def stribeck_loaded_viscous(
    w: Numbers,
    coulomb: float,
    static: float,
    stribeck_velocity: float,
    viscous: float,
    coulomb_coefficient: float = 0.0,
    static_coefficient: float = 0.0,
    viscous_coefficient: float = 0.0,
    load: Numbers | None = None,
) -> Array:
    r"""`stribeck` with a viscous part that grows with the load.

    .. math:: \tau_f = [C + (S - C) e^{-|\omega/\omega_s|^2}] \operatorname{sgn}(\omega) + (k_v + k_1 L) \omega

    Parameters as in `stribeck` and `loaded_viscous`.
    """
    w = floats(w)
    falling = stribeck(
        w,
        coulomb,
        static,
        stribeck_velocity,
        viscous,
        coulomb_coefficient,
        static_coefficient,
        load=load,
    )
    return falling + viscous_coefficient * load_level(load) * w


_LOSES = "the growth of viscous friction with the load"

LOADED_VISCOUS = Law(
    "loaded-viscous",
    loaded_viscous,
    (COULOMB, VISCOUS, COULOMB_PER_LOAD, VISCOUS_PER_LOAD),
    loses=(_LOSES,),
    equation="{lhs} = <i>C</i> sgn {w} + <i>K</i> {w}",
    c="""
static inline double @_loaded_viscous(double w, double c0, double viscous, double c1, double k1, double load)
{
    return (c0 + c1 * load) * @_sign(w) + (viscous + k1 * load) * w;
}
""",
)

STRIBECK_LOADED_VISCOUS = Law(
    "stribeck-loaded-viscous",
    stribeck_loaded_viscous,
    (
        COULOMB,
        STATIC,
        VISCOUS,
        COULOMB_PER_LOAD,
        STATIC_PER_LOAD,
        VISCOUS_PER_LOAD,
        STRIBECK_VELOCITY,
    ),
    loses=("the Stribeck effect", _LOSES),
    equation=(
        "{lhs} = [<i>C</i> + (<i>S</i> − <i>C</i>) "
        "<i>e</i><sup>−(|{w}|/{stribeck_velocity})²</sup>] sgn {w} + <i>K</i> {w}"
    ),
    c="""
static inline double @_stribeck_loaded_viscous(double w, double c0, double s0, double ws, double viscous, double c1, double s1,
                                               double k1, double load)
{
    const double c = c0 + c1 * load, s = s0 + s1 * load;
    return (c + (s - c) * exp(-(w / ws) * (w / ws))) * @_sign(w) + (viscous + k1 * load) * w;
}
""",
)
