r"""Built-in machines with closed loops as machines with wrong masses, by MuJoCo's equations.

The positions of the drives determine all positions. Velocities and accelerations follow from
the constraint Jacobian J,

.. math:: J v = 0, \qquad J \dot v + \dot J v = 0.

The forces \lambda of the loops make the torques of joints without a drive zero in :math:`M \dot v +
h = \tau + J^T \lambda`, and the same forces give MuJoCo's reaction forces at the drives, from which
the true friction follows by the law of the arm file.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import mujoco
import numpy as np

from benchmarks.parallel_logs import Conditions, Motion, WrongMachine
from stribeck.drivers.simulation.closed_loops import ClosedLoops
from stribeck.drivers.simulation.physics_model import Axes
from stribeck.drivers.simulation.reaction_loads import ReactionLoads
from stribeck.drivers.simulation.truth import Truth, armature, read_truth
from stribeck.ident.arm.arm_file import ArmFile, load_arm
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.fit.joint.options import Options
from stribeck.ident.model.files.closed_mujoco import closed_spec
from stribeck.ident.model.files.mujoco_loops import constraint_jacobian
from stribeck.ident.model.mechanism import Mechanism
from stribeck.ident.model.regressor import with_bodies

Array = np.ndarray
_STEP = 1e-5  # s; step of the numerical derivative of J
# m; typical size of a centre of mass that the model puts at the joint's origin
_COM = 0.01 / 0.3
_PLANAR, _SPATIAL = ((2, 2),), ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))
OPTIONS = {
    "three-loop-chain": Options(
        law="stribeck", load="normal", constant="none", motion="model", inertia="fit"
    ),
    "gough-stewart": Options(law="stribeck", load="torque", motion="model", inertia="fit"),
}
_PARAMETERS = (
    "coulomb",
    "static",
    "coulomb_coefficient",
    "static_coefficient",
    "stribeck_velocity",
    "viscous",
)


@dataclass(frozen=True)
class Sines:
    """Periodic motion of the drives: harmonics of one period.

    Attributes
    ----------
    seconds : float
        The period [s].
    middle : ndarray, shape (n,)
        Mean positions [rad or m].
    size, phase : ndarray, shape (K, n)
        Amplitudes [rad or m] and phases [rad] of the harmonics 1 to K.
    """

    seconds: float
    middle: Array
    size: Array
    phase: Array

    @classmethod
    def of(cls, seconds: float, sizes: Mapping[int, float], middle: float, phase: Array) -> "Sines":
        """Motion in which all drives have the same mean position and the same amplitudes by
        harmonic, and their own phases.
        """
        size = np.zeros((max(sizes), phase.shape[-1]))
        for harmonic, one in sizes.items():
            size[harmonic - 1] = one
        return cls(seconds, np.full(phase.shape[-1], middle), size, phase)

    def at(self, t: Array) -> Motion:
        """Positions, velocities and accelerations, shape (N, n) each."""
        w = 2.0 * np.pi / self.seconds * np.arange(1.0, 1.0 + len(self.size))[:, None]
        turn = w * t[:, None, None] + self.phase
        return (
            self.middle + np.sum(self.size * np.sin(turn), axis=1),
            np.sum(self.size * w * np.cos(turn), axis=1),
            -np.sum(self.size * w**2 * np.sin(turn), axis=1),
        )


MOTIONS = {
    "three-loop-chain": Sines.of(10.0, {1: 0.8, 5: 0.155}, -0.5, np.zeros(1)),
    "gough-stewart": Sines.of(
        10.0,
        {1: 0.06, 3: 0.012, 5: 0.008},
        0.0,
        np.random.default_rng(2).uniform(0.0, 2.0 * np.pi, (5, 6)),
    ),
}


@dataclass(frozen=True)
class Moved:
    """A machine's motion, which does not depend on its masses.

    Attributes
    ----------
    q, dq, ddq : ndarray, shape (N, n)
        Motion of the drives.
    whole : list of tuple of ndarray
        Positions, velocities and accelerations of all joints, shape (nv,) each, for every sample.
    balance : list of ndarray, shape (rows, nv - n)
        Matrix from the torques of the joints without a drive to the forces of
        the loops, for every sample.
    """

    q: Array
    dq: Array
    ddq: Array
    whole: list[tuple[Array, Array, Array]]
    balance: list[Array]


@dataclass(frozen=True)
class WrongLoops(WrongMachine):
    """A built-in machine in MuJoCo; joints without a drive have no friction.

    Attributes
    ----------
    name : str
        Name of the machine.
    bodies : tuple of ndarray, optional
        Masses (n,), centres of mass (n, 3) and central inertias (n, 3, 3) of the links;
        default: drawn by the seed.
    rate : float, optional
        Sampling rate [Hz]; default: that of the arm file.
    """

    name: str = "three-loop-chain"
    bodies: tuple[Array, Array, Array] | None = None
    rate: float | None = None

    @property
    def conditions(self) -> Conditions:
        """See `WrongMachine`; noise is that of the simulated machine."""
        knobs = self._truth.joints[0]
        motion, least = (
            MOTIONS[self.name],
            0.01 * self._simulated.limits(self._model).velocity.max(),
        )
        return Conditions(
            motion.seconds,
            self.rate or self.arm.driver.rate,
            knobs.torque_noise,
            knobs.encoder_step,
            least,
            OPTIONS[self.name],
        )

    @property
    def links(self) -> int:
        """See `WrongMachine`: masses, centres of mass, and inertias, of planar
        machines only those in the plane.
        """
        return len(self._unknowns)

    @cached_property
    def arm(self) -> ArmFile:
        """Arm file of the built-in machine."""
        return replace(self._simulated, simulation={})

    @property
    def mechanism(self) -> Mechanism:
        """The model of the arm with the true inertia of the links."""
        return with_bodies(self._model, *self._bodies)

    @property
    def friction(self) -> Mapping[str, float]:
        """True friction of each drive; parameters that are zero are left out."""
        joint = self._truth.joints[0]
        return {key: getattr(joint, key) for key in _PARAMETERS if getattr(joint, key)}

    def motion(self, t: Array) -> Motion:
        """See `WrongMachine`; coordinates are the positions of the drives."""
        return MOTIONS[self.name].at(t)

    def along(
        self, motion: Motion, friction: Mapping[str, float]
    ) -> tuple[Array, Array, Array, Array]:
        """See `WrongMachine`."""
        truth, moved = self._truth, _moved(self.name, np.stack(motion).tobytes())
        tau, load, transmitted = self._wrenches(moved)
        rubbing = replace(
            truth,
            joints=tuple(joint.model_copy(update=dict(friction)) for joint in truth.joints),
            _columns={},
        )
        rotors = np.array(
            [
                armature(self._simulated, name, joint)
                for name, joint in zip(self._model.names, truth.joints, strict=True)
            ]
        )
        return (
            tau + rotors * moved.ddq + rubbing.friction(moved.dq, load, transmitted),
            moved.q,
            moved.dq,
            moved.ddq,
        )

    def with_link(self, which: int, part: float) -> "WrongLoops":
        """See `WrongMachine`."""
        (link, kind, at), (mass, com, inertia) = (
            self._unknowns[which],
            (one.copy() for one in self._bodies),
        )
        if kind == "mass":
            inertia[link] *= 1.0 + part
            mass[link] *= 1.0 + part
        elif kind == "com":
            com[link, at[0]] += part * _reach(com[link])
        else:
            inertia[link][at] += part * float(np.trace(inertia[link])) / 3.0
            inertia[link] = np.triu(inertia[link]) + np.triu(inertia[link], 1).T
        return replace(self, bodies=(mass, com, inertia))

    @cached_property
    def _simulated(self) -> ArmFile:
        return load_arm(self.name)

    @cached_property
    def _model(self) -> Mechanism:
        return load_mechanism(self._simulated)

    @cached_property
    def _truth(self) -> Truth:
        return read_truth(self._simulated, self._model.names)

    @cached_property
    def _bodies(self) -> tuple[Array, Array, Array]:
        """True bodies of the links."""
        if self.bodies is not None:
            return self.bodies
        tree, rng = self._model.link_tree, np.random.default_rng(self.seed)
        heavier = 1.0 + self.part * rng.uniform(-1.0, 1.0, tree.n)
        off = (
            self.part
            * rng.uniform(-1.0, 1.0, (tree.n, 3))
            * np.array([[_reach(com)] for com in tree.com])
        )
        off[:, 2] *= not _is_planar(tree)
        return tree.mass * heavier, tree.com + off, tree.inertia * heavier[:, None, None]

    @cached_property
    def _unknowns(self) -> list[tuple[int, str, tuple[int, ...]]]:
        """Link, kind and place of each inertial parameter."""
        tree = self._model.link_tree
        planar = _is_planar(tree)
        return [
            (link, *one)
            for link in np.flatnonzero(tree.mass > 0.0).tolist()
            for one in (
                ("mass", ()),
                *(("com", (axis,)) for axis in range(2 if planar else 3)),
                *(("inertia", at) for at in (_PLANAR if planar else _SPATIAL)),
            )
        ]

    def _wrenches(self, moved: Moved) -> tuple[Array, Array, Array]:
        """Torques without friction and rotors, loads, and signed transmitted torques of the
        drives, shape (N, n) each.
        """
        model = _compiled(self.mechanism)
        data, loops = mujoco.MjData(model), _loops(model, self._model)
        weigh, needed, out = (
            ReactionLoads(model, self._truth.joints, Axes.rigid(loops.drives)),
            np.empty(model.nv),
            [],
        )
        for state, balance in zip(moved.whole, moved.balance, strict=True):
            data.qpos[:], data.qvel[:], data.qacc[:] = state
            mujoco.mj_fwdPosition(model, data)
            mujoco.mj_fwdVelocity(model, data)
            mujoco.mj_rne(model, data, 1, needed)
            J = constraint_jacobian(model, data)
            data.efc_force[: data.ne] = balance @ needed[loops.others]
            data.qacc[:] = state[2]
            mujoco.mj_rnePostConstraint(model, data)
            out.append(
                (
                    needed[loops.drives] - J[:, loops.drives].T @ data.efc_force[: data.ne],
                    *weigh(data),
                )
            )
        tau, load, transmitted = np.array(out).swapaxes(0, 1)
        return tau, load, transmitted


@dataclass(frozen=True)
class _Posture:
    """The closed loops in one posture: positions, velocities per velocity of the drives,
    constraint Jacobian of the other joints inverted, and the matrix from their torques
    to the forces of the loops."""

    at: Array
    moves: Array
    follow: Array
    balance: Array


@lru_cache(maxsize=2)
def _postures(
    name: str, q: bytes
) -> tuple[mujoco.MjModel, mujoco.MjData, ClosedLoops, list[_Posture]]:
    """Return the machine in MuJoCo, and its loops in all postures of the drives, shape (N, n)."""
    mechanism, found = load_mechanism(load_arm(name)), []
    model = _compiled(mechanism)
    data, loops = mujoco.MjData(model), _loops(model, mechanism)
    for place in np.frombuffer(q).reshape(-1, len(loops.drives)):
        loops.close(data, place)
        J = constraint_jacobian(model, data)[:, loops.others].copy()
        found.append(
            _Posture(
                data.qpos.copy(),
                loops.moves(data),
                np.linalg.pinv(J, rcond=1e-9),
                np.linalg.pinv(J.T, rcond=1e-9),
            )
        )
    return model, data, loops, found


@lru_cache(maxsize=4)
def _moved(name: str, motion: bytes) -> Moved:
    """Motion of all joints of a machine, from that of its drives."""
    model, data, loops, postures = _postures(name, motion[: len(motion) // 3])
    q, dq, ddq = np.frombuffer(motion).reshape(3, -1, len(loops.drives))
    whole = []
    for posture, rate, gain in zip(postures, dq, ddq, strict=True):
        v, sides = posture.moves @ rate, []
        for step in (-_STEP, _STEP):
            data.qpos[:] = posture.at + step * v
            mujoco.mj_fwdPosition(model, data)
            sides.append(constraint_jacobian(model, data) @ v)
        curved = np.zeros(model.nv)
        curved[loops.others] = -posture.follow @ (sides[1] - sides[0]) / (2.0 * _STEP)
        whole.append((posture.at, v, posture.moves @ gain + curved))
    return Moved(q, dq, ddq, whole, [posture.balance for posture in postures])


def _compiled(mechanism: Mechanism) -> mujoco.MjModel:
    assert mechanism.chain is not None
    spec = closed_spec(mechanism.chain.whole)
    spec.option.jacobian = mujoco.mjtJacobian.mjJAC_DENSE
    model = spec.compile()
    model.jnt_limited[:] = 0
    return model


def _loops(model: mujoco.MjModel, mechanism: Mechanism) -> ClosedLoops:
    drives = np.array([model.joint(name).id for name in mechanism.names], dtype=int)
    return ClosedLoops(model, drives, np.setdiff1d(np.arange(model.nv), drives))


def _is_planar(tree: Mechanism) -> bool:
    return bool(np.all(np.abs(tree.axis[:, 2]) == 1.0) and not tree.prismatic.any())


def _reach(com: Array) -> float:
    return float(np.linalg.norm(com)) or _COM
