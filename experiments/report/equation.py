"""A joint's law with its numbers, as an equation."""

from markupsafe import Markup

from experiments.report import words
from experiments.report.joint import JointData

_FRAMES = {      # laws that are not listed are named only
    "coulomb-viscous": "{lhs} = <i>C</i> sgn {w} + {viscous} {w}",
    "stribeck": "{lhs} = [<i>C</i> + (<i>S</i> − <i>C</i>) <i>e</i><sup>−(|{w}|/{stribeck_velocity})<span class=\"up\">{exponent}"
                "</span></sup>] sgn {w} + {viscous} {w}",
}
_LEVELS = (("coulomb", "C"), ("static", "S"))


def equation(data: JointData) -> Markup:
    """The law of a joint with its numbers; empty where the report does not know how to write it."""
    joint = data.calibration
    frame = _FRAMES.get(joint.law)
    if frame is None:
        return Markup("")
    text = {key: words.fixed(p.value, words.decimals_of(p)) for key, p in joint.parameters.items() if p.value is not None}
    force, speed = ("F", "v") if data.prismatic else ("τ", "ω")
    exponent = joint.values.get("stribeck_exponent", 2.0)
    lines = [Markup(frame).format(lhs=Markup("<i>{}</i><sub>f</sub>").format(force), w=Markup("<i>{}</i>").format(speed),
                                  exponent=f"{exponent:g}", **text)]
    levels = [Markup("<i>{}</i> = {}{}").format(
        letter, text[key], Markup(" + {} <i>L</i>").format(text[f"{key}_coefficient"]) if f"{key}_coefficient" in text else "")
        for key, letter in _LEVELS if key in text]
    lines.append(Markup(", &ensp;").join(levels))
    if data.load is not None:
        lines[-1] += Markup(", &ensp;<i>L</i> = {} in {}").format(words.load_word(joint.load, data.prismatic),
                                                                words.load_unit(joint.load, data.prismatic))
    return Markup("").join(Markup("<span>{}</span>").format(line) for line in lines)
