"""Reading and writing the calibration file: TOML with one parameter per line."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tomlkit

from stribeck.ident.backlash.joint_backlash import FIGURES
from stribeck.ident.calibration.calibration_content import CalibrationContent
from stribeck.ident.calibration.calibration_tables import CalibrationTable
from stribeck.ident.calibration.joint_calibration import JointCalibration
from stribeck.ident.errors import InputError, command
from stribeck.ident.fit.inertia.identified_inertia import IdentifiedInertia
from stribeck.ident.fit.inertia.motor_friction import MotorFriction, RubbingMotor
from stribeck.ident.fit.inertia.passive_friction import RubbingJoints
from stribeck.ident.laws.parameter import Parameter
from stribeck.ident.log.campaign_folder import CALIBRATION
from stribeck.ident.memory.joint_memory import JointMemory
from stribeck.ident.servo.joint_servo import FIGURES as SERVO_FIGURES
from stribeck.ident.temperature.joint_temperature import JointTemperature
from stribeck.ident.toml_tables import parse_table, read_toml, upgrade
from stribeck.ident.whole_files import write_whole

SCHEMA = 1
DIGITS = 6  # significant digits of numbers in the file


def calibration_path(path: Path) -> Path:
    """Return the path of the calibration file, from that path or from its folder.

    Raises
    ------
    InputError
        If the folder holds runs, but no calibration.
    """
    file = path / CALIBRATION if path.is_dir() else path
    if (path / "runs").is_dir() and not file.exists():
        raise InputError(
            f"{path}: this folder holds runs, but no calibration yet; make it with: "
            f"{command('fit', path)}"
        )
    return file


def read_calibration(path: Path) -> CalibrationContent:
    """Read the content of a calibration file.

    Raises
    ------
    InputError
        If the file is missing or malformed; names the key.
    """
    table = parse_table(CalibrationTable, upgrade(read_toml(path), path, SCHEMA), path)
    joints = {
        name: joint.calibration(f"{path}: joints.{name}") for name, joint in table.joints.items()
    }
    return CalibrationContent(
        table.arm,
        table.created,
        table.method,
        table.torque_basis,
        tuple(run.model_dump(exclude_none=True) for run in table.runs),
        table.model.model(),
        table.fit.model_dump(exclude_unset=True),
        joints,
        serial=table.serial,
        note=table.note,
        motors=MotorFriction(
            {name: one.motor(f"{path}: motors.{name}") for name, one in table.motors.items()}
        ),
    )


def write_calibration(path: Path, calibration: CalibrationContent) -> None:
    """Write a calibration as TOML, one parameter per line."""
    write_whole(path, tomlkit.dumps(_document(calibration)))


def _document(calibration: CalibrationContent) -> tomlkit.TOMLDocument:
    document = tomlkit.document()
    document["schema"] = SCHEMA
    for key in ("arm", "serial", "note", "created", "method", "torque_basis"):
        if (value := getattr(calibration, key)) or key in (
            "arm",
            "created",
            "method",
            "torque_basis",
        ):
            document[key] = value
    runs = tomlkit.array()
    for run in calibration.runs:
        runs.add_line(_inline(run))
    runs.add_line(indent="")
    document["runs"] = runs
    model = calibration.model
    document["model"] = {"file": model.file, "sha256": model.sha256, "gravity": list(model.gravity)}
    document["model"]["tool"] = _inline({"mass": model.tool.mass, "com": list(model.tool.com)})
    document["model"]["unknown_tool"] = {
        "status": model.unknown_tool.status,
        **_parameters(model.unknown_tool.parameters),
    }
    if model.inertia is not None:
        document["model"]["inertia"] = _inertia_table(model.inertia)
    if model.transmission:
        document["model"]["transmission"] = {
            name: _inline(row) for name, row in model.transmission.items()
        }
    if model.drives:
        document["model"]["drives"] = list(model.drives)
    if model.loops:
        loops = tomlkit.array()
        for loop in model.loops:
            loops.add_line(
                tomlkit.item(loop.model_dump(exclude_none=True, mode="json"), _parent=loops)
            )
        loops.add_line(indent="")
        document["model"]["loops"] = loops
    if model.passive.classes:
        passive = tomlkit.table(is_super_table=True)
        for name, rubbing in model.passive.classes.items():
            passive[name] = _passive_table(rubbing)
        document["model"]["passive"] = passive
    document["fit"] = _rounded(calibration.fit)
    joints = tomlkit.table(is_super_table=True)
    for name, joint in calibration.joints.items():
        joints[name] = _joint_table(joint)
    document["joints"] = joints
    if calibration.motors.motors:
        motors = tomlkit.table(is_super_table=True)
        for name, motor in calibration.motors.motors.items():
            motors[name] = _motor_table(motor)
        document["motors"] = motors
    return document


def _motor_table(motor: RubbingMotor) -> Any:
    table, parameters = tomlkit.table(), tomlkit.table()
    table["law"] = motor.law
    table["velocity_range"] = _rounded(motor.velocity_range)
    parameters.update(_parameters(motor.parameters))
    table["parameters"] = parameters
    return table


def _passive_table(joints: RubbingJoints) -> Any:
    table = tomlkit.table()
    table["joints"], table["load"] = list(joints.joints), joints.load
    if joints.friction:
        table["friction"] = _inline(joints.friction)
    if joints.parameters:
        parameters = tomlkit.table()
        parameters.update(_parameters(joints.parameters))
        table["parameters"] = parameters
    return table


def _inertia_table(inertia: IdentifiedInertia) -> Any:
    """Return the table with one link, or one combination of parameters, per line."""
    table = tomlkit.table()
    for key in ("deviation", "constants"):
        table[key] = _rounded(getattr(inertia, key))
    for key, entries in (
        ("links", {name: _inline(vars(link)) for name, link in inertia.links.items()}),
        ("parameters", _parameters(inertia.parameters)),
    ):
        inner = tomlkit.table()
        inner.update(entries)
        table[key] = inner
    return table


def _joint_table(joint: JointCalibration) -> Any:
    table = tomlkit.table()
    for key in ("law", "load", "directional"):
        table[key] = getattr(joint, key)
    if joint.place != "none":
        table["place"] = joint.place
    if joint.bearing is not None:
        table["bearing"] = _inline(vars(joint.bearing))
    for key in (
        "held_out_rmse",
        "velocity_range",
        "load_range",
        "load_part",
        "temperature_range",
        "factor",
        "torque_scale",
        "stribeck_share",
    ):
        value = getattr(joint, key)
        if value is not None:
            table[key] = _inline(value) if isinstance(value, Mapping) else _rounded(value)
    if joint.candidates:
        candidates = tomlkit.array()
        for one in joint.candidates:
            candidates.add_line(
                _inline(
                    {
                        key: value
                        for key, value in vars(one).items()
                        if value != "" and (key, value) != ("place", "none")
                    }
                )
            )
        candidates.add_line(indent="")
        table["candidates"] = candidates
    if joint.further_error is not None and joint.further_error[:, 1].any():
        table["further_error"] = _rounded(joint.further_error.tolist())
    for group in ("parameters", "gravity"):
        inner = tomlkit.table()
        inner.update(_parameters(getattr(joint, group)))
        table[group] = inner
    if joint.breakaway is not None:
        found = tomlkit.table()
        found.update(_parameters({"torque": joint.breakaway.torque}))
        for key in ("range", "rate", "dwell", "pairs"):
            found[key] = _rounded(getattr(joint.breakaway, key))
        table["breakaway"] = found
    if joint.memory is not None:
        table["memory"] = _memory_table(joint.memory)
    if joint.ripple:
        waves = tomlkit.array()
        for wave in joint.ripple:
            waves.add_line(_inline(vars(wave)))
        waves.add_line(indent="")
        table["ripple"] = waves
    if joint.temperature is not None:
        table["temperature"] = _temperature_table(joint.temperature)
    if joint.backlash is not None:
        gap = tomlkit.table()
        gap.update(_parameters(joint.backlash.parameters))
        gap.update({key: _rounded(getattr(joint.backlash, key)) for key in FIGURES})
        table["backlash"] = gap
    if joint.free_motion is not None:
        table["free_motion"] = {
            key: _rounded(value.tolist() if key == "unexplained" else value)
            for key, value in vars(joint.free_motion).items()
        }
    if joint.servo is not None:
        servo = tomlkit.table()
        servo.update(_parameters(joint.servo.parameters))
        servo.update(
            {
                key: _rounded(value)
                for key in SERVO_FIGURES
                if (value := getattr(joint.servo, key)) is not None
            }
        )
        table["servo"] = servo
    correlation = tomlkit.table()
    correlation["names"] = list(joint.names)
    correlation["matrix"] = _rounded(joint.correlation.tolist())
    table["correlation"] = correlation
    return table


def _memory_table(memory: JointMemory) -> Any:
    table, parameters = tomlkit.table(), tomlkit.table()
    table["kind"] = memory.name
    for key in ("distance", "held_out_rmse", "static_rmse"):
        table[key] = _rounded(getattr(memory, key))
    if memory.distances:
        table["distances"] = _rounded(list(memory.distances))
    parameters.update(_parameters(memory.parameters))
    table["parameters"] = parameters
    return table


def _temperature_table(temperature: JointTemperature) -> Any:
    table, parameters = tomlkit.table(), tomlkit.table()
    for key in (
        "reference",
        "coulomb",
        "viscous",
        "range",
        "held_out_rmse",
        "static_rmse",
        "further_error",
    ):
        table[key] = _rounded(getattr(temperature, key))
    parameters.update(_parameters(temperature.parameters))
    table["parameters"] = parameters
    if temperature.heating is not None:
        heating = tomlkit.table()
        heating.update(_parameters(temperature.heating.parameters))
        table["heating"] = heating
    return table


def _parameters(parameters: Mapping[str, Parameter]) -> dict[str, Any]:
    """Return inline tables, one per parameter, without empty entries."""
    return {
        name: _inline(
            {key: value for key, value in vars(parameter).items() if value not in (None, "")}
        )
        for name, parameter in parameters.items()
    }


def _inline(values: Mapping[str, Any]) -> Any:
    table = tomlkit.inline_table()
    table.update(_rounded(dict(values)))
    return table


def _rounded(value: Any) -> Any:
    """Round numbers to the digits of the file."""
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_rounded(item) for item in value]
    return value
