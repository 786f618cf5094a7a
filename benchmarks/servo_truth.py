"""Logs of a pendulum that a servo moves, integrated by SciPy; independent of
stribeck's simulation and model.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from scipy.integrate import solve_ivp

from benchmarks.real_logs import as_run
from stribeck.ident.arm.arm_tables import Tool
from stribeck.ident.log.run import Run

G = 9.81
STEP = 2.0 * np.pi / 4096.0  # of the encoder
RATE = 200.0
FRICTION = {
    "torque_per_gain": 0.002,
    "back_emf": 0.03,
    "servo_delay": 0.006,
    "coulomb": 0.02,
    "viscous": 0.008,
    "coulomb_coefficient": 0.15,
    "inertia": 0.0015,
    "offset": 0.005,
}
_SMOOTH = 3e-4  # rad/s; friction is smooth below this speed
_LOOPS = 12  # friction grows with a torque that depends on it


@dataclass(frozen=True)
class ServoPendulum:
    """A point mass that hangs at q = 0, and the servo on its axis; without
    gravity, its axis is vertical.
    """

    mass: float = 0.5
    length: float = 0.1
    truth: Mapping[str, float] = field(default_factory=lambda: FRICTION)
    seconds: float = 4.5
    gravity: float = G

    def urdf(self, folder: Path) -> Path:
        """Write the model."""
        path = folder / "pendulum.urdf"
        path.write_text(
            '<robot name="pendulum"><link name="base"/><link name="arm"><inertial><origin xyz="0 '
            f'0 {-self.length}"/><mass value="{self.mass}"/><inertia ixx="1e-6" iyy="1e-6" '
            'izz="1e-6" ixy="0" ixz="0" iyz="0"/></inertial></link><joint name="hinge" '
            'type="continuous"><parent link="base"/><child link="arm"/><axis xyz="0 1 '
            '0"/></joint></robot>'
        )
        return path

    def moved(self, gain: float, drops: bool, seed: int, mass: float) -> tuple[np.ndarray, ...]:
        """Times, positions by the encoder and set-points (nan after the power is switched off)."""
        rng, own = np.random.default_rng([int(gain), int(drops), seed]), self.truth
        w, phase = rng.uniform(0.7, 2.2, 2), rng.uniform(0.0, 2.0 * np.pi, 2)
        off, links = (2.0 / 3.0 * self.seconds if drops else np.inf), mass * self.length**2

        def wanted(t: float) -> float:
            begins = 1.0 - np.exp(-((max(t, 0.0) / 0.3) ** 3))
            return float(
                begins * (0.9 * np.sin(w[0] * t + phase[0]) + 0.6 * np.sin(w[1] * t + phase[1]))
            )

        def moves(t: float, state: np.ndarray) -> list[float]:
            q, v = state
            motor = (
                own["torque_per_gain"] * gain * (wanted(t - own["servo_delay"]) - q)
                - own["back_emf"] * v
                if t < off
                else 0.0
            )
            weight, sign, a = (
                mass * self.gravity * self.length * np.sin(q),
                np.tanh(v / _SMOOTH),
                0.0,
            )
            for _ in range(_LOOPS):
                rubs = (
                    own["coulomb"] + own["coulomb_coefficient"] * abs(links * a + weight)
                ) * sign + own["viscous"] * v
                a = (motor - own["offset"] - weight - rubs) / (links + own["inertia"])
            return [v, a]

        t = np.arange(round(self.seconds * RATE)) / RATE
        q = solve_ivp(
            moves, (0.0, t[-1]), [0.0, 0.0], "LSODA", t, rtol=1e-7, atol=1e-9, max_step=0.01
        ).y[0]
        return (
            t,
            np.round(q / STEP) * STEP,
            np.array([wanted(one) if one < off else np.nan for one in t]),
        )

    def run(
        self, folder: Path, gain: float, drops: bool, seed: int = 0, further: float = 0.0
    ) -> Run:
        """Log of a motion, with a `further` mass on the link [kg]."""
        t, q, told = self.moved(gain, drops, seed, self.mass + further)
        signal = np.where(np.isfinite(told), gain * (told - q), 0.0)
        made = as_run(self.urdf(folder), t, q[:, None], signal[:, None], told[:, None])
        label = f"{gain:g}-{drops}-{seed}-{further:g}"
        record = {
            **made.record,
            "import": {"torque_signal": "position error", "servo_gains": {"hinge": gain}},
        }
        return replace(
            made,
            path=Path(label),
            record=record,
            sha256=label,
            arm=replace(made.arm, tool=Tool(further, (0.0, 0.0, -self.length))),
        )
