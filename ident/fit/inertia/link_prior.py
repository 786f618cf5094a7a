r"""Prior distribution of the links' inertia about a model, which excludes
physically impossible bodies.

The pseudo-inertia P of a link, the 4 x 4 matrix of its mass, first and second moments, is positive
definite for every possible body. With the model's :math:`P_0 = C C^T`, any other pseudo-inertia is
:math:`C (1 + Y) C^T` with a symmetric Y, and

.. math:: d = \mathrm{tr}\, Y - \log\det(1 + Y)

is its distance from the model. The distance is 1/2 |Y|^2 near the model, infinite at the limit of
possible bodies, and the same in all frames and units. The most common error of a model is the total
mass of a link with right proportions. The model therefore stands for :math:`c P_0` with any c near
1:

.. math:: d = \min_c\ \mathrm{tr}(1 + Y) / c - \log\det(1 + Y) + 4 \log c - 4 + s^2 (\log c)^2 / 2 k^2

The prior exp(-d / s^2) then has a relative standard deviation of about s for shapes
and of about k for masses.

References
----------
Lee, Wensing and Park, IEEE Trans. Robotics 36 (2020) 126 (entropic divergence); Wensing, Kim and
Slotine, IEEE Robotics and Automation Letters 3 (2018) 60 (pseudo-inertia).
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import block_diag

from stribeck.ident.arrays import Array
from stribeck.ident.model.mechanism import Mechanism
from stribeck.ident.model.regressor import PER_LINK, inertial_parameters, of_bodies

_LIGHTEST = 1e-3  # of the arm's mass: least mass of a link in the prior
# least extension of a link in the prior: root of second moment about the
# centre of mass over mass [m]
_SMALLEST = 5e-3
# of the model's pseudo-inertia in any direction: smaller bodies may become impossible by rounding
_THINNEST = 1e-6
_ROUNDING = 1e-9  # of a parameter: smaller differences are rounding
_UPPER = np.triu_indices(3)
_BASIS = np.array(
    [
        np.where(
            np.eye(4)[i][:, None] * np.eye(4)[k] + np.eye(4)[k][:, None] * np.eye(4)[i] > 0.0,
            1.0 if i == k else np.sqrt(0.5),
            0.0,
        )
        for i in range(4)
        for k in range(i, 4)
    ]
)
# Newton steps, halvings of one step, and relative gain that ends the search
_TURNS, _HALVINGS, _FINE = 100, 40, 1e-10
_STEPS = 8  # Newton steps for log c
# posterior over prior standard deviation above which the data count as uninformative
_NEWS = 0.7
_FLAT = 1e-14  # least curvature over the greatest curvature


def is_told(error: float, prior: float) -> bool:
    """Return True if data determine a parameter or combination: its standard error is
    clearly below the prior's.
    """
    return error <= _NEWS * prior


@dataclass(frozen=True)
class Scatter:
    """Typical relative errors of the model: of shapes (s above), of masses alone
    (k), and of torque constants.
    """

    shape: float
    mass: float
    constants: float = 0.0

    @property
    def of_masses(self) -> float:
        """Typical relative error of a link's mass from both sources."""
        return float(np.hypot(self.mass, 0.5 * self.shape))

    @property
    def of_link(self) -> Array:
        """Square root of the covariance of the y of one link near the model, shape (10, 10)."""
        # unit direction: mass changes, proportions stay
        whole = np.einsum("kaa->k", _BASIS) / 2.0
        more = np.hypot(self.shape, 2.0 * self.mass) - self.shape
        return np.asarray(self.shape * np.eye(PER_LINK) + more * np.outer(whole, whole))

    def root(self, links: int) -> Array:
        """Square root of the covariance of y near the model, shape (10 n, 10 n)."""
        return np.asarray(np.kron(np.eye(links), self.of_link))


