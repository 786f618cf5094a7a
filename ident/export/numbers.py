"""Exports without a robot description: JSON, CSV, ROS 2 parameters, and fields for a
drive's own compensation.
"""

import csv
import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from stribeck.ident.backlash.joint_backlash import FIGURES
from stribeck.ident.calibration.calibration import Calibration
from stribeck.ident.calibration.calibration_content import Model
from stribeck.ident.calibration.joint_calibration import JointCalibration
from stribeck.ident.export.approximation import (
    approximate,
    coulomb_viscous_losses,
    other_losses,
    slowest_speed,
)
from stribeck.ident.export.result import Export, number
from stribeck.ident.export.shared_motors import (
    motor_losses,
    motor_table,
    passive_law,
    passive_losses,
)
from stribeck.ident.laws.parameter import Parameter
from stribeck.ident.memory.joint_memory import JointMemory
from stribeck.ident.servo.joint_servo import FIGURES as SERVO_FIGURES
from stribeck.ident.temperature.joint_temperature import JointTemperature

_ROWS = (
    "joint",
    "law",
    "load",
    "directional",
    "parameter",
    "value",
    "std_error",
    "low",
    "high",
    "unit",
    "verdict",
    "arm",
    "serial",
    "created",
)


def to_json(calibration: Calibration) -> Export:
    """Return the whole calibration as JSON."""
    return Export(
        json.dumps(calibration_table(calibration), indent=1, ensure_ascii=False) + "\n", ".json", ()
    )


def calibration_table(calibration: Calibration) -> dict[str, Any]:
    """Return the calibration as plain data."""
    joints = {}
    for name, joint in calibration.joints.items():
        table = {
            key: value
            for key, value in vars(joint).items()
            if key not in ("names", "correlation", "parameters", "gravity")
        }
        table["candidates"] = [asdict(one) for one in joint.candidates]
        table["bearing"] = asdict(joint.bearing) if joint.bearing else None
        table["further_error"] = (
            None if joint.further_error is None else joint.further_error.tolist()
        )
        if joint.ripple:
            table["ripple"] = [asdict(wave) for wave in joint.ripple]
        else:
            del table["ripple"]
        table["breakaway"] = asdict(joint.breakaway) if joint.breakaway else None
        table["memory"] = None if joint.memory is None else _memory_table(joint.memory)
        table["temperature"] = (
            None if joint.temperature is None else _temperature_table(joint.temperature)
        )
        if joint.backlash is not None:
            table["backlash"] = {
                **_entries(joint.backlash.parameters),
                **{key: getattr(joint.backlash, key) for key in FIGURES},
            }
        else:
            del table["backlash"]
        if joint.free_motion is not None:
            table["free_motion"] = {
                **vars(joint.free_motion),
                "rotors": list(joint.free_motion.rotors),
                "unexplained": joint.free_motion.unexplained.tolist(),
            }
        else:
            del table["free_motion"]
        if joint.servo is not None:
            table["servo"] = {
                **_entries(joint.servo.parameters),
                **{key: getattr(joint.servo, key) for key in SERVO_FIGURES},
            }
        else:
            del table["servo"]
        for group in ("parameters", "gravity"):
            table[group] = _entries(getattr(joint, group))
        table["correlation"] = {"names": list(joint.names), "matrix": joint.correlation.tolist()}
        joints[name] = table
    about = {key: value for key in ("serial", "note") if (value := getattr(calibration, key))}
    return {
        "schema": 1,
        "arm": calibration.arm,
        **about,
        "created": calibration.created.isoformat(),
        "method": calibration.method,
        "torque_basis": calibration.torque_basis,
        "runs": list(calibration.runs),
        "model": _model_table(calibration.model),
        "fit": calibration.fit,
        "joints": joints,
        **({"motors": motors} if (motors := motor_table(calibration)) else {}),
    }


def _memory_table(memory: JointMemory) -> dict[str, Any]:
    """A memory as plain data, with the keys of the calibration file."""
    return {
        "kind": memory.name,
        **{key: getattr(memory, key) for key in ("distance", "held_out_rmse", "static_rmse")},
        "distances": list(memory.distances),
        "parameters": _entries(memory.parameters),
    }


