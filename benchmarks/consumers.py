"""Simulators that take the friction of a calibration, each in its own way, behind one interface.

Each is imported where it is used: a simulator that is not installed is left out.
"""

import logging
import re
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Protocol

import mujoco
import numpy as np

from stribeck import BatchedFriction, Calibration, Feedforward, joint_loads, stopping_torque
from stribeck.ident.arrays import Array
from stribeck.ident.export.descriptions.mujoco_joint import HARD
from stribeck.ident.export.formats import export
from stribeck.mujoco import attach

ARMATURE = 0.1  # kg·m² of each joint
STILL = 1e-9  # rad/s


class Simulation(Protocol):
    """An arm in a simulator; all arrays have shape (6,)."""

    def place(self, q: Array, dq: Array) -> None:
        """Set positions and velocities; friction keeps its states."""

    def step(self, torque: Array) -> None:
        """Simulate a step under torques of the drives."""

    def motion(self) -> tuple[Array, Array]:
        """Return positions and velocities."""

    def surplus(self, mass: Array, dq: Array) -> Array:
        """Return the torque that accelerates the joints, after a step that
        began with velocities `dq`.
        """


class Stepped(ABC):
    """The torque that accelerates joints, from the change of velocity over a
    step with implicit damping.
    """

    dt: float
    damping: Array | float = 0.0

    def surplus(self, mass: Array, dq: Array) -> Array:
        """See `Simulation`."""
        return np.asarray(
            (mass + self.dt * np.diag(np.broadcast_to(self.damping, 6)))
            @ (self.motion()[1] - dq)
            / self.dt
        )

    @abstractmethod
    def motion(self) -> tuple[Array, Array]:
        """See `Simulation`."""


@dataclass(frozen=True)
class Consumer:
    """A simulator with a way to give it friction.

    Attributes
    ----------
    name : str
    packages : tuple of str
        What must be installed, besides stribeck.
    make : callable
        From a calibration, the time step [s], and whether there is gravity, to the simulation.
    bends : bool
        Whether friction has states, which motion before must bend.
    steps : tuple of float
        Time steps [s] at which it is judged.
    longest : float
        Longest time at rest, for slow simulators [s].
    """

    name: str
    packages: tuple[str, ...]
    make: Callable[[Calibration, float, bool], Simulation]
    bends: bool = False
    steps: tuple[float, ...] = (0.001, 0.005)
    longest: float = np.inf

    @property
    def missing(self) -> tuple[str, ...]:
        """Packages that are not installed."""
        return tuple(name for name in self.packages if not installed(name))


def installed(package: str) -> str:
    """Version of an installed package, else ""."""
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def described(made: Calibration, dt: float, elements: bool = False) -> str:
    """Return an MJCF with time step and rotors, without joint limits, with two numbers a joint
    or with MuJoCo's elements.
    """
    text = export(made, "mjcf", plain=True).text
    text = re.sub(r' (?:range|limited|armature)="[^"]*"', "", text)
    text = re.sub(r"(<joint )", rf'\1armature="{ARMATURE}" limited="false" ', text)
    text = re.sub(r"(<mujoco[^>]*>)", rf'\1<option timestep="{dt:g}"/>', text)
    if not elements:
        return text
    with tempfile.TemporaryDirectory() as folder:
        (path := Path(folder, "arm.xml")).write_text(text, encoding="utf-8")
        return export(made, "mjcf", into=path).text


class InMuJoCo:
    """MuJoCo, with friction from the file or by `attach`."""

    def __init__(
        self, text: str, dt: float, gravity: bool, whole: Calibration | None = None
    ) -> None:
        self._model = compiled(text, dt, gravity)
        self._data = mujoco.MjData(self._model)
        self._step = (
            (lambda: mujoco.mj_step(self._model, self._data))
            if whole is None
            else attach(self._model, self._data, whole).step
        )

    def place(self, q: Array, dq: Array) -> None:
        """See `Simulation`."""
        self._data.qpos[:], self._data.qvel[:] = q, dq

    def step(self, torque: Array) -> None:
        """See `Simulation`."""
        self._data.qfrc_applied[:] += torque
        self._step()
        self._data.qfrc_applied[:] -= torque

    def motion(self) -> tuple[Array, Array]:
        """See `Simulation`."""
        return self._data.qpos.copy(), self._data.qvel.copy()

    def surplus(self, mass: Array, dq: Array) -> Array:
        """See `Simulation`."""
        return np.asarray(mass @ self._data.qacc)


