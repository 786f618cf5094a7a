r"""First moments of the links from round trips at constant speed, by a fit
of all joints' even parts.

The even part, half the sum of forward and backward torque, is rigid-body torque plus an
offset. At constant speed the rigid-body torque consists of gravity and, if several joints
move, of centrifugal torque:

.. math:: (\tau_+ + \tau_-) / 2 = Y_j(q, \dot q, 0)\, \theta + o_j

Half the difference is friction. The uncertainty of a load that remains after this fit enters the
interval of its coefficient.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from stribeck.ident.arrays import Array
from stribeck.ident.fit.fit_result import FitResult
from stribeck.ident.fit.inertia.inertial_fit import InertialFit, most_likely
from stribeck.ident.fit.inertia.joint_information import Friction, Information
from stribeck.ident.fit.inertia.link_prior import LinkPrior
from stribeck.ident.fit.inertia.shared import Shared
from stribeck.ident.fit.joint.model_doubt import ModelDoubt
from stribeck.ident.fit.noise import WHITE, estimate_noise
from stribeck.ident.log.reduction.round_trips import round_trips
from stribeck.ident.model.mechanism import Mechanism
from stribeck.ident.model.regressor import torque_regressor

_OPEN = 1.0  # prior standard deviation of y while the noise is estimated
_ROUNDS = 3  # iterations of noise estimate and least squares


def fit_first_moments(
    points: pd.DataFrame, q: Array, dq: Array, mechanism: Mechanism
) -> InertialFit:
    """Identify the inertial parameters that the even parts determine.

    Parameters
    ----------
    points : DataFrame
        Points of all joints, see `round_trips`.
    q, dq : ndarray, shape (N, n)
        Positions and velocities of all joints at the points.
    mechanism : Mechanism
        Model; column `gravity` of the points holds its gravity torques.
    """
    shared = Shared(LinkPrior(mechanism))
    information = {}
    for name, rows in points.groupby("joint", sort=False):
        at = points.index.get_indexer(rows.index)
        Y = torque_regressor(mechanism, q[at], dq[at])[:, mechanism.names.index(str(name))]
        rows = rows.assign(gravity=rows["gravity"] + Y @ shared.prior.least)
        information[str(name)] = _informed(
            rows, np.column_stack((Y @ shared.prior.directions, rows["gravity"]))
        )
    return InertialFit(shared, information, *most_likely(information.values(), shared), still=True)


def _informed(rows: pd.DataFrame, slopes: Array) -> Information:
    """Information about y from the even parts of one joint, after elimination of its offset."""
    left, friction = (
        (rows["even"] - rows["gravity"]).to_numpy(dtype=float),
        rows["odd"].to_numpy(dtype=float),
    )
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
    """Sums of products of the columns among themselves and with the residual, after
    elimination of the offset column.

    The residual is the last column of `rows`, the offset the last but one.
    """
    offset = rows[:, -2]
    own = rows - np.outer(offset, offset @ rows / (offset @ offset))
    return own[:, :-2].T @ own[:, :-2], own[:, :-2].T @ own[:, -1]


@dataclass(frozen=True)
class LoadDoubts:
    """Uncertainty of a joint's load-dependent friction that remains after
    the fit of the even parts.

    Attributes
    ----------
    fit : InertialFit
        Identified inertia of the links.
    mechanism : Mechanism
        The model with the identified inertia.
    joint : str
        Name of the joint.
    points : DataFrame
        Points of the joint, with loads of `mechanism`.
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
        """Return the uncertainty; it is empty if the joint's friction is unknown or
        does not grow with a load.
        """
        if friction is None or friction.load in ("none", "components"):
            return ModelDoubt.none(len(self.points))
        j, load = (
            self.mechanism.names.index(self.joint),
            self.points[friction.load].to_numpy(dtype=float),
        )
        growth = Friction(friction.law, friction.load, friction.values).growth(
            self.points["speed"].to_numpy(dtype=float), load
        )
        slopes = self.fit.shared.load_slopes(self.mechanism, self.q, self.dq)[friction.load][:, j]
        return self.fit.doubt("", growth[:, None] * slopes, float(np.std(friction.residual)))
