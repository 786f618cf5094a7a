"""Inertia of the rotors at the joints, the armature of MuJoCo, as far as a calibration knows it."""

import numpy as np

from stribeck.ident.calibration.calibration import Calibration
from stribeck.ident.export.result import number
from stribeck.ident.laws.parameter import known_value


def armatures(calibration: Calibration) -> dict[str, float]:
    """Return the inertia by joint [kg·m² or kg], stated and fitted together; joints of which it is unknown are left out.

    Joints that share a motor are left out, too: the inertia of its rotor couples them, which an armature cannot.
    """
    found: dict[str, float] = {}
    for name, joint in calibration.joints.items():
        if joint.servo is not None:
            found[name] = known_value(joint.gravity, "inertia", 0.0) + calibration.fit.get("stated_rotors", {}).get(name, 0.0)
        elif joint.free_motion is not None:
            row, own = np.array(joint.free_motion.rotors), calibration.names.index(name)
            if row[own] == row.sum():
                found[name] = float(row[own])
    return {name: float(number(value)) for name, value in found.items() if value > 0.0}


def unknown_armatures(calibration: Calibration, there: dict[str, float]) -> tuple[str, ...]:
    """Return the loss of joints without an armature; `there` has the armatures of a file by joint."""
    without = [name for name in calibration.joints if not there.get(name)]
    return (f"{', '.join(without)}: armature is left at zero, because neither the arm file nor the fit has the inertia of "
            "these rotors (times the gear ratio squared)",) if without else ()
