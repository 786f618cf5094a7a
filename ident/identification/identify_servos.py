"""Identification without any torque signal: friction of joints from the motion that the
commands of their servos cause.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np

from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.calibration.calibration import Calibration
from stribeck.ident.calibration.calibration_content import Model
from stribeck.ident.calibration.joint_calibration import JointCalibration
from stribeck.ident.errors import FitError, InputError, unknown_name
from stribeck.ident.identification.choose_runs import check_one_arm, notes_of, serial_of
from stribeck.ident.laws.law_table import law_named, unit
from stribeck.ident.laws.load_components import load_part
from stribeck.ident.laws.parameter import Parameter, verdict
from stribeck.ident.log.finding import Finding
from stribeck.ident.log.run import Run
from stribeck.ident.model.mechanism import Mechanism
from stribeck.ident.servo.fit_servo import LAWS, ServoFit, fit_servo
from stribeck.ident.servo.joint_servo import JointServo
from stribeck.ident.servo.servo_commands import servo_commands
from stribeck.ident.servo.servo_windows import ServoWindows, servo_windows
from stribeck.ident.versions import versions_of
from stribeck.ident.whole_files import file_sha256

AUTO = "auto"
LOADS = ("none", "torque", "bending")
_AT_FIRST = ("none", "torque")  # loads that compete in "auto"
# greatest half width of the torque per gain, as a part of it, with which friction has a unit
_KNOWN = 1.0
_SLOWEST = 0.02  # of the fastest speed: least speed for which the law is taken as calibrated
_ONE_MASS = (
    "the load changes with the posture only, and friction that depends on the position looks the "
    "same; record with another mass as well"
)


@dataclass(frozen=True)
class ServoIdentification:
    """Result of an identification without torques.

    Attributes
    ----------
    calibration : Calibration
    fits, windows : dict of str to ServoFit, dict of str to ServoWindows
        By joint.
    findings : tuple of Finding
        Joints that could not be calibrated.
    """

    calibration: Calibration
    fits: dict[str, ServoFit]
    windows: dict[str, ServoWindows]
    findings: tuple[Finding, ...]


def identify_servos(
    runs: Sequence[Run], law: str = AUTO, load: str = AUTO, created: datetime | None = None
) -> ServoIdentification:
    """Calibrate joints from set-points, positions and gains of their servos.

    Parameters
    ----------
    runs : sequence of Run
        Imported with gains of servos, of one arm; they may have different gains and tools.
    law, load : str
        "coulomb-viscous" or "stribeck", and "none", "torque" or "bending"; with "auto", they
        compete on runs that are left out.
    created : datetime, optional
        Date of the calibration; default is the start of the last run.

    Raises
    ------
    InputError
        If runs have no gains of servos, belong to different arms, or law or load is unknown.
    FitError
        If no joint can be calibrated.
    """
    laws = LAWS if law == AUTO else (law,)
    loads = _AT_FIRST if load == AUTO else (load,)
    for kind, name, valid in (
        ("law without a torque signal", laws[0], LAWS),
        ("load without a torque signal", loads[0], LOADS),
    ):
        if name not in valid:
            raise unknown_name(kind, name, (AUTO, *valid))
    check_one_arm(runs, servos=True)
    commands = [servo_commands(run) for run in runs]
    mechanisms = [load_mechanism(run.arm) for run in runs]
    if mechanisms[0].chain is not None or mechanisms[0].transmission is not None:
        raise InputError(
            f"{runs[0].arm.path}: {runs[0].arm.name} has closed loops or shared motors, for which "
            "commands of servos are not simulated; fit measured torques"
        )
    fits, windows, findings = dict[str, ServoFit](), dict[str, ServoWindows](), []
    for j, name in enumerate(runs[0].names):
        try:
            own = servo_windows(
                runs,
                mechanisms,
                name,
                [one.goals[:, j] for one in commands],
                [one.gains[:, j] for one in commands],
                [one for one in loads if one != "none"],
            )
            found = fit_servo(own, laws, loads)
            if (wide := found.factor * found.std_error[0] / found.values[0]) > _KNOWN:
                raise FitError(
                    f"the interval of its torque per gain is ± {wide:.2g} times the value, at most "
                    f"{_KNOWN:g} is allowed: no weight that varies with the posture acts against "
                    "the servo, and the inertia of its rotor is unknown; record with a further "
                    "known mass as well, or tilt the axis"
                )
            fits[name], windows[name] = found, own
        except FitError as error:
            findings.append(Finding(name, "not calibrated", f"{name} is not calibrated: {error}"))
    if not fits:
        raise FitError(
            f"no joint can be calibrated: {'; '.join(finding.text for finding in findings)}"
        )
    return ServoIdentification(
        _calibration(runs, mechanisms, fits, windows, law, load, created),
        fits,
        windows,
        tuple(findings),
    )


def _calibration(
    runs: Sequence[Run],
    mechanisms: Sequence[Mechanism],
    fits: dict[str, ServoFit],
    windows: dict[str, ServoWindows],
    law: str,
    load: str,
    created: datetime | None,
) -> Calibration:
    arm, m = runs[0].arm, mechanisms[0]
    masses = len({run.arm.tool.mass for run in runs})
    joints = {name: _joint(fit, windows[name], m, name, masses > 1) for name, fit in fits.items()}
    date = created or datetime.fromisoformat(runs[-1].record["start"])
    stated = dict(zip(m.names, np.diag(runs[0].rotor_inertia()).tolist(), strict=True))
    rotors = {name: stated[name] for name in joints if stated[name]}
    return Calibration(
        arm.name,
        date.replace(microsecond=0),
        "set-points and positions of servos",
        "drive",
        tuple({"path": run.label, "sha256": run.sha256} for run in runs),
        Model(arm.model.name, file_sha256(arm.model), arm.gravity, arm.tool),
        {
            "law": law,
            "load": load,
            "motion": "model",
            "signal": "commands",
            **({"stated_rotors": rotors} if rotors else {}),
            "versions": versions_of("stribeck", "numpy", "scipy", "mujoco"),
        },
        joints,
        arm.model.parent,
        serial=serial_of(runs),
        note=notes_of(runs),
    )


def _joint(
    fit: ServoFit, windows: ServoWindows, m: Mechanism, name: str, masses: bool
) -> JointCalibration:
    """Calibration of one joint."""
    j = m.names.index(name)
    entries = {one: _entry(fit, one, bool(m.prismatic[j])) for one in fit.names}
    if "back_emf" not in entries:
        entries["viscous"] = replace(
            entries["viscous"],
            note="with the damping of the powered motor: no motion without power was recorded",
        )
    own = law_named(fit.law).parameters(fit.load != "none", ())
    if not masses:
        entries |= {
            one: replace(
                entry,
                note=_ONE_MASS,
                verdict="weak" if entry.verdict == "identified" else entry.verdict,
            )
            for one, entry in entries.items()
            if one.endswith("_coefficient")
        }
    speed = np.abs(np.gradient(windows.q, windows.dt, axis=1))[windows.known]
    loads = windows.loads[fit.load][windows.known] if fit.load != "none" else None
    part = None if loads is None else load_part({one: fit.of(one) for one in own}, loads)
    at = [fit.names.index(one) for one in own if one in fit.names]
    absent = Parameter(None, None, None, None, "1", "unidentifiable", "there is no torque signal")
    stiff = fit.of("torque_per_gain") * float(np.median(windows.gain[windows.gain > 0.0]))
    servo = {
        "torque_per_gain": entries["torque_per_gain"],
        "servo_delay": entries["delay"],
        **({"back_emf": entries["back_emf"]} if "back_emf" in entries else {}),
    }
    return JointCalibration(
        fit.law,
        fit.load,
        {one: entries[one] for one in own},
        {"scale": absent, "offset": entries["offset"], "inertia": entries["inertia"]},
        m.bearings[j],
        stiff * (fit.error if np.isnan(fit.held_out) else fit.held_out),
        (_SLOWEST * float(speed.max()), float(speed.max())),
        None if loads is None else (float(loads.min()), float(loads.max())),
        None if part is None else (float(part.min()), float(np.median(part)), float(part.max())),
        None,
        tuple(fit.names[k] for k in at),
        fit.correlation[np.ix_(at, at)],
        fit.factor,
        servo=JointServo(servo, fit.error, None if np.isnan(fit.held_out) else fit.held_out),
    )


def _entry(fit: ServoFit, name: str, slides: bool) -> Parameter:
    """A fitted parameter with its interval."""
    k = fit.names.index(name)
    value, error = float(fit.values[k]), float(fit.std_error[k])
    low, high = value - fit.factor * error, value + fit.factor * error
    if name != "offset":
        low = max(low, 0.0)
    word = verdict(value, low, high) if value > 0.0 or name == "offset" else "at bound"
    return Parameter(
        value, error, low, high, unit("servo_delay" if name == "delay" else name, slides), word
    )
