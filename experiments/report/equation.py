"""A joint's law with its numbers, as an equation."""

from markupsafe import Markup

from stribeck.experiments.report import words
from stribeck.experiments.report.joint_data import JointData

_STRIBECK = ("{lhs} = [<i>C</i> + (<i>S</i> − <i>C</i>) <i>e</i><sup>−(|{w}|/{stribeck_velocity})"
             '<span class="up">{exponent}</span></sup>] sgn {w} + {viscous} {w}')
_FRAMES = {      # laws that are not listed are named only
    "coulomb-viscous": "{lhs} = <i>C</i> sgn {w} + {viscous} {w}",
    "stribeck": _STRIBECK, "stribeck-free": _STRIBECK, "tustin": _STRIBECK,
    "quadratic": "{lhs} = <i>C</i> sgn {w} + {viscous} {w} + {viscous_quadratic} {w} |{w}|",
}
_EXPONENTS = {"tustin": 1.0}
_LEVELS = (("coulomb", "C"), ("static", "S"))


def equation(data: JointData) -> Markup:
    """The law of a joint with its numbers; empty where the report does not know how to write it."""
    joint = data.calibration
    frame = _FRAMES.get(joint.law)
    if frame is None:
        return Markup("")
    text = {key: words.fixed(joint.values[key], words.decimals_of(joint.parameters[key])) for key in joint.values}
    force, speed = ("F", "v") if data.prismatic else ("τ", "ω")
    exponent = joint.values.get("stribeck_exponent", _EXPONENTS.get(joint.law, 2.0))
    law = Markup(frame).format(lhs=Markup("<i>{}</i><sub>f</sub>").format(force), w=Markup("<i>{}</i>").format(speed),
                               exponent=f"{exponent:g}", **text)
    levels = []
    for key, letter in _LEVELS:
        if key in text:
            slopes = {f"{key}_coefficient": "", **{f"{key}_coefficient_{part}": part[0] for part in joint.components}}
            levels.append(Markup("<i>{}</i> = {}").format(letter, text[key]) + Markup("").join(
                Markup(" + {} <i>L</i><sub>{}</sub>" if part else " + {} <i>L</i>").format(text[name], *([part] if part else []))
                for name, part in slopes.items() if name in text))
    for part in joint.components:
        levels.append(Markup("<i>L</i><sub>{}</sub> = {} in {}").format(part[0], words.load_word(part, data.prismatic),
                                                                       words.load_unit(part, data.prismatic)))
    if data.load is not None and not joint.components:
        levels.append(Markup("<i>L</i> = {} in {}").format(words.load_word(joint.load, data.prismatic),
                                                           words.load_unit(joint.load, data.prismatic)))
    return Markup("<span>{}</span><span>{}</span>").format(law, Markup(", &ensp;").join(levels))