def compiled(text: str, dt: float, gravity: bool) -> mujoco.MjModel:
    """Return MuJoCo's model."""
    model = mujoco.MjModel.from_xml_string(text)
    model.opt.timestep, model.opt.integrator = dt, mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    if not gravity:
        model.opt.gravity[:] = 0.0
    return model


class InMjx:
    """MJX, with the limits of `BatchedFriction` in JAX and the loads of the last step."""

    def __init__(self, made: Calibration, dt: float, gravity: bool) -> None:
        import jax
        import jax.numpy as jnp
        from mujoco import mjx

        friction = BatchedFriction(made)
        host = compiled(described(made, dt), dt, gravity)
        host.dof_solimp[:], host.dof_solref[:] = HARD, (2.0 * dt, 1.0)
        model, body = mjx.put_model(host), host.jnt_bodyid
        root = host.body_rootid[body]

        def step(data: Any, held: Any, torque: Any) -> Any:
            force, moment = data._impl.cfrc_int[body, 3:], data._impl.cfrc_int[body, :3]
            moment = moment + jnp.cross(data.subtree_com[root] - data.xanchor, force)
            limit, damping, _ = friction.limits(
                data.qvel, friction.loads(force, moment, data.xaxis)
            )
            held = jnp.where((jnp.abs(data.qvel) < 1e-4) & (jnp.abs(held) < limit), held, 0.0)
            rubbing = model.replace(dof_frictionloss=limit - jnp.abs(held), dof_damping=damping)
            data = mjx.step(rubbing, data.replace(qfrc_applied=torque + held))
            return mjx.rne_postconstraint(model, data), held + data.qfrc_constraint

        self._array, self._step, self._data, self._held = (
            jnp.asarray,
            jax.jit(step),
            mjx.make_data(model),
            jnp.zeros(6),
        )

    def place(self, q: Array, dq: Array) -> None:
        """See `Simulation`."""
        self._data = self._data.replace(qpos=self._array(q), qvel=self._array(dq))

    def step(self, torque: Array) -> None:
        """See `Simulation`."""
        self._data, self._held = self._step(self._data, self._held, self._array(torque))

    def motion(self) -> tuple[Array, Array]:
        """See `Simulation`."""
        return np.asarray(self._data.qpos, dtype=float), np.asarray(self._data.qvel, dtype=float)

    def surplus(self, mass: Array, dq: Array) -> Array:
        """See `Simulation`."""
        return np.asarray(mass @ np.asarray(self._data.qacc, dtype=float))


class Loads:
    """Loads and limits from the motion of the last step, for simulators that give no reactions."""

    def __init__(self, made: Calibration, dt: float, gravity: bool) -> None:
        self._mechanism = (
            made.mechanism if gravity else replace(made.mechanism, gravity=np.zeros(3))
        )
        self.friction, self._dt = BatchedFriction(made), dt
        self._before: Array | None = None

    def limits(self, q: Array, dq: Array, like: Callable[[Array], Any] = np.asarray) -> Any:
        """Return the limits, for velocities as an array of another library."""
        before = dq if self._before is None else self._before
        return self.friction.limits(
            like(dq), joint_loads(self._mechanism, q, dq, (dq - before) / self._dt)
        )

    def moved(self, dq: Array | None) -> None:
        """Take the velocities before a step; None at a new place."""
        self._before = dq


