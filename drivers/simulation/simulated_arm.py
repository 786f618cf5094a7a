"""The simulated arm: MuJoCo physics with joint friction, a velocity loop and an imperfect drive.

Friction acts as MuJoCo's own dry friction and damping, whose levels are set in every physics step from the
truth's law at the present speed and load; the loads are MuJoCo's reaction forces, never our model's.

An elastic joint is two coaxial joints of one body: the drive, which has rotor inertia, friction, velocity loop
and encoder, and behind it the spring's deflection, which has its stiffness and damping. With the drive at th and
the link at q these are Spong's equations, B ddth + tau_f + K (th - q) + D (dth - dq) = u with the spring's torque
driving the link (Spong, J. Dyn. Syst. Meas. Control 109 (1987) 310; joint flexibility of P3). A flexible link
(`flexible_links`) is a chain of pieces on elastic hinges, springs without drives.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from math import copysign, sqrt
from types import TracebackType
from typing import Self

import mujoco
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import eigh

from stribeck.drivers.arm import Array, Command, JointSample, Resolution, command_fault
from stribeck.drivers.errors import ArmStopped, DriverError
from stribeck.drivers.simulation.flexible_links import Beam, make_flexible
from stribeck.drivers.simulation.simulated_drive import STANDSTILL, Friction, VelocityLoop
from stribeck.drivers.simulation.truth import Truth, armature, read_truth
from stribeck.ident.arm.arm_file import ArmFile, check_against_model
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.errors import InputError
from stribeck.ident.model.files.urdf_mjcf import add_point_mass, hold_followers, last_link, model_spec

_log = logging.getLogger(__name__)
_PHYSICS_RATE = 1000.0     # Hz; friction and velocity loop are computed at this rate,
_FINEST_RATE = 20000.0     # Hz; or faster where springs ask for it, up to this
_SPRING_ANGLE = 0.2        # rad of its swing that a spring may take in a step: its frequency is then right within 0.2 %
_HIGHEST_ANGLE = 1.0       # rad; the same for what the hinges of a beam swing beyond its first mode: stable, 4 % off
_LOOP_STEP = 0.5           # part of a velocity error that the loop may take away in a step, where a spring bares the rotor
_SETTLING = 200            # rounds in which the springs must find their rest under gravity
_NOISE_BLOCK = 4096        # cycles of noise drawn at once
_MOVING = 1e-4             # rad/s of set-point from which a joint has a direction


class SimulatedArm:
    """An arm in MuJoCo behind the `Arm` interface.

    Parameters
    ----------
    arm : ArmFile
        Model, limits, rotor inertias and the ``[simulation]`` table.
    seed : int, optional
        Overrides the seed of the table.

    Raises
    ------
    InputError
        If the truth or a limit that motion needs is missing or impossible.
    """

    modes = frozenset({"velocity", "torque"})

    def __init__(self, arm: ArmFile, seed: int | None = None) -> None:
        mechanism = load_mechanism(arm)
        check_against_model(arm, mechanism)
        _refuse_drive_side(arm)
        self.names = mechanism.names
        self.rate = arm.driver.rate
        self.limits = arm.limits(mechanism)
        self.truth = read_truth(arm, self.names)
        self.resolution = Resolution(np.zeros(mechanism.n), self.truth.column("encoder_step"),
                                     self.truth.column("torque_step"))
        self._rng = np.random.default_rng(self.truth.seed if seed is None else seed)
        self._model, self._beams = _compile(arm, self.names, self.truth)
        self._axes = _axes(self._model, self.names, self.truth, self._beams)
        self._data = mujoco.MjData(self._model)
        self._stand(self._data, arm.home(mechanism))
        self._kp, fastest = self._tune(arm)
        self._substeps = max(1, round(_PHYSICS_RATE / self.rate), int(np.ceil(fastest / self.rate)))
        self._dt = 1.0 / (self.rate * self._substeps)
        self._model.opt.timestep = self._dt
        self._model.dof_solref[:] = [2.0 * self._dt, 1.0]
        self._loads = ReactionLoads(self._model, self.truth, self._axes)
        self._reason: str | None = "it has not been enabled"
        self._prepare_loop()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.stop("disconnected")

    def enable(self) -> None:
        """Release the brakes at rest."""
        for loop in self._loops:
            loop.setpoint = 0.0
        self._reason = None

    def step(self, command: Command) -> JointSample:
        """One cycle of the arm's own clock under a new set-point."""
        if self._reason is not None:
            raise ArmStopped(f"the arm takes no commands: {self._reason}; enable it first")
        fault = command_fault(command, self.names, self.modes)
        if fault is not None:
            self.stop(fault)
            raise DriverError(f"{fault}; the arm was stopped")
        self._take_torques(command)
        self._begin_strokes(command.velocity)
        self._advance(command.velocity)
        return self._measure()

    def hand_over(self, joint: int) -> None:
        """A joint in torque mode goes on in velocity mode from its torque, without a jump, as when a brake closes."""
        loop = self._loops[joint]
        loop.integral = loop.integral if loop.told is None else loop.told

    def allow(self, torque: Sequence[float]) -> None:
        """The torque that each drive may give from now on, as far as it can [N·m or N]."""
        for loop, most, peak in zip(self._loops, torque, self.limits.torque.tolist(), strict=True):
            loop.torque_limit = most if not most > peak else peak

    def _take_torques(self, command: Command) -> None:
        """Of the joints in torque mode: the drive gives what its own reading calls by that number."""
        if command.mode is None or command.torque is None:
            modes, told = ("velocity",) * len(self.names), np.zeros(len(self.names))
        else:
            modes, told = command.mode, (command.torque - self.truth.column("offset")) / self.truth.column("torque_scale")
        for loop, mode, torque in zip(self._loops, modes, told.tolist(), strict=True):
            loop.told = torque if mode == "torque" else None

    def stop(self, reason: str) -> None:
        """Decelerate at the acceleration limits and hold with the brakes."""
        if self._reason is not None:
            return
        for loop in self._loops:
            loop.told = None
        for _ in range(int(5.0 * self.rate)):
            self._advance(np.zeros(len(self.names)))
            if np.all(np.abs(self._data.qvel) < STANDSTILL):
                break
        self._data.qvel[:] = 0.0
        self._reason = reason

    def friction(self, q: ArrayLike, dq: ArrayLike) -> Array:
        """True friction in the drive's torque units at given states, shape (N, n), for judging estimates.

        Without scatter, ripple and warm-up; loads are those of motion at constant speed.
        """
        q, dq = np.atleast_2d(np.asarray(q, dtype=float)), np.atleast_2d(np.asarray(dq, dtype=float))
        load, transmitted = self._weigh(q, dq)
        return np.asarray(self.truth.friction(dq, load, transmitted) * self.truth.column("torque_scale"))

    def loads(self, q: ArrayLike, dq: ArrayLike | None = None) -> Array:
        """True load of each joint at rest or at constant speeds, in the kind and bearing of its truth, shape (N, n)."""
        return self._weigh(q, dq)[0]

    def _weigh(self, q: ArrayLike, dq: ArrayLike | None = None) -> tuple[Array, Array]:
        """Loads, and signed transmitted torques, each shape (N, n)."""
        data = mujoco.MjData(self._model)
        out, q = [], np.atleast_2d(np.asarray(q, dtype=float))
        for posture, rate in zip(q, np.zeros_like(q) if dq is None else np.atleast_2d(dq), strict=True):
            data.qvel[:] = 0.0
            self._stand(data, posture)
            data.qvel[self._axes.drives] = rate
            mujoco.mj_fwdVelocity(self._model, data)
            data.qacc[:] = 0.0
            mujoco.mj_rnePostConstraint(self._model, data)
            out.append(self._loads(data))
        load, transmitted = np.array(out).swapaxes(0, 1)
        return load, transmitted

    def links(self) -> tuple[Array, Array]:
        """True position and velocity of the links at their joints, each shape (n,) [rad, rad/s]; of rigid joints as reported."""
        return self._axes.link(self._data.qpos), self._axes.link(self._data.qvel)

    def bending(self) -> Array:
        """How far the tip of each link is from where a rigid link would have it, shape (n, 3), in base axes [m]."""
        out = np.zeros((len(self.names), 3))
        if self._beams:
            mujoco.mj_kinematics(self._model, self._data)
        for joint, beam in self._beams.items():
            out[joint] = beam.bending(self._model, self._data)
        return out

    def _stand(self, data: "mujoco.MjData", q: Array) -> None:
        """Put the drives at q, shape (n,), at rest, and bend the springs as the links' weight does."""
        model, axes = self._model, self._axes
        data.qpos[axes.drives] = q
        for _ in range(_SETTLING):
            mujoco.mj_fwdPosition(model, data)
            mujoco.mj_fwdVelocity(model, data)
            missing = (data.qfrc_passive - data.qfrc_bias)[axes.springs] / model.jnt_stiffness[axes.springs]
            if np.all(np.abs(missing) < 1e-12):
                return
            data.qpos[axes.springs] += missing
        name, knob, value = self._knob(int(np.argmax(np.abs(missing))))
        raise InputError(f"{name} is too soft to carry the arm's weight at q = {np.round(q, 3).tolist()}; "
                         f"raise {knob} = {value:g}")

    def _tune(self, arm: ArmFile) -> tuple[Array, float]:
        """Gains of the velocity loop, shape (n,) [N·m·s/rad], and the physics rate that springs need [Hz].

        The gains are those of a rigid joint: a drive is tuned for the inertia of rotor and link together.
        """
        model, axes = self._model, self._axes
        mujoco.mj_forward(model, self._data)
        M = np.zeros((model.nv, model.nv))
        for column, unit in zip(M, np.eye(model.nv), strict=True):      # mj_fullM takes other arguments in every few versions
            mujoco.mj_mulM(model, self._data, column, unit)
        inertia = np.diag(M)[axes.drives]
        kp = 2.0 * np.pi * self.truth.column("bandwidth") * inertia
        if not len(axes.springs):
            return kp, 0.0
        model.dof_invweight0[axes.drives] = 1.0 / inertia       # else a rotor creeps more than a rigid joint where it sticks
        soft = np.unique(axes.owner)
        loop = (kp * np.diag(np.linalg.inv(M))[axes.drives])[soft] / _LOOP_STEP
        if loop.max() > _FINEST_RATE:
            joint = int(soft[np.argmax(loop)])
            raise InputError(f"{arm.path}: joints.{self.names[joint]}.rotor_inertia is too small beside the elastic link for a "
                             f"velocity loop of {self.truth.joints[joint].bandwidth:g} Hz; make it "
                             f"{loop.max() / _FINEST_RATE:.3g} times as large")
        squares, modes = eigh(np.diag(model.jnt_stiffness), M)          # the drives' own come first, at zero
        swings = np.sqrt(np.maximum(squares, 0.0))
        first = len(self.names) + axes.behind + 2 * len(self._beams)    # a beam bends about two axes
        rates = np.concatenate((swings[:first] / _SPRING_ANGLE, swings[first:] / _HIGHEST_ANGLE))
        fastest = int(np.argmax(rates))
        if rates[fastest] > _FINEST_RATE:
            stored = model.jnt_stiffness[axes.springs] * modes[axes.springs, fastest] ** 2
            name, knob, value = self._knob(int(np.argmax(stored)))
            raise InputError(f"{arm.path}: {knob} = {value:g}: {name} would swing at {swings[fastest] / 2.0 / np.pi:.0f} Hz; "
                             f"physics at {_FINEST_RATE:g} Hz follows it up to about "
                             f"{value * (_FINEST_RATE / rates[fastest]) ** 2:.2g}. Fewer segments swing slower; without the "
                             "key it is rigid")
        return kp, max(float(rates[fastest]), float(loop.max()))

    def _knob(self, spring: int) -> tuple[str, str, float]:
        """What a spring belongs to, and the key and value that say how stiff it is."""
        name, joint = self.names[self._axes.owner[spring]], self.truth.joints[self._axes.owner[spring]]
        if spring < self._axes.behind:
            return f"the joint {name}", f"simulation.joints.{name}.stiffness", float(joint.stiffness or 0.0)
        stiffness = joint.flexible_link.bending_stiffness if joint.flexible_link else 0.0
        return f"the link of {name}", f"simulation.joints.{name}.flexible_link.bending_stiffness", stiffness

    # one physics loop: everything below runs a thousand times a second

    def _prepare_loop(self) -> None:
        n, truth, data = len(self.names), self.truth, self._data
        bandwidth, load = 2.0 * np.pi * truth.column("bandwidth"), data.qfrc_bias[self._axes.drives]
        limits = (np.where(np.isnan(limit), np.inf, limit) for limit in (self.limits.torque, self.limits.acceleration * self._dt))
        self._loops = [VelocityLoop(*row) for row in np.transpose(
            (self._kp, self._kp * bandwidth / 4.0 * self._dt, *limits, load)).tolist()]
        phases = self._rng.uniform(0.0, 2.0 * np.pi, n).tolist()
        self._frictions = [Friction(joint, phase, self._dt) for joint, phase in zip(truth.joints, phases, strict=True)]
        self._direction = [0.0] * n
        self._cycle = 0
        self._delay = np.rint(truth.column("torque_delay") / self._dt).astype(int)
        self._history = np.tile(load, (int(self._delay.max()) + 1, 1))
        self._joints = np.arange(n)
        self._noise = np.empty((0, 2, n))
        self._noise_state = np.zeros((1, n))
        self._ticks = 0
        self._in_torque_steps, self._in_counts = Quantiser(truth.column("torque_step")), Quantiser(truth.column("encoder_step"))
        mujoco.mj_rnePostConstraint(self._model, data)
        self._load, self._transmitted = self._loads(data)

    def _begin_strokes(self, velocity: Array) -> None:
        """A joint that reverses meets a new friction level."""
        before = self._direction
        self._direction = [was if abs(target) < _MOVING else copysign(1.0, target)
                           for was, target in zip(before, velocity.tolist(), strict=True)]
        if self._direction != before:
            fresh = np.maximum(0.0, 1.0 + self.truth.column("stroke_scatter") * self._rng.standard_normal(len(self.names)))
            for friction, was, now, level in zip(self._frictions, before, self._direction, fresh.tolist(), strict=True):
                if now != was:
                    friction.stroke = level

    def _advance(self, velocity: Array) -> None:
        """One cycle of physics under a velocity set-point."""
        model, data, drives = self._model, self._data, self._axes.drives
        loops, frictions, history, targets = self._loops, self._frictions, self._history, velocity.tolist()
        q, dq, applied, dry = data.qpos, data.qvel, data.qfrc_applied, model.dof_frictionloss
        model.dof_damping[drives] = [friction.settle(data.time, *here) for friction, *here in zip(
            frictions, q[drives].tolist(), dq[drives].tolist(), self._load, self._transmitted, strict=True)]
        for _ in range(self._substeps):
            speeds = dq[drives].tolist()
            torque = [loop.torque(target, speed) for loop, target, speed in zip(loops, targets, speeds, strict=True)]
            applied[drives] = torque
            dry[drives] = [friction.dry(speed) for friction, speed in zip(frictions, speeds, strict=True)]
            mujoco.mj_step(model, data)
            self._ticks += 1
            history[self._ticks % len(history)] = torque
        mujoco.mj_rnePostConstraint(model, data)
        self._load, self._transmitted = self._loads(data)

    def _measure(self) -> JointSample:
        """The drive's reading of the present state, with its delay, steps and noise."""
        truth, data = self.truth, self._data
        row = self._cycle % _NOISE_BLOCK
        if row == 0:
            self._draw_noise()
        self._cycle += 1
        delayed = self._history[(self._ticks - self._delay) % len(self._history), self._joints]
        tau = self._in_torque_steps(truth.column("torque_scale") * delayed + truth.column("offset") + self._noise[row, 0])
        q = self._in_counts(data.qpos[self._axes.drives].copy())
        t = self._cycle / self.rate
        warm = 1.0 - np.exp(-t / truth.column("warm_up_time"))
        return JointSample(t, q, data.qvel[self._axes.drives] + self._noise[row, 1], tau, np.full(len(q), t), 25.0 + 12.0 * warm,
                           np.zeros(len(q), dtype=np.int64))

    def _draw_noise(self) -> None:
        truth, n = self.truth, len(self.names)
        draws = self._rng.standard_normal((_NOISE_BLOCK, 2, n))
        time = truth.column("torque_noise_time")
        if time.any():
            from scipy.signal import lfilter  # takes a while to load
        for j in np.flatnonzero(time > 0.0):
            memory = np.exp(-1.0 / (self.rate * time[j]))
            if self._cycle == 0:            # noise that has been there for long
                self._noise_state[:, j] = memory * self._rng.standard_normal()
            draws[:, 0, j], self._noise_state[:, j] = lfilter(
                [np.sqrt(1.0 - memory**2)], [1.0, -memory], draws[:, 0, j], zi=self._noise_state[:, j])
        draws[:, 0] *= truth.column("torque_noise")
        draws[:, 1] *= truth.column("velocity_noise")
        self._noise = draws


