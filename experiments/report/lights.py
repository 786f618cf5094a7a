"""Traffic lights at the top of the report: what a reader must know before using a number."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from stribeck.experiments.report import words
from stribeck.experiments.report.joint_data import JointData
from stribeck.ident.calibration.calibration import Calibration
from stribeck.ident.log.finding import Finding

GOOD, MIND, BAD = "good", "mind", "bad"
_ZERO = "zero"
_MISFIT = "lack of fit"
_ELSEWHERE = (_ZERO, _MISFIT)  # kinds of findings that another light shows
# heads the list of findings, but only some round trips are lost
_MILD = "left out"
# limits of green and yellow: held-out error over median friction
_NEAR, _FAR = 0.05, 0.15


@dataclass(frozen=True)
class Light:
    """One traffic light: subject, colour and reason."""

    about: str
    colour: str
    text: str


def lights(
    calibration: Calibration,
    names: tuple[str, ...],
    calibrated: list[JointData],
    findings: Iterable[Finding],
    weighty: tuple[str, ...],
) -> list[Light]:
    """Lights for parameters, fit, recording and gravity."""
    found = tuple(findings)
    return [
        _numbers(calibration, names),
        _fit(calibrated),
        _recording(found, weighty),
        _gravity(calibration, found),
    ]


def _numbers(calibration: Calibration, names: tuple[str, ...]) -> Light:
    verdicts = {
        name: calibration.joints[name].verdict() if name in calibration.joints else "not calibrated"
        for name in names
    }
    doubts = [
        f"{words.listed(name for name in names if verdicts[name] == verdict)} {verdict}"
        for verdict in dict.fromkeys(verdicts.values())
        if verdict != "identified"
    ]
    blind = [
        name
        for name, joint in calibration.joints.items()
        if any(
            entry.value is None and "_coefficient" in key for key, entry in joint.parameters.items()
        )
    ]
    if doubts:
        colour = (
            BAD
            if any(verdict in ("not calibrated", "unidentifiable") for verdict in verdicts.values())
            else MIND
        )
        return Light("Parameters", colour, f"{'; '.join(doubts)}.")
    if blind:
        return Light(
            "Parameters",
            MIND,
            "All joints are identified; the data do not show whether friction grows with load for "
            f"{words.listed(blind)}.",
        )
    return Light("Parameters", GOOD, "All joints are identified.")


def _fit(calibrated: list[JointData]) -> Light:
    shares = {
        data.name: data.calibration.held_out_rmse / max(float(np.median(data.odd)), 1e-12)
        for data in calibrated
    }
    if not shares:
        return Light("Fit", BAD, "No joint was fitted.")
    name = max(shares, key=lambda name: shares[name])
    colour = GOOD if shares[name] <= _NEAR else MIND if shares[name] <= _FAR else BAD
    said = (
        f"Largest RMS error at speeds left out of the fit: {100.0 * shares[name]:.1f} % of "
        f"friction ({name})."
    )
    if wrong := [data.name for data in calibrated if data.fit.fit.lack_of_fit]:
        return Light(
            "Fit",
            MIND if colour == GOOD else colour,
            f"The law does not fit {words.listed(wrong)}; see recording health. {said}",
        )
    return Light("Fit", colour, said)


def _recording(findings: Iterable[Finding], weighty: tuple[str, ...]) -> Light:
    found = [finding for finding in findings if not finding.note and finding.kind not in _ELSEWHERE]
    if not found:
        return Light("Recording", GOOD, "OK")
    kinds = dict.fromkeys(finding.kind for finding in found)
    bad = any(kind in weighty and kind != _MILD for kind in kinds)
    return Light("Recording", BAD if bad else MIND, f"See recording health: {', '.join(kinds)}.")


def _gravity(calibration: Calibration, findings: Iterable[Finding]) -> Light:
    if calibration.model.inertia is not None:
        return Light("Gravity", GOOD, "Link inertia was fitted together with friction.")
    agree, differ, loose, astray, blind = words.gravity_groups(calibration)
    if shifted := [
        finding.joint for finding in findings if finding.kind == _ZERO and finding.joint
    ]:
        return Light(
            "Gravity",
            MIND,
            f"Gravity torque looks shifted in position for {words.listed(shifted)}: check "
            "zero_offset.",
        )
    if astray:
        return Light(
            "Gravity",
            BAD,
            f"Torque does not follow the model's gravity for {words.listed(astray)}.",
        )
    if differ:
        return Light("Gravity", MIND, f"Torque and model disagree for {words.listed(differ)}.")
    if not agree:
        return Light(
            "Gravity",
            MIND,
            "The model's gravity torque varies too little to check the drives' torque.",
        )
    rest = (
        f"; too little gravity torque to check {words.listed((*loose, *blind))}"
        if loose or blind
        else ""
    )
    return Light("Gravity", GOOD, f"Torque and model agree for {words.listed(agree)}{rest}.")
