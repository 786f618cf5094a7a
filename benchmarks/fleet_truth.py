"""Simulated fleets: arms with known scatter, calibrated with known noise. Nothing of the
package's estimators is used.

True friction is (c + k_L L + k_w w) exp(u + v) with u of the arm and v of the day. A
calibration fits a law that is linear in its parameters to noisy points by least squares; the
covariance is that of the known noise.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import count

import numpy as np

from stribeck.ident.arm.arm_tables import Tool
from stribeck.ident.calibration.calibration import Calibration
from stribeck.ident.calibration.calibration_content import Model
from stribeck.ident.calibration.joint_calibration import JointCalibration
from stribeck.ident.laws.law_table import unit
from stribeck.ident.laws.parameter import Parameter

SPEEDS, LOADS = np.geomspace(0.02, 1.5, 12), np.linspace(0.0, 20.0, 3)
FIRST = datetime(2025, 1, 6, 9, tzinfo=UTC)
_RUNS = count()  # no two calibrations share a run
_FALL = 0.06  # Stribeck velocity that is given to the fit [rad/s]


@dataclass(frozen=True)
class Truth:
    """How a fleet scatters and what is changed in it.

    Attributes
    ----------
    arms, days, joints : int
    between_arms, between_days : float
        Relative standard deviations.
    noise : float
        Relative standard deviation of a point.
    uneven : float
        Standard deviation of the logarithm of the noise of a calibration.
    tails : float
        Degrees of freedom of the t distribution of the arms; 0 is normal.
    laws : tuple of str
        Laws that the fits use in turn.
    changed : float
        Share of joints of arms that are changed.
    size : float
        Relative change of their friction on the newest days.
    after : int
        Number of changed days.
    drift : float
        Relative change of their friction per year, from the first day on.
    interval : float
        Days between calibrations.
    """

    arms: int = 200
    days: int = 5
    joints: int = 6
    between_arms: float = 0.05
    between_days: float = 0.015
    noise: float = 0.02
    uneven: float = 0.0
    tails: float = 0.0
    laws: tuple[str, ...] = ("coulomb-viscous",)
    changed: float = 0.0
    size: float = 0.0
    after: int = 1
    drift: float = 0.0
    interval: float = 30.0


@dataclass(frozen=True)
class Simulated:
    """A simulated fleet.

    Attributes
    ----------
    calibrations : dict of str to Calibration
    changed : set of tuple of str
        Joints and arms whose friction was changed.
    parts : ndarray, shape (J, 3)
        Mean friction of each joint: constant, per load, per speed.
    """

    calibrations: dict[str, Calibration]
    changed: set[tuple[str, str]]
    parts: np.ndarray

    def friction(
        self, joint: int, speeds: tuple[float, float], loads: tuple[float, float]
    ) -> float:
        """Return the mean log friction of a joint of the mean arm, over the
        logarithm of speed and over load.
        """
        w, load = np.meshgrid(np.geomspace(*speeds, 400), np.linspace(*loads, 50))
        return float(
            np.mean(np.log(self.parts[joint] @ [np.ones(w.size), load.ravel(), w.ravel()]))
        )


def scatter(truth: Truth, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Draw the deviations of arms from the population."""
    own = rng.normal(size=shape)
    if truth.tails:
        own = rng.standard_t(truth.tails, shape) / np.sqrt(truth.tails / (truth.tails - 2.0))
    return truth.between_arms * own


def simulated(truth: Truth, rng: np.random.Generator) -> Simulated:
    """Simulate a fleet."""
    arm = scatter(truth, (truth.arms, truth.joints), rng)
    day = truth.between_days * rng.normal(size=(truth.arms, truth.days, truth.joints))
    moved = rng.random(arm.shape) < truth.changed
    parts = rng.uniform([2.0, 0.02, 1.0], [8.0, 0.1, 6.0], (truth.joints, 3))
    made = {}
    for a in range(truth.arms):
        for d in range(truth.days):
            level = (
                arm[a] + day[a, d] + moved[a] * np.log1p(truth.drift) * d * truth.interval / 365.25
            )
            level = level + (
                moved[a] * np.log1p(truth.size) if d >= truth.days - truth.after else 0.0
            )
            noise = truth.noise * np.exp(truth.uneven * rng.normal())
            joints = {
                f"j{j + 1}": _estimated(
                    truth.laws[(a + j) % len(truth.laws)], np.exp(level[j]) * parts[j], noise, rng
                )
                for j in range(truth.joints)
            }
            made[f"A{a:03d}-{d:02d}"] = _calibration(
                f"A{a:03d}", FIRST + timedelta(days=d * truth.interval + a % 7), joints
            )
    return Simulated(
        made, {(f"j{j + 1}", f"A{a:03d}") for a, j in zip(*np.nonzero(moved), strict=True)}, parts
    )


def _calibration(
    serial: str, created: datetime, joints: dict[str, JointCalibration]
) -> Calibration:
    return Calibration(
        "six",
        created,
        "simulated",
        "drive",
        ({"path": "run", "sha256": f"{next(_RUNS):064x}"},),
        Model("six.urdf", "", (0.0, 0.0, -9.81), Tool()),
        {"versions": {}},
        joints,
        serial=serial,
    )


def _estimated(
    law: str, parts: np.ndarray, noise: float, rng: np.random.Generator
) -> JointCalibration:
    """Fit noisy points of one joint by a law that is linear in its parameters."""
    w, load = (grid.ravel() for grid in np.meshgrid(SPEEDS, LOADS))
    friction = parts[0] + parts[1] * load + parts[2] * w
    fall = np.exp(-((w / _FALL) ** 2))
    columns = {
        "coulomb-viscous": {"coulomb": np.ones_like(w), "coulomb_coefficient": load, "viscous": w},
        "stribeck": {
            "coulomb": 1.0 - fall,
            "static": fall,
            "coulomb_coefficient": (1.0 - fall) * load,
            "static_coefficient": fall * load,
            "viscous": w,
        },
    }[law]
    deviation = noise * friction
    design = np.column_stack(list(columns.values())) / deviation[:, None]
    measured = friction + deviation * rng.normal(size=len(w))
    covariance = np.linalg.inv(design.T @ design)
    value, error = covariance @ design.T @ (measured / deviation), np.sqrt(np.diag(covariance))
    parameters = {
        name: Parameter(
            float(v),
            float(e),
            float(v - 1.96 * e),
            float(v + 1.96 * e),
            unit(name, load="torque"),
            "identified",
        )
        for name, v, e in zip(columns, value, error, strict=True)
    }
    if law == "stribeck":
        parameters["stribeck_velocity"] = Parameter(_FALL, None, None, None, "rad/s", "identified")
    speeds, loads = ((float(one[0]), float(one[-1])) for one in (SPEEDS, LOADS))
    return JointCalibration(
        law,
        "torque",
        parameters,
        {},
        None,
        0.05,
        speeds,
        loads,
        None,
        None,
        tuple(columns),
        covariance / np.outer(error, error),
        1.96,
    )