class Quantiser:
    """Rounds to multiples of steps, shape (n,), in place; what has a step of 0 stays as it is."""

    def __init__(self, step: Array) -> None:
        which = np.flatnonzero(step)
        self._which, self._step = slice(None) if len(which) == len(step) else which, step[which]

    def __call__(self, value: Array) -> Array:
        value[self._which] = np.rint(value[self._which] / self._step) * self._step
        return value


@dataclass(frozen=True)
class Axes:
    """Where drives and springs lie among MuJoCo's joints.

    Attributes
    ----------
    drives : slice or ndarray of int, shape (n,)
        The drives; a slice of all where nothing is elastic, so that indexing makes no copies.
    springs : ndarray of int, shape (k,)
        The springs: first those between drives and links, then the hinges of flexible links.
    owner : ndarray of int, shape (k,)
        Which of the n joints each belongs to.
    behind : int
        How many are between drives and links.
    """

    drives: slice | NDArray[np.int_]
    springs: NDArray[np.int_]
    owner: NDArray[np.int_]
    behind: int

    def link(self, values: Array) -> Array:
        """Positions or velocities of the links, shape (n,): the drives', with the springs' behind them on top."""
        out = values[self.drives].copy()
        out[self.owner[:self.behind]] += values[self.springs[:self.behind]]
        return out