class InPinocchio(Stepped):
    """Pinocchio's equations of motion with `Feedforward`, stepped with `stopping_torque`."""

    def __init__(self, made: Calibration, dt: float, gravity: bool) -> None:
        import pinocchio

        self._pinocchio, self.dt = pinocchio, dt
        self._model = pinocchio.buildModelFromXML(export(made, "urdf").text)
        self._model.armature[:] = ARMATURE
        self._mechanism = (
            made.mechanism if gravity else replace(made.mechanism, gravity=np.zeros(3))
        )
        if not gravity:
            self._model.gravity.linear = np.zeros(3)
        self._data, self._friction = self._model.createData(), Feedforward(self._mechanism, made)
        self._ddq = np.zeros(6)

    def place(self, q: Array, dq: Array) -> None:
        """See `Simulation`."""
        self._q, self._dq, self._ddq = q.copy(), dq.copy(), np.zeros(6)

    def step(self, torque: Array) -> None:
        """See `Simulation`."""
        q, dq = self._q, self._dq
        mass = self._pinocchio.crba(self._model, self._data, q)
        mass = np.triu(mass) + np.triu(mass, 1).T
        free = torque - self._pinocchio.nle(self._model, self._data, q, dq)
        limit = np.abs(self._friction(q, np.where(np.abs(dq) < STILL, STILL, dq), self._ddq))
        self._ddq = np.linalg.solve(mass, free - stopping_torque(mass, dq, free, limit, self.dt))
        self._dq = dq + self.dt * self._ddq
        self._q = q + self.dt * self._dq

    def motion(self) -> tuple[Array, Array]:
        """See `Simulation`."""
        return self._q, self._dq


class InDrake(Stepped):
    """Drake's MultibodyPlant from a URDF, alone or with dry friction by a LeafSystem."""

    def __init__(self, made: Calibration, dt: float, gravity: bool, rubs: bool = True) -> None:
        from pydrake.multibody.parsing import Parser
        from pydrake.multibody.plant import MultibodyPlant
        from pydrake.systems.analysis import Simulator
        from pydrake.systems.framework import DiagramBuilder

        logging.getLogger("drake").setLevel(logging.ERROR)
        builder = DiagramBuilder()
        plant = builder.AddSystem(MultibodyPlant(dt))
        Parser(plant).AddModelsFromString(
            re.sub(r"<(visual|collision)>.*?</\1>", "", export(made, "urdf").text, flags=re.DOTALL),
            "urdf",
        )
        plant.WeldFrames(plant.world_frame(), plant.GetFrameByName("base"))
        friction = BatchedFriction(made)
        damping = friction.limits(
            np.zeros(6), {kind: np.zeros(6) for kind in friction.needs}
        ).damping
        for name, own in zip(friction.names, damping, strict=True):
            joint = plant.GetJointByName(name)
            joint.set_position_limits([-np.inf], [np.inf])
            if rubs:
                joint.set_default_damping_vector([own])
            plant.AddJointActuator(name, joint).set_default_rotor_inertia(ARMATURE)
        if not gravity:
            plant.mutable_gravity_field().set_gravity_vector(np.zeros(3))
        plant.Finalize()
        self.dt, self.damping = (
            dt,
            np.array(
                [plant.GetJointByName(name).default_damping_vector()[0] for name in friction.names]
            ),
        )
        source = plant.get_applied_generalized_force_input_port()
        if rubs:
            rubbing = builder.AddSystem(drake_friction(plant, friction))
            for name, port in (
                ("state", plant.get_state_output_port()),
                ("reactions", plant.get_reaction_forces_output_port()),
            ):
                builder.Connect(port, rubbing.GetInputPort(name))
            builder.Connect(rubbing.GetOutputPort("torque"), source)
            source = rubbing.GetInputPort("drives")
        builder.ExportInput(source, "drives")
        diagram = builder.Build()
        self._simulator, self._plant = Simulator(diagram), plant
        self._root, self._drives = (
            self._simulator.get_mutable_context(),
            diagram.GetInputPort("drives"),
        )
        self._own = plant.GetMyMutableContextFromRoot(self._root)
        self._drives.FixValue(self._root, np.zeros(6))

    def place(self, q: Array, dq: Array) -> None:
        """See `Simulation`."""
        self._plant.SetPositionsAndVelocities(self._own, np.concatenate((q, dq)))

    def step(self, torque: Array) -> None:
        """See `Simulation`."""
        self._drives.FixValue(self._root, torque)
        self._simulator.AdvanceTo(self._root.get_time() + self._plant.time_step())

    def motion(self) -> tuple[Array, Array]:
        """See `Simulation`."""
        return self._plant.GetPositions(self._own), self._plant.GetVelocities(self._own)


