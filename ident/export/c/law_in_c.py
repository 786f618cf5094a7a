"""The law of one joint in C, and the weights of its loads."""

import inspect
from collections.abc import Sequence

import numpy as np

from stribeck.ident.arrays import Array
from stribeck.ident.calibration.joint_calibration import JointCalibration
from stribeck.ident.errors import InputError
from stribeck.ident.export.result import exact
from stribeck.ident.laws.law import Law
from stribeck.ident.laws.law_table import law_named
from stribeck.ident.model.loads import LOAD_PARTS, load_weights
from stribeck.ident.model.mechanism import Mechanism

# coefficients that C code knows for each load component
_WEIGHED = {"coulomb_coefficient", "static_coefficient"}


def checked_law(joint: JointCalibration) -> Law:
    """Return the law of a joint, after checking that the law has C code."""
    law = law_named(joint.law)
    if not law.c:
        raise InputError(
            f"the law {joint.law} has no C code: {law.no_c}; export to json, csv or ros2"
        )
    return law


def law_in_c(
    joint: JointCalibration, j: int, at: list[int], velocity: str, viscous: bool = True
) -> str:
    """Return the call of a law at a velocity, with or without its viscous part."""
    function = checked_law(joint).function
    if joint.components and set(checked_law(joint).with_load) - _WEIGHED:
        raise InputError(
            f"the law {joint.law} has no C code with a coefficient for each load component; fit "
            "with a single load, or export to json, csv or ros2"
        )
    known = {
        name: value
        for name, value in joint.values.items()
        if name in inspect.signature(function).parameters
    }
    bound = inspect.signature(function).bind(
        0.0, **known, **({"coulomb_coefficient": 1.0} if joint.components else {})
    )
    bound.apply_defaults()
    figures = {
        name: exact(value if viscous or not name.startswith("viscous") else 0.0)
        for name, value in list(bound.arguments.items())[1:-1]
    }
    if joint.components and "static" in figures:
        figures["static"] += f" + load[{at.index(j, at.index(j) + 1)}]"
    values = ", ".join(figures.values())
    return (
        f"@_{function.__name__}({velocity}, {values}, "
        f"{'0.0' if joint.load == 'none' else f'load[{j}]'})"
    )


def loads_at(joints: Sequence[JointCalibration | None]) -> list[int]:
    """Return whose load each entry of the array `load` is: those of all joints, then static
    friction by load components.
    """
    return [
        *range(len(joints)),
        *(
            j
            for j, joint in enumerate(joints)
            if joint is not None and joint.components and "static" in joint.values
        ),
    ]


def weights(mechanism: Mechanism, joints: Sequence[JointCalibration | None]) -> Array:
    """Return the weight of each of `LOAD_PARTS` in each entry of the array `load`, shape (K, 5)."""
    rows = [
        np.zeros(len(LOAD_PARTS))
        if joint is None
        else _raising(joint, "coulomb")
        if joint.components
        else load_weights(joint.load, joint.bearing, bool(prismatic))
        for joint, prismatic in zip(joints, mechanism.prismatic, strict=True)
    ]
    return np.array(
        [
            *rows,
            *(
                _raising(joint, "static")
                for j in loads_at(joints)[len(joints) :]
                if (joint := joints[j])
            ),
        ]
    )


def _raising(joint: JointCalibration, level: str) -> Array:
    """Return the coefficient with which each of `LOAD_PARTS` raises a level of
    friction, for load components.
    """
    return np.array([joint.values.get(f"{level}_coefficient_{part}", 0.0) for part in LOAD_PARTS])