class ReactionLoads:
    """Loads of the truth's kinds from MuJoCo's reaction forces.

    ``cfrc_int`` is the wrench that each body's parent exerts on it, moment first, about the centre of mass of
    the whole tree in world axes.
    """

    def __init__(self, model: "mujoco.MjModel", truth: Truth, axes: Axes) -> None:
        self._axes = axes
        self._body = model.jnt_bodyid[axes.drives].copy()
        self._root = int(model.body_rootid[self._body[0]])
        self._start = model.qpos0[axes.drives].copy()
        n = len(self._body)
        if len(set(self._body)) < n:
            raise InputError("the simulated arm needs one joint a body; split the bodies that have several")
        kinds = [joint.load for joint in truth.joints]
        self._slides: list[bool] = (model.jnt_type[axes.drives] == mujoco.mjtJoint.mjJNT_SLIDE).tolist()
        self._counts = [(0.0, 0.0, 0.0, 0.0)] * n           # what axial, radial, bending and moment count for each joint
        for j, (kind, joint) in enumerate(zip(kinds, truth.joints, strict=True)):
            if kind == "torque":
                self._counts[j] = (1.0, 0.0, 0.0, 0.0) if self._slides[j] else (0.0, 0.0, 0.0, 1.0)
            elif kind == "bending":
                self._counts[j] = (0.0, 0.0, 1.0, 0.0)
            elif kind == "normal" and joint.bearing is not None:
                pin, arm, bending = joint.bearing.pin_radius, joint.bearing.friction_arm, joint.bearing.bending_arm
                self._counts[j] = (0.0, 1.0, 1.0 / bending, 1.0 / arm) if self._slides[j] else (arm, pin, pin / bending, 0.0)

    def __call__(self, data: "mujoco.MjData") -> tuple[list[float], list[float]]:
        """Load of each joint and signed torque that it transmits, after ``mj_rnePostConstraint``."""
        axes = data.xaxis[self._axes.drives]
        origins = data.xanchor[self._axes.drives] - data.subtree_com[self._root]
        if any(self._slides):               # MuJoCo's anchor stays where the slide began; a joint's origin moves with its link
            origins += (np.array(self._slides) * (self._axes.link(data.qpos) - self._start))[:, None] * axes
        load, transmitted = [], []
        for (mx, my, mz, fx, fy, fz), (rx, ry, rz), (nx, ny, nz), counts, slide in zip(
                data.cfrc_int[self._body].tolist(), origins.tolist(), axes.tolist(), self._counts, self._slides, strict=True):
            mx, my, mz = mx - (ry * fz - rz * fy), my - (rz * fx - rx * fz), mz - (rx * fy - ry * fx)
            axial, moment = fx * nx + fy * ny + fz * nz, mx * nx + my * ny + mz * nz
            radial = sqrt(max(0.0, fx * fx + fy * fy + fz * fz - axial * axial))
            bending = sqrt(max(0.0, mx * mx + my * my + mz * mz - moment * moment))
            load.append(counts[0] * abs(axial) + counts[1] * radial + counts[2] * bending + counts[3] * abs(moment))
            transmitted.append(axial if slide else moment)
        return load, transmitted


