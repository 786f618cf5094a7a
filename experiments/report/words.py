"""How results are said: numbers with their uncertainty, units, names, agreement with gravity."""

import math
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

import numpy as np
from scipy.special import chdtri

from stribeck.ident.calibration.calibration import Calibration
from stribeck.ident.calibration.joint_calibration import JointCalibration
from stribeck.ident.fit.inertia.identified_inertia import IdentifiedInertia
from stribeck.ident.fit.inertia.passive_friction import RubbingJoints
from stribeck.ident.fit.joint.gravity import ASTRAY, TELLS
from stribeck.ident.laws.law_table import law_named, quantity_named
from stribeck.ident.laws.parameter import Parameter
from stribeck.ident.laws.quantity import COULOMB, STATIC, STRIBECK_VELOCITY, VISCOUS, Quantity
from stribeck.ident.log.breakaway import Breakaway
from stribeck.ident.model.regressor import INERTIAL

MISSING = "–"
_UNKNOWN = Parameter(None, None, None, None, "1", "unidentifiable")
AGREES = 0.02           # scale of torque over gravity that still counts as agreement
_SURE = 0.999           # probability with which chance alone keeps runs closer together
_TELLING = 200.0        # percent of the value beyond which it is no measure of the interval

_CAUSES = {             # what a scale other than 1 may come from, by what is known of an unknown tool
    "not sought": "Torque constant, gear efficiency, model masses and an unknown tool look the same in it",
    "none": "Torque constant, gear efficiency and model masses look the same in it; an unknown tool does not explain it",
    "possible": "Torque constant, gear efficiency and model masses look the same in it; an unknown tool explains it as well",
    "found": "Torque constant, gear efficiency, model masses and this tool look the same in it",
    "used": "Torque constant, gear efficiency and model masses look the same in it",
}
LOAD_WORDS = {"none": "none", "normal": "normal load", "torque": "transmitted torque", "bending": "bending moment",
              "radial": "radial force", "axial": "axial force", "components": "load components"}
_INERTIAL_WORDS = dict(zip(INERTIAL, ("mass", *(f"first moment along {axis}" for axis in "xyz"), *(
    f"inertia {axes}" for axes in ("xx", "xy", "xz", "yy", "yz", "zz"))), strict=True))
_TOOL_WORDS = {"mass": "mass of the tool", "moment_x": "its mass times x", "moment_y": "its mass times y",
               "moment_z": "its mass times z"}


def number(value: float, digits: int = 3) -> str:
    """A number to significant digits, without exponent where that reads well."""
    if not math.isfinite(value):
        return MISSING
    if value and not 1e-4 <= abs(value) < 1e6:
        return f"{value:.{digits - 1}e}".replace("-", "−")
    return fixed(value, max(0, digits - 1 - _exponent(value))) if value else "0"


def fixed(value: float, decimals: int) -> str:
    """A number to decimals, with a true minus sign and no negative zero."""
    text = f"{value:.{decimals}f}"
    return text.lstrip("-") if float(text) == 0.0 else text.replace("-", "−")


def decimals_of(parameter: Parameter) -> int:
    """Decimals that show two digits of the 95 % half width; three digits of the value where there is none."""
    half = half_width(parameter)
    shown = half if half else abs(parameter.value or 0.0) / 10.0
    return 3 if shown <= 0.0 else max(0, min(6, 1 - _exponent(shown)))


def half_width(parameter: Parameter) -> float | None:
    """Half width of the 95 % interval; None without one."""
    return parameter.half_width


def plus_minus(parameter: Parameter | None) -> str:
    """Value and 95 % half width, two digits of the latter."""
    if parameter is None or parameter.value is None:
        return MISSING
    decimals, half = decimals_of(parameter), half_width(parameter)
    value = fixed(parameter.value, decimals)
    return value if half is None else f"{value} ± {fixed(half, decimals)}"


def interval(parameter: Parameter) -> str:
    """The 95 % interval."""
    if parameter.low is None or parameter.high is None:
        return MISSING
    decimals = decimals_of(parameter)
    return f"{fixed(parameter.low, decimals)} … {fixed(parameter.high, decimals)}"


def relative(parameter: Parameter) -> str:
    """Half width of the interval as a fraction of the value, in percent."""
    half = half_width(parameter)
    if half is None or not parameter.value:
        return MISSING
    percent = 100.0 * half / abs(parameter.value)
    if percent > _TELLING:
        return MISSING
    return f"± {percent:.0f} %" if percent >= 9.5 else f"± {percent:.1f} %"


def span(low: float, high: float, digits: int = 2) -> str:
    """A range of numbers, with as many decimals as the greater needs."""
    return " … ".join(level((low, high), digits))


def level(values: Sequence[float], digits: int = 2) -> list[str]:
    """Numbers with the same decimals, enough for the greatest."""
    greatest = max(abs(value) for value in values)
    decimals = max(0, digits - 1 - _exponent(greatest)) if greatest else 0
    return [fixed(value, decimals) for value in values]


def degrees(limits: tuple[float, float] | None) -> str:
    """A range of temperatures."""
    return "not reported" if limits is None else f"{limits[0]:.0f} … {limits[1]:.0f} °C"