def drake_friction(plant: Any, friction: BatchedFriction) -> Any:
    """Return the LeafSystem of the manual."""
    namespace: dict[str, Any] = {}
    page = (Path(__file__).parents[1] / "docs" / "manual" / "other-simulators.md").read_text(
        encoding="utf-8"
    )
    (text,) = (
        block
        for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL)
        if "class DryFriction" in block
    )
    exec(text, namespace)
    return namespace["DryFriction"](plant, friction)


class InGenesis(Stepped):
    """Genesis from an MJCF, with its numbers or with the limits of `BatchedFriction` in torch."""

    def __init__(self, made: Calibration, dt: float, gravity: bool, rubs: bool = True) -> None:
        import genesis
        import torch

        if not getattr(genesis, "_initialized", False):
            genesis.init(backend=genesis.cpu, precision="64", logging_level="error")
        with tempfile.TemporaryDirectory() as folder:
            (path := Path(folder, "arm.xml")).write_text(described(made, dt), encoding="utf-8")
            self._scene = genesis.Scene(
                show_viewer=False,
                sim_options=genesis.options.SimOptions(
                    dt=dt, gravity=(0.0, 0.0, -9.81 if gravity else 0.0)
                ),
                rigid_options=genesis.options.RigidOptions(
                    enable_collision=False, enable_joint_limit=False
                ),
            )
            self._arm = self._scene.add_entity(genesis.morphs.MJCF(file=str(path)))
        self._scene.build()
        self._arm.set_dofs_force_range(np.full(6, -1e4), np.full(6, 1e4))
        for name in made.joints if rubs else ():
            self._arm.get_joint(name).set_sol_params((2.0 * dt, 1.0, *HARD))
        self._torch, self._loads, self._rubs, self.dt = torch, Loads(made, dt, gravity), rubs, dt

    def place(self, q: Array, dq: Array) -> None:
        """See `Simulation`."""
        self._arm.set_dofs_position(q, zero_velocity=False)
        self._arm.set_dofs_velocity(dq)
        self._loads.moved(None)

    def step(self, torque: Array) -> None:
        """See `Simulation`."""
        if self._rubs:
            q, dq = self.motion()
            limits = self._loads.limits(q, dq, self._torch.tensor)
            self._arm.set_dofs_frictionloss(limits.frictionloss)
            self._arm.set_dofs_damping(limits.damping)
            self._loads.moved(dq)
        self.damping = self._arm.get_dofs_damping().numpy()
        self._arm.control_dofs_force(torque)
        self._scene.step()

    def motion(self) -> tuple[Array, Array]:
        """See `Simulation`."""
        return (
            self._arm.get_dofs_position().numpy().copy(),
            self._arm.get_dofs_velocity().numpy().copy(),
        )