def _compile(arm: ArmFile, names: tuple[str, ...], truth: Truth) -> tuple["mujoco.MjModel", dict[int, Beam]]:
    """MuJoCo model of the arm as it truly is: tool, payload, mass error, rotors, springs, stiff dry friction; its beams."""
    mujoco.set_mju_user_warning(_log.warning)        # else MuJoCo writes a file into the working directory
    spec = model_spec(arm.model)
    hold_followers(spec)
    link = last_link(spec)
    add_point_mass(link, arm.tool.mass, arm.tool.com)
    add_point_mass(link, truth.payload.mass, truth.payload.com)
    spec.option.gravity = list(arm.gravity)
    for part in (*spec.actuators, *spec.sensors, *spec.tendons, *spec.keys, *spec.excludes, *spec.pairs):
        spec.delete(part)                            # an MJCF's own actuators would drive the arm, too
    beams = {j: make_flexible(spec, names[j], joint.flexible_link, f"{arm.path}: simulation.joints.{names[j]}.flexible_link")
             for j, joint in enumerate(truth.joints) if joint.flexible_link is not None}
    for name, joint in zip(names, truth.joints, strict=True):
        drive = spec.joint(name)
        drive.armature = armature(arm, name, joint)
        if joint.stiffness is not None:
            spring = drive.parent.add_joint(       # every value is stated: the model's own defaults are for drives
                name=_spring(name), type=drive.type, axis=drive.axis, pos=drive.pos, ref=0.0, springref=0.0, armature=0.0,
                frictionloss=0.0, stiffness=joint.stiffness, damping=joint.stiffness_damping)
            if drive.frame is not None:
                spring.set_frame(drive.frame)
    model = spec.compile()
    model.body_mass[:] *= 1.0 + truth.mass_error
    model.body_inertia[:] *= 1.0 + truth.mass_error
    model.jnt_limited[:] = 0
    model.dof_solimp[:] = [0.9999, 0.9999, 0.001, 0.5, 2.0]
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_AUTORESET      # a simulation that diverges reports nan instead
    mujoco.mj_setConst(model, mujoco.MjData(model))
    return model, beams


def _spring(joint: str) -> str:
    """MuJoCo's name of a joint's spring."""
    return f"{joint} spring"


def _axes(model: "mujoco.MjModel", names: tuple[str, ...], truth: Truth, beams: dict[int, Beam]) -> Axes:
    elastic = np.flatnonzero(np.isfinite(truth.column("stiffness")))
    springs = {_spring(names[j]): int(j) for j in elastic} | {hinge: j for j, beam in beams.items() for hinge in beam.hinges}
    drives, places = (np.array([model.joint(name).id for name in which], dtype=int) for which in (names, springs))
    return Axes(drives if springs else slice(None), places, np.array(list(springs.values()), dtype=int), len(elastic))


def _refuse_drive_side(arm: ArmFile) -> None:
    """A simulated drive has the model's sign and zero; keys that say otherwise would be ignored."""
    for name, joint in arm.joints.items():
        if joint.direction != 1 or joint.zero_offset != 0.0:
            raise InputError(f"{arm.path}: joints.{name}: direction and zero_offset describe a real drive; the simulated one "
                             "has the model's")
