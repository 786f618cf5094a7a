r"""Expected information of a planned motion about base parameters and friction, and the
gradient of this information.

A sample of joint j measures its torque (P0, Eqs. 22 and 52),
.. math:: \tau_j = Y_j(q, \dot q, \ddot q)\, \theta + \tau_f(\dot q_j, |\tau_j|) + o_j + J_j \ddot q_j + \dots + e, \qquad
          V = v\, 1 + s^2 1 1^T \text{ from reversal to reversal}

with white noise of variance v, and with a random level of friction between two reversals
(standard deviation s). The information about base parameters, friction and nuisance parameters
adds up over all samples and joints:

.. math:: M = M_0 + \sum_j X_j^T V_j^{-1} X_j, \qquad S = A - B D^{-1} B^T

S is the Schur complement for base parameters and friction; it eliminates the nuisance parameters
(offset, rotor, waves: D). The prior M_0 is that of an uncertain model for base parameters
(`link_prior`), and a wide prior for friction. The gain is

.. math:: g = \tfrac12 (\log\det S - \log\det S_0)

the decrease of entropy in nat. Half a nat corresponds to a standard deviation of one parameter that
falls by a factor of 1.65.

References
----------
Swevers, Ganseman, Tükel, De Schutter and Van Brussel, IEEE Trans. Robotics and Automation 13 (1997)
730 (D-optimal periodic excitation); Gautier and Khalil, Int. J. Robotics Research 11 (1992) 362.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from stribeck.ident.arrays import Array, Groups
from stribeck.ident.fit.inertia.link_prior import LinkPrior, Scatter
from stribeck.ident.model.base_parameters import BaseParameters, base_parameters
from stribeck.ident.model.mechanism import Mechanism
from stribeck.ident.model.regressor import inertial_parameters, torque_regressor

FRICTION = ("coulomb", "static", "stribeck_velocity", "viscous", "coulomb_coefficient")
BESIDE = (
    "offset",
    "inertia",
    "viscous_difference",
    "fall",
    "bend",
    "sin q",
    "cos q",
    "sin 2q",
    "cos 2q",
)
# samples per second with independent noise: twice the bandwidth of general motion
INDEPENDENT = 40.0
_MODEL = Scatter(0.3, 0.3)  # prior relative errors of a model's shapes and masses
_VAGUE = 3.0  # prior standard deviation of friction over its expected value
_TURN = 0.02  # of a joint's velocity scale: speed at which a sample has half weight
_ROUND = 0.1  # of Coulomb friction: loads up to this size are smoothed around zero
_STEP = 1e-5  # step of finite differences
_NORMAL = 1.96
# of the longest column of the base regressor: the motion does not show
# parameters of shorter columns
_UNSEEN = 1e-9
# from torques (N, n) to a cost and its gradient
TorqueCost = Callable[[Array], tuple[float, Array]]


@dataclass(frozen=True)
class JointGuess:
    """Expected friction and noise of a joint: Stribeck's law, with the transmitted torque as
    load, and noise of the torque.

    Attributes
    ----------
    coulomb, static, stribeck_velocity, viscous : float
        [N·m, N·m, rad/s, N·m·s/rad, or those of a slider].
    coulomb_coefficient : float
        Growth of Coulomb and of static friction per transmitted torque.
    velocity : float
        Velocity limit, or the highest speed that the joint reaches within its range [rad/s or m/s].
    within, level : float
        Standard deviation of the torque from sample to sample, at `INDEPENDENT` samples per second,
        and of its level from one reversal to the next [N·m].
    """

    coulomb: float
    static: float
    stribeck_velocity: float
    viscous: float
    coulomb_coefficient: float
    velocity: float
    within: float
    level: float

    def friction(self, speed: Array, load: Array) -> Array:
        """Return friction at speeds and loads, shape (N,)."""
        fall = np.exp(-np.square(speed / self.stribeck_velocity))
        return np.asarray(
            self.coulomb
            + (self.static - self.coulomb) * fall
            + self.coulomb_coefficient * load
            + self.viscous * speed
        )

    def load(self, tau: Array) -> Array:
        """Return the load: the transmitted torque, smoothed around zero, shape (N,)."""
        return np.asarray(np.hypot(tau, _ROUND * self.coulomb))

    def slopes(self, speed: Array, load: Array) -> Array:
        """Derivatives of friction by `FRICTION`, for the Stribeck velocity by
        its logarithm, shape (5, N).
        """
        part = np.square(speed / self.stribeck_velocity)
        fall = np.exp(-part)
        return np.array(
            [1.0 - fall, fall, 2.0 * part * fall * (self.static - self.coulomb), speed, load]
        )

    @property
    def deviations(self) -> Array:
        """Prior standard deviations of `FRICTION`, for the Stribeck velocity of
        its logarithm, shape (5,).
        """
        return _VAGUE * np.array(
            [self.coulomb, self.static, 1.0, self.viscous, self.coulomb_coefficient]
        )


@dataclass(frozen=True)
class Course:
    """Motion of all joints: positions, velocities, accelerations (N, n) at time step `dt` [s],
    and number of repetitions.
    """

    q: Array
    dq: Array
    ddq: Array
    dt: float
    times: int = 1


@dataclass(frozen=True)
class MotionInformation:
    """Expected information of motions of an arm.

    The p parameters are base parameters, then `FRICTION` of each joint, then the nuisance
    parameters `BESIDE` of each joint. Their unit is the prior standard deviation.

    Attributes
    ----------
    mechanism : Mechanism
        The model.
    guesses : tuple of JointGuess
        Expected friction and noise of each joint.
    """

    mechanism: Mechanism
    guesses: tuple[JointGuess, ...]

    @cached_property
    def base(self) -> BaseParameters:
        """The base parameters."""
        return base_parameters(self.mechanism)

    @cached_property
    def _root(self) -> Array:
        """Square root of the prior covariance of the base parameters, shape (b, b)."""
        links = self.mechanism.link_tree.n
        spread = self.base.combination @ LinkPrior(self.mechanism).directions @ _MODEL.root(links)
        covariance = spread @ spread.T
        scale = np.sqrt(np.diag(covariance))
        correlation = covariance / np.outer(scale, scale) + 1e-10 * np.eye(len(scale))
        return np.asarray(scale[:, None] * np.linalg.cholesky(correlation))

    @cached_property
    def _theta(self) -> Array:
        return inertial_parameters(self.mechanism)

    @property
    def asked(self) -> int:
        """Number of parameters of interest (base parameters and friction), which come first."""
        return len(self.base.independent) + len(FRICTION) * self.mechanism.n

    @property
    def size(self) -> int:
        """Number of all parameters, p."""
        return self.asked + len(BESIDE) * self.mechanism.n

    @property
    def prior(self) -> Array:
        """Information of the prior, before any measurement, shape (p, p)."""
        return np.eye(self.size)

    def rows_of(self, j: int) -> Groups:
        """Indices of the parameters that the torque of joint j depends on."""
        b, f, k = len(self.base.independent), len(FRICTION), len(BESIDE)
        return np.concatenate(
            (np.arange(b), b + f * j + np.arange(f), self.asked + k * j + np.arange(k))
        )

    def told(self, course: Course) -> Array:
        """Return the information of a motion, shape (p, p)."""
        return self._sums(course, self._torque_rows(course), passes_of(course))[0]

    def gain(self, information: Array, before: Array | None = None) -> float:
        """Return the decrease of entropy of the parameters of interest [nat], from information
        `before` (default: the prior).
        """
        return 0.5 * (
            self._log_det(information) - self._log_det(self.prior if before is None else before)
        )

    def _log_det(self, information: Array) -> float:
        beside = information[self.asked :, self.asked :]
        return float(np.linalg.slogdet(information)[1] - np.linalg.slogdet(beside)[1])

    def deviations(self, information: Array) -> tuple[Array, Array, Array]:
        """Return the expected standard errors for given information.

        Returns
        -------
        base : ndarray, shape (b,)
            Standard errors of the base parameters.
        told : ndarray, shape (b,)
            Standard errors of the base parameters over their prior standard deviations.
        friction : ndarray, shape (n, 5)
            Standard errors of `FRICTION` of each joint; for the Stribeck
            velocity, relative to its value.
        """
        covariance, b = np.linalg.inv(information), len(self.base.independent)
        root = self._root
        base = np.sqrt(np.diag(root @ covariance[:b, :b] @ root.T))
        of_friction = np.sqrt(np.diag(covariance)[b : self.asked]).reshape(
            self.mechanism.n, len(FRICTION)
        )
        return (
            base,
            base / np.linalg.norm(root, axis=1),
            of_friction * [one.deviations for one in self.guesses],
        )

    def condition(self, course: Course) -> float:
        """Condition number of the base regressor in its usual form: columns of unit length,
        rows weighted by the noise.

        It is infinite if the motion does not show a base parameter at all.
        """
        Y = self._torque_rows(course)[:, self.base.independent]
        W = np.hstack([Y[j] / one.within for j, one in enumerate(self.guesses)])
        length = np.linalg.norm(W, axis=1)
        return (
            float(np.linalg.cond((W / length[:, None]).T))
            if (length > _UNSEEN * length.max()).all()
            else np.inf
        )

    def band(self, information: Array, j: int, speed: Array, load: float) -> Array:
        """Return the half width of the 95 % band of a joint's friction over friction, at
        speeds and a load, shape (N,).
        """
        guess, b = self.guesses[j], len(self.base.independent) + len(FRICTION) * j
        own = np.linalg.inv(information)[b : b + len(FRICTION), b : b + len(FRICTION)]
        loads = np.full(len(speed), load)
        rows = guess.slopes(speed, loads).T * guess.deviations
        std_error = np.sqrt(np.einsum("ni,ij,nj->n", rows, own, rows))
        return np.asarray(_NORMAL * std_error / guess.friction(speed, loads))

    def _torque_rows(self, course: Course) -> Array:
        """Torque regressor with joints and parameters first, shape (n, 10 n, N)."""
        return torque_regressor(self.mechanism, course.q, course.dq, course.ddq).transpose(1, 2, 0)

    def _sums(
        self, course: Course, Y: Array, passes: Sequence[Groups]
    ) -> tuple[Array, list[tuple[Array, Array]]]:
        """Information, and for each joint its rows X and V^-1 X, shape (k, N) each."""
        total, rows = np.zeros((self.size, self.size)), []
        tau = np.einsum("jpn,p->jn", Y, self._theta)
        for j, guess in enumerate(self.guesses):
            own = course.q[:, j], course.dq[:, j], course.ddq[:, j], guess.load(tau[j])
            base = self._moves(j, own[1]) * (self._root.T @ Y[j, self.base.independent])
            X = np.vstack((base, self._columns(j, *own)))
            v = guess.within**2 / (INDEPENDENT * course.dt)
            Z = course.times * _whitened(X, passes[j], v, guess.level**2)
            at = self.rows_of(j)
            total[np.ix_(at, at)] += X @ Z.T
            rows.append((X, Z))
        return total, rows

    def _moves(self, j: int, dq: Array) -> Array:
        """Weight of each sample, from 0 at rest (where friction takes
        any value) to 1, shape (N,).
        """
        slow = (_TURN * self.guesses[j].velocity) ** 2
        return np.asarray(dq**2 / (dq**2 + slow))

    def _columns(self, j: int, q: Array, dq: Array, ddq: Array, load: Array) -> Array:
        """Columns of friction and of nuisance parameters, shape (14, N); they vanish at rest.

        The nuisance columns include another transition from static to Coulomb friction (Tustin's)
        and a bend of the viscous part, because the fit must also choose the law.
        """
        guess = self.guesses[j]
        size = guess.coulomb
        counts, sign = self._moves(j, dq), np.sign(dq)
        friction = guess.slopes(np.abs(dq), load) * guess.deviations[:, None] * sign
        rotor = size / max(guess.velocity, 1e-9)
        waves = (
            0.3 * size * sign * np.array([np.sin(q), np.cos(q), np.sin(2.0 * q), np.cos(2.0 * q)])
        )
        other = sign * np.array(
            [
                (guess.static - size) * np.exp(-np.abs(dq) / guess.stribeck_velocity),
                guess.viscous * dq**2 / guess.velocity,
            ]
        )
        beside = np.vstack(
            (np.full(len(q), size), rotor * ddq, guess.viscous * np.abs(dq), other, waves)
        )
        return np.asarray(counts * np.vstack((friction, beside)))

    def gain_and_slope(
        self,
        course: Course,
        before: Array,
        cost: TorqueCost | None = None,
        passes: Sequence[Groups] | None = None,
    ) -> tuple[float, float, tuple[Array, Array, Array]]:
        """Return the gain of a motion, a cost of its torques, and the gradient of gain minus cost.

        Parameters
        ----------
        course : Course
            The motion.
        before : ndarray, shape (p, p)
            Information before the motion.
        cost : callable, optional
            Cost of torques without friction, and its gradient.
        passes : sequence of ndarray of int, shape (N,)
            For each joint, the pass between reversals that each sample belongs to; default: the
            passes of the motion itself. Fixed passes make the gain continuous.

        Returns
        -------
        gain, cost : float
            Gain [nat], and cost in its own unit.
        slopes : tuple of ndarray, shape (N, n)
            Derivatives of gain minus cost by q, dq and ddq of every sample.
        """
        Y = self._torque_rows(course)
        total, rows = self._sums(course, Y, passes or passes_of(course))
        total += before
        beside = slice(self.asked, None)
        W = np.linalg.inv(total)  # d gain = tr(W X' V^-1 dX)
        W[beside, beside] -= np.linalg.inv(total[beside, beside])
        tau = np.einsum("jpn,p->jn", Y, self._theta)
        spent, by_torque = cost(tau.T) if cost else (0.0, np.zeros_like(tau.T))
        by_regressor, slopes = (
            np.zeros_like(Y),
            (np.zeros_like(course.q), np.zeros_like(course.q), np.zeros_like(course.q)),
        )
        for j, (X, Z) in enumerate(rows):
            at = self.rows_of(j)
            own, by_load = self._own_slopes(
                j, course, tau[j], Y[j], X, W[np.ix_(at, at)] @ Z, by_regressor[j]
            )
            for slope, part in zip(slopes, own, strict=True):
                slope[:, j] += part
            change = by_load * tau[j] / self.guesses[j].load(tau[j]) - by_torque[:, j]
            by_regressor[j] += change * self._theta[:, None]
        self._through_regressor(course, Y, by_regressor, slopes)
        return self.gain(total, before), spent, slopes

    def _own_slopes(
        self, j: int, course: Course, tau: Array, Y: Array, X: Array, G: Array, by_regressor: Array
    ) -> tuple[tuple[Array, ...], Array]:
        """Derivatives of the gain by a joint's own q, dq and ddq, and by its load, through
        the columns X of its rows.

        G is the derivative of the gain by these columns. The derivative by the regressor is stored
        in `by_regressor`, shape (10 n, N).
        """
        b, independent = len(self.base.independent), self.base.independent
        own = [course.q[:, j], course.dq[:, j], course.ddq[:, j], self.guesses[j].load(tau)]
        moved = []
        for k in range(len(own)):
            there = [values + (_STEP if k == i else 0.0) for i, values in enumerate(own)]
            moved.append(np.einsum("cn,cn->n", G[b:], self._columns(j, *there) - X[b:]) / _STEP)
        counts = self._moves(j, own[1])
        by_regressor[independent] = counts * (self._root @ G[:b])
        more = (self._moves(j, own[1] + _STEP) - counts) / _STEP
        moved[1] = moved[1] + more * np.einsum("bn,bn->n", G[:b], self._root.T @ Y[independent])
        return tuple(moved[:3]), moved[3]

    def _through_regressor(
        self, course: Course, Y: Array, by_regressor: Array, slopes: tuple[Array, Array, Array]
    ) -> None:
        """Add the derivatives through the regressor to `slopes`;
        `by_regressor` has shape (n, 10 n, N).
        """
        here = np.einsum("jpn,jpn->n", by_regressor, Y)
        for k, slope in enumerate(slopes):
            for j in range(self.mechanism.n):
                motion = [course.q, course.dq, course.ddq]
                motion[k] = motion[k].copy()
                motion[k][:, j] += _STEP
                there = torque_regressor(self.mechanism, *motion).transpose(1, 2, 0)
                slope[:, j] += (np.einsum("jpn,jpn->n", by_regressor, there) - here) / _STEP


def passes_of(course: Course) -> list[Groups]:
    """For each joint, the pass between reversals that each sample belongs to, shape (N,)."""
    sign = np.sign(course.dq)
    return list(np.cumsum(np.diff(sign, axis=0, prepend=sign[:1]) != 0.0, axis=0).T)


def _whitened(X: Array, group: Groups, v: float, s: float) -> Array:
    """Return V^-1 X for rows X, shape (k, N), with variance v of samples
    and variance s of groups.
    """
    first = np.flatnonzero(np.diff(group, prepend=group[:1] - 1))
    sums, count = np.add.reduceat(X, first, axis=1), np.diff(first, append=len(group))
    shared = np.repeat(sums * (s / (v + s * count)), count, axis=1)
    return np.asarray((X - shared) / v)