class InNewton(Stepped):
    """Newton on the CPU with its MuJoCo solver, from an MJCF, with its numbers or with the
    limits of `BatchedFriction`.
    """

    def __init__(self, made: Calibration, dt: float, gravity: bool, rubs: bool = True) -> None:
        import newton
        import warp

        warp.config.quiet = True
        self._newton, self.dt, self._rubs = newton, dt, rubs
        builder = newton.ModelBuilder()
        text = described(made, dt)
        builder.add_mjcf(
            text.replace("<joint ", f'<joint solreffriction="{2.0 * dt:g} 1" ') if rubs else text
        )
        self._model = builder.finalize(device="cpu")
        if not gravity:
            self._model.set_gravity((0.0, 0.0, 0.0))
        self._model.joint_armature.fill_(ARMATURE)
        self._solver = newton.solvers.SolverMuJoCo(
            self._model, disable_contacts=True, integrator="implicitfast"
        )
        self._now, self._next, self._control = (
            self._model.state(),
            self._model.state(),
            self._model.control(),
        )
        self._loads = Loads(made, dt, gravity)

    def place(self, q: Array, dq: Array) -> None:
        """See `Simulation`."""
        self._now.joint_q.assign(q.astype(np.float32))
        self._now.joint_qd.assign(dq.astype(np.float32))
        self._newton.eval_fk(self._model, self._now.joint_q, self._now.joint_qd, self._now)
        self._loads.moved(None)

    def step(self, torque: Array) -> None:
        """See `Simulation`."""
        if self._rubs:
            q, dq = self.motion()
            limits = self._loads.limits(q, dq)
            self._model.joint_friction.assign(limits.frictionloss.astype(np.float32))
            self._model.joint_damping.assign(limits.damping.astype(np.float32))
            self._solver.notify_model_changed(self._newton.ModelFlags.JOINT_DOF_PROPERTIES)
            self._loads.moved(dq)
        self.damping = self._model.joint_damping.numpy()
        self._control.joint_f.assign(torque.astype(np.float32))
        self._solver.step(self._now, self._next, self._control, None, self.dt)
        self._now, self._next = self._next, self._now

    def motion(self) -> tuple[Array, Array]:
        """See `Simulation`."""
        return self._now.joint_q.numpy().astype(float), self._now.joint_qd.numpy().astype(float)


class Functions:
    """No simulator: the friction of `BatchedFriction` in a library, in single precision."""

    def __init__(self, made: Calibration, library: str) -> None:
        self.friction = BatchedFriction(made)
        if library == "jax":
            import jax

            self.array, self.call = (
                (lambda values: jax.numpy.asarray(values, dtype="float32")),
                jax.jit(self.friction),
            )
        else:
            import torch

            self.array, self.call = (
                (lambda values: torch.tensor(values, dtype=torch.float32)),
                self.friction,
            )


def _alone(kind: type) -> Callable[[Calibration, float, bool], Simulation]:
    """Make simulations with the friction of the file only."""
    return lambda made, dt, gravity: kind(made, dt, gravity, rubs=False)


MUJOCO = tuple(
    Consumer(name, ("mujoco",), make, bends, (0.001, 0.002, 0.005))
    for name, make, bends in (
        (
            "MuJoCo, stribeck.mujoco.attach",
            lambda made, dt, gravity: InMuJoCo(described(made, dt), dt, gravity, made),
            False,
        ),
        (
            "MuJoCo, export --to mjcf",
            lambda made, dt, gravity: InMuJoCo(described(made, dt, elements=True), dt, gravity),
            True,
        ),
        (
            "MuJoCo, export --to mjcf --plain",
            lambda made, dt, gravity: InMuJoCo(described(made, dt), dt, gravity),
            False,
        ),
        (
            "MuJoCo, the same two numbers and its defaults",
            lambda made, dt, gravity: InMuJoCo(
                re.sub(' solimpfriction="[^"]*"', "", described(made, dt)), dt, gravity
            ),
            False,
        ),
    )
)
OTHERS = (
    Consumer("MJX, BatchedFriction", ("mujoco-mjx", "jax"), InMjx),
    Consumer("Drake, BatchedFriction and stopping_torque", ("drake",), InDrake),
    Consumer("Drake, export --to urdf", ("drake",), _alone(InDrake)),
    Consumer("Pinocchio, Feedforward and stopping_torque", ("pin",), InPinocchio),
    Consumer("Genesis, BatchedFriction", ("genesis-world", "torch"), InGenesis, longest=20.0),
    Consumer(
        "Genesis, export --to mjcf --plain", ("genesis-world",), _alone(InGenesis), longest=20.0
    ),
    Consumer("Newton, BatchedFriction", ("newton", "mujoco-warp"), InNewton, longest=10.0),
    Consumer(
        "Newton, export --to mjcf --plain",
        ("newton", "mujoco-warp"),
        _alone(InNewton),
        longest=10.0,
    ),
)
FUNCTIONS = {"BatchedFriction in JAX, float32": "jax", "BatchedFriction in torch, float32": "torch"}
