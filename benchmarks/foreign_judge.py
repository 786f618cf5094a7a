"""Comparison of a calibration with the true friction of a foreign arm: errors, bands, intervals,
claims, reported misfits.

States are 50 speeds (spaced evenly in the logarithm over the tested range) x 20 postures of the
campaign (spaced evenly over the loads of the joint) x both directions. If friction varies with
position or time, the truth is its mean over the tested positions and times, except for the error in
place.
"""

import tomllib
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.foreign_physics import Array, ForeignArm, JointTruth
from benchmarks.main_job import Motions
from stribeck.ident.calibration.calibration import Calibration
from stribeck.ident.calibration.joint_calibration import JointCalibration
from stribeck.ident.laws.load_components import load_at
from stribeck.ident.model.loads import joint_loads

SPEEDS, LOADS = 50, 20
# number of positions of a mean; each wave of the finest ripple has many of them
_PLACES = 20_001
_TURNS = (-1.0, 1.0)


@dataclass(frozen=True)
class JointJudgement:
    """Result for a joint, compared with its truth.

    Attributes
    ----------
    error, odd_error, in_place_error : float
        Rms error relative to rms true friction: for both directions, with the torque
        offset as part of friction; for the mean of both directions; and for single
        positions in the middle of the time.
    held : float
        Share of the states whose band contains the true mean of both directions.
    identified, covered : tuple of str
        Identified parameters that the truth also has; and those of them whose
        interval contains the true value.
    claims : str
        Law, load and, if claimed, direction.
    false, missed : tuple of str
        Effects that are claimed but do not exist; effects that exist but are not claimed.
    says_misfit : bool, optional
        Whether the result reports that its law does not fit; None if results report no misfits.
    """

    joint: str
    error: float
    odd_error: float
    in_place_error: float
    held: float
    identified: tuple[str, ...]
    covered: tuple[str, ...]
    claims: str
    false: tuple[str, ...]
    missed: tuple[str, ...]
    says_misfit: bool | None

    def table(self) -> dict[str, Any]:
        """Return the result as plain data, rounded."""
        return {
            key: round(value, 5) if isinstance(value, float) else value
            for key, value in asdict(self).items()
        }


def says_misfit(calibration: Path) -> dict[str, bool]:
    """Return for each joint whether ``fit.lack_of_fit`` of a calibration file reports a
    misfit; empty without this key.

    Only this function reads the key. A missing, empty or false entry of a joint means no misfit.
    """
    said = tomllib.loads(calibration.read_text(encoding="utf-8"))["fit"].get("lack_of_fit", {})
    return {name: bool(entry) for name, entry in said.items()}


def judge(
    arm: ForeignArm, path: Path, points: pd.DataFrame, motions: Motions
) -> list[JointJudgement]:
    """Judge every calibrated joint.

    Parameters
    ----------
    arm : ForeignArm
        The truth.
    path : Path
        The calibration file.
    points : DataFrame
        Points of the fit.
    motions : dict of str to (ndarray, ndarray)
        Positions and velocities of all joints at each joint's points.
    """
    calibration, said = Calibration.load(path), says_misfit(path)
    judged = []
    for name, joint in calibration.joints.items():
        own = points[points["joint"] == name]
        states = _States.of(arm, calibration, name, own, *motions[name])
        truth = arm.truths[name]
        wanted = true_parameters(arm, name, joint, own, states.met)
        identified = tuple(
            key
            for key in wanted
            if (entry := joint.parameters.get(key)) and entry.verdict == "identified"
        )
        covered = tuple(key for key in identified if _holds(joint, key, wanted[key]))
        false, missed = _claims(joint, truth)
        words = [
            joint.law,
            joint.load,
            *([joint.directional] if joint.directional != "none" else []),
        ]
        judged.append(
            JointJudgement(
                name,
                *states.errors(),
                states.held(),
                identified,
                covered,
                ", ".join(words),
                false,
                missed,
                said.get(name, False) if said else None,
            )
        )
    return judged


