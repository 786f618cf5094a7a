"""What torques of several joints have in common: the inertia of links, and friction of motors that move several joints."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import block_diag
from scipy.optimize import lsq_linear

from stribeck.ident.arrays import Array
from stribeck.ident.fit.inertia.coupled_motors import CoupledMotors
from stribeck.ident.fit.inertia.link_prior import LinkPrior, Scatter
from stribeck.ident.model.mechanism import Mechanism
from stribeck.ident.model.regressor import PER_LINK, torque_regressor


@dataclass(frozen=True)
class Shared:
    """The unknowns y of the torques of an arm, links first.

    Attributes
    ----------
    prior : LinkPrior
        The model, and where its links' inertia may lie about it.
    of_links : bool
        Whether links are unknown; else they are the model's.
    motors : CoupledMotors, optional
        Motors whose friction is unknown.
    """

    prior: LinkPrior
    of_links: bool = True
    motors: CoupledMotors | None = None

    @property
    def links(self) -> int:
        """How many unknowns are the links'."""
        return self.prior.directions.shape[1] if self.of_links else 0

    @property
    def count(self) -> int:
        """How many there are."""
        return self.links + (0 if self.motors is None else self.motors.count)

    def slopes(self, mechanism: Mechanism, q: Array, dq: Array, ddq: Array) -> Array:
        """Torque of each joint of a model per unit of y, shape (N, n, k)."""
        parts = []
        if self.of_links:
            parts.append(torque_regressor(mechanism, q, dq, ddq) @ self.prior.directions)
        if self.motors is not None:
            parts.append(self.motors.slopes(dq, ddq))
        return np.concatenate(parts, axis=2)

    def at(self, y: Array) -> "Shared":
        """The same with slopes of the motors' torque about y, shape (k,)."""
        return self if self.motors is None else replace(self, motors=self.motors.at(y[self.links:]))

    def root(self, scatter: Scatter) -> Array:
        """Root of the covariance of y near the model, shape (k, k); of a motor's friction next to nothing is known beforehand."""
        return np.asarray(block_diag(scatter.root(self.links // PER_LINK), np.eye(self.count - self.links)))

    def most_plausible(self, information: Array, moment: Array, scatter: Scatter) -> Array:
        """The y at which data and prior together are most plausible, shape (k,).

        Parameters
        ----------
        information : ndarray, shape (k, k)
            Of the data: minus the second derivative of their logarithmic likelihood.
        moment : ndarray, shape (k,)
            Its derivative at y = 0.
        scatter : Scatter
            How far links may differ from the model.
        """
        own, other, y = slice(0, self.links), slice(self.links, None), np.zeros(self.count)
        if self.of_links:
            y[own] = self.prior.most_plausible(*self.of_links_alone(information, moment), scatter)
        if self.motors is not None:
            root = np.linalg.cholesky(information[other, other] + np.eye(self.count - self.links))
            y[other] = lsq_linear(root.T, np.linalg.solve(root, moment[other] - information[other, own] @ y[own]),
                                  self.motors.bounds).x
        return y

    def of_links_alone(self, information: Array, moment: Array) -> tuple[Array, Array]:
        """Information and moment of the links' unknowns, whatever the motors' are."""
        own, other = slice(0, self.links), slice(self.links, None)
        cross = information[own, other] @ np.linalg.inv(information[other, other] + np.eye(self.count - self.links))
        return information[own, own] - cross @ information[other, own], moment[own] - cross @ moment[other]