def _temperature_table(temperature: JointTemperature) -> dict[str, Any]:
    """A dependence on temperature as plain data, with the keys of the calibration file."""
    return {
        **{
            key: getattr(temperature, key)
            for key in ("reference", "coulomb", "viscous", "held_out_rmse", "static_rmse")
        },
        "range": list(temperature.range),
        "further_error": [list(row) for row in temperature.further_error],
        "parameters": _entries(temperature.parameters),
        **(
            {}
            if temperature.heating is None
            else {"heating": _entries(temperature.heating.parameters)}
        ),
    }


def _entries(parameters: Mapping[str, Parameter]) -> dict[str, dict[str, Any]]:
    """Parameters as plain data, without empty keys."""
    return {
        name: {key: value for key, value in vars(entry).items() if value not in (None, "")}
        for name, entry in parameters.items()
    }


def _model_table(model: Model) -> dict[str, Any]:
    """The rigid-body model as plain data, with the loops and the classes of passive joints as the
    calibration file has them.
    """
    return {
        **asdict(model),
        "loops": [loop.model_dump(exclude_none=True) for loop in model.loops],
        "passive": asdict(model.passive)["classes"],
    }


def to_csv(calibration: Calibration) -> Export:
    """Return a CSV with one row for each parameter, including scale, offset and
    delay of the torque signal.

    The last columns are the same in all rows, so that files of several arms can be joined.
    """
    about = calibration.arm, calibration.serial, calibration.created.isoformat()
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(_ROWS)
    for *said, entries in _tables(calibration):
        for parameter, entry in entries.items():
            figures = (
                "" if value is None else number(value)
                for value in (entry.value, entry.std_error, entry.low, entry.high)
            )
            rows.writerow([*said, parameter, *figures, entry.unit, entry.verdict, *about])
    return Export(
        text.getvalue(), ".csv", ("CSV has no ranges, bearings and correlations of the estimates",)
    )


def _tables(
    calibration: Calibration,
) -> Iterator[tuple[str, str, str, str, Mapping[str, Parameter]]]:
    """Whose friction, by which law, load and directions, and its parameters: joints,
    motors, joints without a drive.
    """
    for name, joint in calibration.joints.items():
        yield name, joint.law, joint.load, joint.directional, {**joint.parameters, **joint.gravity}
        if joint.memory is not None:
            yield f"memory of {name}", joint.memory.name, "none", "none", joint.memory.parameters
        if joint.temperature is not None:
            yield (
                f"temperature of {name}",
                joint.law,
                "none",
                "none",
                joint.temperature.all_parameters,
            )
        for wave in joint.ripple:
            size = Parameter(
                wave.amplitude, wave.std_error, wave.low, wave.high, wave.unit, wave.verdict
            )
            phase = Parameter(
                wave.phase, None, wave.phase_low, wave.phase_high, "rad", wave.verdict
            )
            kind = f"{wave.kind} {number(wave.order)} a turn"
            yield f"ripple of {name}", kind, "none", "none", {"amplitude": size, "phase": phase}
        if joint.backlash is not None:
            yield (
                f"backlash of {name}",
                joint.backlash.method,
                "none",
                "none",
                joint.backlash.parameters,
            )
        if joint.servo is not None:
            yield f"servo of {name}", "servo", "none", "none", joint.servo.parameters
    for name, motor in calibration.motors.motors.items():
        yield f"motor of {name}", motor.law, "none", "none", motor.parameters
    for name, one in calibration.model.passive.classes.items():
        stated = {
            key: Parameter(value, None, None, None, "", "stated")
            for key, value in one.friction.items()
        }
        yield f"passive {name}", passive_law(one), one.load, "none", {**stated, **one.parameters}


