"""Friction over temperature in C: the change of friction from the reference temperature, and
the state of self-heating.
"""

from collections.abc import Callable, Mapping, Sequence

from stribeck.ident.calibration.joint_calibration import JointCalibration
from stribeck.ident.export.result import exact
from stribeck.ident.temperature.joint_temperature import JointTemperature
from stribeck.ident.temperature.temperature_laws import (
    CURVATURE,
    DECAY,
    EXPONENTIAL,
    FLOOR,
    NONE,
    QUADRATIC,
    SLOPE,
)

_CODE = """
/* Factors of the Coulomb and the viscous part of friction at the temperature of joint j; 1 at NAN and without a dependence. */
static inline void @_factors(int j, double temperature, double factor[2])
{
    factor[0] = factor[1] = 1.0;
    if (temperature != temperature) return;
    switch (j) {
@FACTORS
    default: break;
    }
}

/* Add to tau (from @_friction, at the same dq and load) the change of friction from the reference temperatures
   (@REFERENCES) to these temperatures@STATES. */
static inline void @_temperature(const double dq[@N], const double load[@K], const double temperature[@N], double tau[@N])
{
    double factor[2];
    (void)load;
@CHANGES
}
"""

_WARM = """
/* Self-heating of joints without a sensor: the state that @_temperature takes, and the states of the bodies. The caller keeps it;
   {0} at first: cold joints. For joints with a sensor, the caller writes the temperature to `state`. */
typedef struct { double state[@N], body[@N][2]; } @_warmth;

/* Let friction heat the joints for a time dt [s]. Call it once per sample, at rest, too. */
static inline void @_warm(const double dq[@N], const double load[@K], double dt, @_warmth *warmth)
{
    double factor[2], kept;
    (void)load;
@BODIES
}
"""

_CASE = """    case {j}: {{
        const double x = temperature - {reference};
        factor[0] = {dry};
        factor[1] = {viscous};
        (void)x;
        break;
    }}"""

_CHANGE = """    {{
        const double dry = {dry}, all = {whole};
        @_factors({j}, temperature[{j}], factor);
        tau[{j}] += dry * (factor[0] - 1.0) + (all - dry) * (factor[1] - 1.0);
    }}"""

_BODY = """    {{
        const double dry = {dry}, all = {whole};
        double heat;
        @_factors({j}, fmin(warmth->state[{j}], {hottest}), factor);     /* hottest measured state */
        heat = (dry * factor[0] + (all - dry) * factor[1]) * dq[{j}] / {power};
{bodies}
        warmth->state[{j}] = {state};
    }}"""


def temperature_in_c(
    joints: Sequence[JointCalibration | None], law: Callable[[int, bool], str], names: Sequence[str]
) -> str:
    """Return the C code of friction over temperature; "" if no joint depends on it.

    Parameters
    ----------
    joints : sequence of JointCalibration or None
        Joints in the order of the arrays.
    law : callable
        ``law(j, viscous)``: C expression of the law of joint j, with or without its viscous part.
    names : sequence of str
        Names of the joints.
    """
    found = {
        j: joint.temperature
        for j, joint in enumerate(joints)
        if joint is not None and joint.temperature is not None
    }
    if not found:
        return ""
    heated = {j: one for j, one in found.items() if one.heating is not None}
    code = _CODE.replace("@FACTORS", "\n".join(_case(j, one) for j, one in found.items()))
    code = code.replace(
        "@REFERENCES", ", ".join(f"{names[j]} {one.reference_words}" for j, one in found.items())
    )
    code = code.replace(
        "@STATES", "; states of joints that friction heats come from @_warm" if heated else ""
    )
    code = code.replace(
        "@CHANGES",
        "\n".join(_CHANGE.format(j=j, dry=law(j, False), whole=law(j, True)) for j in found),
    )
    if heated:
        code += _WARM.replace("@BODIES", "\n".join(_body(j, one, law) for j, one in heated.items()))
    return code


def _case(j: int, one: JointTemperature) -> str:
    return _CASE.format(
        j=j,
        reference=exact(one.reference),
        dry=_factor(one.coulomb, "coulomb", one.values),
        viscous=_factor(one.viscous, "viscous", one.values),
    )


def _factor(name: str, part: str, values: Mapping[str, float]) -> str:
    """Return the expression of a temperature law at x above the
    reference, see `temperature_laws`.
    """
    if name == NONE.name:
        return "1.0"
    if name == EXPONENTIAL.name:
        decay, floor = (values[f"{part}_{key}"] for key in (DECAY, FLOOR))
        return f"{exact(floor)} + {exact(1.0 - floor)} * exp(fmin(-x / {exact(decay)}, 50.0))"
    more = f" + {exact(values[f'{part}_{CURVATURE}'])} * x * x" if name == QUADRATIC.name else ""
    return f"fmax(0.0, 1.0 + {exact(values[f'{part}_{SLOPE}'])} * x{more})"


def _body(j: int, one: JointTemperature, law: Callable[[int, bool], str]) -> str:
    heating = one.heating
    assert heating is not None
    bodies = [
        f"        kept = exp(-dt / {exact(time)});\n"
        f"        warmth->body[{j}][{k}] = kept * warmth->body[{j}][{k}] + (1.0 - kept) * heat;"
        for k, time in enumerate(heating.times)
    ]
    state = " + ".join(
        f"{exact(share)} * warmth->body[{j}][{k}]" for k, share in enumerate(heating.shares)
    )
    return _BODY.format(
        j=j,
        dry=law(j, False),
        whole=law(j, True),
        power=exact(heating.power),
        hottest=exact(one.range[1]),
        bodies="\n".join(bodies),
        state=state,
    )
