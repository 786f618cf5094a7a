"""What torques tell of what the joints share: the most plausible values, and what stays open (`fit_inertia`)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product

import numpy as np
from scipy.linalg import svd

from stribeck.ident.arrays import Array
from stribeck.ident.fit.inertia.coupled_motors import CoupledMotors
from stribeck.ident.fit.inertia.joint_equation import Information
from stribeck.ident.fit.inertia.link_prior import LinkPrior, Scatter
from stribeck.ident.fit.inertia.motor_friction import NO_MOTORS, MotorFriction
from stribeck.ident.fit.inertia.passive_friction import NO_PASSIVE, PassiveFriction
from stribeck.ident.fit.inertia.shared import Shared
from stribeck.ident.fit.joint.closed_loop import NO_COMMANDS, ClosedLoop
from stribeck.ident.fit.joint.model_doubt import ModelDoubt
from stribeck.ident.model.base_parameters import BaseParameters, base_parameters
from stribeck.ident.model.mechanism import Mechanism
from stribeck.ident.model.regressor import PER_LINK

SURE = 5.0              # logarithm of the likelihood ratio from which the model's masses are wrong
_SHAPES, _MASSES = np.geomspace(0.003, 1.0, 16), (0.01, 0.03, 0.1, 0.2, 0.3, 0.5)          # scatter that is tried,
CONSTANTS = (0.02, 0.05, 0.1, 0.2)             # and of torque constants
_AS_LIKELY = 1.92       # by which a scatter is hardly less likely than the best: half of chi-squared at 95 %
_CLEARLY = 50.0         # by which the likelihood's logarithm is greater where torque constants beside wrong links are off, too
_AT_BOUND = 1e-9        # of a parameter of friction in its unit: next to zero
_ROUNDING = 1e-13       # of variances, with which a covariance has a root
_LEFT = 1.0 / 3.0       # of how far links are off, that a tool which explains it may leave
_MATTERS = 0.2          # standard errors, by which all points together tell a direction, below which its doubt is left out


@dataclass(frozen=True)
class InertialFit:
    """The links' inertia, and friction that is not that of one drive, as far as the torques tell it.

    Attributes
    ----------
    shared : Shared
        What is sought.
    information : dict of str to Information
        What each joint tells.
    scatter : Scatter
        By about which parts the model's links are off.
    evidence : float
        Logarithm of the likelihood ratio of a model that is off by so much, and one that is right.
    still : bool
        Whether the torques were those of gravity alone.
    loop : ClosedLoop
        What instruments say of it.
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
        return self.shared.most_plausible(*_summed(self.information.values(), self.scatter), self.scatter)

    @property
    def prior(self) -> LinkPrior:
        """The model."""
        return self.shared.prior

    @cached_property
    def change(self) -> Array:
        """Of the inertial parameters, shape (10 n,)."""
        return np.asarray(self.prior.directions @ self.y[:self.shared.links])

    @cached_property
    def covariance_of_y(self) -> Array:
        """Of y, shape (k, k)."""
        return self._spread(self.information.values())[0]

    @cached_property
    def covariance(self) -> Array:
        """Of the inertial parameters, shape (10 n, 10 n)."""
        of_links = self.covariance_of_y[:self.shared.links, :self.shared.links]
        return np.asarray(self.prior.directions @ of_links @ self.prior.directions.T)

    def _spread(self, information: Iterable[Information], held: bool = False) -> tuple[Array, Array]:
        """Covariance and mean of y by some joints and a prior that is normal.

        `held`: a parameter of friction that is zero because it cannot be less stays zero.
        """
        root = self.shared.root(self.scatter)
        if held and self.shared.count > self.shared.links:
            own = slice(self.shared.links, None)
            root[:, own] *= self.y[own] > self.shared.bounds[0] + _AT_BOUND
        matrix, moment = _summed(information, self.scatter, len(root))
        covariance = root @ np.linalg.inv(np.eye(len(root)) + root @ matrix @ root) @ root
        return covariance, covariance @ moment

    def model(self, mechanism: Mechanism) -> Mechanism:
        """A mechanism of the same links and joints with what was found."""
        return self.shared.model(mechanism, self.y)

    @cached_property
    def motors(self) -> MotorFriction:
        """Friction of the motors that move several joints, of those of which it is sought."""
        motors, first = self.shared.motors, self.shared.modelled
        return NO_MOTORS if motors is None else motors.found(self.y[first:], self.covariance_of_y[first:, first:],
                                                             self.prior.mechanism.prismatic)

    @cached_property
    def passive(self) -> PassiveFriction:
        """Friction of joints without a drive, where it was sought."""
        passive, own = self.shared.passive, slice(self.shared.links, self.shared.modelled)
        return NO_PASSIVE if passive is None else passive.found(self.y[own], self.covariance_of_y[own, own], self.prior.mechanism)

    @property
    def plain_motors(self) -> CoupledMotors:
        """The motors that are sought, each with the simplest law where its friction shows nothing of another."""
        assert self.shared.motors is not None
        return self.shared.motors.plain(self.y[self.shared.modelled:])

    @cached_property
    def tool_mass(self) -> float:
        """Mass of a tool on the last link that explains what the links' inertia does [kg]; 0 where none does.

        With the tool the torques must be clearly more likely, and the model's links off by little of what they are without. Of
        closed chains, whose last link is none in particular, it is not sought.
        """
        if self.prior.mechanism.chain is not None:
            return 0.0
        tool, found = self.shared.tool, list(self.information.values())
        scatter, evidence = _likeliest(found, self.shared, self.scatter.constants, tool)
        if evidence < self.evidence + SURE or scatter.of_masses > _LEFT * self.scatter.of_masses:
            return 0.0
        root = np.column_stack((self.shared.root(scatter), tool))
        matrix, moment = _summed(found, scatter)
        change = tool @ np.linalg.solve(np.eye(root.shape[1]) + root.T @ matrix @ root, root.T @ moment)[-tool.shape[1]:]
        mass = float((self.prior.directions @ change[:self.shared.links])[PER_LINK * (self.prior.mechanism.n - 1)])
        return max(mass, 0.0)

    @cached_property
    def base(self) -> BaseParameters:
        """The combinations of parameters that torques can tell."""
        return base_parameters(self.prior.mechanism, self.still)

    def doubt(self, name: str, slopes: Array, noise: float) -> ModelDoubt:
        """What prior and other joints leave open of the torque of a joint about the model with the change.

        Parameters
        ----------
        name : str
            The joint; "" where its own torques take part, and what is doubted is not in them.
        slopes : ndarray, shape (N, k)
            Its torque, and its friction by its load, per unit of y at its points.
        noise : float
            Of the points [N·m or N]: what matters little beside it is left out.
        """
        others = [found for joint, found in self.information.items() if joint != name]
        (covariance, _), (_, mean) = self._spread(others), self._spread(others, held=True)
        root = np.linalg.cholesky(covariance + _ROUNDING * np.diag(np.diag(covariance)))
        U, size, _ = svd(slopes @ root, full_matrices=False, lapack_driver="gesvd")      # the other one may not converge
        keep = size > _MATTERS * noise
        centre = slopes @ (mean - self.y) if name else np.zeros(len(slopes))
        return ModelDoubt(centre, U[:, keep] * size[keep], self.shared.of_links)