@dataclass(frozen=True)
class _States:
    """True and predicted friction of a joint, shape (speeds, loads, directions), and the loads
    of the points, shape (N,).
    """

    true: Array
    in_place: Array
    predicted: Array
    band: Array
    met: Array

    @classmethod
    def of(
        cls,
        arm: ForeignArm,
        calibration: Calibration,
        name: str,
        points: pd.DataFrame,
        q: Array,
        dq: Array,
    ) -> "_States":
        j, truth, joint = calibration.names.index(name), arm.truths[name], calibration.joints[name]
        met = arm.loads(q, dq)[:, j]
        rows = [
            int(np.argmin(np.abs(met - load))) for load in np.linspace(met.min(), met.max(), LOADS)
        ]
        speeds = points["speed"].abs()
        grid = np.array(
            np.meshgrid(
                np.geomspace(speeds.min(), speeds.max(), SPEEDS), rows, _TURNS, indexing="ij"
            )
        )
        speed, row, turn = grid.reshape(3, -1)
        q, dq = q[row.astype(int)], np.zeros((grid[0].size, q.shape[1]))
        dq[:, j] = turn * speed
        scale = arm.torque_scale.get(name, 1.0)
        load = arm.loads(q, dq)[:, j]
        uneven, cold, now = (
            unevenness(truth, points),
            coldness(truth, points),
            float(points["t"].median()),
        )
        lasting = replace(truth, ripples=(), warm_up=0.0)
        mean = [
            turn
            * cold
            * (uneven * lasting.dry(speed, load, turn, 0.0, 0.0) + lasting.wet(speed, load, 0.0))
            for speed, load, turn in zip(speed, load, turn, strict=True)
        ]
        here = [
            turn * truth.friction(speed, load, turn, place, now)
            for speed, load, turn, place in zip(speed, load, turn, q[:, j], strict=True)
        ]
        loads = joint_loads(calibration.mechanism, q, dq)
        own = joint.load_of(lambda kind: loads.get(kind)[:, j])
        shape = grid.shape[1:]
        return cls(
            scale * np.reshape(mean, shape),
            scale * np.reshape(here, shape),
            calibration.with_offset().friction(q, dq)[:, j].reshape(shape),
            joint.band(dq[:, j], own).reshape(shape),
            met,
        )

    def errors(self) -> tuple[float, float, float]:
        """Errors for both directions, for their mean, and in place."""
        return (
            _relative(self.predicted, self.true),
            _relative(_odd(self.predicted), _odd(self.true)),
            _relative(self.predicted, self.in_place),
        )

    def held(self) -> float:
        """Share of states whose band (of the mean of both directions) contains the truth."""
        return float(
            np.mean(np.abs(_odd(self.predicted) - _odd(self.true)) <= self.band.mean(axis=-1))
        )


def _odd(friction: Array) -> Array:
    """Mean friction of both directions, with the sign of forward motion."""
    return np.asarray(friction[..., 1] - friction[..., 0]) / 2.0


def _relative(predicted: Array, true: Array) -> float:
    return float(np.sqrt(np.mean((predicted - true) ** 2) / np.mean(true**2)))


def unevenness(truth: JointTruth, points: pd.DataFrame) -> float:
    """Dry friction relative to its mean over a turn, averaged over the tested positions."""
    half = points["width"] / 2.0
    tested = (points["position"] - half).min(), (points["position"] + half).max()
    places = np.linspace(*tested, _PLACES) if truth.ripples else np.zeros(1)
    return float(np.mean([truth.unevenness(place) for place in places]))


def coldness(truth: JointTruth, points: pd.DataFrame) -> float:
    """Friction relative to the warm joint, averaged over the points."""
    return float(np.mean([truth.coldness(t) for t in points["t"]]))


def true_parameters(
    arm: ForeignArm, name: str, joint: JointCalibration, points: pd.DataFrame, met: Array
) -> dict[str, float]:
    """True values of the estimate's parameters, in the scale of the reported torque and for
    the load of the estimate.
    """
    truth = arm.truths[name]
    factor = arm.torque_scale.get(name, 1.0) * coldness(truth, points)
    uneven = factor * unevenness(truth, points)
    load = load_at(points, joint.load, joint.values)
    columns = np.zeros((len(points), 0)) if load is None else load.reshape(len(points), -1)
    *slopes, start = np.linalg.lstsq(
        np.column_stack((columns, np.ones(len(points)))), met, rcond=None
    )[0]
    levels = {"coulomb": (truth.coulomb, truth.coulomb_coefficient)}
    wanted = {}
    if truth.static:
        levels["static"] = truth.static, truth.static_coefficient
        wanted["stribeck_velocity"] = truth.stribeck_velocity
    if truth.viscous_power == 1.0 and not truth.viscous_coefficient:
        wanted["viscous"] = factor * truth.viscous
    names = [f"_{part}" for part in joint.components] or [""]
    for key, (level, coefficient) in levels.items():
        wanted[key] = uneven * (level + coefficient * start)
        if coefficient and joint.load != "none":
            wanted |= {
                f"{key}_coefficient{end}": uneven * coefficient * slope
                for end, slope in zip(names, slopes, strict=True)
            }
    return {key: float(value) for key, value in wanted.items()}


def _holds(joint: JointCalibration, key: str, value: float) -> bool:
    entry = joint.parameters[key]
    return entry.low is not None and entry.high is not None and entry.low <= value <= entry.high


def _claims(joint: JointCalibration, truth: JointTruth) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Effects that are claimed but do not exist, and effects that exist but are not claimed."""
    claimed = {
        "drop": "static" in joint.values,
        "load": joint.load != "none",
        "direction": joint.directional != "none",
    }
    there = {
        "drop": truth.static > truth.coulomb,
        "load": bool(truth.coulomb_coefficient or truth.viscous_coefficient),
        "direction": False,
    }
    return (
        tuple(word for word, yes in claimed.items() if yes and not there[word]),
        tuple(word for word, yes in there.items() if yes and not claimed[word]),
    )
