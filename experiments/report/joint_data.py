"""Data behind the figures and tables of one joint."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from stribeck.ident.arrays import Array, Groups
from stribeck.ident.calibration.joint_calibration import JointCalibration
from stribeck.ident.fit.joint.fit_joint import JointFit
from stribeck.ident.fit.points import DOUBT
from stribeck.ident.identify import Identification
from stribeck.ident.laws.load_components import load_part
from stribeck.ident.log.reduction.round_trips import round_trips

_BREAK = 1.0  # gap between runs on the time axis [min]


@dataclass(frozen=True)
class JointData:
    """Points of one joint with all derived arrays that the report shows; one row
    per row of the points table.

    Attributes
    ----------
    name : str
        Joint.
    prismatic : bool
        Whether the joint slides; decides the units.
    unit, angle : str
        Units of friction and of position.
    calibration : JointCalibration
        Law with intervals and ranges.
    fit : JointFit
        Fit, gravity check and candidates.
    points : DataFrame
        The joint's points.
    speed, odd, even, gravity, position : ndarray, shape (N,)
        Unsigned speed, half difference, half sum, the model's gravity
        torque, and joint position [SI].
    predicted, residual : ndarray, shape (N,)
        Friction predicted by the law, and residual of the fit, without fitted
        delay and drift [N·m or N].
    load : ndarray, shape (N,), optional
        The load of the law; for a law with load components, their joint share of Coulomb friction.
    loads : ndarray, shape (N,) or (N, m), optional
        The load or load components as arguments of the law.
    trip : ndarray of int, shape (N,)
        Number of the round trip, 0 ... G-1.
    t, elapsed : ndarray, shape (N,)
        Time with all runs placed one after the other [min]; and centred time in
        units of the session's length.
    reference : ndarray of bool, shape (N,)
        Whether the point belongs to a reference round trip.
    """

    name: str
    prismatic: bool
    unit: str
    angle: str
    calibration: JointCalibration
    fit: JointFit
    points: pd.DataFrame
    speed: Array
    odd: Array
    even: Array
    gravity: Array
    position: Array
    predicted: Array
    residual: Array
    load: Array | None
    loads: Array | None
    trip: Groups
    t: Array
    elapsed: Array
    reference: np.ndarray

    @property
    def removed(self) -> list[str]:
        """Names of nuisance parameters that the residuals exclude."""
        own = [name for name in self.fit.fit.nuisance if not name.startswith(DOUBT)]
        return own + ["link inertia"] * (len(own) < len(self.fit.fit.nuisance))

    @property
    def load_levels(self) -> tuple[float, ...]:
        """Smallest, median and largest load; empty if the law has no load."""
        if self.load is None:
            return ()
        return float(self.load.min()), float(np.median(self.load)), float(self.load.max())

    def at_load(self, level: float, n: int) -> Array:
        """Load argument of the law, repeated n times; load components are taken from the
        point with the nearest load.
        """
        if self.load is None or self.loads is None or self.loads.ndim == 1:
            return np.full(n, level)
        return np.repeat(self.loads[[np.argmin(np.abs(self.load - level))]], n, axis=0)

    @property
    def trips(self) -> int:
        """Number of round trips."""
        return int(self.trip.max()) + 1

    @property
    def drift(self) -> float:
        """Fitted change of friction over the session, as a fraction; 0 if no drift was fitted."""
        drift = self.fit.drift
        return 0.0 if drift is None or drift.value is None else drift.value


def joint_data(result: Identification, name: str) -> JointData:
    """Collect the data of one calibrated joint."""
    index = result.mechanism.names.index(name)
    calibration, fit = result.calibration.joints[name], result.joints[name]
    points, prismatic = fit.points, bool(result.mechanism.prismatic[index])
    column = {
        key: points[key].to_numpy(dtype=float)
        for key in ("speed", "odd", "even", "gravity", "position", "t")
    }
    components = list(calibration.components)
    loads = (
        None
        if calibration.load == "none"
        else points[components or calibration.load].to_numpy(dtype=float)
    )
    seconds = column.pop("t")
    length = float(np.ptp(seconds))
    return JointData(
        name,
        prismatic,
        result.mechanism.unit(index),
        result.mechanism.position_unit(index),
        calibration,
        fit,
        points,
        **column,
        predicted=calibration.torque(column["speed"], loads),
        residual=np.asarray(fit.fit.residual, dtype=float),
        load=load_part(calibration.values, loads) if components and loads is not None else loads,
        loads=loads,
        trip=round_trips(points),
        t=_session_minutes(seconds, points["run"].to_numpy()),
        elapsed=(seconds - seconds.mean()) / length if length > 0.0 else np.zeros(len(seconds)),
        reference=points["reference"].to_numpy(dtype=bool),
    )


def _session_minutes(seconds: Array, run: np.ndarray) -> Array:
    """Place the runs one after the other on the time axis; each run's time starts at zero."""
    out, start = np.empty(len(seconds)), 0.0
    for label in dict.fromkeys(run):
        rows = run == label
        out[rows] = start + (seconds[rows] - seconds[rows].min()) / 60.0
        start = float(out[rows].max()) + _BREAK
    return out