@dataclass(frozen=True)
class LinkPrior:
    """Prior of inertial parameters about those of a model: theta = theta_0 + directions @ y.

    Attributes
    ----------
    mechanism : Mechanism
        The model.
    """

    mechanism: Mechanism

    @cached_property
    def _roots(self) -> list[Array]:
        """Factor C of each link."""
        tree = self.mechanism.link_tree
        least = _LIGHTEST * float(tree.mass.sum())
        roots = []
        for theta in inertial_parameters(tree).reshape(-1, PER_LINK):
            mass = max(float(theta[0]), least)
            com = theta[1:4] / theta[0] if theta[0] > 0.0 else np.zeros(3)
            # about the centre of mass
            second = _pseudo(theta)[:3, :3] - theta[0] * np.outer(com, com)
            values, vectors = np.linalg.eigh(second)
            second = (vectors * np.maximum(values, mass * _SMALLEST**2)) @ vectors.T
            P = np.empty((4, 4))
            P[:3, :3], P[3, 3] = second + mass * np.outer(com, com), mass
            P[:3, 3] = P[3, :3] = mass * com
            roots.append(np.asarray(np.linalg.cholesky(P), dtype=float))
        return roots

    @cached_property
    def middle(self) -> Array:
        """Parameters at y = 0, shape (10 n,): the model's; links without mass or
        extension get the least values.
        """
        return np.concatenate([_parameters(C @ C.T) for C in self._roots])

    @cached_property
    def of_links(self) -> Array:
        """Change of each link's parameters per unit of its y, shape (n, 10, 10); zero for links
        that are no physical bodies.
        """
        steps = [np.column_stack([_parameters(C @ E @ C.T) for E in _BASIS]) for C in self._roots]
        return np.array(steps) * of_bodies(self.mechanism).reshape(-1, 1, PER_LINK)

    @cached_property
    def directions(self) -> Array:
        """Change of the parameters per unit of y, shape (10 n, 10 n)."""
        return np.asarray(block_diag(*self.of_links))

    @cached_property
    def least(self) -> Array:
        """Parameters at y = 0 beyond those of the model, shape (10 n,); zero unless links
        have no mass or no extension.
        """
        more = (self.middle - inertial_parameters(self.mechanism)) * of_bodies(self.mechanism)
        return np.asarray(np.where(np.abs(more) > _ROUNDING * np.abs(self.middle), more, 0.0))

    def theta(self, y: Array) -> Array:
        """Inertial parameters at y, shape (10 n,)."""
        return np.asarray(self.middle + self.directions @ y)

    def most_plausible(self, information: Array, moment: Array, scatter: Scatter) -> Array:
        """Return the y with the greatest posterior probability, by Newton's method; shape (10 n,).

        Parameters
        ----------
        information : ndarray, shape (10 n, 10 n)
            Minus the second derivative of the data's log likelihood.
        moment : ndarray, shape (10 n,)
            First derivative of the data's log likelihood at y = 0.
        scatter : Scatter
            Typical relative errors of the model.
        """
        y = np.zeros(len(moment))

        def objective(at: Array) -> float:
            return float(0.5 * at @ information @ at - moment @ at) + self._distance(at, scatter)

        least = objective(y)
        for _ in range(_TURNS):
            slope, curvature = self._slope(y, scatter)
            gradient, hessian = information @ y - moment + slope, information + curvature
            scale = 1.0 / np.sqrt(np.abs(np.diag(hessian)) + 1e-300)
            # d is not convex far from the model
            values, vectors = np.linalg.eigh(hessian * np.outer(scale, scale))
            step = -scale * (
                vectors @ ((vectors.T @ (scale * gradient)) / np.maximum(np.abs(values), _FLAT))
            )
            for halving in range(_HALVINGS):
                there = y + 0.5**halving * step
                if (found := objective(there)) <= least:
                    break
            else:
                return y
            gained, y, least = least - found, there, found
            if gained <= _FINE * (1.0 + abs(least)):
                break
        return y

    def _distance(self, y: Array, scatter: Scatter) -> float:
        """d / s^2, summed over all links; infinite if a link is no possible body."""
        total, loose = 0.0, (scatter.shape / scatter.mass) ** 2
        for Y in _matrices(y):
            values = 1.0 + np.linalg.eigvalsh(Y)
            if values.min() <= _THINNEST:
                return np.inf
            log = _heavier(float(values.sum()), loose)
            total += (
                float(values.sum() * np.exp(-log) - np.log(values).sum())
                + 4.0 * log
                - 4.0
                + 0.5 * loose * log**2
            )
        return total / scatter.shape**2

    def _slope(self, y: Array, scatter: Scatter) -> tuple[Array, Array]:
        """First and second derivative of d / s^2 by y."""
        slopes, curvatures, loose = [], [], (scatter.shape / scatter.mass) ** 2
        trace = np.einsum("kaa->k", _BASIS)
        for Y in _matrices(y):
            inverse, whole = np.linalg.inv(np.eye(4) + Y), 4.0 + float(np.trace(Y))
            lighter = np.exp(-_heavier(whole, loose))
            slopes.append(lighter * trace - np.einsum("kab,ab->k", _BASIS, inverse))
            turned = inverse @ _BASIS
            curvatures.append(
                np.einsum("kab,lba->kl", turned, turned)
                - lighter**2 / (whole * lighter + loose) * np.outer(trace, trace)
            )
        slope, curvature = np.concatenate(slopes), np.asarray(block_diag(*curvatures))
        return slope / scatter.shape**2, curvature / scatter.shape**2


def _heavier(trace: float, loose: float) -> float:
    """Return log c for the trace of 1 + Y, the solution of trace / c = 4 + loose log c."""
    log = np.log(trace / 4.0)
    for _ in range(_STEPS):
        log += (trace * np.exp(-log) - 4.0 - loose * log) / (trace * np.exp(-log) + loose)
    return float(log)


def _matrices(y: Array) -> Array:
    """Matrix Y of each link, shape (n, 4, 4)."""
    return np.einsum("jk,kab->jab", y.reshape(-1, PER_LINK), _BASIS)


def _pseudo(theta: Array) -> Array:
    """Pseudo-inertia of one link about its joint's origin."""
    inertia = np.zeros((3, 3))
    inertia[_UPPER] = theta[4:]
    inertia += np.triu(inertia, 1).T
    P = np.empty((4, 4))
    P[:3, :3], P[3, 3] = 0.5 * np.trace(inertia) * np.eye(3) - inertia, theta[0]
    P[:3, 3] = P[3, :3] = theta[1:4]
    return P


def _parameters(P: Array) -> Array:
    """Inertial parameters of a pseudo-inertia, or of a difference of two pseudo-inertias."""
    inertia = np.trace(P[:3, :3]) * np.eye(3) - P[:3, :3]
    return np.concatenate(([P[3, 3]], P[:3, 3], inertia[_UPPER]))