def to_ros2(calibration: Calibration) -> Export:
    """Return ROS 2 parameters for every node, under ``friction``: law, load and values by joint."""
    lines = [
        f"# Joint friction of {calibration.origin}",
        f"# SI units; torque_basis {calibration.torque_basis}",
        "/**:",
        "  ros__parameters:",
        "    friction:",
        f"      joints: {_yaml(list(calibration.joints))}",
    ]
    for name, joint in calibration.joints.items():
        table: dict[str, Any] = {
            "law": joint.law,
            "load": joint.load,
            "directional": joint.directional,
            **joint.values,
            **({} if joint.bearing is None else vars(joint.bearing)),
            **{key: entry.value for key, entry in joint.gravity.items() if entry.value is not None},
            "velocity_range": list(joint.velocity_range),
        }
        if joint.load_range is not None:
            ranges = joint.load_range
            table |= (
                {f"load_range_{part}": list(ends) for part, ends in ranges.items()}
                if isinstance(ranges, Mapping)
                else {"load_range": list(ranges)}
            )
        lines += [
            f"      {_yaml(name)}:",
            *(f"        {key}: {_yaml(value)}" for key, value in table.items()),
        ]
    for name, passive in calibration.model.passive.classes.items():
        table = {
            "passive": list(passive.joints),
            "law": passive_law(passive),
            "load": passive.load,
            **passive.values,
        }
        lines += [
            f"      {_yaml(name)}:",
            *(f"        {key}: {_yaml(value)}" for key, value in table.items()),
        ]
    return Export(
        "\n".join(lines) + "\n",
        ".yaml",
        (
            "ROS 2 parameters have no intervals and verdicts, and no model for the loads",
            *other_losses(calibration, "ROS 2", offset=False),
            *motor_losses(calibration, "ROS 2"),
        ),
    )


def to_vendor(calibration: Calibration) -> Export:
    """Return the parameters of typical drive compensation: constant, Coulomb per effort,
    viscous, transition velocity.

    ``(constant + coulomb_per_effort |tau|) sat(dq / transition_velocity) + viscous dq``, with tau
    the torque that the joint transmits. The transition velocity is the slowest calibrated speed:
    below it, friction is unknown.
    """
    keys = ("constant", "coulomb_per_effort", "viscous", "transition_velocity")
    joints = {
        name: dict(zip(keys, _compensation(joint), strict=True))
        for name, joint in calibration.joints.items()
    }
    table = {
        "arm": calibration.arm,
        "origin": calibration.origin,
        "torque_basis": calibration.torque_basis,
        "joints": joints,
    }
    return Export(
        json.dumps(table, indent=1, ensure_ascii=False) + "\n",
        ".vendor.json",
        _compensation_losses(calibration, "the vendor format"),
    )


_TROSSEN = """\
\"\"\"Joint friction for the characteristics of a Trossen arm.

Keys of FRICTION are indices of joints of the model, which must be those of the driver. On a configured driver:

    characteristics = driver.get_joint_characteristics()
    for joint, fields in FRICTION.items():
        for field, value in fields.items():
            setattr(characteristics[joint], field, value)
    driver.set_joint_characteristics(characteristics)       # in force after the next boot of the controller
\"\"\"

# {origin}
FRICTION = {{
{joints}
}}
"""


def to_trossen(calibration: Calibration) -> Export:
    """Return a Python file with joint characteristics of a Trossen arm, whose
    compensation is that of `to_vendor`.

    References
    ----------
    Trossen Robotics, Trossen Arm documentation, configuration, joint characteristics.
    """
    keys = (
        "friction_constant_term",
        "friction_coulomb_coef",
        "friction_viscous_coef",
        "friction_transition_velocity",
    )
    joints = []
    for name, joint in calibration.joints.items():
        fields = ",\n        ".join(
            f'"{key}": {value!r}' for key, value in zip(keys, _compensation(joint), strict=True)
        )
        joints.append(
            f"    {calibration.mechanism.names.index(name)}: {{       # {name}\n        {fields}}},"
        )
    text = _TROSSEN.format(origin=calibration.origin, joints="\n".join(joints))
    return Export(text, ".trossen.py", _compensation_losses(calibration, "the Trossen driver"))


def _compensation(joint: JointCalibration) -> tuple[float, float, float, float]:
    """Return constant friction, friction per effort, viscous coefficient and transition
    velocity, see `to_vendor`.
    """
    near = approximate(joint, with_effort=True)
    constant, per_effort, viscous, transition = (
        float(number(value))
        for value in (near.friction, near.per_effort, near.damping, slowest_speed(joint))
    )
    return constant, per_effort, viscous, transition


def _compensation_losses(calibration: Calibration, target: str) -> tuple[str, ...]:
    return (
        *coulomb_viscous_losses(calibration, target, with_effort=True),
        *motor_losses(calibration, target),
        *passive_losses(calibration, target),
    )


def _yaml(value: Any) -> str:
    """Return a scalar or list as YAML of any version; numbers never look like integers,
    a separate type in ROS 2.
    """
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_yaml, value))}]"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    mantissa, *exponent = number(value, 9).split("e")
    return "e".join((mantissa if "." in mantissa else f"{mantissa}.0", *exponent))
