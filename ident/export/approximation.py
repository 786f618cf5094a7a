"""What is lost where a target knows only constant and viscous friction."""

from dataclasses import dataclass

import numpy as np

from ident.calibration import Calibration, JointCalibration
from ident.friction import load_part


@dataclass(frozen=True)
class Approximation:
    """Constant friction and damping of one joint, and how far they are off over the calibrated range.

    Attributes
    ----------
    friction : float
        Coulomb friction at the median load [N·m].
    damping : float
        Viscous coefficient [N·m·s/rad].
    worst, rms : float
        Largest and root mean square difference from the calibration over its speeds and loads [N·m].
    """

    friction: float
    damping: float
    worst: float
    rms: float


def approximate(joint: JointCalibration) -> Approximation:
    """Constant and viscous friction that stand in for a joint's law."""
    values = joint.values
    low, high = joint.velocity_range
    w = np.geomspace(low, high, 60)
    friction, loads = values["coulomb"], np.zeros(1)
    if joint.load_range is not None and joint.load_part is not None:
        friction += joint.load_part[1]
        least, greatest = joint.load_ends
        along = np.interp(np.linspace(joint.load_part[0], joint.load_part[2], 9), load_part(values, joint.load_ends), (0.0, 1.0))
        loads = least + np.multiply.outer(along, greatest - least)
    grid_w, grid_load = np.tile(w, len(loads)), np.repeat(loads, len(w), axis=0)
    off = friction + values["viscous"] * grid_w - joint.torque(grid_w, grid_load)
    return Approximation(friction, values["viscous"], float(np.abs(off).max()), float(np.sqrt(np.mean(off**2))))


def losses(calibration: Calibration, target: str) -> tuple[str, ...]:
    """What the target cannot express, and by how much each joint is off for it."""
    load = [name for name, joint in calibration.joints.items() if joint.load != "none"]
    drop = [name for name, joint in calibration.joints.items() if "static" in joint.values]
    apart = [name for name, joint in calibration.joints.items() if joint.directional != "none"]
    lost = [f"growth with load ({', '.join(load)})"] * bool(load) + [f"the Stribeck effect ({', '.join(drop)})"] * bool(drop)
    lost += [f"the difference between the directions ({', '.join(apart)})"] * bool(apart)
    tool = calibration.model.unknown_tool.tool
    without = (f"{target} has the masses of the model, without the unknown tool of {tool.mass:.3g} kg that friction was measured "
               "with",) if tool is not None else ()
    if not lost:
        return without
    near = {name: (approximate(joint), joint.parameters["coulomb"].unit) for name, joint in calibration.joints.items()
            if name in load + drop}
    off = ", ".join(f"{name} {value.rms:.2g} (worst {value.worst:.2g}) {unit}" for name, (value, unit) in near.items())
    return (f"{target} keeps constant and viscous friction; lost: {' and '.join(lost)}",
            f"off by, rms over the calibrated range: {off}", *without)
