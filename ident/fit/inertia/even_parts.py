r"""The links' first moments from round trips at constant speed: the even parts of all joints at once.

Half the sum of the torques there and back is what the rigid body takes, and an offset. Without acceleration it holds gravity, and
centrifugal forces where several joints move:

.. math:: (\tau_+ + \tau_-) / 2 = Y_j(q, \dot q, 0)\, \theta + o_j

Friction is in half the difference. What the even parts leave open of a load is then in its coefficient's interval.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from stribeck.ident.arrays import Array
from stribeck.ident.fit.fit_result import FitResult
from stribeck.ident.fit.inertia.inertial_fit import InertialFit, most_likely
from stribeck.ident.fit.inertia.joint_equation import Friction, Information, slopes_of_loads
from stribeck.ident.fit.inertia.link_prior import LinkPrior
from stribeck.ident.fit.inertia.shared import Shared
from stribeck.ident.fit.joint.model_doubt import ModelDoubt
from stribeck.ident.fit.noise import WHITE, estimate_noise
from stribeck.ident.log.reduction.round_trips import round_trips
from stribeck.ident.model.mechanism import Mechanism
from stribeck.ident.model.regressor import torque_regressor

_OPEN = 1.0             # deviation of y while the noise is sought
_ROUNDS = 3             # of noise and least squares


def fit_first_moments(points: pd.DataFrame, q: Array, dq: Array, mechanism: Mechanism) -> InertialFit:
    """Links' inertia as far as even parts tell it.

    Parameters
    ----------
    points : DataFrame
        Of all joints, see `round_trips`.
    q, dq : ndarray, shape (N, n)
        Positions and velocities of all joints at the points.
    mechanism : Mechanism
        Whose gravity torques the points have.
    """
    shared = Shared(LinkPrior(mechanism))
    information = {}
    for name, rows in points.groupby("joint", sort=False):
        at = points.index.get_indexer(rows.index)
        slopes = torque_regressor(mechanism, q[at], dq[at])[:, mechanism.names.index(str(name))] @ shared.prior.directions
        information[str(name)] = _informed(rows, np.column_stack((slopes, rows["gravity"])))
    return InertialFit(shared, information, *most_likely(information.values(), shared), still=True)


def _informed(rows: pd.DataFrame, slopes: Array) -> Information:
    """What the even parts of one joint tell of y, beside an offset."""
    left, friction = (rows["even"] - rows["gravity"]).to_numpy(dtype=float), rows["odd"].to_numpy(dtype=float)
    trip, noise = round_trips(rows), WHITE
    columns = np.column_stack((slopes, np.ones(len(rows)), left))
    for _ in range(_ROUNDS):
        matrix, moment = _beside_offset(noise.whiten(columns, trip))
        y = np.linalg.solve(matrix + np.eye(len(matrix)) / _OPEN**2, moment)
        told = int(np.sum(np.linalg.eigvalsh(matrix) > 1.0 / _OPEN**2))
        rest = left - slopes @ y
        noise = estimate_noise(rest - rest.mean(), friction, trip, told + 1)
    return Information(*_beside_offset(noise.whiten(columns, trip)), None)


def _beside_offset(rows: Array) -> tuple[Array, Array]:
    """Sums of products of columns, and with the last, after least squares over the last but one."""
    offset = rows[:, -2]
    own = rows - np.outer(offset, offset @ rows / (offset @ offset))
    return own[:, :-2].T @ own[:, :-2], own[:, :-2].T @ own[:, -1]


@dataclass(frozen=True)
class LoadDoubts:
    """What an inertia that even parts tell leaves open of the friction of a joint.

    Attributes
    ----------
    fit : InertialFit
        The links' inertia.
    mechanism : Mechanism
        The model with it.
    joint : str
        The joint.
    points : DataFrame
        Its points, with loads of this model.
    q, dq : ndarray, shape (N, n)
        Positions and velocities of all joints at the points.
    """

    fit: InertialFit
    mechanism: Mechanism
    joint: str
    points: pd.DataFrame
    q: Array
    dq: Array

    def __call__(self, friction: FitResult | None) -> ModelDoubt:
        """None of a joint whose friction does not grow with a load, or is not known yet."""
        if friction is None or friction.load in ("none", "components"):
            return ModelDoubt.none(len(self.points))
        j, load = self.mechanism.names.index(self.joint), self.points[friction.load].to_numpy(dtype=float)
        growth = Friction(friction.law, friction.load, friction.values).growth(self.points["speed"].to_numpy(dtype=float), load)
        slopes = slopes_of_loads(self.mechanism, self.fit.shared, self.q, self.dq)[friction.load][:, j]
        return self.fit.doubt("", growth[:, None] * slopes, float(np.std(friction.residual)))
