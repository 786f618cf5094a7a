"""What the figures and tables of one joint are made from."""

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

_BREAK = 1.0            # min between runs on the time axis


@dataclass(frozen=True)
class JointData:
    """Points of one joint with everything drawn of them; rows as in the points table.

    Attributes
    ----------
    name : str
        Joint.
    prismatic : bool
        Whether it slides; decides the units.
    unit, angle : str
        Units of friction and of position.
    calibration : JointCalibration
        Law with intervals and ranges.
    fit : JointFit
        Fit, gravity check and candidates.
    points : DataFrame
        The joint's points.
    speed, odd, even, gravity, position : ndarray, shape (N,)
        Unsigned speed, half difference, half sum, the model's gravity, and where [SI].
    predicted, residual : ndarray, shape (N,)
        Friction by the law, and what is left when delay and drift are removed too [N·m or N].
    load : ndarray, shape (N,), optional
        The load of the law; its share of Coulomb friction where its components have coefficients of their own.
    loads : ndarray, shape (N,) or (N, m), optional
        The load as the law takes it.
    trip : ndarray of int, shape (N,)
        Round trips 0 ... G-1.
    t, elapsed : ndarray, shape (N,)
        Time in the session, runs one after the other [min]; and centred, 1 over the whole session.
    reference : ndarray of bool, shape (N,)
        Reference round trips.
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
        """What was fitted along and is in no residual."""
        own = [name for name in self.fit.fit.nuisance if not name.startswith(DOUBT)]
        return own + ["inertia of the links"] * (len(own) < len(self.fit.fit.nuisance))

    @property
    def load_levels(self) -> tuple[float, ...]:
        """Least, median and greatest load; empty where the law has none."""
        if self.load is None:
            return ()
        return float(self.load.min()), float(np.median(self.load)), float(self.load.max())

    def at_load(self, level: float, n: int) -> Array:
        """A load as the law takes it, n times; of components, those of the point whose load is nearest."""
        if self.load is None or self.loads is None or self.loads.ndim == 1:
            return np.full(n, level)
        return np.repeat(self.loads[[np.argmin(np.abs(self.load - level))]], n, axis=0)

    @property
    def trips(self) -> int:
        """Number of round trips."""
        return int(self.trip.max()) + 1

    @property
    def drift(self) -> float:
        """Change of friction over the session that the fit removed, as a fraction; 0 where none was fitted."""
        drift = self.fit.drift
        return 0.0 if drift is None or drift.value is None else drift.value


def joint_data(result: Identification, name: str) -> JointData:
    """Collect one calibrated joint."""
    index = result.mechanism.names.index(name)
    calibration, fit = result.calibration.joints[name], result.joints[name]
    points, prismatic = fit.points, bool(result.mechanism.prismatic[index])
    column = {key: points[key].to_numpy(dtype=float) for key in ("speed", "odd", "even", "gravity", "position", "t")}
    components = list(calibration.components)
    loads = None if calibration.load == "none" else points[components or calibration.load].to_numpy(dtype=float)
    seconds = column.pop("t")
    length = float(np.ptp(seconds))
    return JointData(
        name, prismatic, result.mechanism.unit(index), result.mechanism.position_unit(index), calibration, fit, points, **column,
        predicted=calibration.torque(column["speed"], loads), residual=np.asarray(fit.fit.residual, dtype=float),
        load=load_part(calibration.values, loads) if components and loads is not None else loads, loads=loads,
        trip=round_trips(points),
        t=_session_minutes(seconds, points["run"].to_numpy()),
        elapsed=(seconds - seconds.mean()) / length if length > 0.0 else np.zeros(len(seconds)),
        reference=points["reference"].to_numpy(dtype=bool))


def _session_minutes(seconds: Array, run: np.ndarray) -> Array:
    """Time with runs one after the other, since each counts from its own start."""
    out, start = np.empty(len(seconds)), 0.0
    for label in dict.fromkeys(run):
        rows = run == label
        out[rows] = start + (seconds[rows] - seconds[rows].min()) / 60.0
        start = float(out[rows].max()) + _BREAK
    return out
