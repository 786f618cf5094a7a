"""Text for results: numbers with their uncertainty, units, names, sentences about
gravity, repeats and breakaway.
"""

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
from stribeck.ident.model.mechanism import Mechanism
from stribeck.ident.model.regressor import INERTIAL
from stribeck.ident.model.told_loads import told_loads
from stribeck.ident.ripple.wave import KINDS

MISSING = "–"
_UNKNOWN = Parameter(None, None, None, None, "1", "unidentifiable")
# deviation from 1 of measured over modelled gravity torque that still counts as agreement
AGREES = 0.02
# confidence level of the test whether runs scatter more than their intervals predict
_SURE = 0.999
_TELLING = 200.0  # half width in percent of the value from which the percentage is not shown

_CAUSES = {  # possible causes of a ratio other than 1, by the status of the unknown tool
    "not sought": "Torque constant, gear efficiency, link masses and an unknown tool cannot be "
    "told apart as the cause.",
    "none": "Torque constant, gear efficiency and link masses cannot be told apart as the cause. "
    "An unknown tool does not explain the ratio.",
    "possible": "Torque constant, gear efficiency, link masses and an unknown tool cannot be told "
    "apart as the cause.",
    "found": "Torque constant, gear efficiency, link masses and this tool cannot be told apart as "
    "the cause.",
    "used": "Torque constant, gear efficiency and link masses cannot be told apart as the cause.",
}
LOAD_WORDS = {
    "none": "none",
    "normal": "normal load",
    "torque": "transmitted torque",
    "bending": "bending moment",
    "radial": "radial force",
    "axial": "axial force",
    "components": "load components",
}
_INERTIAL_WORDS = dict(
    zip(
        INERTIAL,
        (
            "mass",
            *(f"first moment along {axis}" for axis in "xyz"),
            *(f"inertia {axes}" for axes in ("xx", "xy", "xz", "yy", "yz", "zz")),
        ),
        strict=True,
    )
)
_TOOL_WORDS = {
    "mass": "mass of the tool",
    **{f"moment_{axis}": f"first moment of the tool along {axis}" for axis in "xyz"},
}


def number(value: float, digits: int = 3) -> str:
    """Format a number to significant digits; very small and very large numbers get an exponent."""
    if not math.isfinite(value):
        return MISSING
    if value and not 1e-4 <= abs(value) < 1e6:
        return f"{value:.{digits - 1}e}".replace("-", "−")
    return fixed(value, max(0, digits - 1 - _exponent(value))) if value else "0"


def fixed(value: float, decimals: int) -> str:
    """Format a number to decimals, with a true minus sign and no negative zero."""
    text = f"{value:.{decimals}f}"
    return text.lstrip("-") if float(text) == 0.0 else text.replace("-", "−")


def decimals_of(parameter: Parameter) -> int:
    """Decimals that show two digits of the 95 % half width, or three digits of a
    value without a half width.
    """
    half = half_width(parameter)
    shown = half if half else abs(parameter.value or 0.0) / 10.0
    return 3 if shown <= 0.0 else max(0, min(6, 1 - _exponent(shown)))


def half_width(parameter: Parameter) -> float | None:
    """Half width of the 95 % interval; None if the parameter has no interval."""
    return parameter.half_width


def plus_minus(parameter: Parameter | None) -> str:
    """Value ± 95 % half width, with two digits of the half width."""
    if parameter is None or parameter.value is None:
        return MISSING
    decimals, half = decimals_of(parameter), half_width(parameter)
    value = fixed(parameter.value, decimals)
    return value if half is None else f"{value} ± {fixed(half, decimals)}"


def interval(parameter: Parameter) -> str:
    """Lower and upper end of the 95 % interval."""
    if parameter.low is None or parameter.high is None:
        return MISSING
    decimals = decimals_of(parameter)
    return f"{fixed(parameter.low, decimals)} … {fixed(parameter.high, decimals)}"


def relative(parameter: Parameter) -> str:
    """Half width of the interval in percent of the value."""
    half = half_width(parameter)
    if half is None or not parameter.value:
        return MISSING
    percent = 100.0 * half / abs(parameter.value)
    if percent > _TELLING:
        return MISSING
    return f"± {percent:.0f} %" if percent >= 9.5 else f"± {percent:.1f} %"


