r"""Inertia and friction in one fit.

All joints share the inertial parameters of the links, and nothing else. What one joint's torque tells of them, whatever its
friction is, has the form of a normal distribution; these add up. Its own friction is fitted with what the others leave open:

1. Each joint's information about y (`link_prior`) is that of its equation of motion after least squares over its friction.
2. How far the model is off is what has the greatest marginal likelihood; the most plausible y follows.
3. The model with this y gives torques and loads of the next pass, in which friction grows with the new loads.
4. Joint by joint, friction is fitted as ever, with columns for the directions in which the prior and the other joints leave the
   model's torque open.

With the laws given this is least squares over everything at once: the other joints enter by their Schur complement.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product

import numpy as np

from stribeck.ident.arrays import Array
from stribeck.ident.errors import FitError
from stribeck.ident.fit.fit_result import FitResult
from stribeck.ident.fit.inertia.joint_equation import LAWS, Friction, Information, LoadSlopes, informed, slopes_of
from stribeck.ident.fit.inertia.link_prior import LinkPrior, Scatter, changed
from stribeck.ident.fit.joint.model_doubt import ModelDoubt
from stribeck.ident.log.motion.filtered_motion import Log
from stribeck.ident.log.motion.motion_points import Motion, reduce_motion
from stribeck.ident.model.base_parameters import BaseParameters, base_parameters
from stribeck.ident.model.mechanism import Mechanism
from stribeck.ident.model.regressor import PER_LINK

SURE = 5.0              # logarithm of the likelihood ratio from which the model's masses are wrong
_SHAPES, _MASSES = np.geomspace(0.003, 3.0, 25), (0.01, 0.03, 0.1, 0.2, 0.3, 0.5)          # scatter that is tried
_MATTERS = 0.2          # standard errors, by which all points together tell a direction, below which its doubt is left out


@dataclass(frozen=True)
class InertialFit:
    """The links' inertia, as far as the torques tell it.

    Attributes
    ----------
    prior : LinkPrior
        The model.
    information : dict of str to Information
        What each joint tells.
    scatter : Scatter
        By about which parts the model's links are off.
    evidence : float
        Logarithm of the likelihood ratio of a model that is off by so much, and one that is right.
    """

    prior: LinkPrior
    information: dict[str, Information]
    scatter: Scatter
    evidence: float

    @cached_property
    def y(self) -> Array:
        """The most plausible y, shape (10 n,)."""
        return self.prior.most_plausible(*_summed(self.information.values()), self.scatter)

    @cached_property
    def change(self) -> Array:
        """Of the inertial parameters, shape (10 n,)."""
        return self.prior.theta(self.y) - self.prior.theta(np.zeros(len(self.y)))

    @cached_property
    def covariance(self) -> Array:
        """Of the inertial parameters, shape (10 n, 10 n)."""
        left = _inverse(_summed(self.information.values())[0] + self.prior.curvature(self.y, self.scatter))
        return np.asarray(self.prior.directions @ left @ self.prior.directions.T)

    def model(self, mechanism: Mechanism) -> Mechanism:
        """A mechanism of the same links with the change."""
        return changed(mechanism, self.change)

    @cached_property
    def base(self) -> BaseParameters:
        """The combinations of parameters that torques can tell."""
        return base_parameters(self.prior.mechanism)

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
        nothing = np.zeros((len(self.y),) * 2), np.zeros(len(self.y))
        (matrix, moment), (all_matrix, all_moment) = _summed(others) if others else nothing, _summed(self.information.values())
        open_ = _inverse(matrix + self.prior.curvature(self.y, self.scatter))
        # at y the slope of the prior is that of the data of all, so that the others alone, and the prior, are off by
        centre = open_ @ ((moment - matrix @ self.y) - (all_moment - all_matrix @ self.y))
        U, size, _ = np.linalg.svd(slopes @ np.linalg.cholesky(open_), full_matrices=False)
        keep = size > _MATTERS * noise
        return ModelDoubt(slopes @ centre, U[:, keep] * size[keep])


@dataclass(frozen=True)
class Equations:
    """The equations of motion of the joints of a log, about a model.

    Attributes
    ----------
    log : Log
        With the model's torques.
    mechanism : Mechanism
        The model.
    prior : LinkPrior
        What y is.
    motions : dict of str to Motion
        Of the joints that move.
    torque_slopes : dict of str to ndarray, shape (N, k)
        Torque without friction per unit of y at their points.
    """

    log: Log
    mechanism: Mechanism
    prior: LinkPrior
    motions: dict[str, Motion]
    torque_slopes: dict[str, Array]

    @classmethod
    def of(cls, log: Log, mechanism: Mechanism, prior: LinkPrior) -> "Equations":
        """Of all joints that move."""
        motions = {}
        for name in mechanism.names:
            with suppress(FitError):            # said where the joint is fitted
                motions[name] = reduce_motion(log, name)
        return cls(log, mechanism, prior, motions, slopes_of(log, mechanism, prior, motions))

    @cached_property
    def load_slopes(self) -> LoadSlopes:
        """Loads per unit of y."""
        return LoadSlopes.of(self.log, self.mechanism, self.prior)

    def slopes(self, name: str, friction: Friction | None) -> Array:
        """Torque of a joint per unit of y, with its friction as far as that is known to grow with a load."""
        if friction is None or friction.load == "none":
            return self.torque_slopes[name]
        joint, motion = self.mechanism.names.index(name), self.motions[name]
        return np.asarray(self.torque_slopes[name] + self.load_slopes.friction(motion, joint, friction))

    def information(self, y: Array, frictions: Mapping[str, Friction], laws: Sequence[str] = LAWS[:1],
                    scaled: bool = False) -> dict[str, Information]:
        """About y = 0, of a model that is at `y`.

        `frictions`: as far as they are known. `scaled`: whether each joint's torque may have a scale of its own.
        """
        found = {name: informed(motion, self.slopes(name, frictions.get(name)), scaled, laws)
                 for name, motion in self.motions.items()}
        return {name: replace(one, moment=one.moment + one.matrix @ y) for name, one in found.items()}

    def doubt(self, inertia: InertialFit, name: str, friction: FitResult | None = None) -> ModelDoubt:
        """What is left open of the torque of a joint; of its friction, too, where that is known to grow with a load."""
        motion = self.motions[name]
        known = None if friction is None else Friction(friction.law, friction.load, friction.values)
        noise = float(np.std(np.diff(motion.view(motion.tau - motion.rigid)))) / np.sqrt(2.0)
        return inertia.doubt(name, self.slopes(name, known), noise)


def contradicted(log: Log, mechanism: Mechanism) -> float:
    """Logarithm of the likelihood ratio of a model whose masses are off, and the model with a scale for each joint's torque."""
    prior = LinkPrior(mechanism)
    found = Equations.of(log, mechanism, prior).information(np.zeros(prior.directions.shape[1]), {}, scaled=True)
    return most_likely(found.values())[1]


