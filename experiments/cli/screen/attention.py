"""Lines under "attention": what a reader must know before using a calibration, at most
three lines for each joint.
"""

from collections.abc import Iterator

from stribeck.experiments.report.words import gravity_groups, plus_minus
from stribeck.ident.calibration.calibration import Calibration
from stribeck.ident.fit.choice.selection import ALIKE
from stribeck.ident.identify import Identification

_LINES = 3  # for each joint
_FIRST = ("not calibrated", "lack of fit")  # kinds of findings, in this order before all others


def attention(result: Identification, calibration: Calibration) -> tuple[list[str], int]:
    """Return the lines to show, and the number of lines left out.

    Each line reports a finding (other than a note), a parameter that is not identified, or torque
    that disagrees with the model's gravity.
    """
    general = [
        finding.text for finding in result.findings if finding.joint is None and not finding.note
    ]
    by_joint = {name: list(_of_joint(result, calibration, name)) for name in result.asked_for}
    shown = [line for lines in by_joint.values() for line in lines[:_LINES]]
    return general + shown, sum(len(lines[_LINES:]) for lines in by_joint.values())


def _of_joint(result: Identification, calibration: Calibration, name: str) -> Iterator[str]:
    """Lines about one joint, the most important first."""
    found = [finding for finding in result.findings if finding.joint == name and not finding.note]
    for finding in sorted(
        found,
        key=lambda finding: _FIRST.index(finding.kind) if finding.kind in _FIRST else len(_FIRST),
    ):
        yield finding.text
    if name not in calibration.joints:
        return
    reasons: dict[str, list[str]] = {}
    for parameter, entry in calibration.joints[name].parameters.items():
        if entry.note and (entry.verdict != "identified" or ALIKE in entry.note):
            reasons.setdefault(entry.note, []).append(parameter)
    for reason, parameters in reasons.items():
        yield f"{name}: {' and '.join(parameters)}: {reason}"
    yield from _gravity(calibration, name)


def _gravity(calibration: Calibration, name: str) -> Iterator[str]:
    """Lines about torque that deviates from the model's gravity torque, if it does."""
    if calibration.model.inertia is not None:
        return
    groups = gravity_groups(calibration)
    if name in groups.differ:
        said = (
            f"{name}: torque is {plus_minus(groups.differ[name])} times the model's gravity torque"
        )
        yield (
            f"{said}; friction is divided by it"
            if calibration.torque_basis == "gravity-corrected"
            else f"{said}. Torque constant, gear efficiency and link masses cannot be told apart; "
            "if it is the torque constant, "
            "use --torque-basis gravity-corrected"
        )
    if name in groups.astray:
        yield (
            f"{name}: torque does not follow the model's gravity: check the joint's order, "
            "direction and zero_offset, and the tool"
        )
