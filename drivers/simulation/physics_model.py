"""The MuJoCo model of the simulated arm with its true properties, and the places of
drives and springs in it.

An elastic joint consists of two coaxial joints of one body. The first is the drive, with rotor
inertia, friction, velocity loop and encoder. The second is the deflection of the spring, with
stiffness and damping. With the drive at th and the link at q, these are Spong's equations, B ddth +
tau_f + K (th - q) + D (dth - dq) = u, and the spring's torque drives the link (Spong, J. Dyn. Syst.
Meas. Control 109 (1987) 310; joint flexibility of P3). A flexible link (`flexible_links`) is a
chain of pieces with elastic hinges: springs without drives.
"""

import logging
from dataclasses import dataclass, field, replace

import mujoco
import numpy as np
from numpy.typing import NDArray

from stribeck.drivers.arm import Array
from stribeck.drivers.simulation.backlash import Gaps, gaps_of
from stribeck.drivers.simulation.closed_loops import SOLIMP, ClosedLoops
from stribeck.drivers.simulation.flexible_links import Beam, make_flexible
from stribeck.drivers.simulation.simulated_motors import SharedMotors, add_tendons, shared_motors
from stribeck.drivers.simulation.truth import Truth, armature
from stribeck.ident.arm.arm_file import ArmFile
from stribeck.ident.arm.arm_tables import Tool
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.errors import InputError, unknown_name
from stribeck.ident.model.driven.passive_joints import single_joints
from stribeck.ident.model.files.closed_mujoco import closed_spec, length_of
from stribeck.ident.model.files.link_inertia import add_point_mass
from stribeck.ident.model.files.mimic_joints import hold_followers, last_link
from stribeck.ident.model.files.urdf_mjcf import model_spec
from stribeck.ident.model.mechanism import Mechanism

_log = logging.getLogger(__name__)
# inertia of joints that carry no mass, over the chain's mass (if they turn: times its mean length²)
_LIGHT = 1e-4
_SETTLING = 200  # iterations in which the springs must reach equilibrium under gravity


@dataclass(frozen=True)
class Axes:
    """Indices of drives and springs among MuJoCo's joints.

    Attributes
    ----------
    drives : slice or ndarray of int, shape (n,)
        The drives; a slice if nothing is elastic, so that indexing makes no copies.
    springs : ndarray of int, shape (k,)
        The springs: first the springs between drives and links, then the hinges of flexible links.
    owner : ndarray of int, shape (k,)
        Joint (of the n joints) to which each spring belongs.
    behind : int
        Number of springs between drives and links.
    """

    drives: slice | NDArray[np.int_]
    springs: NDArray[np.int_]
    owner: NDArray[np.int_]
    behind: int

    @classmethod
    def rigid(cls, drives: NDArray[np.int_]) -> "Axes":
        """Return the indices for joints without springs."""
        none = np.zeros(0, dtype=int)
        return cls(drives, none, none, 0)

    def link(self, values: Array) -> Array:
        """Return positions or velocities of the links, shape (n,): values of the drives plus
        deflections of their springs.
        """
        out = values[self.drives].copy()
        if self.behind:
            out[self.owner[: self.behind]] += values[self.springs[: self.behind]]
        return out


