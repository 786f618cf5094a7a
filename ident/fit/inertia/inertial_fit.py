r"""Inertia and friction in one fit.

All joints share the inertial parameters of the links, and some the friction of a motor that moves several (`Shared`); nothing
else. What one joint's torque tells of them, whatever its
friction is, has the form of a normal distribution; these add up. Its own friction is fitted with what the others leave open:

1. Each joint's information about y (`link_prior`) is that of its equation of motion after least squares over its friction.
2. How far the model is off is what has the greatest marginal likelihood; the most plausible y follows.
3. The model with this y gives torques and loads of the next pass, in which friction grows with the new loads.
4. Joint by joint, friction is fitted as ever, with columns for the directions in which the prior and the other joints leave the
   model's torque open.

With the laws given this is least squares over everything at once: the other joints enter by their Schur complement.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product

import numpy as np
from scipy.linalg import svd

from stribeck.ident.arrays import Array
from stribeck.ident.errors import FitError
from stribeck.ident.fit.fit_result import FitResult
from stribeck.ident.fit.inertia.coupled_motors import LAWS as MOTOR_LAWS
from stribeck.ident.fit.inertia.coupled_motors import CoupledMotors
from stribeck.ident.fit.inertia.joint_equation import LAWS, Friction, Information, LoadSlopes, informed, slopes_of
from stribeck.ident.fit.inertia.link_prior import LinkPrior, Scatter
from stribeck.ident.fit.inertia.motor_friction import NO_MOTORS, MotorFriction
from stribeck.ident.fit.inertia.shared import Shared
from stribeck.ident.fit.joint.model_doubt import ModelDoubt
from stribeck.ident.fit.noise import Noise
from stribeck.ident.log.motion.filtered_motion import Log
from stribeck.ident.log.motion.motion_points import Motion, reduce_motion
from stribeck.ident.model.base_parameters import BaseParameters, base_parameters
from stribeck.ident.model.mechanism import Mechanism
from stribeck.ident.model.regressor import PER_LINK, changed

SURE = 5.0              # logarithm of the likelihood ratio from which the model's masses are wrong
_SHAPES, _MASSES = np.geomspace(0.003, 1.0, 16), (0.01, 0.03, 0.1, 0.2, 0.3, 0.5)          # scatter that is tried,
_CONSTANTS = (0.02, 0.05, 0.1, 0.2)             # and of torque constants
_WEIGHTY = 0.03         # of a joint's friction, root mean square, that a change of inertia has to move its torque by
_CLEARLY = 50.0         # by which the likelihood's logarithm is greater where torque constants beside wrong links are off, too
_AT_BOUND = 1e-9        # of a motor's parameter in its unit: next to zero
_ROUNDING = 1e-13       # of variances, with which a covariance has a root
_NEARLY_ALL = 0.95      # of the likelihood's gain
_MATTERS = 0.2          # standard errors, by which all points together tell a direction, below which its doubt is left out


@dataclass(frozen=True)
class InertialFit:
    """The links' inertia, and friction of motors that move several joints, as far as the torques tell it.

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
    """

    shared: Shared
    information: dict[str, Information]
    scatter: Scatter
    evidence: float
    still: bool = False

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
    def _covariance(self) -> Array:
        """Of y, shape (k, k)."""
        return self._spread(self.information.values())[0]

    @cached_property
    def covariance(self) -> Array:
        """Of the inertial parameters, shape (10 n, 10 n)."""
        of_links = self._covariance[:self.shared.links, :self.shared.links]
        return np.asarray(self.prior.directions @ of_links @ self.prior.directions.T)

    def _spread(self, information: Iterable[Information], held: bool = False) -> tuple[Array, Array]:
        """Covariance and mean of y by some joints and a prior that is normal.

        `held`: a motor's parameter that is zero because it cannot be less stays zero.
        """
        root = self.shared.root(self.scatter)
        if held and self.shared.motors is not None:
            own = slice(self.shared.links, None)
            root[:, own] *= self.y[own] > self.shared.motors.bounds[0] + _AT_BOUND
        matrix, moment = _summed(information, self.scatter, len(root))
        covariance = root @ np.linalg.inv(np.eye(len(root)) + root @ matrix @ root) @ root
        return covariance, covariance @ moment

    def model(self, mechanism: Mechanism) -> Mechanism:
        """A mechanism of the same links with the change."""
        return changed(mechanism, self.change) if self.shared.of_links else mechanism

    @cached_property
    def motors(self) -> MotorFriction:
        """Friction of the motors that move several joints, of those of which it is sought."""
        motors, links = self.shared.motors, self.shared.links
        return NO_MOTORS if motors is None else motors.found(self.y[links:], self._covariance[links:, links:],
                                                             self.prior.mechanism.prismatic)

    @property
    def plain_motors(self) -> CoupledMotors:
        """The motors that are sought, each with the simplest law where its friction shows nothing of another."""
        assert self.shared.motors is not None
        return self.shared.motors.plain(self.y[self.shared.links:])

    @cached_property
    def tool_mass(self) -> float:
        """Mass of a tool on the last link that explains nearly all by itself [kg]; 0 where none does."""
        matrix, moment = self.shared.of_links_alone(*_summed(self.information.values(), self.scatter))
        last = PER_LINK * (self.prior.mechanism.n - 1)
        tool = np.linalg.solve(self.prior.directions, np.eye(len(moment))[:, last:last + 4])          # mass and first moment
        y = self.y[:self.shared.links]
        found = np.linalg.lstsq(tool.T @ matrix @ tool, tool.T @ moment, rcond=1e-10)[0]
        gain, whole = 0.5 * float(found @ tool.T @ moment), float(moment @ y - 0.5 * y @ matrix @ y)
        return float(found[0]) if gain > _NEARLY_ALL * whole > SURE and found[0] > 0.0 else 0.0

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
        return ModelDoubt(centre, U[:, keep] * size[keep])


@dataclass(frozen=True)
class Equations:
    """The equations of motion of the joints of a log, about a model.

    Attributes
    ----------
    log : Log
        With the model's torques.
    mechanism : Mechanism
        The model.
    shared : Shared
        What y is.
    motions : dict of str to Motion
        Of the joints that move.
    torque_slopes : dict of str to ndarray, shape (N, k)
        Torque without friction per unit of y at their points.
    """

    log: Log
    mechanism: Mechanism
    shared: Shared
    motions: dict[str, Motion]
    torque_slopes: dict[str, Array]

    @classmethod
    def of(cls, log: Log, mechanism: Mechanism, shared: Shared, joints: Sequence[str]) -> "Equations":
        """Of those of some joints that move."""
        motions = {}
        for name in joints:
            with suppress(FitError):            # said where the joint is fitted
                motions[name] = reduce_motion(log, name)
        return cls(log, mechanism, shared, motions, slopes_of(log, mechanism, shared, motions))

    @cached_property
    def load_slopes(self) -> LoadSlopes:
        """Loads per unit of y."""
        return LoadSlopes.of(self.log, self.mechanism, self.shared.prior)

    def slopes(self, name: str, friction: Friction | None) -> Array:
        """Torque of a joint per unit of y, with its friction as far as that is known to grow with a load."""
        if friction is None or friction.load == "none" or not self.shared.of_links:
            return self.torque_slopes[name]
        joint, motion, slopes = self.mechanism.names.index(name), self.motions[name], self.torque_slopes[name].copy()
        slopes[:, :self.shared.links] += self.load_slopes.friction(motion, joint, friction)
        return slopes

    def information(self, y: Array, frictions: Mapping[str, Friction], laws: Sequence[str] = LAWS[:1]) -> dict[str, Information]:
        """About y = 0, of a model whose links are at `y`, with frictions as far as they are known."""
        found = {}
        for name, motion in self.motions.items():
            alone = self.shared.motors is None or not self.shared.motors.moves(self.mechanism.names.index(name))
            own = laws if alone or not self.shared.of_links else laws[:1]      # beside links, whose motor bends is not told
            with suppress(FitError):            # a torque that opposes motion tells nothing
                one = informed(motion, self.slopes(name, frictions.get(name)), own)
                found[name] = replace(one, moment=one.moment + one.matrix[:, :self.shared.links] @ y[:self.shared.links])
        return found

    def misfits(self, frictions: Mapping[str, Friction], laws: Sequence[str]) -> tuple[Callable[[CoupledMotors], float], int]:
        """How well motors explain the torques of their joints about this model, as a function; and the number of points."""
        own = self.shared.motors
        motions = {name: replace(motion, loads={frictions[name].load: motion.loads[frictions[name].load]})
                   for name, motion in self.motions.items()
                   if name in frictions and own is not None and own.moves(self.mechanism.names.index(name))}
        noises: dict[str, Noise] = {}

        def misfit(motors: CoupledMotors) -> float:
            slopes = slopes_of(self.log, self.mechanism, Shared(self.shared.prior, False, motors), motions)
            found = {name: informed(motion, slopes[name], laws[:1] if self.shared.of_links else laws, noises.get(name))
                     for name, motion in motions.items()}
            noises.update({name: one.noise for name, one in found.items() if name not in noises})
            return sum(one.misfit for one in found.values())

        return misfit, sum(len(motion.points) for motion in motions.values())

    def doubt(self, inertia: InertialFit, name: str, friction: FitResult | None = None) -> ModelDoubt:
        """What is left open of the torque of a joint; of its friction, too, where that is known to grow with a load."""
        motion = self.motions[name]
        known = None if friction is None else Friction(friction.law, friction.load, friction.values)
        noise = float(np.std(np.diff(motion.view(motion.tau - motion.rigid)))) / np.sqrt(2.0)
        doubt = inertia.doubt(name, self.slopes(name, known), noise)
        if not inertia.scatter.constants:
            return doubt
        return replace(doubt, columns=np.column_stack((doubt.columns, inertia.scatter.constants * motion.view(motion.rigid))))


def contradicted(log: Log, mechanism: Mechanism, joints: Sequence[str]) -> bool:
    """Whether the torques of some joints say that the model's links are off, torque constants being as they may.

    Links that are off have to be more likely than constants alone, and to change the torque of a joint by a part of its friction
    that matters.
    """
    shared = Shared(LinkPrior(mechanism), motors=coupled_motors(log, mechanism, joints))
    equations = Equations.of(log, mechanism, shared, joints)
    information = equations.information(np.zeros(shared.count), {})
    if not information:
        return False
    scatter, evidence = most_likely(information.values(), shared)
    of_constants = [_likelihood(information.values(), shared, Scatter(0.0, 0.0, one)) for one in (0.0, *_CONSTANTS)]
    if evidence - (max(of_constants[1:]) - of_constants[0]) < SURE:
        return False
    y = InertialFit(shared, information, scatter, evidence).y[:shared.links]
    change = {name: float(np.std(equations.torque_slopes[name][:, :shared.links] @ y)) for name in information}
    return any(change[name] > _WEIGHTY * one.friction_level(equations.motions[name]) for name, one in information.items())


def coupled_motors(log: Log, mechanism: Mechanism, joints: Sequence[str]) -> CoupledMotors | None:
    """Motors that move several joints and whose friction a log tells from that of its joints."""
    return CoupledMotors.told_by(mechanism.transmission, joints, *(np.concatenate([getattr(part, key) for part in log.stretches])
                                                                   for key in ("dq", "ddq", "tau")))


def fit_inertia(log: Log, mechanism: Mechanism, joints: Sequence[str], of_links: bool = True,
                law: str = "auto") -> tuple[InertialFit, Equations]:
    """Links' inertia, and friction of motors that move several joints, from the torques of some joints; equations about them.

    Parameters
    ----------
    log : Log
        Whose stretches have torques and loads of `mechanism`, or of one with another tool.
    mechanism : Mechanism
        The model.
    joints : sequence of str
        Whose torques count.
    of_links : bool
        Whether links are sought, too; else they are the model's.
    law : str
        Of friction, that was asked for; the motors have it, too, where they can.

    Raises
    ------
    FitError
        If none of them moves.
    """
    shared = Shared(LinkPrior(mechanism), of_links, motors := coupled_motors(log, mechanism, joints))
    laws = LAWS if law not in LAWS else (law,)
    if motors is not None and not of_links:
        joints = [name for name in joints if motors.moves(mechanism.names.index(name))]
    found, equations = _converged(log, mechanism, joints, shared, laws, (0.0,))
    if motors is not None:
        frictions = {name: one.friction for name, one in found.information.items() if one.friction is not None}
        likely = motors.likeliest(MOTOR_LAWS if law not in MOTOR_LAWS else (law,), *equations.misfits(frictions, laws))
        for _ in range(2):                  # once more where a motor's friction shows nothing of its law
            if likely.laws == motors.laws:
                break
            shared = replace(shared, motors=likely)
            found, equations = _converged(log, mechanism, joints, shared, laws, (0.0,))
            motors, likely = likely, found.plain_motors
    constants = most_likely(found.information.values(), shared)[0].constants if of_links else 0.0
    return _converged(log, mechanism, joints, shared, laws, (constants,)) if constants else (found, equations)


def _converged(log: Log, mechanism: Mechanism, joints: Sequence[str], shared: Shared, offered: Sequence[str],
               constants: Sequence[float]) -> tuple[InertialFit, Equations]:
    """What joints share, loads and friction in turn, with torque constants off by one of these parts."""
    equations, frictions = Equations.of(log, mechanism, shared, joints), dict[str, Friction]()
    y = np.zeros(shared.count)
    for laws in (offered[:1], offered[:1], offered):    # friction's law is chosen last, beside inertia that is nearly right
        information = equations.information(y, frictions, laws)
        if not information:
            raise FitError("no joint moves as is needed to tell the links' inertia")
        frictions = {name: one.friction for name, one in information.items() if one.friction is not None}
        found = InertialFit(equations.shared, information, *most_likely(information.values(), shared, constants))
        y = found.y
        moved = replace(log, stretches=tuple(part.with_model(found.model(part.mechanism)) for part in log.stretches))
        equations = Equations.of(moved, found.model(mechanism), equations.shared.at(y), joints)
    return found, equations


def most_likely(information: Iterable[Information], shared: Shared,
                constants: Sequence[float] = (0.0, *_CONSTANTS)) -> tuple[Scatter, float]:
    """The most likely scatter, and the logarithm of its likelihood over that of none.

    Torque constants are off by one of these parts; by the first unless another is far more likely.
    """
    found, best, none = list(information), [], Scatter(0.0, 0.0)
    if not shared.of_links:
        return none, 0.0
    right = _likelihood(found, shared, none)
    for one in constants:
        tried = [Scatter(shape, mass, one) for shape, mass in product(_SHAPES, _MASSES)]
        best.append(max(((scatter, _likelihood(found, shared, scatter) - right) for scatter in tried), key=lambda pair: pair[1]))
    likeliest = max(best, key=lambda pair: pair[1])
    return best[0] if best[0][1] > likeliest[1] - _CLEARLY else likeliest


def _likelihood(information: Iterable[Information], shared: Shared, scatter: Scatter) -> float:
    """Logarithm over that of no unknowns, of a prior that is nearly normal."""
    found = list(information)
    matrix, moment = _summed(found, scatter)
    root = shared.root(scatter)
    values, vectors = np.linalg.eigh(root @ matrix @ root)
    values, along = np.maximum(values, 0.0), vectors.T @ (root @ moment)
    return (sum(one.of_y(scatter.constants)[2] for one in found)
            + 0.5 * float(np.sum(along**2 / (1.0 + values)) - np.sum(np.log1p(values))))


def _summed(information: Iterable[Information], scatter: Scatter, size: int = 0) -> tuple[Array, Array]:
    """Matrix and moment over y of all together, whatever their torque constants are; zero of none."""
    parts = [one.of_y(scatter.constants) for one in information]
    if not parts:
        return np.zeros((size, size)), np.zeros(size)
    return np.sum([part[0] for part in parts], axis=0), np.sum([part[1] for part in parts], axis=0)
