"""The physics of the simulated arm, step by step: velocity loops, friction, MuJoCo.

Friction acts as MuJoCo's dry friction and damping. Their levels are set in every physics step from
the true law at the present speed and load. If the dry friction of a joint has a memory,
`friction_memory` gives its torque instead. The loads are MuJoCo's reaction forces, never the loads
of our model.
"""

from math import copysign, nan, sin

import mujoco
import numpy as np

from stribeck.drivers.arm import Array, Command
from stribeck.drivers.simulation.friction_memory import Memories
from stribeck.drivers.simulation.physics_model import Axes, PhysicsModel
from stribeck.drivers.simulation.reaction_loads import ReactionLoads
from stribeck.drivers.simulation.simulated_drive import Friction, StiffLoop, VelocityLoop
from stribeck.drivers.simulation.velocity_loop_tuning import Tuning
from stribeck.ident.arm.arm_file import Limits

# torques and inertias of memories; None if no joint has a memory
Bristled = tuple[list[float], list[float]] | None
_MOVING = 1e-4  # rad/s of set-point from which a joint has a direction


class PhysicsLoop:
    """Runs the physics forward, cycle by cycle. Its steps run a thousand times a second or more,
    so the code avoids copies.

    Parameters
    ----------
    physics : PhysicsModel
        The arm; the loop sets its time step.
    data : mujoco.MjData
        State of the arm, at rest.
    tuning : Tuning
        Gains of the velocity loops, and whether the loops are stiff.
    rate : float
        Cycles per second.
    substeps : int
        Physics steps per cycle.
    limits : Limits
        Torque and acceleration limits of the drives.
    rng : numpy Generator
        Generator of ripple phases and of the scatter between strokes.

    Attributes
    ----------
    loops : list of VelocityLoop
        Velocity loops of the drives.
    loads : ReactionLoads
        Computes the true loads of a state.
    """

    def __init__(
        self,
        physics: PhysicsModel,
        data: "mujoco.MjData",
        tuning: Tuning,
        rate: float,
        substeps: int,
        limits: Limits,
        rng: np.random.Generator,
    ) -> None:
        model, truth, n = physics.model, physics.truth, len(physics.names)
        self._model, self._data, self._drives, self._truth, self._rng = (
            model,
            data,
            physics.axes.drives,
            truth,
            rng,
        )
        self._substeps = substeps
        dt = 1.0 / (rate * substeps)
        model.opt.timestep = dt
        model.dof_solref[:] = [2.0 * dt, 1.0]
        model.eq_solref[:] = [2.0 * dt, 1.0]
        self.loads = ReactionLoads(model, truth.joints, physics.axes)
        bandwidth, load = 2.0 * np.pi * truth.column("bandwidth"), physics.held(data)
        most = (
            np.where(np.isnan(limit), np.inf, limit)
            for limit in (limits.torque, limits.acceleration * dt)
        )
        rows = np.transpose((tuning.kp, tuning.kp * bandwidth / 4.0 * dt, *most, load))
        self._stiff_loops: list[StiffLoop] = []
        self._rotors = model.dof_armature[self._drives].copy()
        # MuJoCo's friction must see joint and loop together, or a sticking joint creeps
        if tuning.stiff:
            yielding = 1.0 / (1.0 + dt * tuning.kp * model.dof_invweight0[self._drives])
            model.dof_invweight0[self._drives] *= yielding
            self._stiff_loops = [StiffLoop(*row) for row in rows.tolist()]
            for loop, part in zip(self._stiff_loops, yielding.tolist(), strict=True):
                loop.dt, loop.yielding = dt, part
        self.loops: list[VelocityLoop] = [*self._stiff_loops] or [
            VelocityLoop(*row) for row in rows.tolist()
        ]
        phases = rng.uniform(0.0, 2.0 * np.pi, n).tolist()
        self._frictions = [
            Friction(joint, phase if joint.ripple_phase is None else joint.ripple_phase, dt)
            for joint, phase in zip(truth.joints, phases, strict=True)
        ]
        self._cogged = [
            (j, joint.cogging, joint.cogging_order, joint.cogging_phase)
            for j, joint in enumerate(truth.joints)
            if joint.cogging
        ]
        self._memories = Memories(truth.joints, dt)
        self._none = [0.0] * n
        frictions = physics.motors.frictions(truth, dt)
        self._motors = list(
            zip(physics.motors.tendons, physics.motors.ratios, frictions, strict=True)
        )
        model.tendon_solref_fri[physics.motors.tendons] = [2.0 * dt, 1.0]
        model.tendon_solref_fri[physics.link_tendons] = [2.0 * dt, 1.0]
        self._gaps = physics.gaps
        self._passive = physics.passive
        self._passive_frictions = [Friction(joint, 0.0, dt) for joint in truth.passive.values()]
        self._passive_loads = ReactionLoads(
            model, tuple(truth.passive.values()), Axes.rigid(physics.passive)
        )
        self._direction = [0.0] * n
        self._delay = np.rint(truth.column("torque_delay") / dt).astype(int)
        self._late = bool(self._delay.any())
        self._history = np.tile(load, (int(self._delay.max()) + 1, 1))
        self._joints = np.arange(n)
        self._ticks = 0
        mujoco.mj_rnePostConstraint(model, data)
        self._load, self._transmitted = self.loads(data)
        self._passive_load = self._passive_loads(data)

    def take_torques(self, command: Command) -> None:
        """Set the torques of joints in torque mode; the command is in units of the
        drive's own torque reading.
        """
        if command.mode is None or command.torque is None:
            for loop in self.loops:
                loop.told = None
            return
        told = (command.torque - self._truth.column("offset")) / self._truth.column("torque_scale")
        for loop, mode, torque in zip(self.loops, command.mode, told.tolist(), strict=True):
            loop.told = torque if mode == "torque" else None

    def begin_strokes(self, velocity: Array) -> None:
        """Draw a new friction level for each joint that reverses."""
        before = self._direction
        self._direction = [
            was if abs(target) < _MOVING else copysign(1.0, target)
            for was, target in zip(before, velocity.tolist(), strict=True)
        ]
        if self._direction != before:
            fresh = np.maximum(
                0.0,
                1.0
                + self._truth.column("stroke_scatter") * self._rng.standard_normal(len(self.loops)),
            )
            for friction, was, now, level in zip(
                self._frictions, before, self._direction, fresh.tolist(), strict=True
            ):
                if now != was:
                    friction.stroke = level

    def advance(self, velocity: Array) -> None:
        """Run one cycle of the physics under a velocity set-point."""
        model, data, drives = self._model, self._data, self._drives
        frictions, history, targets = self._frictions, self._history, velocity.tolist()
        motors, passive, step = (
            self._motors,
            self._passive_frictions,
            self._stiff_step if self._stiff_loops else self._step,
        )
        q, dq, dry = data.qpos, data.qvel, model.dof_frictionloss
        model.dof_damping[drives] = [
            friction.settle(data.time, *here)
            for friction, *here in zip(
                frictions,
                q[drives].tolist(),
                dq[drives].tolist(),
                self._load,
                self._transmitted,
                strict=True,
            )
        ]
        for tendon, ratios, own in motors:
            model.tendon_damping[tendon] = own.settle(
                data.time, ratios @ q[drives], ratios @ dq[drives], 0.0, 0.0
            )
        if passive:
            model.dof_damping[self._passive] = [
                friction.settle(data.time, *here)
                for friction, *here in zip(
                    passive,
                    q[self._passive].tolist(),
                    dq[self._passive].tolist(),
                    *self._passive_load,
                    strict=True,
                )
            ]
        for _ in range(self._substeps):
            if passive:
                dry[self._passive] = [
                    friction.dry(speed)
                    for friction, speed in zip(passive, dq[self._passive].tolist(), strict=True)
                ]
            for tendon, ratios, own in motors:
                model.tendon_frictionloss[tendon] = own.dry(float(ratios @ dq[drives]))
            speeds = dq[drives].tolist()
            levels = [
                friction.dry(speed) for friction, speed in zip(frictions, speeds, strict=True)
            ]
            bristles = self._memories.push(levels, speeds) if self._memories else None
            dry[drives] = levels
            torque = step(targets, speeds, bristles)
            self._ticks += 1
            if self._late:
                history[self._ticks % len(history)] = torque
        if not self._late:
            history[0] = torque
        mujoco.mj_rnePostConstraint(model, data)
        self._load, self._transmitted = self.loads(data)
        if passive:
            self._passive_load = self._passive_loads(data)

    def _step(self, targets: list[float], speeds: list[float], bristles: Bristled) -> list[float]:
        """Run one step of the physics and return the drives' torques."""
        torque = [
            loop.torque(target, speed)
            for loop, target, speed in zip(self.loops, targets, speeds, strict=True)
        ]
        self._push(torque, self._none, bristles)
        return torque

    def _stiff_step(
        self, targets: list[float], speeds: list[float], bristles: Bristled
    ) -> list[float]:
        """Run one step of the physics with stiff loops, which use the
        velocities at the end of the step.
        """
        loops = self._stiff_loops
        asked = [
            loop.push(target, speed)
            for loop, target, speed in zip(loops, targets, speeds, strict=True)
        ]
        self._push([push for push, _ in asked], [inertia for _, inertia in asked], bristles)
        return [
            loop.settle(*wanted, *speed)
            for loop, wanted, *speed in zip(
                loops, asked, speeds, self._data.qvel[self._drives].tolist(), strict=True
            )
        ]

    def _push(self, torque: list[float], inertia: list[float], bristles: Bristled) -> None:
        """Run one step of the physics under these torques, with additional inertias,
        against friction with a memory.
        """
        data, drives = self._data, self._drives
        if self._cogged:
            torque = self._less_cogging(torque)
        if bristles is not None:
            torque = [push - held for push, held in zip(torque, bristles[0], strict=True)]
            inertia = [one + other for one, other in zip(inertia, bristles[1], strict=True)]
        if self._gaps:
            self._gaps.touch(self._model, data)
        data.qfrc_applied[drives] = torque
        if inertia is not self._none:
            self._model.dof_armature[drives] = self._rotors + inertia
        mujoco.mj_step(self._model, data)
        if bristles is not None:
            self._memories.settle(data.qvel[drives].tolist())

    def _less_cogging(self, torque: list[float]) -> list[float]:
        """Return the drives' torques without what cogging takes at the present positions [N·m]."""
        left, q = list(torque), self._data.qpos[self._drives]
        for j, amplitude, order, phase in self._cogged:
            left[j] -= amplitude * sin(order * q[j] + phase)
        return left

    def wait(self, duration: float) -> None:
        """Let time pass at rest without physics steps [s]; warm-up and growth of
        friction at rest continue.
        """
        self._data.time += duration
        for friction in (
            *self._frictions,
            *(own for _, _, own in self._motors),
            *self._passive_frictions,
        ):
            friction.wait(duration)

    def reported_torque(self) -> Array:
        """Return the torque of each drive, shape (n,), at the time that its reading shows now,
        `torque_delay` ago [N·m].
        """
        if not self._late:
            return self._history[0].copy()
        return self._history[(self._ticks - self._delay) % len(self._history), self._joints]

    def memory_torque(self) -> Array:
        """Return the present dry friction of each joint with a memory, shape (n,)
        [N·m]; nan for other joints.
        """
        return np.array(self._memories.torque())

    def temperature(self) -> Array:
        """Return the temperature of each joint that friction heats, shape (n,)
        [°C]; nan for other joints.
        """
        return np.array(
            [
                nan if friction.body is None else friction.body.temperature
                for friction in self._frictions
            ]
        )