@dataclass(frozen=True)
class PhysicsModel:
    """The arm in MuJoCo.

    Attributes
    ----------
    model : mujoco.MjModel
        The compiled model.
    axes : Axes
        Indices of drives and springs.
    beams : dict
        Flexible links by the number of the joint that carries them.
    names : tuple of str
        Names of the joints.
    truth : Truth
        True properties from which the model was made.
    motors : SharedMotors
        Motors that move several joints.
    loops : ClosedLoops or None
        Closed loops of the chain, if it has any.
    passive : ndarray of int
        Joints with friction but without a drive, in the order of `truth.passive`.
    gaps : Gaps or None
        Play between drives and links, if any joint has it.
    link_tendons : ndarray of int
        Tendons with the dry friction of links behind springs.
    """

    model: "mujoco.MjModel"
    axes: Axes
    beams: dict[int, Beam]
    names: tuple[str, ...]
    truth: Truth
    motors: SharedMotors
    loops: ClosedLoops | None = None
    passive: NDArray[np.int_] = field(default_factory=lambda: np.zeros(0, dtype=int))
    gaps: Gaps | None = None
    link_tendons: NDArray[np.int_] = field(default_factory=lambda: np.zeros(0, dtype=int))

    def inertia(self, data: "mujoco.MjData") -> Array:
        """Return the mass matrix of all degrees of freedom, or of the drives of a closed
        chain; call after `stand`.
        """
        model = self.model
        M = np.zeros((model.nv, model.nv))
        # arguments of mj_fullM differ between versions
        for column, unit in zip(M, np.eye(model.nv), strict=True):
            mujoco.mj_mulM(model, data, column, unit)
        if self.loops is None:
            return M
        moves = self.loops.moves(data)
        return np.asarray(moves.T @ M @ moves)

    def held(self, data: "mujoco.MjData") -> Array:
        """Return the drive torques that hold the arm in its posture, shape (n,); call after
        `stand` and ``mj_fwdVelocity``.
        """
        return np.asarray(
            data.qfrc_bias[self.axes.drives]
            if self.loops is None
            else self.loops.moves(data).T @ data.qfrc_bias
        )

    def stand(self, data: "mujoco.MjData", q: Array) -> None:
        """Put the drives at q, shape (n,), at rest, close the loops, and deflect the springs
        by the weight of the links.
        """
        model, axes = self.model, self.axes
        if self.loops is not None:
            self.loops.close(data, q)
            mujoco.mj_fwdVelocity(model, data)
            return
        data.qpos[axes.drives] = q
        for _ in range(_SETTLING):
            mujoco.mj_fwdPosition(model, data)
            mujoco.mj_fwdVelocity(model, data)
            if self.gaps:
                self.gaps.lean(model, data)
            missing = (data.qfrc_passive - data.qfrc_bias)[axes.springs] / model.jnt_stiffness[
                axes.springs
            ]
            if np.all(np.abs(missing) < 1e-12):
                return
            data.qpos[axes.springs] += missing
        name, knob, value = self.spring_key(int(np.argmax(np.abs(missing))))
        raise InputError(
            f"{name} is too soft to carry the arm's weight at q = {np.round(q, 3).tolist()}; "
            f"raise {knob} = {value:g}"
        )

    def spring_key(self, spring: int) -> tuple[str, str, float]:
        """Return the words for the part with this spring, and key and value of its
        stiffness in the arm file.
        """
        name, joint = (
            self.names[self.axes.owner[spring]],
            self.truth.joints[self.axes.owner[spring]],
        )
        if spring < self.axes.behind:
            return (
                f"the joint {name}",
                f"simulation.joints.{name}.stiffness",
                float(joint.stiffness or 0.0),
            )
        stiffness = joint.flexible_link.bending_stiffness if joint.flexible_link else 0.0
        return (
            f"the link of {name}",
            f"simulation.joints.{name}.flexible_link.bending_stiffness",
            stiffness,
        )


def physics_model(arm: ArmFile, mechanism: Mechanism, truth: Truth) -> PhysicsModel:
    """Return the model of the arm, whose mechanism was read, with its true properties: tool,
    payload, mass error, rotors, springs, dry friction.
    """
    names = mechanism.names
    # otherwise MuJoCo writes a file into the working directory
    mujoco.set_mju_user_warning(_log.warning)
    if truth.passive and mechanism.chain is None:
        raise InputError(
            f"{arm.path}: simulation.passive.{next(iter(truth.passive))}: {arm.name} is not a "
            "closed chain; every joint has a drive, and its friction belongs in simulation.joints"
        )
    if mechanism.chain is not None:
        return _closed_model(arm, mechanism.chain.whole, names, truth)
    of_mechanism = arm.model.suffix.lower() == ".toml"
    spec = (
        closed_spec(load_mechanism(replace(arm, tool=Tool())))
        if of_mechanism
        else model_spec(arm.model)
    )
    hold_followers(spec)
    link = last_link(spec)
    add_point_mass(link, arm.tool.mass, arm.tool.com)
    add_point_mass(link, truth.payload.mass, truth.payload.com)
    spec.option.gravity = list(arm.gravity)
    for part in (
        *spec.actuators,
        *spec.sensors,
        *spec.tendons,
        *spec.keys,
        *spec.excludes,
        *spec.pairs,
    ):
        spec.delete(part)  # actuators of an MJCF would drive the arm too
    beams = {
        j: make_flexible(
            spec,
            names[j],
            joint.flexible_link,
            f"{arm.path}: simulation.joints.{names[j]}.flexible_link",
        )
        for j, joint in enumerate(truth.joints)
        if joint.flexible_link is not None
    }
    for name, joint in zip(names, truth.joints, strict=True):
        drive = spec.joint(name)
        drive.armature = armature(arm, name, joint)
        if joint.stiffness is not None:
            # all values are stated, since the model's defaults are for drives
            spring = drive.parent.add_joint(
                name=_spring(name),
                type=drive.type,
                axis=drive.axis,
                pos=drive.pos,
                ref=0.0,
                springref=0.0,
                armature=0.0,
                frictionloss=0.0,
                stiffness=joint.stiffness,
                damping=joint.stiffness_damping,
            )
            if drive.frame is not None:
                spring.set_frame(drive.frame)
            if joint.link_friction:
                rubbing = spec.add_tendon(
                    name=_rubbing(name), frictionloss=joint.link_friction, solimp_friction=SOLIMP
                )
                rubbing.wrap_joint(name, 1.0)
                rubbing.wrap_joint(_spring(name), 1.0)
    add_tendons(spec, arm.transmission_of(names))
    model, motors = _as_it_is(spec, truth, arm, names)
    axes = _axes(model, names, truth, beams)
    gaps = gaps_of(model, truth, axes.springs[: axes.behind], axes.owner[: axes.behind])
    tendons = np.array(
        [
            model.tendon(_rubbing(name)).id
            for name, joint in zip(names, truth.joints, strict=True)
            if joint.link_friction
        ],
        dtype=int,
    )
    return PhysicsModel(
        model, axes, beams, names, truth, motors, gaps=gaps or None, link_tendons=tendons
    )


