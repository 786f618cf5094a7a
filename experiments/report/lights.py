"""Traffic lights at the head of the page: what a reader must know before using a number."""

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
_ELSEWHERE = (_ZERO, _MISFIT)               # kinds of findings of which other lights tell
_MILD = "left out"                          # comes first in the list, but costs no more than round trips
_NEAR, _FAR = 0.05, 0.15                    # held-out error, as a part of the median friction


@dataclass(frozen=True)
class Light:
    """One light: what it is about, its colour, and why."""

    about: str
    colour: str
    text: str


def lights(calibration: Calibration, names: tuple[str, ...], calibrated: list[JointData], findings: Iterable[Finding],
           weighty: tuple[str, ...]) -> list[Light]:
    """Numbers, fit, recording and gravity."""
    found = tuple(findings)
    return [_numbers(calibration, names), _fit(calibrated), _recording(found, weighty), _gravity(calibration, found)]


def _numbers(calibration: Calibration, names: tuple[str, ...]) -> Light:
    verdicts = {name: calibration.joints[name].verdict() if name in calibration.joints else "not calibrated" for name in names}
    doubts = [f"{words.listed(name for name in names if verdicts[name] == verdict)} {verdict}"
              for verdict in dict.fromkeys(verdicts.values()) if verdict != "identified"]
    blind = [name for name, joint in calibration.joints.items()
             if any(entry.value is None and "_coefficient" in key for key, entry in joint.parameters.items())]
    if doubts:
        colour = BAD if any(verdict in ("not calibrated", "unidentifiable") for verdict in verdicts.values()) else MIND
        return Light("Numbers", colour, f"{'; '.join(doubts)}.")
    if blind:
        return Light("Numbers", MIND, f"All joints are identified; growth with load could not be seen for {words.listed(blind)}.")
    return Light("Numbers", GOOD, "All joints are identified.")


def _fit(calibrated: list[JointData]) -> Light:
    shares = {data.name: data.calibration.held_out_rmse / max(float(np.median(data.odd)), 1e-12) for data in calibrated}
    if not shares:
        return Light("Fit", BAD, "No joint was fitted.")
    name = max(shares, key=lambda name: shares[name])
    colour = GOOD if shares[name] <= _NEAR else MIND if shares[name] <= _FAR else BAD
    said = f"Speeds left out of the fit are predicted within {100.0 * shares[name]:.1f} % of friction, at worst for {name}."
    if wrong := [data.name for data in calibrated if data.fit.fit.lack_of_fit]:
        return Light("Fit", MIND if colour == GOOD else colour, f"The law does not fit {words.listed(wrong)}, see health. {said}")
    return Light("Fit", colour, said)


def _recording(findings: Iterable[Finding], weighty: tuple[str, ...]) -> Light:
    found = [finding for finding in findings if not finding.note and finding.kind not in _ELSEWHERE]
    if not found:
        return Light("Recording", GOOD, "Nothing in it needs minding.")
    kinds = dict.fromkeys(finding.kind for finding in found)
    bad = any(kind in weighty and kind != _MILD for kind in kinds)
    return Light("Recording", BAD if bad else MIND, f"See health: {', '.join(kinds)}.")


def _gravity(calibration: Calibration, findings: Iterable[Finding]) -> Light:
    if calibration.model.inertia is not None:
        return Light("Gravity", GOOD, "The links' inertia was fitted together with friction.")
    agree, differ, loose, astray, blind = words.gravity_groups(calibration)
    if shifted := [finding.joint for finding in findings if finding.kind == _ZERO and finding.joint]:
        return Light("Gravity", MIND, f"Torque looks like gravity at other positions for {words.listed(shifted)}.")
    if astray:
        return Light("Gravity", BAD, f"Torque does not follow the model's gravity for {words.listed(astray)}.")
    if differ:
        return Light("Gravity", MIND, f"Torque and model disagree for {words.listed(differ)}.")
    if not agree:
        return Light("Gravity", MIND, "The model's torque varies too little to check that of the drives.")
    rest = f"; too little of it to tell for {words.listed((*loose, *blind))}" if loose or blind else ""
    return Light("Gravity", GOOD, f"Torque and model agree for {words.listed(agree)}{rest}.")
