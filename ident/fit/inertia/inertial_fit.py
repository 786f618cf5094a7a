"""Most plausible values and covariance of the unknowns that joints share (`fit_inertia`)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product

import numpy as np
from scipy.linalg import svd

from stribeck.ident.arrays import Array
from stribeck.ident.fit.inertia.coupled_motors import CoupledMotors
from stribeck.ident.fit.inertia.joint_information import Information
from stribeck.ident.fit.inertia.link_prior import LinkPrior, Scatter
from stribeck.ident.fit.inertia.motor_friction import NO_MOTORS, MotorFriction
from stribeck.ident.fit.inertia.passive_friction import NO_PASSIVE, PassiveFriction
from stribeck.ident.fit.inertia.shared import Shared
from stribeck.ident.fit.joint.closed_loop import NO_COMMANDS, ClosedLoop
from stribeck.ident.fit.joint.model_doubt import ModelDoubt
from stribeck.ident.model.base_parameters import BaseParameters, base_parameters
from stribeck.ident.model.mechanism import Mechanism
from stribeck.ident.model.regressor import PER_LINK

SURE = 5.0  # log likelihood ratio above which the model's masses count as wrong
# scatter of links that is tried
_SHAPES, _MASSES = np.geomspace(0.003, 1.0, 16), (0.01, 0.03, 0.1, 0.2, 0.3, 0.5)
CONSTANTS = (0.02, 0.05, 0.1, 0.2)  # scatter of torque constants that is tried
# log likelihood that a scatter may lose against the best: half of chi-squared at 95 %
_AS_LIKELY = 1.92
# log likelihood that wrong torque constants must add to wrong links before they are accepted
_CLEARLY = 50.0
# in units of a friction parameter: a value this close to its bound is at the bound
_AT_BOUND = 1e-9
_ROUNDING = 1e-13  # of the variances, added to a covariance so that its Cholesky factor exists
# of the links' scatter without a tool: the most that a tool may leave to explain it
_LEFT = 1.0 / 3.0
# of the noise: directions whose effect over all points is smaller are left out of the doubt
_MATTERS = 0.2


@dataclass(frozen=True)
class InertialFit:
    """Fit of the unknowns that joints share: inertia of the links, friction of shared
    motors and of passive joints.

    Attributes
    ----------
    shared : Shared
        The unknowns y.
    information : dict of str to Information
        Information of each joint about y.
    scatter : Scatter
        Typical relative errors of the model's links.
    evidence : float
        Log likelihood ratio of a model with this scatter against a right model.
    still : bool
        True if the torques are those of gravity alone.
    loop : ClosedLoop
        Result of the test by instruments for bias of the closed loop.
    """

    shared: Shared
    information: dict[str, Information]
    scatter: Scatter
    evidence: float
    still: bool = False
    loop: ClosedLoop = NO_COMMANDS

    @cached_property
    def y(self) -> Array:
        """The most plausible y, shape (k,)."""
        return self.shared.most_plausible(
            *_summed(self.information.values(), self.scatter), self.scatter
        )

    @property
    def prior(self) -> LinkPrior:
        """Prior of the links' inertia."""
        return self.shared.prior

    @cached_property
    def change(self) -> Array:
        """Change of the inertial parameters against the model, shape (10 n,)."""
        return np.asarray(self.prior.least + self.prior.directions @ self.y[: self.shared.links])

    @cached_property
    def covariance_of_y(self) -> Array:
        """Covariance of y, shape (k, k)."""
        return self._spread(self.information.values())[0]

    @cached_property
    def covariance(self) -> Array:
        """Covariance of the inertial parameters, shape (10 n, 10 n)."""
        of_links = self.covariance_of_y[: self.shared.links, : self.shared.links]
        return np.asarray(self.prior.directions @ of_links @ self.prior.directions.T)

    def _spread(
        self, information: Iterable[Information], held: bool = False
    ) -> tuple[Array, Array]:
        """Covariance and mean of y from the information of some joints and a normal prior.

        `held`: friction parameters at their lower bound stay there.
        """
        root = self.shared.root(self.scatter)
        if held and self.shared.count > self.shared.links:
            own = slice(self.shared.links, None)
            root[:, own] *= self.y[own] > self.shared.bounds[0] + _AT_BOUND
        matrix, moment = _summed(information, self.scatter, len(root))
        covariance = root @ np.linalg.inv(np.eye(len(root)) + root @ matrix @ root) @ root
        return covariance, covariance @ moment

    def model(self, mechanism: Mechanism) -> Mechanism:
        """Return a mechanism of the same links and joints with the identified values."""
        return self.shared.model(mechanism, self.y)

    @cached_property
    def motors(self) -> MotorFriction:
        """Identified friction of the motors that move several joints; empty if none was fitted."""
        motors, first = self.shared.motors, self.shared.modelled
        return (
            NO_MOTORS
            if motors is None
            else motors.found(
                self.y[first:], self.covariance_of_y[first:, first:], self.prior.mechanism.prismatic
            )
        )

    @cached_property
    def passive(self) -> PassiveFriction:
        """Identified friction of passive joints; empty if none was fitted."""
        passive, own = self.shared.passive, slice(self.shared.links, self.shared.modelled)
        return (
            NO_PASSIVE
            if passive is None
            else passive.found(self.y[own], self.covariance_of_y[own, own], self.prior.mechanism)
        )

    @property
    def plain_motors(self) -> CoupledMotors:
        """The fitted motors, with the simplest law for each motor that shows no effect
        of its nonlinear parameter.
        """
        assert self.shared.motors is not None
        return self.shared.motors.plain(self.y[self.shared.modelled :])

    @cached_property
    def tool_mass(self) -> float:
        """Mass of a tool on the last link that explains the apparent errors of the
        links [kg]; 0 if no tool does.

        With the tool, the torques must be clearly more likely, and the scatter of the links must
        fall to a third. Closed chains have no last link, so no tool is sought.
        """
        if self.prior.mechanism.chain is not None:
            return 0.0
        tool, found = self.shared.tool, list(self.information.values())
        scatter, evidence = _likeliest(found, self.shared, self.scatter.constants, tool)
        if evidence < self.evidence + SURE or scatter.of_masses > _LEFT * self.scatter.of_masses:
            return 0.0
        root = np.column_stack((self.shared.root(scatter), tool))
        matrix, moment = _summed(found, scatter)
        posterior = np.eye(root.shape[1]) + root.T @ matrix @ root
        change = tool @ np.linalg.solve(posterior, root.T @ moment)[-tool.shape[1] :]
        mass = float(
            (self.prior.directions @ change[: self.shared.links])[
                PER_LINK * (self.prior.mechanism.n - 1)
            ]
        )
        return max(mass, 0.0)

    @cached_property
    def base(self) -> BaseParameters:
        """Base parameters: the combinations of inertial parameters that torques determine."""
        return base_parameters(self.prior.mechanism, self.still)

    def doubt(self, name: str, slopes: Array, noise: float) -> ModelDoubt:
        """Return the uncertainty of a joint's torque about the identified model that
        prior and other joints leave.

        Parameters
        ----------
        name : str
            The joint, whose own information is left out; "" includes the information of all joints.
        slopes : ndarray, shape (N, k)
            Derivative by y of the joint's torque, with its load-dependent friction, at its points.
        noise : float
            Noise of the points [N·m or N]; directions with a small effect
            against this noise are left out.
        """
        others = [found for joint, found in self.information.items() if joint != name]
        (covariance, _), (_, mean) = self._spread(others), self._spread(others, held=True)
        root = np.linalg.cholesky(covariance + _ROUNDING * np.diag(np.diag(covariance)))
        # the driver gesdd may not converge
        U, size, _ = svd(slopes @ root, full_matrices=False, lapack_driver="gesvd")
        keep = size > _MATTERS * noise
        centre = slopes @ (mean - self.y) if name else np.zeros(len(slopes))
        return ModelDoubt(centre, U[:, keep] * size[keep], self.shared.of_links)


