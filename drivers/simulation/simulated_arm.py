"""The simulated arm behind the `Arm` interface: MuJoCo physics with joint friction, a velocity
loop and an imperfect drive.
"""

from collections.abc import Sequence
from types import TracebackType
from typing import Self

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from stribeck.drivers.arm import Array, Command, JointSample, Resolution, command_fault
from stribeck.drivers.errors import ArmStopped, DriverError
from stribeck.drivers.simulation.drive_reading import DriveReading
from stribeck.drivers.simulation.physics_loop import PhysicsLoop
from stribeck.drivers.simulation.physics_model import physics_model
from stribeck.drivers.simulation.simulated_drive import STANDSTILL
from stribeck.drivers.simulation.truth import read_truth
from stribeck.drivers.simulation.velocity_loop_tuning import tune
from stribeck.drivers.simulation.weighing import Scales
from stribeck.ident.arm.arm_file import ArmFile, check_against_model
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.errors import InputError

# Hz; least rate at which friction and velocity loops are computed; springs may need more
_PHYSICS_RATE = 1000.0


class SimulatedArm:
    """An arm in MuJoCo behind the `Arm` interface.

    Parameters
    ----------
    arm : ArmFile
        Model, limits, rotor inertias and the ``[simulation]`` table.
    seed : int, optional
        Seed that overrides the seed of the table.

    Raises
    ------
    InputError
        If the truth, or a limit that motion needs, is missing or impossible.
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
        self.resolution = Resolution(
            np.zeros(mechanism.n),
            self.truth.column("encoder_step"),
            self.truth.column("torque_step"),
        )
        rng = np.random.default_rng(self.truth.seed if seed is None else seed)
        self._physics = physics_model(arm, mechanism, self.truth)
        self._data = mujoco.MjData(self._physics.model)
        self._stand_at_home(arm, arm.home(mechanism))
        substeps = max(1, round(_PHYSICS_RATE / self.rate))
        tuning = tune(
            self._physics, self._data, self.limits, 1.0 / (self.rate * substeps), arm.path
        )
        substeps = max(substeps, int(np.ceil(tuning.rate / self.rate)))
        self._loop = PhysicsLoop(
            self._physics, self._data, tuning, self.rate, substeps, self.limits, rng
        )
        self._reading = DriveReading(self.truth, self.rate, rng)
        self._reason: str | None = "it has not been enabled"

    def _stand_at_home(self, arm: ArmFile, home: Array) -> None:
        try:
            self._physics.stand(self._data, home)
        except DriverError as error:
            raise InputError(
                f"{arm.path}: the home posture (workspace.home, else all zero) is out of reach: "
                f"{error}"
            ) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop("disconnected")

    def enable(self) -> None:
        """Release the brakes at rest."""
        for loop in self._loop.loops:
            loop.setpoint = 0.0
        self._reason = None

    def step(self, command: Command) -> JointSample:
        """Run one cycle of the arm's own clock under a new set-point and return the sample."""
        if self._reason is not None:
            raise ArmStopped(f"the arm accepts no commands: {self._reason}; enable it first")
        fault = command_fault(command, self.names, self.modes)
        if fault is not None:
            self.stop(fault)
            raise DriverError(f"{fault}; the arm was stopped")
        loop, data, drives = self._loop, self._data, self._physics.axes.drives
        loop.take_torques(command)
        loop.begin_strokes(command.velocity)
        loop.advance(command.velocity)
        return self._reading.measure(
            data.qpos[drives],
            data.qvel[drives],
            loop.reported_torque(),
            loop.temperature(),
            self._physics.axes.link(data.qpos),
        )

    @property
    def standing(self) -> bool:
        """Whether all joints are at rest."""
        return bool(np.all(np.abs(self._data.qvel) < STANDSTILL))

    def wait(self, cycles: int) -> None:
        """Let cycles pass in which no joint moves and nobody reads; no physics step is computed."""
        self._loop.wait(cycles / self.rate)
        self._reading.skip(cycles)

    def hand_over(self, joint: int) -> None:
        """Prepare a joint in torque mode for velocity mode without a jump of
        torque, as when a brake closes.
        """
        loop = self._loop.loops[joint]
        loop.integral = loop.integral if loop.told is None else loop.told

    def allow(self, torque: Sequence[float]) -> None:
        """Set the torque that each drive may give from now on [N·m or N]; the
        drive's own limit still holds.
        """
        for loop, most, peak in zip(
            self._loop.loops, torque, self.limits.torque.tolist(), strict=True
        ):
            loop.torque_limit = most if not most > peak else peak

    def stop(self, reason: str) -> None:
        """Decelerate at the acceleration limits and hold with the brakes."""
        if self._reason is not None:
            return
        for loop in self._loop.loops:
            loop.told = None
        for _ in range(int(5.0 * self.rate)):
            self._loop.advance(np.zeros(len(self.names)))
            if self.standing:
                break
        self._data.qvel[:] = 0.0
        self._reason = reason

    def friction(self, q: ArrayLike, dq: ArrayLike, temperature: ArrayLike | None = None) -> Array:
        """Return the true friction in the drive's torque units at given states, shape (N,
        n), for judging estimates.

        Scatter, ripple and warm-up are left out; loads are those of motion at constant speed.
        Joints that friction heats have the given temperature, shape () or (n,) [°C]; by default the
        one at which their parameters hold.
        """
        q, dq = (
            np.atleast_2d(np.asarray(q, dtype=float)),
            np.atleast_2d(np.asarray(dq, dtype=float)),
        )
        load, transmitted = self._weigh(q, dq)
        warm = None if temperature is None else np.asarray(temperature, dtype=float)
        return np.asarray(
            self.truth.friction(dq, load, transmitted, warm) * self.truth.column("torque_scale")
        )

    def loads(self, q: ArrayLike, dq: ArrayLike | None = None) -> Array:
        """Return the true load of each joint at rest or at constant speeds, of the kind
        in its truth, shape (N, n).
        """
        return self._weigh(q, dq)[0]

    def _weigh(self, q: ArrayLike, dq: ArrayLike | None = None) -> tuple[Array, Array]:
        """Return loads and signed transmitted torques, each shape (N, n)."""
        q = np.atleast_2d(np.asarray(q, dtype=float))
        scales, rates = Scales(self._physics), np.zeros_like(q) if dq is None else np.atleast_2d(dq)
        load, transmitted = np.array(
            [scales(*state) for state in zip(q, rates, strict=True)]
        ).swapaxes(0, 1)
        return load, transmitted

    def temperature(self) -> Array:
        """Return the true temperature of each joint that friction heats, shape (n,)
        [°C]; nan for other joints.
        """
        return self._loop.temperature()

    def memory_torque(self) -> Array:
        """Return the true dry friction that bristles or elements of each joint
        exert now, shape (n,) [N·m].

        Joints without a memory have nan. Viscous friction is left out.
        """
        return self._loop.memory_torque()

    def links(self) -> tuple[Array, Array]:
        """Return true position and velocity of the links at their joints,
        each shape (n,) [rad, rad/s].

        For rigid joints these are the values of the drives.
        """
        axes = self._physics.axes
        return axes.link(self._data.qpos), axes.link(self._data.qvel)

    def bending(self) -> Array:
        """Return the deflection of each link's tip from a rigid link, shape
        (n, 3), in base axes [m].
        """
        out = np.zeros((len(self.names), 3))
        if self._physics.beams:
            mujoco.mj_kinematics(self._physics.model, self._data)
        for joint, beam in self._physics.beams.items():
            out[joint] = beam.bending(self._physics.model, self._data)
        return out


def _refuse_drive_side(arm: ArmFile) -> None:
    """Refuse direction and zero_offset: a simulated drive has the model's sign and zero, and
    these keys would be ignored.
    """
    for name, joint in arm.joints.items():
        if joint.direction != 1 or joint.zero_offset != 0.0:
            raise InputError(
                f"{arm.path}: joints.{name}: direction and zero_offset describe a real drive; a "
                "simulated drive has the model's direction and zero. Leave these keys out"
            )