def span(low: float, high: float, digits: int = 2) -> str:
    """Format a range; both ends get the decimals that the end of greater magnitude needs."""
    return " … ".join(level((low, high), digits))


def level(values: Sequence[float], digits: int = 2) -> list[str]:
    """Format numbers with the same decimals, chosen for the number of greatest magnitude."""
    greatest = max(abs(value) for value in values)
    decimals = max(0, digits - 1 - _exponent(greatest)) if greatest else 0
    return [fixed(value, decimals) for value in values]


def degrees(limits: tuple[float, float] | None) -> str:
    """Range of temperatures in °C."""
    return "not reported" if limits is None else f"{limits[0]:.0f} … {limits[1]:.0f} °C"


def parameter_word(name: str) -> str:
    """Name in words of a parameter of a law, of the gravity check, of the
    unknown tool or of link inertia.
    """
    if inertial := _inertial(name):
        return inertial
    if name.startswith(KINDS):  # the label of a wave
        return name
    return _TOOL_WORDS[name] if name in _TOOL_WORDS else quantity_named(name).word


def _inertial(name: str) -> str:
    """Name in words of a combination of inertial parameters, named after its first parameter;
    empty for other parameters.
    """
    joint, _, key = name.partition(" ")[0].rpartition(".")
    return (
        f"{_INERTIAL_WORDS[key]} of the link of {joint}" if joint and key in _INERTIAL_WORDS else ""
    )


def parameter_symbol(name: str) -> tuple[str, str]:
    """Letter and subscript of a parameter in equations; two empty texts if
    the parameter has no symbol.
    """
    return ("", "") if name in _TOOL_WORDS or _inertial(name) else quantity_named(name).symbol


def glance(joints: Iterable[JointCalibration]) -> list[Quantity]:
    """Parameters that a summary table of these joints shows as columns.

    The table always shows Coulomb friction, static friction, Stribeck velocity and viscous
    friction; each law may add columns.
    """
    own = [
        quantity
        for joint in joints
        for quantity in law_named(joint.law).quantities
        if quantity.heading and not quantity.raises
    ]
    return list(dict.fromkeys((COULOMB, STATIC, STRIBECK_VELOCITY, VISCOUS, *own)))


def load_word(load: str, prismatic: bool = False) -> str:
    """Name of a load in words."""
    return "transmitted force" if load == "torque" and prismatic else LOAD_WORDS.get(load, load)


def listed(names: Iterable[str]) -> str:
    """Join names to an enumeration: "a, b and c"."""
    names = list(names)
    return (
        names[0]
        if len(names) == 1
        else ", ".join(names[:-1]) + " and " + names[-1]
        if names
        else ""
    )


def minutes(seconds: float) -> str:
    """Format a duration in whole minutes, or in seconds if it is below two minutes."""
    return f"{seconds / 60.0:.0f} min" if seconds >= 120.0 else f"{seconds:.0f} s"


def moment(when: datetime) -> str:
    """Format date and time, in UTC if the time zone is known."""
    zone = "" if when.tzinfo is None else " UTC"
    when = when if when.tzinfo is None else when.astimezone(UTC)
    return f"{when.day} {when:%B %Y, %H:%M}{zone}"


def gravity_sentence(calibration: Calibration) -> str:
    """Sentences that compare measured torque with the model's gravity torque for all joints,
    and name the unknown tool.
    """
    if calibration.model.inertia is not None:
        return inertia_sentence(calibration.model.inertia, calibration.mechanism)
    agree, differ, loose, astray, blind = gravity_groups(calibration)
    said = [tool_sentence(calibration)] if calibration.model.unknown_tool.parameters else []
    if agree:
        worst = max(0.1, 100.0 * max(abs((scale.value or 0.0) - 1.0) for scale in agree.values()))
        said.append(f"Measured torque and model agree within {worst:.1f} % for {listed(agree)}.")
    if differ:
        told = listed(f"{plus_minus(scale)} for {name}" for name, scale in differ.items())
        said.append(
            f"Measured torque divided by the model's gravity torque is {told}. "
            f"{_cause(calibration)}"
        )
    if loose:
        said.append(f"Too little gravity torque to check {listed(loose)}.")
    if astray:
        said.append(
            f"Torque does not follow the model's gravity for {listed(astray)}: check joint order, "
            "direction, zero_offset and tool in the arm file."
        )
    if blind:
        said.append(f"The model's torque varies too little to check {listed(blind)}.")
    return " ".join(said)