def most_likely(
    information: Iterable[Information],
    shared: Shared,
    constants: Sequence[float] = (0.0, *CONSTANTS),
) -> tuple[Scatter, float]:
    """Return the most likely scatter, and its log likelihood ratio against no scatter.

    `constants` are candidate scatters of torque constants; the first is kept unless another is far
    more likely. Of the scatters of shape that are hardly less likely than the best, the greatest is
    returned: a log too noisy to show shapes does not prove them right.
    """
    found = list(information)
    if not shared.of_links:
        return Scatter(0.0, 0.0), 0.0
    best = [_likeliest(found, shared, one) for one in constants]
    likeliest = max(best, key=lambda pair: pair[1])
    scatter, evidence = best[0] if best[0][1] > likeliest[1] - _CLEARLY else likeliest
    as_likely = [replace(scatter, shape=shape) for shape in _SHAPES if shape >= scatter.shape]
    gains = likelihoods(found, shared, as_likely) - likelihood(found, shared, Scatter(0.0, 0.0))
    kept = np.flatnonzero(gains > evidence - _AS_LIKELY)
    return as_likely[kept[-1]], evidence


def _likeliest(
    found: Sequence[Information], shared: Shared, constants: float, more: Array | None = None
) -> tuple[Scatter, float]:
    """Return the most likely scatter for a given scatter of torque constants, and its log
    likelihood ratio against no scatter.
    """
    tried = [Scatter(shape, mass, constants) for shape, mass in product(_SHAPES, _MASSES)]
    gains = likelihoods(found, shared, tried, more)
    best = int(np.argmax(gains))
    return tried[best], float(gains[best]) - likelihood(found, shared, Scatter(0.0, 0.0))


