"""Arms with wrong models in closed loops: MuJoCo moves the true arm, and sampled PD
controllers get noisy positions.
"""

from dataclasses import dataclass
from pathlib import Path

import mujoco
import numpy as np

from benchmarks.inertia_logs import RATE, WrongModel
from benchmarks.loop_simulation import below
from stribeck.ident.arm.arm_file import ArmFile
from stribeck.ident.arm.arm_tables import DriverTable, JointTable, Tool, Workspace
from stribeck.ident.log.run import Run
from stribeck.ident.model.dynamics import inverse_dynamics, mass_matrix
from stribeck.ident.model.files.to_mujoco import compile_mechanism

_STEPS = 8  # physics steps in one sample period
# armature, viscous friction and torque offset per Coulomb friction
_ROTOR, _VISCOUS, _OFFSET = 0.1, 0.6, 0.05
_DAMPING = 0.7
_QUICK = 20.0  # Hz; upper limit of the frequency of the unknown torque


@dataclass(frozen=True)
class ArmLoop:
    """An arm with a wrong model, its controllers and their disturbances.

    Attributes
    ----------
    case : WrongModel
        The arm, and noise of its torques.
    bandwidth : float
        Angular frequency of the controllers [rad/s]. Stiffness is its square times the inertia that
        a joint moves while the other joints are free.
    encoder, jitter : float
        Step of the positions, and deviation of their white noise [rad].
    push : float
        Standard deviation of the unknown torque below 20 Hz on each joint, as a
        fraction of Coulomb friction.
    seconds : float
        Length of the log [s].
    """

    case: WrongModel
    bandwidth: float = 40.0
    encoder: float = 1e-5
    jitter: float = 0.0
    push: float = 0.0
    seconds: float = 40.0

    def recorded(self) -> Run:
        """A log with position references; the controllers hold gravity by the arm's wrong model."""
        case, coulomb, rng = (
            self.case,
            self.case.coulomb,
            np.random.default_rng([self.case.seed, 13]),
        )
        t, told, told_speed, _ = case.motion(case.seed, self.seconds)
        n, samples = told.shape[1], len(t)
        moved = np.linalg.inv(mass_matrix(case.model, told[::100]) + np.diag(_ROTOR * coulomb))
        stiffness = self.bandwidth**2 / np.median(np.diagonal(moved, axis1=1, axis2=2), axis=0)
        damping = 2.0 * _DAMPING / self.bandwidth * stiffness
        ahead = inverse_dynamics(case.model, told, np.zeros_like(told), np.zeros_like(told))
        pushes = (
            self.push
            * coulomb
            * np.column_stack([below(_QUICK, samples, RATE, rng) for _ in range(n)])
        )
        noise = self.jitter * rng.standard_normal(told.shape)
        model = self._physics()
        data = mujoco.MjData(model)
        data.qpos[:], data.qvel[:] = told[0], told_speed[0]
        before, q, torques = (
            told[0] - told_speed[0] / RATE,
            np.empty_like(told),
            np.empty_like(told),
        )
        for k in range(samples):
            q[k] = np.round((data.qpos + noise[k]) / self.encoder) * self.encoder
            torques[k] = (
                ahead[k]
                + stiffness * (told[k] - q[k])
                + damping * (told_speed[k] - (q[k] - before) * RATE)
            )
            before = q[k]
            data.qfrc_applied[:] = torques[k] - _OFFSET * coulomb + pushes[k]
            mujoco.mj_step(model, data, _STEPS)
        tau = 0.5 * (
            torques + np.vstack((torques[:1], torques[:-1]))
        ) + case.noise * coulomb * rng.standard_normal(q.shape)
        arm = ArmFile(
            Path(f"{case.arm}.toml"),
            case.arm,
            case.path,
            (0.0, 0.0, -9.81),
            "motor current",
            Tool(),
            Workspace(),
            DriverTable(),
            {name: JointTable() for name in case.model.names},
            {},
        )
        return Run(
            Path("log"),
            {"start": "2026-01-01T00:00:00+00:00"},
            arm,
            (),
            case.model.names,
            t,
            np.zeros(samples, dtype=int),
            {"q": q, "tau": tau, "q_cmd": told},
            str(self),
        )

    def _physics(self) -> mujoco.MjModel:
        """The true arm with rotors and friction."""
        model, coulomb = compile_mechanism(self.case.truth), self.case.coulomb
        model.opt.timestep, model.opt.integrator = (
            1.0 / RATE / _STEPS,
            mujoco.mjtIntegrator.mjINT_IMPLICITFAST,
        )
        model.dof_armature[:], model.dof_damping[:], model.dof_frictionloss[:] = (
            _ROTOR * coulomb,
            _VISCOUS * coulomb,
            coulomb,
        )
        mujoco.mj_setConst(model, mujoco.MjData(model))
        return model
