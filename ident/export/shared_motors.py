"""Friction of shared motors and passive joints in export formats: C code, MJCF tendons, plain
data, and losses elsewhere.
"""

import inspect
from collections.abc import Collection, Iterator
from typing import Any
from xml.sax.saxutils import quoteattr

import numpy as np

from stribeck.ident.calibration.calibration import Calibration
from stribeck.ident.errors import InputError
from stribeck.ident.export.result import number
from stribeck.ident.fit.inertia.motor_friction import INERTIA, RubbingMotor
from stribeck.ident.fit.inertia.passive_friction import RubbingJoints
from stribeck.ident.laws.law_table import law_named
from stribeck.ident.laws.parameter import known_value
from stribeck.ident.model.driven.passive_joints import ARM, LAW
from stribeck.ident.model.transmission import Transmission

# nodes from the slowest to the fastest speed; part of the fastest, if the slowest is zero
_SPEEDS, _SLOWEST = 200, 1e-3


def coulomb_viscous(motor: RubbingMotor) -> tuple[float, float]:
    """Return the constant and viscous friction that approximate a motor's friction best, over
    logarithmically spaced speeds.
    """
    from scipy.optimize import nnls

    low, high = motor.velocity_range
    w = np.geomspace(max(low, _SLOWEST * high), high, _SPEEDS)
    constant, viscous = nnls(np.column_stack((np.ones_like(w), w)), motor.torque(w))[0].tolist()
    return constant, viscous


def motor_losses(calibration: Calibration, target: str, keeps: bool = False) -> tuple[str, ...]:
    """Return what a target loses of motors that move several joints; `keeps`: it stores their
    Coulomb and viscous friction.
    """
    motors = calibration.motors.motors
    if not motors:
        return ()
    named = [
        f"{name} (which moves {' and '.join(calibration.model.transmission[name])})"
        for name in motors
    ]
    if not keeps:
        return (
            f"{target} cannot store friction of motors that move several joints: that of "
            f"{', '.join(named)} is lost",
        )
    bent = {name: what for name, motor in motors.items() if (what := law_named(motor.law).lost)}
    return tuple(
        f"{target} keeps constant and viscous friction of the motor of {name}; lost: "
        f"{' and '.join(what)}"
        for name, what in bent.items()
    )


def passive_friction(calibration: Calibration) -> dict[str, tuple[float, float]]:
    """Return constant and viscous friction of the passive joints of a closed
    chain that have one axis.
    """
    return {
        joint: (one.values.get("coulomb", 0.0), one.values.get("viscous", 0.0))
        for one in calibration.model.passive.classes.values()
        if ARM not in one.values
        for joint in one.joints
    }


def passive_losses(
    calibration: Calibration, target: str, written: Collection[str] = ()
) -> tuple[str, ...]:
    """Return what a target lacks of the passive joints of a closed chain.

    Of the joints in `written`, the target has constant and viscous friction.
    """
    classes = calibration.model.passive.classes
    absent = [name for name, one in classes.items() if not set(one.joints) <= set(written)]
    grows = [
        name
        for name, one in classes.items()
        if name not in absent and one.values.get("coulomb_coefficient")
    ]
    said = []
    if absent:
        said.append(
            f"friction of joints without a drive, {', '.join(absent)} (model.passive), is not in "
            f"{target}"
        )
    if grows:
        said.append(
            f"{target} keeps constant and viscous friction of joints without a drive; lost: growth "
            f"with load ({', '.join(grows)})"
        )
    return tuple(said)


def passive_law(joints: RubbingJoints) -> str:
    """Return the name of the friction law of passive joints."""
    return ARM if ARM in joints.values else LAW


def motor_table(calibration: Calibration) -> dict[str, Any]:
    """Return the shared motors as plain data."""
    return {
        name: {
            "law": motor.law,
            "velocity_range": list(motor.velocity_range),
            "parameters": {
                key: {what: value for what, value in vars(entry).items() if value not in (None, "")}
                for key, entry in motor.parameters.items()
            },
        }
        for name, motor in calibration.motors.motors.items()
    }


def as_tendons(calibration: Calibration, solimp: str) -> str:
    """Return the `<tendon>` section of an MJCF: a tendon for each shared motor, its friction
    and inertia; "" without any.
    """
    lines = []
    for name, motor in calibration.motors.motors.items():
        constant, viscous = coulomb_viscous(motor)
        inertia = known_value(motor.parameters, INERTIA, 0.0)
        armature = f' armature="{number(inertia)}"' if inertia > 0.0 else ""
        lines.append(
            f'    <fixed name={quoteattr(f"{name} motor")} frictionloss="{number(constant)}" '
            f'damping="{number(viscous)}"{armature} solimpfriction="{solimp}">'
        )
        lines += [
            f'      <joint joint={quoteattr(joint)} coef="{number(ratio)}"/>'
            for joint, ratio in calibration.model.transmission[name].items()
        ]
        lines.append("    </fixed>")
    return "\n".join(["<tendon>", *lines, "  </tendon>"]) if lines else ""


def motor_laws(
    calibration: Calibration, transmission: Transmission | None
) -> Iterator[tuple[list[float], str, list[float]]]:
    """Yield each shared motor's ratios to the joints, and the name and the
    parameters of its law's function.

    Raises
    ------
    InputError
        If the law has no C code.
    """
    for name, motor in calibration.motors.motors.items():
        assert transmission is not None
        law, row = (
            law_named(motor.law),
            transmission.ratios[transmission.names.index(name)].tolist(),
        )
        if not law.c:
            raise InputError(
                f"motors.{name}: the law {law.name} has no C code: {law.no_c}; export to json"
            )
        bound = inspect.signature(law.function).bind(0.0, **motor.values)
        bound.apply_defaults()
        yield (
            row,
            law.function.__name__,
            [float(value) for value in list(bound.arguments.values())[1:-1]],
        )


def in_c(calibration: Calibration, transmission: Transmission | None) -> str:
    """Return lines of C that add the friction of shared motors to ``tau``, from
    the joint velocities ``dq``.
    """
    lines = []
    for row, function, values in motor_laws(calibration, transmission):
        moved = np.flatnonzero(row)
        rate = " + ".join(f"{row[j]!r} * dq[{j}]" for j in moved.tolist())
        taken = ", ".join(map(repr, values))
        lines += [
            "    {",
            f"        const double rate = {rate}, torque = @_{function}(rate, {taken}, 0.0);",
            *(f"        tau[{j}] += {row[j]!r} * torque;" for j in moved.tolist()),
            "    }",
        ]
    return "\n".join(lines)


def gears_in_c(transmission: Transmission | None, joints: int) -> str:
    """Return lines of C that compute the torques of the gears, ``gear``, from the torques
    of the joints, ``rigid``.
    """
    if transmission is None:
        return f"    for (j = 0; j < {joints}; ++j) gear[j] = rigid[j];"
    share = transmission.torque_of_motors(np.eye(joints))
    sums = [
        " + ".join(f"{float(share[j, k])!r} * rigid[{j}]" for j in np.flatnonzero(share[:, k]))
        for k in range(joints)
    ]
    return "\n".join(f"    gear[{k}] = {text};" for k, text in enumerate(sums))
