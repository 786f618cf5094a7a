"""The planar 3-PRR as a machine with wrong masses, by P2's equations."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from benchmarks.parallel_logs import Conditions, Motion, WrongMachine
from benchmarks.three_prr import Slider, ThreePRR
from stribeck.ident.arm.arm_file import ArmFile, load_arm
from stribeck.ident.arm.arm_tables import PassiveTable
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.fit.joint.options import Options
from stribeck.ident.model.mechanism import Mechanism
from stribeck.ident.model.regressor import with_bodies

Array = np.ndarray
_NAMES = {
    "coulomb_coefficient": "coulomb",
    "static_coefficient": "static",
    "stribeck_velocity": "velocity",
    "viscous": "viscous",
}
_OPTIONS = Options(law="tustin", load="normal", constant="none", motion="model", inertia="fit")
_MIDDLE = np.array([0.0, 0.28, 0.0])  # pose of the platform [m, m, rad]
_COM = 0.01 / 0.3  # m; typical size of the platform's centre of mass


@dataclass(frozen=True)
class WrongPRR(WrongMachine):
    """P2's machine on P2's motion, driven twice; its lower pins may have friction.

    Attributes
    ----------
    rate : float
        Sampling rate [Hz].
    truth : ThreePRR, optional
        The true machine; default: drawn by the seed.
    pin_viscous : float
        Viscous friction of the pins [N·m·s/rad].
    """

    rate: float = 1000.0
    truth: ThreePRR | None = None
    pin_viscous: float = 0.0

    @property
    def conditions(self) -> Conditions:
        """See `WrongMachine`."""
        return Conditions(4.0, self.rate, 0.1, 1e-6, 0.0025, _OPTIONS)

    @property
    def links(self) -> int:
        """See `WrongMachine`."""
        return 13

    @cached_property
    def arm(self) -> ArmFile:
        """Arm file of the built-in machine; pin friction is identified if
        the true pins have friction.
        """
        arm = load_arm("planar-3-prr")
        pins = PassiveTable(("link1", "link2", "link3"), "radial")
        return replace(arm, passive={"pins": pins} if self.pin else {}, simulation={})

    @cached_property
    def machine(self) -> ThreePRR:
        """The true machine."""
        if self.truth is not None:
            return self.truth
        rng, model = np.random.default_rng(self.seed), ThreePRR()
        off = 1.0 + self.part * rng.uniform(-1.0, 1.0, 9)
        return replace(
            model,
            sliders=model.sliders * off[:3],
            links=model.links * off[3:6],
            platform=model.platform * off[6],
            platform_inertia=model.platform_inertia * off[6],
            platform_com=model.platform_com * off[7],
        )

    @property
    def mechanism(self) -> Mechanism:
        """The model of the arm with the true link inertia."""
        model, truth = load_mechanism(self.arm), self.machine
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

    @property
    def friction(self) -> Mapping[str, float]:
        """See `WrongMachine`; friction is proportional to the normal force."""
        return {key: getattr(Slider(), name) for key, name in _NAMES.items()}

    def motion(self, t: Array) -> Motion:
        """See `WrongMachine`; coordinates are the pose of the platform."""
        w, size = np.pi * np.array([1.0, 2.0, 1.0]), np.array([0.05, 0.02, 0.10])
        turn = w * t[:, None]
        return _MIDDLE + size * np.sin(turn), size * w * np.cos(turn), -size * w**2 * np.sin(turn)

    def along(
        self, motion: Motion, friction: Mapping[str, float]
    ) -> tuple[Array, Array, Array, Array]:
        """See `WrongMachine`."""
        of_drives = {_NAMES[key]: value for key, value in friction.items()}
        slider = Slider(pin=self.pin, pin_viscous=self.pin_viscous, **of_drives)
        zero = np.zeros((1, 3))
        tau, x, dx, ddx = self.machine.forces(*motion, slider)
        return tau, x - self.machine.forces(_MIDDLE[None], zero, zero, slider)[1], dx, ddx

    def with_link(self, which: int, part: float) -> "WrongPRR":
        """See `WrongMachine`."""
        return replace(self, truth=_changed(self.machine, which, part))


def _changed(machine: ThreePRR, which: int, part: float) -> ThreePRR:
    for key in ("sliders", "links", "middles"):
        if which < 3:
            return replace(
                machine, **{key: getattr(machine, key) * (1.0 + part * np.eye(3)[which])}
            )
        which -= 3
    if which < 2:
        key = ("platform", "platform_inertia")[which]
        return replace(machine, **{key: getattr(machine, key) * (1.0 + part)})
    return replace(machine, platform_com=machine.platform_com + part * _COM * np.eye(2)[which - 2])
