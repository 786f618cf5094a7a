"""Logs of arms with wrong models: Pinocchio computes the torques of the true
arm along a sum of sines.
"""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from benchmarks.arms import ARMS
from stribeck.ident.arm.arm_file import ArmFile
from stribeck.ident.arm.arm_tables import DriverTable, JointTable, Tool, Workspace
from stribeck.ident.arm.built_in import data_dir
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.log.run import Run
from stribeck.ident.model.mechanism import Mechanism

PUBLIC = ("ur5", "kinova-j2s6s200", "xarm7")  # names from the benchmark `arms`
RATE, FASTEST = 250.0, 1.3  # Hz, rad/s
HERTZ = np.array([0.11, 0.27, 0.43, 0.71])


@dataclass(frozen=True)
class WrongModel:
    """An arm with a wrong model.

    Attributes
    ----------
    arm : str
        "lab6", or one of `PUBLIC`.
    seed : int
        Seed of masses, noise and motion.
    part : float
        Largest relative error of masses, centres of mass and inertias of the model.
    load : str
        Kind of load with which friction grows: "torque" or "bending".
    growth : float
        Friction per load.
    noise : float
        Torque noise as a fraction of Coulomb friction.
    """

    arm: str
    seed: int
    part: float = 0.3
    load: str = "torque"
    growth: float = 0.1
    noise: float = 0.05

    @property
    def path(self) -> Path:
        """The model's file."""
        if self.arm == "lab6":
            return data_dir() / "arms" / "lab6" / "lab6.urdf"
        found = ARMS[self.arm].path
        assert found is not None, "install the package example-robot-data, which has the URDFs"
        return found

    @property
    def model(self) -> Mechanism:
        """Mechanism of the model file."""
        return load_mechanism(self.path, gravity=(0.0, 0.0, -9.81))

    @property
    def truth(self) -> Mechanism:
        """Mechanism of the true arm."""
        rng, model = np.random.default_rng(self.seed), self.model
        masses = 1.0 + self.part * rng.uniform(-1.0, 1.0, model.n)
        return replace(
            model,
            mass=model.mass * masses,
            com=model.com * (1.0 + self.part * rng.uniform(-1.0, 1.0, (model.n, 1))),
            inertia=model.inertia * masses[:, None, None],
        )

    @property
    def coulomb(self) -> np.ndarray:
        """Coulomb friction of each joint: a twentieth of the greatest gravity torque of the
        model's links, at least 0.3 N·m.
        """
        model = self.model
        reach = [
            sum(model.mass[k] * (np.linalg.norm(model.com[k]) + 0.1) for k in range(j, model.n))
            for j in range(model.n)
        ]
        return np.maximum(0.3, 9.81 / 20.0 * np.array(reach))

    def motion(self, seed: int, seconds: float) -> tuple[np.ndarray, ...]:
        """Time, positions, velocities and accelerations."""
        rng, n = np.random.default_rng(seed), self.model.n
        t = np.arange(round(seconds * RATE)) / RATE
        w = 2.0 * np.pi * HERTZ * rng.uniform(0.9, 1.1, (n, len(HERTZ)))
        a, phase = rng.uniform(0.6, 1.0, w.shape) / w, rng.uniform(0.0, 2.0 * np.pi, w.shape)
        a *= FASTEST / np.sum(a * w, axis=1, keepdims=True)
        turn = w * t[:, None, None] + phase
        return (
            t,
            *(
                np.sum(part, axis=-1)
                for part in (a * np.sin(turn), a * w * np.cos(turn), -a * w**2 * np.sin(turn))
            ),
        )

    def recorded(
        self, seconds: float = 40.0, seed: int | None = None, model: Path | None = None
    ) -> Run:
        """Make a log of the true arm; its arm file has the wrong model or another given model."""
        import pinocchio as pin

        from tests.judges import Pinocchio

        seed = self.seed if seed is None else seed
        truth, rng = self.truth, np.random.default_rng([seed, 7])
        judge, coulomb = Pinocchio(pin, truth), self.coulomb
        t, q, dq, ddq = self.motion(seed, seconds)
        found = [judge(*row) for row in zip(q, dq, ddq, strict=True)]
        rigid, moment = np.array([one[0] for one in found]), np.array([one[2] for one in found])
        load = np.abs(rigid) if self.load == "torque" else self._bending(moment, q)
        tau = (
            rigid
            + 0.1 * coulomb * ddq
            + (coulomb + self.growth * load) * np.sign(dq)
            + 0.6 * coulomb * dq
            + 0.05 * coulomb
        )
        tau += self.noise * coulomb * rng.standard_normal(tau.shape)
        arm = ArmFile(
            Path(f"{self.arm}.toml"),
            self.arm,
            model or self.path,
            (0.0, 0.0, -9.81),
            "motor current",
            Tool(),
            Workspace(),
            DriverTable(),
            {name: JointTable() for name in truth.names},
            {},
        )
        return Run(
            Path("log"),
            {"start": "2026-01-01T00:00:00+00:00"},
            arm,
            (),
            truth.names,
            t,
            np.zeros(len(t), dtype=int),
            {"q": np.round(q / 1e-5) * 1e-5, "tau": tau},
            f"{self} {seed} {seconds}",
        )

    def _bending(self, moment: np.ndarray, q: np.ndarray) -> np.ndarray:
        """Moments normal to the joint axes, from moments in base axes."""
        from stribeck.ident.model.dynamics import kinematics

        axis = kinematics(self.model, q).axis
        return np.asarray(
            np.linalg.norm(moment - axis * np.sum(moment * axis, axis=-1, keepdims=True), axis=-1)
        )
