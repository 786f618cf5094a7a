"""A parallel machine whose true masses may differ from the model, and its logs; each machine
brings equations of its own.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np

from stribeck.ident.arm.arm_file import ArmFile
from stribeck.ident.fit.joint.options import Options
from stribeck.ident.log.run import Run
from stribeck.ident.model.mechanism import Mechanism

Array = np.ndarray
Motion = tuple[Array, Array, Array]
AS_IT_IS: Mapping[str, float] = {}


@dataclass(frozen=True)
class Conditions:
    """How a machine is recorded and fitted.

    Attributes
    ----------
    seconds, rate : float
        Length of the motion [s] and sampling rate [Hz].
    noise, position_noise : float
        Standard deviations of the torque signal [N·m or N] and of the positions [rad or m].
    slow : float
        Speed below which a sample is not judged [rad/s or m/s].
    options : Options
        Options of the fit.
    """

    seconds: float
    rate: float
    noise: float
    position_noise: float
    slow: float
    options: Options


@dataclass(frozen=True)
class WrongMachine(ABC):
    """A machine that follows a periodic motion; its equations are independent
    of stribeck's model layer.

    Attributes
    ----------
    seed : int
        Seed of masses and noise.
    part : float
        Largest relative difference of masses, centres of mass and moments
        of inertia from the model.
    pin : float
        Friction coefficient times radius of joints without a drive [m].
    """

    seed: int
    part: float = 0.3
    pin: float = 0.0

    @property
    @abstractmethod
    def conditions(self) -> Conditions:
        """Record and fit."""

    @property
    @abstractmethod
    def links(self) -> int:
        """Number of inertial parameters of the links."""

    @property
    @abstractmethod
    def arm(self) -> ArmFile:
        """Arm file with the model, without the truth."""

    @property
    @abstractmethod
    def mechanism(self) -> Mechanism:
        """The model with the true inertia of the links."""

    @property
    @abstractmethod
    def friction(self) -> Mapping[str, float]:
        """True friction of each drive, by the parameter's name in a calibration."""

    @abstractmethod
    def motion(self, t: Array) -> Motion:
        """Coordinates of the machine (as many as drives), their velocities and
        accelerations, shape (N, n) each.
        """

    @abstractmethod
    def along(
        self, motion: Motion, friction: Mapping[str, float]
    ) -> tuple[Array, Array, Array, Array]:
        """Torques, positions, velocities and accelerations of the drives, shape (N, n) each;
        `friction` replaces true values.
        """

    @abstractmethod
    def with_link(self, which: int, part: float) -> Self:
        """Return the machine with one of its `links` inertial parameters changed by a
        part of its typical size.
        """

    def forces(
        self, t: Array, friction: Mapping[str, float] = AS_IT_IS
    ) -> tuple[Array, Array, Array, Array]:
        """See `along`: at times of the machine's own motion."""
        return self.along(self.motion(t), friction)

    @property
    def frictionless(self) -> Mapping[str, float]:
        """Friction for `forces` that leaves the drives without friction."""
        return {key: 0.0 for key in self.friction if key != "stribeck_velocity"}

    @property
    def times(self) -> Array:
        """Times of the samples, shape (N,) [s]."""
        return (
            np.arange(round(self.conditions.seconds * self.conditions.rate)) / self.conditions.rate
        )

    def recorded(self) -> Run:
        """Log of the motion with noise."""
        t, rng = self.times, np.random.default_rng([self.seed, 7])
        tau, q, *_ = self.forces(t)
        q = q + self.conditions.position_noise * rng.standard_normal(q.shape)
        tau = tau + self.conditions.noise * rng.standard_normal(tau.shape)
        return Run(
            Path("log"),
            {"start": "2026-01-01T00:00:00+00:00"},
            self.arm,
            (),
            self.mechanism.names,
            t,
            np.zeros(len(t), dtype=int),
            {"q": q, "tau": tau},
            f"{self}",
        )