def inertia_sentence(inertia: IdentifiedInertia, mechanism: Mechanism) -> str:
    """Sentences that count the inertial parameters identified from general motion, and say
    which loads they determine.
    """
    return (
        "Link inertia was fitted together with friction. Torque depends on "
        f"{len(inertia.parameters)} combinations of masses, first moments and inertias; the motion "
        f"identifies {inertia.told} of them. The others stay near the model's values. "
        f"{told_sentence(mechanism)}"
    ).rstrip()


def told_sentence(mechanism: Mechanism) -> str:
    """Sentence that says which loads of a tree are functions of the base
    parameters; empty for closed chains.
    """
    if mechanism.chain is not None:
        return ""
    told = told_loads(mechanism)
    whole = [kind for kind, names in told.items() if len(names) == mechanism.n]
    some = [
        f"{kind} of {listed(names)}" for kind, names in told.items() if names and kind not in whole
    ]
    known = "; ".join([*([f"{listed(whole)} of all joints"] if whole else []), *some])
    return (
        f"These combinations determine the loads {known}. Coefficients of other loads contain the "
        "uncertainty of the model."
    )


class GravityGroups(NamedTuple):
    """Joints sorted by the ratio of measured torque to the model's gravity torque.

    Attributes
    ----------
    agree, differ : dict of str to Parameter
        Joints whose ratio is close to 1, and joints whose ratio differs from 1; joint -> ratio.
    loose : list of str
        Joints whose ratio has too wide an interval.
    astray : list of str
        Joints whose torque does not follow the model's gravity torque.
    blind : list of str
        Joints whose gravity torque varies too little to fit a ratio.
    """

    agree: dict[str, Parameter]
    differ: dict[str, Parameter]
    loose: list[str]
    astray: list[str]
    blind: list[str]


def gravity_groups(calibration: Calibration) -> GravityGroups:
    """Sort joints by the ratio of measured torque to the model's gravity torque."""
    groups = GravityGroups({}, {}, [], [], [])
    for name, joint in calibration.joints.items():
        scale = joint.gravity.get("scale", _UNKNOWN)
        half = half_width(scale)
        if scale.value is None and joint.directional == "driving":
            continue  # the ratio was set to 1, not fitted
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
    """Sentence about the unknown tool that was found."""
    unknown = calibration.model.unknown_tool
    told = [
        f"{parameter_word(name)} {plus_minus(entry)} {entry.unit}"
        for name, entry in unknown.parameters.items()
        if entry.value is not None
    ]
    hidden = [
        f"{parameter_word(name)}: {entry.note}"
        for name, entry in unknown.parameters.items()
        if entry.value is None
    ]
    if unknown.tool is not None:
        place = ", ".join(level(unknown.tool.com, 3))
        return (
            "An unknown tool on the last link explains the measured gravity torque: "
            f"{plus_minus(unknown.parameters['mass'])} kg at ({place}) m in the link's frame. "
            "Loads and gravity include this tool."
        )
    return (
        "An unknown tool on the last link would explain the measured gravity torque "
        f"({'; '.join((*told, *hidden))}), but is too uncertain to be used: state the tool in the "
        "arm file."
    )


def _cause(calibration: Calibration) -> str:
    """Sentences about possible causes of a ratio other than 1."""
    basis = (
        "The torques of these joints were divided by the ratio."
        if calibration.torque_basis == "gravity-corrected"
        else "If the torque constant is wrong, friction carries the same factor: rerun with "
        "--torque-basis gravity-corrected."
    )
    return f"{_CAUSES[calibration.model.unknown_tool.status]} {basis}"