def _closed_model(
    arm: ArmFile, whole: Mechanism, names: tuple[str, ...], truth: Truth
) -> PhysicsModel:
    """Return the model of a closed chain, in which only some joints have drives.

    Joints that carry no mass get a small inertia, without which MuJoCo cannot move them.

    Raises
    ------
    InputError
        If the truth has springs, flexible links or a payload, which only open chains can have.
    """
    spec = closed_spec(whole)
    for motor in spec.actuators:
        spec.delete(motor)
    for name in truth.passive:
        if name not in (single := single_joints(whole)):
            raise InputError(
                f"{arm.path}: simulation.passive: "
                f"{unknown_name('joint of one axis without a drive', name, single)}"
            )
    for joint, name in enumerate(whole.names):
        if not (whole.carries[joint] * whole.mass).any():
            arm_length = 1.0 if whole.prismatic[joint] else length_of(whole)
            spec.joint(name).armature = _LIGHT * float(whole.mass.sum()) * arm_length**2
    for name, joint_truth in zip(names, truth.joints, strict=True):
        for knob in ("stiffness", "flexible_link"):
            if getattr(joint_truth, knob) is not None:
                raise InputError(
                    f"{arm.path}: simulation.joints.{name}.{knob}: elastic joints and links of "
                    "closed chains are not simulated; leave this key out"
                )
        spec.joint(name).armature = max(
            armature(arm, name, joint_truth), float(spec.joint(name).armature)
        )
    if truth.payload.mass > 0.0:
        raise InputError(
            f"{arm.path}: simulation.payload needs an open chain, whose last link carries it; add "
            "the mass to a link of the mechanism, or use mass_error"
        )
    spec.option.gravity = list(arm.gravity)
    spec.option.jacobian = mujoco.mjtJacobian.mjJAC_DENSE
    model, motors = _as_it_is(spec, truth, arm, names)
    model.eq_solimp[:] = SOLIMP
    drives = np.array([model.joint(name).id for name in names], dtype=int)
    loops = ClosedLoops(model, drives, np.setdiff1d(np.arange(model.nv), drives))
    passive = np.array([model.joint(name).id for name in truth.passive], dtype=int)
    return PhysicsModel(model, Axes.rigid(drives), {}, names, truth, motors, loops, passive)


def _as_it_is(
    spec: "mujoco.MjSpec", truth: Truth, arm: ArmFile, names: tuple[str, ...]
) -> tuple["mujoco.MjModel", SharedMotors]:
    """Return the compiled model with the arm's true masses and stiff dry friction, and the motors
    that move several joints.
    """
    model = spec.compile()
    motors = shared_motors(model, arm, names, truth)
    model.body_mass[:] *= 1.0 + truth.mass_error
    model.body_inertia[:] *= 1.0 + truth.mass_error
    model.jnt_limited[:] = 0
    model.dof_solimp[:] = SOLIMP
    # evaluates damping at the end of a step; overrides the file
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_EULER
    model.opt.disableflags &= ~int(mujoco.mjtDisableBit.mjDSBL_EULERDAMP)
    # a simulation that diverges reports nan instead
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_AUTORESET
    mujoco.mj_setConst(model, mujoco.MjData(model))
    return model, motors


def _spring(joint: str) -> str:
    """Return MuJoCo's name of a joint's spring."""
    return f"{joint} spring"


def _rubbing(joint: str) -> str:
    """Return MuJoCo's name of the friction of a joint's link."""
    return f"{joint} link friction"


def _axes(
    model: "mujoco.MjModel", names: tuple[str, ...], truth: Truth, beams: dict[int, Beam]
) -> Axes:
    elastic = np.flatnonzero(np.isfinite(truth.column("stiffness")))
    springs = {_spring(names[j]): int(j) for j in elastic} | {
        hinge: j for j, beam in beams.items() for hinge in beam.hinges
    }
    drives, places = (
        np.array([model.joint(name).id for name in which], dtype=int) for which in (names, springs)
    )
    return Axes(
        drives if springs else slice(None),
        places,
        np.array(list(springs.values()), dtype=int),
        len(elastic),
    )
