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
from stribeck.ident.fit.inertia.echoes import noisier
from stribeck.ident.fit.inertia.inertial_fit import InertialFit
from stribeck.ident.fit.inertia.joint_equation import (
    LAWS,
    Friction,
    Information,
    LoadSlopes,
    explained,
    informed,
    slopes_of,
)
from stribeck.ident.fit.inertia.shared import Shared
from stribeck.ident.fit.joint.model_doubt import ModelDoubt
from stribeck.ident.fit.noise import Noise
from stribeck.ident.log.motion.commanded_motion import along
from stribeck.ident.log.motion.filtered_motion import Log
from stribeck.ident.log.motion.motion_points import Motion, reduce_motion
from stribeck.ident.model.mechanism import Mechanism


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
    load : str
        With which friction grows, where that was asked for.
    """

    log: Log
    mechanism: Mechanism
    shared: Shared
    motions: dict[str, Motion]
    torque_slopes: dict[str, Array]
    load: str = "auto"

    @classmethod
    def of(cls, log: Log, mechanism: Mechanism, shared: Shared, joints: Sequence[str], load: str = "auto") -> "Equations":
        """Of those of some joints that move."""
        motions = {}
        for name in joints:
            with suppress(FitError):            # said where the joint is fitted
                motions[name] = reduce_motion(log, name)
        return cls(log, mechanism, shared, motions, slopes_of(log, mechanism, shared, motions), load)

    def along(self, log: Log) -> "Equations":
        """The same samples and points along another motion: a log of the same stretches."""
        motions = {name: along(motion, log, self.mechanism.names) for name, motion in self.motions.items()}
        return replace(self, log=log, motions=motions, torque_slopes=slopes_of(log, self.mechanism, self.shared, motions))

    @cached_property
    def load_slopes(self) -> LoadSlopes:
        """Loads per unit of y."""
        return LoadSlopes.of(self.log, self.mechanism, self.shared)

    @cached_property
    def echoes(self) -> dict[str, Array]:
        """What noise of positions changes slopes, the model's torque and the joint's acceleration by, shape (R, N, k + 2).

        Noise is drawn R times. Friction of joints without a drive, which goes with directions, hardly changes.
        """
        found: dict[str, list[Array]] = {name: [] for name in self.motions}
        for log in noisier(self.log):
            noisier_ = replace(self, shared=replace(self.shared, passive=None)).along(log)
            for name, motion in self.motions.items():
                noisy = noisier_.motions[name]
                change = motion.view(np.column_stack((noisy.rigid - motion.rigid, noisy.ddq - motion.ddq)))
                own = self.torque_slopes[name].copy()
                own[:, self.shared.links:self.shared.modelled] = 0.0
                known = np.insert(noisier_.torque_slopes[name], [self.shared.links] * (self.shared.modelled - self.shared.links),
                                  0.0, axis=1)
                found[name].append(np.column_stack((known - own, change)))
        return {name: np.array(times) for name, times in found.items()}

    def slopes(self, name: str, friction: Friction | None) -> Array:
        """Torque of a joint per unit of y, with its friction as far as that is known to grow with a load."""
        if friction is None or friction.load == "none" or not self.shared.modelled:
            return self.torque_slopes[name]
        joint, motion, slopes = self.mechanism.names.index(name), self.motions[name], self.torque_slopes[name].copy()
        slopes[:, :self.shared.modelled] += self.load_slopes.friction(motion, joint, friction)
        return slopes

    def information(self, y: Array, frictions: Mapping[str, Friction], laws: Sequence[str] = LAWS[:1],
                    reference: "Equations | None" = None) -> dict[str, Information]:
        """About y = 0, of a model that is at `y`, with frictions as far as they are known.

        With a `reference`, the same equations along the motion that was commanded, by instruments, too; laws that are known stay.
        """
        found = {}
        for name, motion in self.motions.items():
            known = frictions.get(name)
            alone = self.shared.motors is None or not self.shared.motors.moves(self.mechanism.names.index(name))
            own = laws if alone or not self.shared.of_links else laws[:1]      # beside links, whose motor bends is not told
            told = None
            if reference is not None:
                own = own if known is None else (known.law,)
                told = explained(reference.motions[name], reference.slopes(name, known))
            with suppress(FitError):            # a torque that opposes motion tells nothing
                one = informed(motion, self.slopes(name, known), own, None, self.echoes[name], self.load, told)
                found[name] = one.from_model_at(y[:self.shared.modelled])
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
