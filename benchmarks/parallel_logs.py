"""Logs of the planar 3-PRR, computed by independent equations; the masses of the model may be wrong."""

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from benchmarks.three_prr import Slider, ThreePRR
from stribeck.ident.arm.arm_file import ArmFile, PassiveTable, load_arm
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.log.run import Run
from stribeck.ident.model.mechanism import Mechanism
from stribeck.ident.model.regressor import with_bodies

NOISE = 0.1             # N; standard deviation of the force signal


@dataclass(frozen=True)
class WrongMachine:
    """The planar 3-PRR; its true masses may differ from the model.

    Attributes
    ----------
    seed : int
        Seed of masses and noise.
    part : float
        Largest relative difference of masses and moments of inertia from the model.
    pin : float
        Friction coefficient times radius of the three lower pins [m].
    seconds : float
        Length of the motion [s].
    rate : float
        Sampling rate [Hz].
    links : ThreePRR, optional
        The true machine; default: drawn by the seed.
    """

    seed: int
    part: float = 0.3
    pin: float = 0.0
    seconds: float = 4.0
    rate: float = 1000.0
    links: ThreePRR | None = None

    @cached_property
    def arm(self) -> ArmFile:
        """Arm file of the built-in machine; pin friction is identified if the true pins have friction."""
        arm = load_arm("planar-3-prr")
        pins = PassiveTable(("link1", "link2", "link3"), "radial")
        return replace(arm, passive={"pins": pins} if self.pin else {}, simulation={})

    @cached_property
    def truth(self) -> ThreePRR:
        """The true machine."""
        if self.links is not None:
            return self.links
        rng, model = np.random.default_rng(self.seed), ThreePRR()
        off = 1.0 + self.part * rng.uniform(-1.0, 1.0, 9)
        return replace(model, sliders=model.sliders * off[:3], links=model.links * off[3:6], platform=model.platform * off[6],
                       platform_inertia=model.platform_inertia * off[6], platform_com=model.platform_com * off[7])

    @property
    def mechanism(self) -> Mechanism:
        """The model of the arm with the true link inertia."""
        model, truth = load_mechanism(self.arm), self.truth
        tree = model.link_tree
        mass, com, inertia = tree.mass.copy(), tree.com.copy(), tree.inertia.copy()
        for k in range(3):
            mass[tree.names.index(f"slider{k + 1}")] = truth.sliders[k]
            link = tree.names.index(f"link{k + 1}")
            inertia[link] *= truth.links[k] / mass[link]
            mass[link] = truth.links[k]
        platform = tree.names.index("platform.angle")
        mass[platform], inertia[platform, 2, 2] = truth.platform, truth.platform_inertia
        com[platform, :2] = truth.platform_com
        return with_bodies(model, mass, com, inertia)

    def forces(self, t: np.ndarray, friction: Slider) -> tuple[np.ndarray, ...]:
        """Forces of the drives along P2's motion, and positions, velocities and accelerations of the sliders, (N, 3) each."""
        w = np.pi * np.array([1.0, 2.0, 1.0])
        size, middle = np.array([0.05, 0.02, 0.10]), np.array([0.0, 0.28, 0.0])
        turn, zero = w * t[:, None], np.zeros((1, 3))
        force, x, dx, ddx = self.truth.forces(middle + size * np.sin(turn), size * w * np.cos(turn), -size * w**2 * np.sin(turn),
                                              friction)
        return force, x - self.truth.forces(middle[None], zero, zero, friction)[1], dx, ddx

    def recorded(self) -> Run:
        """Log of P2's motion, driven twice, with 1 um of encoder noise and 0.1 N of force noise."""
        t, rng = np.arange(round(self.seconds * self.rate)) / self.rate, np.random.default_rng([self.seed, 7])
        force, q, *_ = self.forces(t, Slider(pin=self.pin))
        q = q + 1e-6 * rng.standard_normal(q.shape)
        tau = force + NOISE * rng.standard_normal(force.shape)
        names = ("slider1", "slider2", "slider3")
        return Run(Path("log"), {"start": "2026-01-01T00:00:00+00:00"}, self.arm, (), names, t, np.zeros(len(t), dtype=int),
                   {"q": q, "tau": tau}, f"{self}")
