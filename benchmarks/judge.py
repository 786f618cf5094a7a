"""Comparison of an estimate with the truth of the simulated arm.

True loads are MuJoCo's reaction forces with the bearings of the truth. The true value of a
coefficient of the estimate follows from the relation between the true load and the estimate's load
over the states of the run.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from stribeck.drivers.simulation.simulated_arm import SimulatedArm
from stribeck.ident.calibration.calibration import Calibration
from stribeck.ident.laws.load_components import load_at

SCALE_PARAMETERS = (
    "coulomb",
    "static",
    "viscous",
    "stribeck_velocity",
    "coulomb_coefficient",
    "static_coefficient",
)


@dataclass(frozen=True)
class Verdict:
    """One parameter of one joint, compared with its truth."""

    joint: str
    parameter: str
    truth: float
    value: float | None
    low: float | None
    high: float | None
    verdict: str

    @property
    def covered(self) -> bool:
        """True if the interval contains the truth."""
        return (
            self.low is not None and self.high is not None and self.low <= self.truth <= self.high
        )

    @property
    def relative_half_width(self) -> float:
        """Half width of the interval divided by the value."""
        if self.low is None or self.high is None or not self.value:
            return np.inf
        return (self.high - self.low) / 2.0 / abs(self.value)

    @property
    def relative_error(self) -> float:
        """Error divided by the true value."""
        return np.inf if self.value is None else self.value / self.truth - 1.0


def states(points: pd.DataFrame, joint: str) -> pd.DataFrame:
    """Points of a joint."""
    return points[points["joint"] == joint]


def coldness(arm: SimulatedArm, j: int, points: pd.DataFrame) -> np.ndarray:
    """True friction of a joint at its points relative to the warm arm, shape (N,)."""
    size, time = (arm.truth.column(key)[j] for key in ("warm_up", "warm_up_time"))
    return np.asarray(1.0 + size * np.exp(-points["t"].to_numpy() / time))


# joint -> positions and velocities of all joints at its points, (N, n)
Motions = dict[str, tuple[np.ndarray, np.ndarray]]


def judge_parameters(
    calibration: Calibration, measured: pd.DataFrame, arm: SimulatedArm, motions: Motions
) -> list[Verdict]:
    """Compare every parameter of the truth with the estimate.

    Parameters
    ----------
    calibration : Calibration
        The estimate.
    measured : DataFrame
        Points of the fit.
    arm : SimulatedArm
        The truth.
    motions : dict of str to (ndarray, ndarray)
        Positions and velocities of all joints at each joint's points.
    """
    verdicts = []
    for name, joint in calibration.joints.items():
        j = arm.names.index(name)
        points = states(measured, name)
        truth = {key: float(arm.truth.column(key)[j]) for key in SCALE_PARAMETERS}
        factor = float(coldness(arm, j, points).mean()) * float(arm.truth.column("torque_scale")[j])
        true_load = arm.loads(*motions[name])[:, j]
        load = load_at(points, joint.load, joint.values)
        columns = np.zeros((len(points), 0)) if load is None else load.reshape(len(points), -1)
        *slopes, start = np.linalg.lstsq(
            np.column_stack((columns, np.ones(len(points)))), true_load, rcond=None
        )[0]
        wanted = {
            "coulomb": factor * (truth["coulomb"] + truth["coulomb_coefficient"] * start),
            "viscous": factor * truth["viscous"],
        }
        drops = arm.truth.joints[j].static > arm.truth.joints[j].coulomb
        if drops:
            wanted |= {
                "static": factor * (truth["static"] + truth["static_coefficient"] * start),
                "stribeck_velocity": truth["stribeck_velocity"],
            }
        if truth["coulomb_coefficient"] > 0.0 and np.ptp(true_load) > 0.5 * true_load.max():
            names = [f"_{part}" for part in joint.components] or [""]
            for level in ("coulomb", "static") if drops else ("coulomb",):
                wanted |= {
                    f"{level}_coefficient{end}": factor * truth[f"{level}_coefficient"] * slope
                    for end, slope in zip(names, slopes or [0.0], strict=True)
                }
        for parameter, value in wanted.items():
            entry = joint.parameters.get(parameter)
            verdicts.append(
                Verdict(
                    name,
                    parameter,
                    float(value),
                    entry.value if entry else None,
                    entry.low if entry else None,
                    entry.high if entry else None,
                    entry.verdict if entry else "absent",
                )
            )
    return verdicts


def friction_error(
    calibration: Calibration, arm: SimulatedArm, motions: Motions, points: pd.DataFrame
) -> dict[str, float]:
    """Rms error of `Calibration.friction` relative to rms true friction at the states
    of the run, joint by joint.
    """
    out = {}
    for name in calibration.joints:
        j = arm.names.index(name)
        rows = states(points, name)
        q, dq = motions[name]
        true = arm.friction(q, dq)[:, j] * coldness(arm, j, rows)
        predicted = calibration.friction(q, dq)[:, j]
        out[name] = float(np.sqrt(np.mean((predicted - true) ** 2) / np.mean(true**2)))
    return out