def parameter_word(name: str) -> str:
    """A parameter of a law, of the gravity check or of the unknown tool in words."""
    if inertial := _inertial(name):
        return inertial
    return _TOOL_WORDS[name] if name in _TOOL_WORDS else quantity_named(name).word


def _inertial(name: str) -> str:
    """A combination of inertial parameters, called after its first, in words; empty for other parameters."""
    joint, _, key = name.partition(" ")[0].rpartition(".")
    return f"{_INERTIAL_WORDS[key]} of the link of {joint}" if joint and key in _INERTIAL_WORDS else ""


def parameter_symbol(name: str) -> tuple[str, str]:
    """Letter and subscript of a parameter in equations; two empty texts of a quantity that has none."""
    return ("", "") if name in _TOOL_WORDS or _inertial(name) else quantity_named(name).symbol


def glance(joints: Iterable[JointCalibration]) -> list[Quantity]:
    """The parameters that a table of these joints has a column for.

    They are Coulomb and static friction, Stribeck velocity and viscous friction, whatever the laws, and further ones of the laws.
    """
    own = [quantity for joint in joints for quantity in law_named(joint.law).quantities
           if quantity.heading and not quantity.raises]
    return list(dict.fromkeys((COULOMB, STATIC, STRIBECK_VELOCITY, VISCOUS, *own)))


def load_word(load: str, prismatic: bool = False) -> str:
    """A load in words."""
    return "transmitted force" if load == "torque" and prismatic else LOAD_WORDS.get(load, load)


def listed(names: Iterable[str]) -> str:
    """Names as an enumeration."""
    names = list(names)
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1] if names else ""


def minutes(seconds: float) -> str:
    """Time in whole minutes; seconds below two of them."""
    return f"{seconds / 60.0:.0f} min" if seconds >= 120.0 else f"{seconds:.0f} s"


def moment(when: datetime) -> str:
    """Date and time, in UTC where the zone is known."""
    zone = "" if when.tzinfo is None else " UTC"
    when = when if when.tzinfo is None else when.astimezone(UTC)
    return f"{when.day} {when:%B %Y, %H:%M}{zone}"


def gravity_sentence(calibration: Calibration) -> str:
    """How torque and model agree on gravity, over all joints, and what is known of an unknown tool."""
    if calibration.model.inertia is not None:
        return inertia_sentence(calibration.model.inertia)
    agree, differ, loose, astray, blind = gravity_groups(calibration)
    said = [tool_sentence(calibration)] if calibration.model.unknown_tool.parameters else []
    if agree:
        worst = max(0.1, 100.0 * max(abs((scale.value or 0.0) - 1.0) for scale in agree.values()))
        said.append(f"Measured torque and model agree within {worst:.1f} % for {listed(agree)}.")
    if differ:
        told = listed(f"{plus_minus(scale)} for {name}" for name, scale in differ.items())
        said.append(f"Torque over model is {told}. {_cause(calibration)}")
    if loose:
        said.append(f"For {listed(loose)} torque over model is told too loosely to say.")
    if astray:
        said.append(f"Torque does not follow the model's gravity for {listed(astray)}: are its joints' order, direction and "
                    "zero_offset right, and the tool?")
    if blind:
        said.append(f"The model's torque varies too little to tell for {listed(blind)}.")
    return " ".join(said)


def inertia_sentence(inertia: IdentifiedInertia) -> str:
    """What general motion told of the links' inertia."""
    return (f"The links' inertia was fitted together with friction: the motion tells {inertia.told} of the "
            f"{len(inertia.parameters)} combinations of masses, first moments and inertias that torques can tell; the others "
            "stay near the model's.")


class GravityGroups(NamedTuple):
    """Joints whose torque and model agree on gravity, or differ by a factor, with that; whose factor is wide; whose torque does
    not follow the model; and whose gravity varies too little to tell."""

    agree: dict[str, Parameter]
    differ: dict[str, Parameter]
    loose: list[str]
    astray: list[str]
    blind: list[str]


def gravity_groups(calibration: Calibration) -> GravityGroups:
    """What each joint's scale of torque over gravity says."""
    groups = GravityGroups({}, {}, [], [], [])
    for name, joint in calibration.joints.items():
        scale = joint.gravity.get("scale", _UNKNOWN)
        half = half_width(scale)
        if scale.value is None and joint.directional == "driving":
            continue                    # taken for 1
        if scale.note.startswith(ASTRAY):
            groups.astray.append(name)
        elif scale.value is None or scale.low is None or scale.high is None or half is None:
            groups.blind.append(name)
        elif 2.0 * half > TELLS:
            groups.loose.append(name)
        elif abs(scale.value - 1.0) <= AGREES or scale.low <= 1.0 <= scale.high:
            groups.agree[name] = scale
        else:
            groups.differ[name] = scale
    return groups