def likelihood(information: Iterable[Information], shared: Shared, scatter: Scatter) -> float:
    """Log marginal likelihood of a scatter, relative to y = 0, for a prior that is nearly
    normal.
    """
    return float(likelihoods(information, shared, [scatter])[0])


def likelihoods(
    information: Iterable[Information],
    shared: Shared,
    scatters: Sequence[Scatter],
    more: Array | None = None,
) -> Array:
    """Log marginal likelihoods, as `likelihood`, of scatters with the same torque constants,
    shape (scatters,).

    `more` : additional columns along which y may change.
    """
    found, constants = list(information), scatters[0].constants
    matrix, moment = _summed(found, scatters[0])
    values, vectors = np.linalg.eigh(matrix)
    told = values > len(values) * np.finfo(float).eps * values[-1]  # others are rounding
    size, along = np.sqrt(values[told]), vectors[:, told]
    rows, off = size[:, None] * along.T, along.T @ moment / size
    out = np.full(len(scatters), sum(one.of_y(constants)[2] for one in found))
    for k, scatter in enumerate(scatters):
        spread = shared.spread(rows, scatter)
        if more is not None:
            spread = np.column_stack((spread, rows @ more))
        prior = spread @ spread.T  # covariance of `off` by the prior; that of noise is 1
        lower = np.linalg.cholesky(np.eye(len(prior)) + prior)
        left = np.linalg.solve(lower, np.column_stack((off, prior @ off)))
        out[k] += 0.5 * left[:, 0] @ left[:, 1] - np.log(np.diag(lower)).sum()
    return out


def _summed(
    information: Iterable[Information], scatter: Scatter, size: int = 0
) -> tuple[Array, Array]:
    """Sum of information matrices and moments over y, with torque constants
    eliminated; zeros without any joint.
    """
    parts = [one.of_y(scatter.constants) for one in information]
    if not parts:
        return np.zeros((size, size)), np.zeros(size)
    return np.sum([part[0] for part in parts], axis=0), np.sum([part[1] for part in parts], axis=0)