def fit_inertia(log: Log, mechanism: Mechanism) -> tuple[InertialFit, Equations]:
    """Links' inertia from the torques of all joints, and the equations about the model with it.

    Parameters
    ----------
    log : Log
        Whose stretches have torques and loads of `mechanism`, or of one with another tool.
    mechanism : Mechanism
        The model.
    """
    prior = LinkPrior(mechanism)
    equations, y, frictions = Equations.of(log, mechanism, prior), np.zeros(prior.directions.shape[1]), dict[str, Friction]()
    for laws in (LAWS[:1], LAWS[:1], LAWS):             # friction's law is chosen last, beside inertia that is nearly right
        information = equations.information(y, frictions, laws)
        frictions = {name: one.friction for name, one in information.items() if one.friction is not None}
        found = InertialFit(prior, information, *most_likely(information.values()))
        y = found.y
        moved = replace(log, stretches=tuple(part.with_model(found.model(part.mechanism)) for part in log.stretches))
        equations = Equations.of(moved, found.model(mechanism), prior)
    return found, equations


def most_likely(information: Iterable[Information]) -> tuple[Scatter, float]:
    """The most likely scatter, and the logarithm of its likelihood over that of none, of a prior that is nearly normal."""
    matrix, moment = _summed(information)

    def likelihood(scatter: Scatter) -> float:
        root = scatter.root(len(moment) // PER_LINK)
        values, vectors = np.linalg.eigh(root @ matrix @ root)
        values, along = np.maximum(values, 0.0), vectors.T @ (root @ moment)
        return 0.5 * float(np.sum(along**2 / (1.0 + values)) - np.sum(np.log1p(values)))

    return max(((scatter, likelihood(scatter)) for scatter in (Scatter(*one) for one in product(_SHAPES, _MASSES))),
               key=lambda one: one[1])


def _summed(found: Iterable[Information]) -> tuple[Array, Array]:
    """Matrix and moment of all together."""
    found = list(found)
    return np.sum([one.matrix for one in found], axis=0), np.sum([one.moment for one in found], axis=0)


def _inverse(matrix: Array) -> Array:
    """Of a positive definite matrix of many units."""
    scale = 1.0 / np.sqrt(np.diag(matrix))
    return np.asarray(np.linalg.inv(matrix * np.outer(scale, scale)) * np.outer(scale, scale))
