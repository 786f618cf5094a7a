r"""Friction whose viscous part is not a straight line: it grows with a power of speed,
saturates, or begins at a speed.
"""

from typing import Any

from stribeck.ident.arrays import Array, Numbers, floats, library_of
from stribeck.ident.laws.law import Law
from stribeck.ident.laws.load_components import load_level
from stribeck.ident.laws.quantity import (
    COULOMB,
    COULOMB_PER_LOAD,
    KINK_VELOCITY,
    KINK_WIDTH,
    SATURATION_VELOCITY,
    STATIC,
    STATIC_PER_LOAD,
    STRIBECK_EXPONENT,
    STRIBECK_VELOCITY,
    VISCOUS_BEYOND,
    VISCOUS_EXPONENT,
    VISCOUS_LEVEL,
    VISCOUS_POWER,
)
from stribeck.ident.laws.stribeck import stribeck


def power_viscous(
    w: Numbers,
    coulomb: float,
    viscous_power: float,
    viscous_exponent: float,
    coulomb_coefficient: float = 0.0,
    load: Numbers | None = None,
) -> Array:
    r"""Coulomb friction and a viscous part that grows with a power of speed, as in grease.

    .. math:: \tau_f = [c_0 + c_1 L + k_p |\omega / (1\,\mathrm{rad/s})|^p] \operatorname{sgn}(\omega)

    Parameters as in `coulomb_viscous`; `viscous_power` is k_p, the viscous part at 1 rad/s
    [N·m], `viscous_exponent` p.

    References
    ----------
    Herschel and Bulkley, Kolloid-Zeitschrift 39 (1926) 291, for the flow of grease.
    """
    w, xp = floats(w), library_of(w)
    constant = coulomb + coulomb_coefficient * load_level(load)
    rising = viscous_power * xp.abs(w) ** viscous_exponent
    return (constant + rising) * xp.sign(w)


def saturating_viscous(
    w: Numbers,
    coulomb: float,
    viscous_level: float,
    saturation_velocity: float,
    coulomb_coefficient: float = 0.0,
    load: Numbers | None = None,
) -> Array:
    r"""Coulomb friction and a viscous part that saturates, as in a lubricant that
    warms or thins with speed.

    .. math:: \tau_f = [c_0 + c_1 L + k_l (1 - e^{-|\omega|/\omega_l})] \operatorname{sgn}(\omega)

    Parameters as in `power_viscous`; `viscous_level` is k_l [N·m], and `saturation_velocity` is the
    speed w_l at which the viscous part reaches 63 % of k_l [rad/s].
    """
    w, xp = floats(w), library_of(w)
    rising = 1.0 - xp.exp(-xp.abs(w) / saturation_velocity)
    return (coulomb + coulomb_coefficient * load_level(load) + viscous_level * rising) * xp.sign(w)


def kinked_viscous(
    w: Numbers,
    coulomb: float,
    viscous_beyond: float,
    kink_velocity: float,
    coulomb_coefficient: float = 0.0,
    load: Numbers | None = None,
) -> Array:
    r"""Coulomb friction, and a viscous part that begins at a speed, at which a film of lubricant
    begins to carry the load.

    .. math:: \tau_f = [c_0 + c_1 L + k_b \max(0, |\omega| - \omega_k)] \operatorname{sgn}(\omega)

    Parameters as in `coulomb_viscous`; `viscous_beyond` is k_b [N·m·s/rad], `kink_velocity` the
    speed w_k at which friction begins to grow [rad/s].
    """
    w, xp = floats(w), library_of(w)
    rising = xp.clip(xp.abs(w) - kink_velocity, 0.0, None)
    return (coulomb + coulomb_coefficient * load_level(load) + viscous_beyond * rising) * xp.sign(w)


def rounded_kink(
    w: Numbers,
    coulomb: float,
    viscous_beyond: float,
    kink_velocity: float,
    kink_width: float,
    coulomb_coefficient: float = 0.0,
    load: Numbers | None = None,
) -> Array:
    r"""Friction that is constant at low speed and begins to rise gradually around a speed, as a
    lubricant film builds up.

    .. math:: \tau_f = \{c_0 + c_1 L + k_b \omega_r [s((|\omega| - \omega_k) / \omega_r) - s(-\omega_k / \omega_r)]\}
              \operatorname{sgn}(\omega), \quad s(x) = \ln(1 + e^x)

    Parameters as in `kinked_viscous`; `kink_width` is the range w_r of speeds about w_k over
    which the slope grows [rad/s].
    """
    w, xp = floats(w), library_of(w)
    speed = xp.abs(w)
    rising = _softplus((speed - kink_velocity) / kink_width) - _softplus(
        (0.0 * speed - kink_velocity) / kink_width
    )
    constant = coulomb + coulomb_coefficient * load_level(load)
    return (constant + viscous_beyond * kink_width * rising) * xp.sign(w)


def _softplus(x: Any) -> Any:
    xp = library_of(x)
    return xp.logaddexp(xp.zeros_like(x), x)


