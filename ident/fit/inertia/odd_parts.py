r"""Friction of motors that move several joints from round trips: the odd parts of those joints at once.

Half the difference of the torques there and back is friction, that of a motor with its share and its own direction:

.. math:: (\tau_+ - \tau_-) / 2 = f_j(\dot q_j) + \sum_k R_{kj} f_k(\dot\varphi_k)

Inertia is not in it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd

from stribeck.ident.arrays import Array
from stribeck.ident.fit.fit_result import FitResult
from stribeck.ident.fit.inertia.coupled_motors import LAWS as MOTOR_LAWS
from stribeck.ident.fit.inertia.coupled_motors import CoupledMotors
from stribeck.ident.fit.inertia.inertial_fit import InertialFit
from stribeck.ident.fit.inertia.joint_equation import LAWS, Information, told
from stribeck.ident.fit.inertia.link_prior import LinkPrior, Scatter
from stribeck.ident.fit.inertia.shared import Shared
from stribeck.ident.fit.joint.model_doubt import Doubts, ModelDoubt
from stribeck.ident.fit.noise import Noise
from stribeck.ident.fit.points import FitPoints, worth
from stribeck.ident.log.reduction.round_trips import round_trips
from stribeck.ident.model.loads import LOADS
from stribeck.ident.model.mechanism import Mechanism

_ROUNDS = 4             # of least squares, each about what the last one found


@dataclass(frozen=True)
class OddParts:
    """Odd parts of the joints that a motor moves with others.

    Attributes
    ----------
    points : dict of str to DataFrame
        Of each joint, see `round_trips`.
    dq : dict of str to ndarray, shape (N, n)
        Velocities of all joints at its points.
    mechanism : Mechanism
        The model.
    """

    points: Mapping[str, pd.DataFrame]
    dq: Mapping[str, Array]
    mechanism: Mechanism

    @classmethod
    def of(cls, points: pd.DataFrame, dq: Array, mechanism: Mechanism) -> "OddParts":
        """Of all joints' points, and the velocities of all joints at them, shape (N, n)."""
        coupled = mechanism.transmission
        found = {str(name): rows for name, rows in points.groupby("joint", sort=False)
                 if coupled is not None and coupled.motors_of(mechanism.names.index(str(name)))}
        return cls(found, {name: dq[points.index.get_indexer(rows.index)] for name, rows in found.items()}, mechanism)

    @property
    def motors(self) -> CoupledMotors | None:
        """Motors whose friction the odd parts tell from that of their joints."""
        if not self.points:
            return None
        dq = np.concatenate(list(self.dq.values()))
        odd = np.zeros_like(dq)
        for j, name in enumerate(self.mechanism.names):
            odd[:, j] = np.sqrt(np.mean(self.points[name]["odd"] ** 2)) if name in self.points else 0.0
        return CoupledMotors.told_by(self.mechanism.transmission, list(self.points), dq, np.zeros_like(dq), odd)

    def slopes(self, name: str, motors: CoupledMotors) -> Array:
        """Odd part of a joint per parameter of motors, shape (N, p)."""
        return motors.slopes(self.dq[name], np.zeros_like(self.dq[name]))[:, self.mechanism.names.index(name)]

    def information(self, motors: CoupledMotors, noises: Mapping[str, Noise]) -> dict[str, Information]:
        """What each joint tells of motors, its torque constant left as it is; misfits are measured by known noise."""
        found = {}
        for name, rows in self.points.items():
            loads = {load: rows[load].to_numpy(dtype=float) for load in LOADS}
            slopes = np.column_stack((self.slopes(name, motors), np.zeros(len(rows))))
            found[name] = told(self._data(name), loads, slopes, LAWS, noises.get(name))
        return found

    def doubts(self, fit: InertialFit) -> dict[str, Doubts]:
        """What motors leave open of the odd part of each joint, whatever the joint's own friction is."""
        assert fit.shared.motors is not None
        return {name: partial(_doubt, fit, name, self.slopes(name, fit.shared.motors),
                              float(np.std(np.diff(rows["odd"]))) / np.sqrt(2.0)) for name, rows in self.points.items()}

    def _data(self, name: str) -> FitPoints:
        rows = self.points[name]
        group = round_trips(rows)
        time = rows.groupby(group)["t"].mean().to_numpy()
        run = pd.Series(pd.factorize(rows["run"])[0]).groupby(group).first().to_numpy()
        return FitPoints(rows["speed"].to_numpy(dtype=float), rows["odd"].to_numpy(dtype=float), None, group, {}, {},
                         bool(self.mechanism.prismatic[self.mechanism.names.index(name)]), time=time, run=run,
                         count=worth(rows["std"].to_numpy(dtype=float), group))


def _doubt(fit: InertialFit, name: str, slopes: Array, noise: float, friction: FitResult | None) -> ModelDoubt:
    return fit.doubt(name, slopes, noise)


def fit_motor_friction(odd: OddParts, law: str = "auto") -> InertialFit | None:
    """Friction of motors that move several joints; None where round trips do not tell it apart from that of their joints.

    Parameters
    ----------
    odd : OddParts
        Of the joints.
    law : str
        Of friction, that was asked for; the motors have it, too, where they can.
    """
    motors = odd.motors
    if motors is None:
        return None
    noises = {name: one.noise for name, one in odd.information(motors, {}).items()}

    def misfit(tried: CoupledMotors) -> float:
        return sum(one.misfit for one in odd.information(tried, noises).values())

    motors = motors.likeliest(MOTOR_LAWS if law not in MOTOR_LAWS else (law,), misfit, sum(map(len, odd.points.values())))
    found = _settled(odd, motors)
    plain = found.plain_motors
    return found if plain.laws == motors.laws else _settled(odd, plain)


def _settled(odd: OddParts, motors: CoupledMotors) -> InertialFit:
    """Least squares about what the last one found, a few times."""
    for _ in range(_ROUNDS):
        found = InertialFit(Shared(LinkPrior(odd.mechanism), False, motors), odd.information(motors, {}), Scatter(0.0, 0.0), 0.0)
        motors = motors.at(found.y)
    return found
