"""Equation of a joint's friction law with its fitted numbers."""

from markupsafe import Markup

from stribeck.experiments.report import words
from stribeck.experiments.report.joint_data import JointData
from stribeck.ident.laws.law_table import law_named
from stribeck.ident.laws.load_components import load_unit

_LEVELS = (("coulomb", "C"), ("static", "S"), ("viscous", "K"))


def equation(data: JointData) -> Markup:
    """Return the law of a joint with its numbers as HTML; empty if the law has no equation."""
    joint = data.calibration
    frame = law_named(joint.law).equation
    if not frame:
        return Markup("")
    text = {
        key: words.fixed(joint.values[key], words.decimals_of(joint.parameters[key]))
        for key in joint.values
    }
    force, speed = ("F", "v") if data.prismatic else ("τ", "ω")
    law = Markup(frame).format(
        lhs=Markup("<i>{}</i><sub>f</sub>").format(force),
        w=Markup("<i>{}</i>").format(speed),
        **text,
    )
    levels = []
    for key, letter in _LEVELS:
        if key in text and f"<i>{letter}</i>" in frame:
            slopes = {
                f"{key}_coefficient": "",
                **{f"{key}_coefficient_{part}": part[0] for part in joint.components},
            }
            levels.append(
                Markup("<i>{}</i> = {}").format(letter, text[key])
                + Markup("").join(
                    Markup(" + {} <i>L</i><sub>{}</sub>" if part else " + {} <i>L</i>").format(
                        text[name], *([part] if part else [])
                    )
                    for name, part in slopes.items()
                    if name in text
                )
            )
    for part in joint.components:
        levels.append(
            Markup("<i>L</i><sub>{}</sub> = {} in {}").format(
                part[0], words.load_word(part, data.prismatic), load_unit(part, data.prismatic)
            )
        )
    if data.load is not None and not joint.components:
        levels.append(
            Markup("<i>L</i> = {} in {}").format(
                words.load_word(joint.load, data.prismatic), load_unit(joint.load, data.prismatic)
            )
        )
    return Markup("<span>{}</span><span>{}</span>").format(law, Markup(", &ensp;").join(levels))
