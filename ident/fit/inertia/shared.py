"""Unknowns that torques of several joints share: inertia of links, and friction of shared
motors and of passive joints.

A shared motor moves several joints. A passive joint is a joint of a closed chain without a drive.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import block_diag
from scipy.optimize import lsq_linear

from stribeck.ident.arrays import Array
from stribeck.ident.fit.inertia.coupled_motors import CoupledMotors
from stribeck.ident.fit.inertia.link_prior import LinkPrior, Scatter
from stribeck.ident.fit.inertia.unknown_passive import UnknownPassive
from stribeck.ident.model.base_parameters import base_parameters
from stribeck.ident.model.dynamics import inverse_dynamics
from stribeck.ident.model.load_slopes import load_slopes
from stribeck.ident.model.loads import LOADS, JointLoads, joint_loads
from stribeck.ident.model.mechanism import Mechanism
from stribeck.ident.model.regressor import PER_LINK, changed, inertial_parameters, torque_regressor

_STEP = 1e-3  # step of y over which derivatives of loads are taken
# typical mass of a tool as a part of the arm's mass, and its extension [m]
_TOOL_PART, _TOOL_ARM = 0.1, 0.2


@dataclass(frozen=True)
class Shared:
    """The unknowns y that joints share: of the links, then of passive joints, then of motors.

    Attributes
    ----------
    prior : LinkPrior
        The model, and the prior of its links' inertia.
    of_links : bool
        True if the links' inertia is unknown; False keeps the model's.
    motors : CoupledMotors, optional
        Motors whose friction is unknown.
    passive : UnknownPassive, optional
        Passive joints whose friction is unknown.
    """

    prior: LinkPrior
    of_links: bool = True
    motors: CoupledMotors | None = None
    passive: UnknownPassive | None = None

    @property
    def links(self) -> int:
        """Number of unknowns of the links."""
        return self.prior.directions.shape[1] if self.of_links else 0

    @property
    def count(self) -> int:
        """Number of all unknowns."""
        return self.modelled + (0 if self.motors is None else self.motors.count)

    @property
    def modelled(self) -> int:
        """Number of unknowns that a `Mechanism` holds: all except those of motors."""
        return self.links + (0 if self.passive is None else self.passive.count)

    @property
    def bounds(self) -> tuple[Array, Array]:
        """Lower and upper bounds of the unknowns after those of the links:
        friction is not negative.
        """
        own = (
            []
            if self.passive is None
            else [(np.zeros(self.passive.count), np.full(self.passive.count, np.inf))]
        )
        own += [] if self.motors is None else [self.motors.bounds]
        least, most = zip(*own, strict=True)
        return np.concatenate(least), np.concatenate(most)

    @property
    def asked(self) -> tuple[tuple[str, ...], Array, Array]:
        """Base parameters of links and linear parameters of motors that the
        test by instruments covers.

        Names, values of the model, shape (m,), and rows over y, shape (m, k).
        """
        names, stated, rows = list[str](), [np.zeros(0)], [np.zeros((0, self.count))]
        if self.of_links:
            base = base_parameters(self.prior.mechanism)
            names += base.names
            stated.append(base.combination @ inertial_parameters(self.prior.mechanism))
            rows.append(
                np.pad(
                    base.combination @ self.prior.directions, ((0, 0), (0, self.count - self.links))
                )
            )
        if self.motors is not None:
            own, over = self.motors.linear
            names += own
            stated.append(np.zeros(len(own)))
            rows.append(np.pad(over, ((0, 0), (self.modelled, 0))))
        return tuple(names), np.concatenate(stated), np.vstack(rows)

    def model(self, mechanism: Mechanism, y: Array) -> Mechanism:
        """Return a mechanism of the same links and joints (its tool may
        differ) with the values y.
        """
        if self.of_links:
            mechanism = changed(
                mechanism, self.prior.least + self.prior.directions @ y[: self.links]
            )
        return (
            mechanism
            if self.passive is None
            else self.passive.at(mechanism, y[self.links : self.modelled])
        )

    def slopes(
        self, mechanism: Mechanism, q: Array, dq: Array, ddq: Array, drives: tuple[Array, Array]
    ) -> Array:
        """Derivative of each joint's torque by the links' inertial parameters in place of their
        unknowns, and by the other unknowns, shape (N, n, k); see `of_unknowns`.

        `q`, `dq`, `ddq` is the motion of the links, `drives` velocity and acceleration of the
        drives, shape (N, n) each.
        """
        parts = list[Array]()
        if self.of_links:
            parts.append(torque_regressor(mechanism, q, dq, ddq))
        if self.passive is not None:
            parts.append(
                self.passive.slopes(lambda one: inverse_dynamics(one, q, dq, ddq), mechanism)
            )
        if self.motors is not None:
            parts.append(self.motors.slopes(*drives))
        if len(parts) == 1:
            return parts[0]
        return np.concatenate((np.zeros((len(q), mechanism.n, 0)), *parts), axis=2)

    def of_unknowns(self, slopes: Array) -> Array:
        """Convert derivatives by the links' inertial parameters and by the other unknowns, shape
        (N, k), to derivatives by y.
        """
        if not self.of_links:
            return slopes
        of_each = slopes[:, : self.links].reshape(len(slopes), -1, 1, PER_LINK)
        of_links = (of_each @ self.prior.of_links).reshape(len(slopes), self.links)
        return np.column_stack((of_links, slopes[:, self.links :]))

    def load_slopes(
        self, mechanism: Mechanism, q: Array, dq: Array, ddq: Array | None = None
    ) -> dict[str, Array]:
        """Derivatives of all joints' loads by the unknowns that a model holds, shape (N, n, k)
        each.
        """
        slopes = {load: np.zeros((len(q), mechanism.n, self.modelled)) for load in LOADS}
        if self.of_links:
            of_links = load_slopes(mechanism, self.prior.directions, _STEP, q, dq, ddq)
            for load, values in of_links.items():
                slopes[load][:, :, : self.links] = values
        if self.passive is not None:
            of_loads = self.passive.slopes(
                lambda one: _all_loads(joint_loads(one, q, dq, ddq)), mechanism
            )
            for load, found in zip(LOADS, of_loads, strict=True):
                slopes[load][:, :, self.links :] = found
        return slopes

    def at(self, y: Array) -> "Shared":
        """Return the unknowns with the motors linearised about y, shape (k,)."""
        return (
            self
            if self.motors is None
            else replace(self, motors=self.motors.at(y[self.modelled :]))
        )

    def root(self, scatter: Scatter) -> Array:
        """Square root of the prior covariance of y near the model, shape (k, k); the
        prior of friction is wide.
        """
        return np.asarray(
            block_diag(scatter.root(self.links // PER_LINK), np.eye(self.count - self.links))
        )

    def spread(self, rows: Array, scatter: Scatter) -> Array:
        """Return the product of rows over y, shape (m, k), and `root`."""
        shape = len(rows), self.links // PER_LINK, PER_LINK
        of_links = rows[:, : self.links].reshape(shape) @ scatter.of_link
        return np.column_stack((of_links.reshape(len(rows), self.links), rows[:, self.links :]))

    @property
    def tool(self) -> Array:
        """Change of y by an unknown tool on the last link of a tree, per prior standard deviation
        of the tool, shape (k, 10).
        """
        tree = self.prior.mechanism.link_tree
        about = np.repeat((1.0, _TOOL_ARM, _TOOL_ARM**2), (1, 3, 6))
        last = PER_LINK * (self.prior.mechanism.n - 1) + np.arange(PER_LINK)
        theta = np.zeros((self.links, PER_LINK))
        theta[last, np.arange(PER_LINK)] = _TOOL_PART * tree.mass.sum() * about
        return np.vstack(
            (
                np.linalg.solve(self.prior.directions, theta),
                np.zeros((self.count - self.links, PER_LINK)),
            )
        )

    def most_plausible(self, information: Array, moment: Array, scatter: Scatter) -> Array:
        """Return the y with the greatest posterior probability, shape (k,).

        Parameters
        ----------
        information : ndarray, shape (k, k)
            Minus the second derivative of the data's log likelihood.
        moment : ndarray, shape (k,)
            First derivative of the data's log likelihood at y = 0.
        scatter : Scatter
            Typical relative errors of the model.
        """
        own, other, y = slice(0, self.links), slice(self.links, None), np.zeros(self.count)
        if self.of_links:
            y[own] = self.prior.most_plausible(*self.of_links_alone(information, moment), scatter)
        if self.count > self.links:
            root = np.linalg.cholesky(information[other, other] + np.eye(self.count - self.links))
            y[other] = lsq_linear(
                root.T,
                np.linalg.solve(root, moment[other] - information[other, own] @ y[own]),
                self.bounds,
            ).x
        return y

    def of_links_alone(self, information: Array, moment: Array) -> tuple[Array, Array]:
        """Information and moment of the links' unknowns, with the other unknowns eliminated."""
        own, other = slice(0, self.links), slice(self.links, None)
        cross = information[own, other] @ np.linalg.inv(
            information[other, other] + np.eye(self.count - self.links)
        )
        return information[own, own] - cross @ information[other, own], moment[
            own
        ] - cross @ moment[other]


def _all_loads(found: JointLoads) -> Array:
    """Return the loads of `LOADS`, shape (loads, N, n)."""
    return np.stack([found.get(load) for load in LOADS])