def most_likely(information: Iterable[Information], shared: Shared,
                constants: Sequence[float] = (0.0, *CONSTANTS)) -> tuple[Scatter, float]:
    """The most likely scatter, and the logarithm of its likelihood over that of none.

    Torque constants are off by one of these parts; by the first unless another is far more likely. Shapes are off by the greatest
    part that is hardly less likely than the best: a log whose noise hides shapes does not say that they are right.
    """
    found = list(information)
    if not shared.of_links:
        return Scatter(0.0, 0.0), 0.0
    best = [_likeliest(found, shared, one) for one in constants]
    likeliest = max(best, key=lambda pair: pair[1])
    scatter, evidence = best[0] if best[0][1] > likeliest[1] - _CLEARLY else likeliest
    as_likely = (replace(scatter, shape=shape) for shape in _SHAPES if shape >= scatter.shape)
    right = likelihood(found, shared, Scatter(0.0, 0.0))
    return [one for one in as_likely if likelihood(found, shared, one) - right > evidence - _AS_LIKELY][-1], evidence


def _likeliest(found: Sequence[Information], shared: Shared, constants: float,
               more: Array | None = None) -> tuple[Scatter, float]:
    """The most likely scatter with torque constants off by a part, and the logarithm of its likelihood over that of none."""
    tried = [Scatter(shape, mass, constants) for shape, mass in product(_SHAPES, _MASSES)]
    right = likelihood(found, shared, Scatter(0.0, 0.0))
    return max(((scatter, likelihood(found, shared, scatter, more) - right) for scatter in tried), key=lambda pair: pair[1])


def likelihood(information: Iterable[Information], shared: Shared, scatter: Scatter, more: Array | None = None) -> float:
    """Logarithm over that of no unknowns, of a prior that is nearly normal; `more`: columns that y may change by, too."""
    found = list(information)
    matrix, moment = _summed(found, scatter)
    root = shared.root(scatter) if more is None else np.column_stack((shared.root(scatter), more))
    values, vectors = np.linalg.eigh(root.T @ matrix @ root)
    values, along = np.maximum(values, 0.0), vectors.T @ (root.T @ moment)
    return (sum(one.of_y(scatter.constants)[2] for one in found)
            + 0.5 * float(np.sum(along**2 / (1.0 + values)) - np.sum(np.log1p(values))))


def _summed(information: Iterable[Information], scatter: Scatter, size: int = 0) -> tuple[Array, Array]:
    """Matrix and moment over y of all together, whatever their torque constants are; zero of none."""
    parts = [one.of_y(scatter.constants) for one in information]
    if not parts:
        return np.zeros((size, size)), np.zeros(size)
    return np.sum([part[0] for part in parts], axis=0), np.sum([part[1] for part in parts], axis=0)