def stribeck_power(
    w: Numbers,
    coulomb: float,
    static: float,
    stribeck_velocity: float,
    viscous_power: float,
    viscous_exponent: float,
    coulomb_coefficient: float = 0.0,
    static_coefficient: float = 0.0,
    stribeck_exponent: float = 2.0,
    load: Numbers | None = None,
) -> Array:
    r"""`stribeck` with a viscous part that grows with a power of speed.

    .. math:: \tau_f = [C + (S - C) e^{-|\omega/\omega_s|^\delta} + k_p |\omega / (1\,\mathrm{rad/s})|^p]
              \operatorname{sgn}(\omega)

    Parameters as in `stribeck` and `power_viscous`.
    """
    w, xp = floats(w), library_of(w)
    falling = stribeck(
        w,
        coulomb,
        static,
        stribeck_velocity,
        0.0,
        coulomb_coefficient,
        static_coefficient,
        stribeck_exponent,
        load,
    )
    return falling + viscous_power * xp.abs(w) ** viscous_exponent * xp.sign(w)


POWER = Law(
    "power",
    power_viscous,
    (COULOMB, VISCOUS_POWER, COULOMB_PER_LOAD, VISCOUS_EXPONENT),
    competes=True,
    loses=("the bend of the viscous part",),
    equation="{lhs} = (<i>C</i> + {viscous_power} |{w}|<sup>{viscous_exponent}</sup>) sgn {w}",
    c="""
static inline double @_power_viscous(double w, double c0, double power, double exponent, double c1, double load)
{
    return (c0 + c1 * load + power * pow(fabs(w), exponent)) * @_sign(w);
}
""",
)

SATURATING = Law(
    "saturating",
    saturating_viscous,
    (COULOMB, VISCOUS_LEVEL, COULOMB_PER_LOAD, SATURATION_VELOCITY),
    competes=True,
    loses=("the bend of the viscous part",),
    equation="{lhs} = [<i>C</i> + {viscous_level} (1 − "
    "<i>e</i><sup>−|{w}|/{saturation_velocity}</sup>)] sgn {w}",
    c="""
static inline double @_saturating_viscous(double w, double c0, double level, double wl, double c1, double load)
{
    return (c0 + c1 * load + level * (1.0 - exp(-fabs(w) / wl))) * @_sign(w);
}
""",
)

KINKED = Law(
    "kinked",
    kinked_viscous,
    (COULOMB, VISCOUS_BEYOND, COULOMB_PER_LOAD, KINK_VELOCITY),
    competes=True,
    loses=("the kink of the viscous part",),
    equation="{lhs} = [<i>C</i> + {viscous_beyond} max(0, |{w}| − {kink_velocity})] sgn {w}",
    c="""
static inline double @_kinked_viscous(double w, double c0, double beyond, double wk, double c1, double load)
{
    return (c0 + c1 * load + beyond * fmax(0.0, fabs(w) - wk)) * @_sign(w);
}
""",
)

ROUNDED_KINK = Law(
    "rounded-kink",
    rounded_kink,
    (COULOMB, VISCOUS_BEYOND, COULOMB_PER_LOAD, KINK_VELOCITY, KINK_WIDTH),
    competes=True,
    needs=("kinked", "stribeck-free", "stribeck-power"),
    loses=("the kink of the viscous part",),
    equation=(
        "{lhs} = {{<i>C</i> + {viscous_beyond} {kink_width} [<i>s</i>((|{w}| − "
        "{kink_velocity})/{kink_width}) − <i>s</i>(−{kink_velocity}/{kink_width})]}} sgn {w}, "
        "<i>s</i>(<i>x</i>) = ln(1 + <i>e</i><sup><i>x</i></sup>)"
    ),
    c="""
static inline double @_softplus(double x)
{
    return fmax(0.0, x) + log1p(exp(-fabs(x)));
}

static inline double @_rounded_kink(double w, double c0, double beyond, double wk, double width, double c1, double load)
{
    const double rising = @_softplus((fabs(w) - wk) / width) - @_softplus(-wk / width);
    return (c0 + c1 * load + beyond * width * rising) * @_sign(w);
}
""",
)

_QUANTITIES = (
    COULOMB,
    STATIC,
    VISCOUS_POWER,
    COULOMB_PER_LOAD,
    STATIC_PER_LOAD,
    STRIBECK_VELOCITY,
    VISCOUS_EXPONENT,
)
_LOSES = ("the Stribeck effect", "the bend of the viscous part")
_EQUATION = (
    "{lhs} = [<i>C</i> + (<i>S</i> − <i>C</i>) <i>e</i><sup>−(|{w}|/{stribeck_velocity})"
    '<span class="up">EXPONENT</span></sup> + {viscous_power} |{w}|<sup>{viscous_exponent}</sup>] '
    "sgn {w}"
)
_C = """
static inline double @_stribeck_power(double w, double c0, double s0, double ws, double power, double exponent, double c1,
                                      double s1, double delta, double load)
{
    const double c = c0 + c1 * load, s = s0 + s1 * load;
    return (c + (s - c) * exp(-pow(fabs(w / ws), delta)) + power * pow(fabs(w), exponent)) * @_sign(w);
}
"""

STRIBECK_POWER = Law(
    "stribeck-power",
    stribeck_power,
    _QUANTITIES,
    _EQUATION.replace("EXPONENT", "2"),
    _C,
    loses=_LOSES,
    competes=True,
)

STRIBECK_FREE_POWER = Law(
    "stribeck-free-power",
    stribeck_power,
    (*_QUANTITIES, STRIBECK_EXPONENT),
    _EQUATION.replace("EXPONENT", "{stribeck_exponent}"),
    _C,
    loses=_LOSES,
    competes=True,
    needs=("tustin", "stribeck-free", "stribeck-power"),
)
