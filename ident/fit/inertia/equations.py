"""The equations of motion of all joints of a log, about a model of the arm."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from stribeck.ident.arrays import Array
from stribeck.ident.errors import FitError
from stribeck.ident.fit.fit_result import FitResult
from stribeck.ident.fit.inertia.coupled_motors import CoupledMotors
from stribeck.ident.fit.inertia.inertial_fit import InertialFit
from stribeck.ident.fit.inertia.joint_equation import LAWS, explained, friction_about, informed
from stribeck.ident.fit.inertia.joint_information import Friction, Information
from stribeck.ident.fit.inertia.shared import Shared
from stribeck.ident.fit.inertia.torque_slopes import LoadSlopes, slopes_of
from stribeck.ident.fit.joint.model_doubt import ModelDoubt
from stribeck.ident.fit.noise import Noise
from stribeck.ident.fit.points import ANY, Growth
from stribeck.ident.log.motion.commanded_motion import along
from stribeck.ident.log.motion.filtered_motion import Log
from stribeck.ident.log.motion.motion_points import Motion, reduce_motion
from stribeck.ident.model.mechanism import Mechanism

_NONE: Mapping[str, Friction] = {}


@dataclass(frozen=True)
class Equations:
    """The equations of motion of the joints of a log, about a model.

    Attributes
    ----------
    log : Log
        Filtered log; its rigid-body torques are those of the model.
    mechanism : Mechanism
        The model.
    shared : Shared
        Definition of the unknowns y.
    motions : dict of str to Motion
        Motion of each joint that moves.
    torque_slopes : dict of str to ndarray, shape (N, k)
        Derivative by y of each joint's torque without load-dependent friction, at its points.
    growth : Growth
        How friction grows with a load.
    """

    log: Log
    mechanism: Mechanism
    shared: Shared
    motions: dict[str, Motion]
    torque_slopes: dict[str, Array]
    growth: Growth = ANY

    @classmethod
    def of(
        cls,
        log: Log,
        mechanism: Mechanism,
        shared: Shared,
        joints: Sequence[str],
        growth: Growth = ANY,
    ) -> "Equations":
        """Set up the equations of those of the given joints that move."""
        motions = {}
        for name in joints:
            with suppress(FitError):  # the fit of the joint reports this error
                motions[name] = reduce_motion(log, name)
        return cls(
            log, mechanism, shared, motions, slopes_of(log, mechanism, shared, motions), growth
        )

    def along(self, log: Log) -> "Equations":
        """Return the equations at the same samples and points, along the motion of another
        log with the same stretches.
        """
        motions = {
            name: along(motion, log, self.mechanism.names) for name, motion in self.motions.items()
        }
        return replace(
            self,
            log=log,
            motions=motions,
            torque_slopes=slopes_of(log, self.mechanism, self.shared, motions),
        )

    @cached_property
    def load_slopes(self) -> LoadSlopes:
        """Derivatives of the loads by y."""
        return LoadSlopes.of(self.log, self.mechanism, self.shared)

    @cached_property
    def echoes(self) -> dict[str, Array]:
        """Changes due to position noise of slopes, model torque and the joint's
        acceleration, shape (R, N, k + 2).

        Noise is drawn R times. Columns of friction of passive joints are zero: this friction
        follows the direction of motion, which noise hardly changes.
        """
        found: dict[str, list[Array]] = {name: [] for name in self.motions}
        for log in self.log.noisier:
            noisier_ = replace(self, shared=replace(self.shared, passive=None)).along(log)
            for name, motion in self.motions.items():
                noisy = noisier_.motions[name]
                change = motion.view(
                    np.column_stack((noisy.rigid - motion.rigid, noisy.ddq - motion.ddq))
                )
                own = self.torque_slopes[name].copy()
                own[:, self.shared.links : self.shared.modelled] = 0.0
                known = np.insert(
                    noisier_.torque_slopes[name],
                    [self.shared.links] * (self.shared.modelled - self.shared.links),
                    0.0,
                    axis=1,
                )
                found[name].append(np.column_stack((known - own, change)))
        return {name: np.array(times) for name, times in found.items()}

    def slopes(self, name: str, friction: Friction | None) -> Array:
        """Derivative of a joint's torque by y, including its load-dependent friction if the
        friction is known, shape (N, k).
        """
        if friction is None or friction.load == "none" or not self.shared.modelled:
            return self.torque_slopes[name]
        joint, motion, slopes = (
            self.mechanism.names.index(name),
            self.motions[name],
            self.torque_slopes[name].copy(),
        )
        slopes[:, : self.shared.modelled] += self.load_slopes.friction(motion, joint, friction)
        return slopes

    def information(
        self,
        y: Array,
        frictions: Mapping[str, Friction],
        laws: Sequence[str] = LAWS[:1],
        reference: "Equations | None" = None,
        kept: Mapping[str, Friction] = _NONE,
    ) -> dict[str, Information]:
        """Return each joint's information about the unknowns, with moments at y = 0.

        Parameters
        ----------
        y : ndarray, shape (k,)
            Unknowns of the present model, about which the equations are linearised.
        frictions : mapping of str to Friction
            Friction of the joints for which it is already known.
        laws : sequence of str
            Candidate friction laws, the simplest first.
        reference : Equations, optional
            The same equations along the commanded motion. They add information by
            instruments, and known laws are kept.
        kept : mapping of str to Friction
            Friction of joints whose law, load and zero parameters are kept.
        """
        found = {}
        for name, motion in self.motions.items():
            known = frictions.get(name)
            alone = self.shared.motors is None or not self.shared.motors.moves(
                self.mechanism.names.index(name)
            )
            # unknown links hide the law of a motor
            own = laws if alone or not self.shared.of_links else laws[:1]
            told = None
            if reference is not None:
                own = own if known is None else (known.law,)
                told = explained(
                    reference.motions[name], reference.slopes(name, known), self.growth.constant
                )
            # a torque that opposes the motion carries no information
            with suppress(FitError):
                one = informed(
                    motion,
                    self.slopes(name, known),
                    own,
                    None,
                    self.echoes[name],
                    self.growth,
                    told,
                    kept.get(name),
                )
                found[name] = one.from_model_at(y[: self.shared.modelled])
        return found

    def frictions(self, found: Mapping[str, Information]) -> dict[str, Friction]:
        """Return the friction of the joints about this model, by the laws and loads of another fit.

        The friction of a fit together with y belongs to other loads than those of this model. With
        that friction, the derivative of the torque by y would be wrong. Joints of shared motors
        keep it, because the model holds no motors.
        """
        motors = self.shared.motors
        alone = {name: one.friction for name, one in found.items() if one.friction is not None}
        return {
            name: friction
            if motors is not None and motors.moves(self.mechanism.names.index(name))
            else friction_about(self.motions[name], friction, self.growth.constant)
            for name, friction in alone.items()
        }

    def misfits(
        self, frictions: Mapping[str, Friction], laws: Sequence[str]
    ) -> tuple[Callable[[CoupledMotors], float], int]:
        """Return a function from motors to the misfit of their joints' torques about this model,
        and the number of points.
        """
        own = self.shared.motors
        loads = {name: one.load for name, one in frictions.items()}
        motions = {
            name: replace(
                motion,
                loads={key: load for key, load in motion.loads.items() if key == loads[name]},
            )
            for name, motion in self.motions.items()
            if name in loads and own is not None and own.moves(self.mechanism.names.index(name))
        }
        noises: dict[str, Noise] = {}

        def misfit(motors: CoupledMotors) -> float:
            slopes = slopes_of(
                self.log, self.mechanism, Shared(self.shared.prior, False, motors), motions
            )
            own_laws = laws[:1] if self.shared.of_links else laws
            found = {
                name: informed(
                    motion,
                    slopes[name],
                    own_laws,
                    noises.get(name),
                    growth=replace(self.growth, load=loads[name]),
                )
                for name, motion in motions.items()
            }
            noises.update({name: one.noise for name, one in found.items() if name not in noises})
            return sum(one.misfit for one in found.values())

        return misfit, sum(len(motion.points) for motion in motions.values())

    def doubt(
        self, inertia: InertialFit, name: str, friction: FitResult | None = None
    ) -> ModelDoubt:
        """Return the remaining uncertainty of a joint's model torque, and of its load-dependent
        friction if that is given.
        """
        motion = self.motions[name]
        known = None if friction is None else Friction(friction.law, friction.load, friction.values)
        noise = float(np.std(np.diff(motion.view(motion.tau - motion.rigid)))) / np.sqrt(2.0)
        doubt = inertia.doubt(name, self.slopes(name, known), noise)
        if not inertia.scatter.constants:
            return doubt
        return replace(
            doubt,
            columns=np.column_stack(
                (doubt.columns, inertia.scatter.constants * motion.view(motion.rigid))
            ),
        )
