"""How far the friction of a calibration is from the truth of a simulated arm."""

from pathlib import Path

import numpy as np

from stribeck import Calibration
from stribeck.drivers.simulation.simulated_arm import SimulatedArm
from stribeck.ident.arm.arm_file import ArmFile

SPEEDS, LOADS = 50, 20


def friction_errors(arm: ArmFile, out: Path) -> dict[str, float]:
    """Rms of predicted minus true friction over speeds, loads and directions,
    relative to that of friction.
    """
    calibration, truth = Calibration.load(out), SimulatedArm(arm).truth
    errors = {}
    for j, (name, joint) in enumerate(calibration.joints.items()):
        low, high = joint.velocity_range
        assert joint.load == truth.joints[j].load
        assert joint.load_range is not None
        w, load = np.meshgrid(
            np.geomspace(low, high, SPEEDS) * [[1.0], [-1.0]], np.linspace(*joint.load_range, LOADS)
        )
        w, load = w.ravel(), load.ravel()
        everyone = np.ones((1, len(truth.joints)))
        true = truth.friction(
            w[:, None] * everyone, load[:, None] * everyone, 0.0 * w[:, None] * everyone
        )[:, j]
        errors[name] = float(
            np.sqrt(np.mean((joint.torque(w, load) - true) ** 2) / np.mean(true**2))
        )
    return errors