def repeat_sentence(calibration: Calibration) -> str:
    """Sentence about the scatter between single runs; empty for one run."""
    count, beyond, greatest = calibration.pass_count, [], (0.0, "")
    for name, joint in calibration.joints.items():
        for key, entry in joint.parameters.items():
            deviation, value, error = entry.repeat_deviation, entry.value, entry.std_error
            if deviation is None or not value or not error:
                continue
            greatest = max(
                greatest,
                (
                    deviation / abs(value),
                    f"{100.0 * deviation / abs(value):.1f} % ({key} of {name})",
                ),
            )
            if (count - 1) * deviation**2 > chdtri(count - 1, 1.0 - _SURE) * count * error**2:
                beyond.append(
                    f"{key} of {name} "
                    f"{number(deviation, 2)}{'' if entry.unit == '1' else ' ' + entry.unit}"
                )
    if not greatest[1]:
        return ""
    apart = (
        f"more than their intervals predict: {listed(beyond)}"
        if beyond
        else "no more than their intervals predict"
    )
    return (
        f"Estimates of {count} single runs scatter with a standard deviation of at most "
        f"{greatest[1]}; {apart}."
    )


def _exponent(value: float) -> int:
    return int(f"{value:.1e}".split("e")[1])


def motor_lines(calibration: Calibration) -> list[str]:
    """One line on the friction of each motor that moves several joints."""
    lines = []
    for name, motor in calibration.motors.motors.items():
        moved = listed(calibration.model.transmission[name])
        told = [
            f"{parameter_word(key)} "
            f"{plus_minus(entry)}{'' if entry.unit == '1' else f' {entry.unit}'}"
            for key, entry in motor.parameters.items()
            if entry.verdict != "unidentifiable"
        ]
        lines.append(
            f"motor of {name} (moves {moved}): {motor.law}; "
            f"{', '.join(told) or 'no parameter is identifiable'}"
        )
    return lines


def _one_sided(parameter: Parameter) -> str:
    """Value ± half width, or the upper end of an interval that begins at zero."""
    return (
        plus_minus(parameter)
        if parameter.low or parameter.high is None
        else f"at most {number(parameter.high)}"
    )


def passive_words(name: str, one: RubbingJoints) -> str:
    """Name and joints of a class of joints without a drive."""
    return f"{name} (joints without a drive: {listed(one.joints)})"


def passive_lines(calibration: Calibration) -> list[str]:
    """One line on the friction of each class of joints without a drive in a closed chain."""
    lines = []
    for name, one in calibration.model.passive.classes.items():
        of = passive_words(name, one)
        if not one.parameters:
            stated = ", ".join(
                f"{parameter_word(key)} {number(value)}" for key, value in one.friction.items()
            )
            lines.append(f"{of}: friction from the arm file: {stated or 'none'}")
            continue
        told = [
            f"{parameter_word(key)} "
            f"{_one_sided(entry)}{'' if entry.unit == '1' else f' {entry.unit}'}"
            + (f" times the {one.load} load" if key == "coulomb_coefficient" else "")
            for key, entry in one.parameters.items()
            if entry.verdict != "unidentifiable"
        ]
        lines.append(f"{of}: {', '.join(told) or 'no parameter is identifiable'}")
    return lines


def breakaway_lines(calibration: Calibration) -> list[str]:
    """One line a joint: breakaway torque, and friction at the slowest speed."""
    lines = []
    for name, joint in calibration.joints.items():
        if joint.breakaway is None:
            continue
        load = None if joint.load_range is None else np.array(joint.load_range)
        slow = np.atleast_1d(joint.torque(np.full(2, joint.velocity_range[0]), load))
        slides = " to ".join(
            dict.fromkeys(number(float(level)) for level in (slow.min(), slow.max()))
        )
        lines.append(
            f"{breakaway_line(name, joint.breakaway)}; friction at the slowest speed: {slides} "
            f"{joint.breakaway.torque.unit}"
        )
    return lines


def breakaway_line(name: str, found: Breakaway) -> str:
    """Breakaway torque of a joint, and the ramps it was measured with."""
    tau, (low, high), (short, long) = found.torque.unit, found.range, found.dwell
    return (
        f"{name}: {plus_minus(found.torque)} {tau}; {number(low)} to {number(high)} {tau} in "
        f"{found.pairs} pairs of ramps at "
        f"{number(found.rate)} {tau}/s after {short:g} to {long:g} s of rest"
    )
