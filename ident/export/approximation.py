"""Approximation of a law by Coulomb and viscous friction: best coefficients over the calibrated
range, error, and losses.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from stribeck.ident.arrays import Array
from stribeck.ident.calibration.calibration import Calibration
from stribeck.ident.calibration.joint_calibration import JointCalibration
from stribeck.ident.laws.law_table import LAWS, law_named
from stribeck.ident.laws.load_components import load_part

_GROWTH, _DIRECTIONS = "growth with load", "the difference between the directions"
_SPEEDS, _LOADS = 200, 21  # nodes of the grid over the calibrated range
# part of the fastest speed at which the grid begins if the slowest speed is zero
_SLOWEST = 1e-3


@dataclass(frozen=True)
class Approximation:
    """Coulomb and viscous friction of one joint, and their error over the calibrated range.

    Attributes
    ----------
    friction : float
        Constant part [N·m].
    damping : float
        Viscous coefficient [N·m·s/rad].
    per_effort : float
        Coulomb friction per transmitted torque; zero unless requested.
    rms, worst : float
        Root mean square and largest difference from the calibration, over both directions [N·m].
    """

    friction: float
    damping: float
    per_effort: float
    rms: float
    worst: float


def approximate(joint: JointCalibration, with_effort: bool = False) -> Approximation:
    """Return the coefficients that approximate a joint's law best.

    Nonnegative least squares over a grid of speeds and loads. Speeds are spaced logarithmically
    over `velocity_range`, so a decade of slow motion counts as much as a decade of fast motion;
    loads are spaced evenly over `load_range`.

    Parameters
    ----------
    joint : JointCalibration
        The law, its parameters and the ranges.
    with_effort : bool
        Whether the target can also store friction per transmitted torque.
    """
    from scipy.optimize import nnls

    range_ = calibrated_range(joint)
    columns = [np.ones_like(range_.speed), range_.speed] + [range_.load] * (
        with_effort and joint.load == "torque"
    )
    coefficients = nnls(np.column_stack(columns), range_.friction)[0]
    return Approximation(
        coefficients[0],
        coefficients[1],
        float(coefficients[2]) if len(columns) > 2 else 0.0,
        *range_.errors(np.column_stack(columns) @ coefficients),
    )


@dataclass(frozen=True)
class Range:
    """Friction of a joint over the calibrated range.

    Attributes
    ----------
    speed, friction : ndarray, shape (N,)
        Speeds, spaced logarithmically, and friction, as the mean of both directions.
    load : ndarray, shape (N,) or (N, m)
        Loads, spaced evenly.
    apart : ndarray, shape (N,)
        Half the difference between the directions.
    """

    speed: Array
    load: Array
    friction: Array
    apart: Array

    def errors(self, approximation: Array) -> tuple[float, float]:
        """Root mean square and largest error of an approximation, over both directions."""
        off = approximation - self.friction
        both = np.concatenate((off - self.apart, off + self.apart))
        return float(np.sqrt(np.mean(both**2))), float(np.abs(both).max())


def calibrated_range(joint: JointCalibration) -> Range:
    """Return the friction of a joint over its calibrated range."""
    w, load = _grid(joint)
    return Range(w, load, joint.torque(w, load), joint.directional_torque(w, load, np.ones_like(w)))


def slowest_speed(joint: JointCalibration) -> float:
    """Return the slowest calibrated speed; where the calibration begins at rest, a small part of
    the fastest [rad/s or m/s].
    """
    low, high = joint.velocity_range
    return max(low, _SLOWEST * high)


def _grid(joint: JointCalibration) -> tuple[Array, Array]:
    """Speeds and loads over the calibrated range."""
    w = np.geomspace(slowest_speed(joint), joint.velocity_range[1], _SPEEDS)
    loads = np.zeros(1)
    if joint.load != "none" and joint.load_range is not None:
        least, greatest = joint.load_ends
        along = np.linspace(0.0, 1.0, _LOADS)
        # components do not reach their extremes simultaneously
        if joint.load_part is not None and joint.components:
            along = np.interp(
                np.linspace(joint.load_part[0], joint.load_part[2], _LOADS),
                load_part(joint.values, joint.load_ends),
                (0.0, 1.0),
            )
        loads = least + np.multiply.outer(along, greatest - least)
    return np.tile(w, len(loads)), np.repeat(loads, len(w), axis=0)


def coulomb_viscous_losses(
    calibration: Calibration, target: str, with_effort: bool = False
) -> tuple[str, ...]:
    """Return what a target with few coefficients cannot express, and the resulting error of each
    joint; one sentence each.
    """
    lacks = {name: losses(joint, with_effort) for name, joint in calibration.joints.items()}
    lost = [
        f"{what} ({', '.join(name for name in lacks if what in lacks[name])})"
        for what in _in_order(lacks.values())
    ]
    if not lost:
        return other_losses(calibration, target)
    near = {
        name: (approximate(joint, with_effort), joint.parameters["coulomb"].unit)
        for name, joint in calibration.joints.items()
        if lacks[name]
    }
    off = ", ".join(
        f"{name} {value.rms:.2g} (worst {value.worst:.2g}) {unit}"
        for name, (value, unit) in near.items()
    )
    kept = "constant, effort-dependent and viscous" if with_effort else "constant and viscous"
    return (
        f"{target} keeps {kept} friction; lost: {_listed(lost)}",
        f"rms error of the best {kept} friction over the calibrated range: {off}",
        *other_losses(calibration, target),
    )


def losses(joint: JointCalibration, with_effort: bool = False) -> tuple[str, ...]:
    """Return the effects that a joint loses in a target with few coefficients."""
    grows = joint.load not in (("none", "torque") if with_effort else ("none",))
    return (
        *([_GROWTH] if grows else []),
        *law_named(joint.law).lost,
        *([_DIRECTIONS] if joint.directional != "none" else []),
    )


def _in_order(lacks: Iterable[tuple[str, ...]]) -> list[str]:
    """Return each lost effect once: growth with load first, then effects of laws in the order of
    the table, directions last.
    """
    there = {what for lacking in lacks for what in lacking}
    order = (_GROWTH, *(what for law in LAWS.values() for what in law.lost), _DIRECTIONS)
    return [what for what in dict.fromkeys(order) if what in there]


def lost_of(calibration: Calibration) -> str:
    """Return growth with load and differences between directions, with
    their joints; "" without any.
    """
    joints = calibration.joints.items()
    named = {
        _GROWTH: [name for name, joint in joints if joint.load != "none"],
        _DIRECTIONS: [name for name, joint in joints if joint.directional != "none"],
    }
    lost = [f"{what} ({', '.join(names)})" for what, names in named.items() if names]
    return _listed(lost) if lost else ""


def other_losses(
    calibration: Calibration,
    target: str,
    offset: bool = True,
    memory: bool = True,
    ripple: bool = True,
    backlash: bool = True,
    temperature: bool = True,
) -> tuple[str, ...]:
    """Return what most targets lack besides the law: surely known torque offsets, memory,
    ripple, play, an unknown tool.
    """
    told = [
        f"{name} {entry.value:.2g} {entry.unit}"
        for name, joint in calibration.joints.items()
        if (entry := joint.gravity.get("offset")) is not None
        and entry.value is not None
        and entry.low is not None
        and entry.high is not None
        and not entry.low <= 0.0 <= entry.high
    ]
    said = [f"{target} leaves out the torque offset: {', '.join(told)}"] if offset and told else []
    remembered = [
        f"{name} {joint.memory.name}"
        for name, joint in calibration.joints.items()
        if joint.memory is not None
    ]
    if memory and remembered:
        said.append(
            f"{target} has friction of steady sliding, without memory of reversals: "
            f"{', '.join(remembered)}"
        )
    waves = [name for name, joint in calibration.joints.items() if joint.ripple]
    if ripple and waves:
        said.append(
            f"{target} leaves out the torque that ripples with position: {', '.join(waves)}"
        )
    loose = [
        f"{name} {joint.backlash.play.value or 0.0:.3g} {joint.backlash.play.unit}"
        for name, joint in calibration.joints.items()
        if joint.backlash
    ]
    if backlash and loose:
        said.append(f"{target} has rigid gears, without play: {', '.join(loose)}")
    warm = [
        f"{name} {joint.temperature.reference_words}"
        for name, joint in calibration.joints.items()
        if joint.temperature
    ]
    if temperature and warm:
        said.append(
            f"{target} has friction at one temperature: {', '.join(warm)}; export "
            "Calibration.at_temperature(...) for another"
        )
    tool = calibration.model.unknown_tool.tool
    if tool is not None:
        said.append(
            f"{target} has the masses of the model, without the unknown tool of {tool.mass:.3g} kg "
            "with which friction was measured"
        )
    return tuple(said)


def _listed(parts: Iterable[str]) -> str:
    *before, last = parts
    return f"{', '.join(before)} and {last}" if before else last