def tool_sentence(calibration: Calibration) -> str:
    """The unknown tool that was found."""
    unknown = calibration.model.unknown_tool
    told = [f"{parameter_word(name)} {plus_minus(entry)} {entry.unit}" for name, entry in unknown.parameters.items()
            if entry.value is not None]
    hidden = [f"{parameter_word(name)}: {entry.note}" for name, entry in unknown.parameters.items() if entry.value is None]
    if unknown.tool is not None:
        place = ", ".join(level(unknown.tool.com, 3))
        return (f"An unknown tool on the last link explains the even parts: {plus_minus(unknown.parameters['mass'])} kg at "
                f"({place}) m in the link's frame. Loads and gravity are those with it.")
    return (f"An unknown tool on the last link would explain the even parts ({'; '.join((*told, *hidden))}), but is not told "
            "well enough to be used: state the tool in the arm file.")


def _cause(calibration: Calibration) -> str:
    """What a scale other than 1 may come from."""
    basis = ("these joints are divided by it" if calibration.torque_basis == "gravity-corrected"
             else "if it is the torque constant, friction carries the same factor, as --torque-basis gravity-corrected undoes")
    return f"{_CAUSES[calibration.model.unknown_tool.status]}; {basis}."


def repeat_sentence(calibration: Calibration) -> str:
    """How far single runs deviate from one another; empty for one run."""
    count, beyond, greatest = calibration.pass_count, [], (0.0, "")
    for name, joint in calibration.joints.items():
        for key, entry in joint.parameters.items():
            deviation, value, error = entry.repeat_deviation, entry.value, entry.std_error
            if deviation is None or not value or not error:
                continue
            greatest = max(greatest, (deviation / abs(value), f"{100.0 * deviation / abs(value):.1f} % ({key} of {name})"))
            if (count - 1) * deviation**2 > chdtri(count - 1, 1.0 - _SURE) * count * error**2:
                beyond.append(f"{key} of {name} {number(deviation, 2)}{'' if entry.unit == '1' else ' ' + entry.unit}")
    if not greatest[1]:
        return ""
    apart = (f"more than the intervals tell: {listed(beyond)}" if beyond else "no more than the intervals tell")
    return f"Estimates of {count} single runs deviate by at most {greatest[1]}, standard deviation; {apart}."


def _exponent(value: float) -> int:
    return int(f"{value:.1e}".split("e")[1])


def motor_lines(calibration: Calibration) -> list[str]:
    """Friction of each motor that moves several joints."""
    lines = []
    for name, motor in calibration.motors.motors.items():
        moved = listed(calibration.model.transmission[name])
        told = [f"{parameter_word(key)} {plus_minus(entry)}{'' if entry.unit == '1' else f' {entry.unit}'}"
                for key, entry in motor.parameters.items() if entry.verdict != "unidentifiable"]
        lines.append(f"motor of {name}, which moves {moved}: {motor.law}; {', '.join(told) or 'nothing is told well'}")
    return lines


def _one_sided(parameter: Parameter) -> str:
    """Value and half width; of one that may be zero, what it is at most."""
    return plus_minus(parameter) if parameter.low or parameter.high is None else f"at most {number(parameter.high)}"


def passive_words(name: str, one: RubbingJoints) -> str:
    """Which joints a class of joints without a drive is."""
    return f"{name}, the joints {listed(one.joints)}, which have no drive"


def passive_lines(calibration: Calibration) -> list[str]:
    """Friction of each class of joints of a closed chain that have no drive."""
    lines = []
    for name, one in calibration.model.passive.classes.items():
        of = passive_words(name, one)
        if not one.parameters:
            stated = ", ".join(f"{parameter_word(key)} {number(value)}" for key, value in one.friction.items())
            lines.append(f"{of}: friction as the arm file states it: {stated or 'none'}")
            continue
        told = [f"{parameter_word(key)} {_one_sided(entry)}{'' if entry.unit == '1' else f' {entry.unit}'}"
                + (f" of the {one.load} load" if key == "coulomb_coefficient" else "")
                for key, entry in one.parameters.items() if entry.verdict != "unidentifiable"]
        lines.append(f"{of}: {', '.join(told) or 'nothing is told well'}")
    return lines


def breakaway_lines(calibration: Calibration) -> list[str]:
    """What holds each joint at rest beside the level of its slowest sliding, a line a joint."""
    lines = []
    for name, joint in calibration.joints.items():
        if joint.breakaway is None:
            continue
        load = None if joint.load_range is None else np.array(joint.load_range)
        slow = np.atleast_1d(joint.torque(np.full(2, joint.velocity_range[0]), load))
        slides = " to ".join(dict.fromkeys(number(float(level)) for level in (slow.min(), slow.max())))
        lines.append(f"{breakaway_line(name, joint.breakaway)}; slowest sliding {slides} {joint.breakaway.torque.unit}")
    return lines


def breakaway_line(name: str, found: Breakaway) -> str:
    """What holds a joint at rest, and how that was measured."""
    tau, (low, high), (short, long) = found.torque.unit, found.range, found.dwell
    return (f"{name}: {plus_minus(found.torque)} {tau}, {number(low)} to {number(high)} in {found.pairs} pairs of ramps of "
            f"{number(found.rate)} {tau}/s after {short:g} to {long:g} s of rest")
