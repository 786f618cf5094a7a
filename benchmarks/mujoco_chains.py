"""Closed chains in MuJoCo, whose loops are soft constraints, as judge of forward dynamics."""

from dataclasses import replace

import mujoco
import numpy as np

from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.laws.stribeck import stribeck
from stribeck.ident.model.driven.forward_simulation import forward_motion
from stribeck.ident.model.mechanism import JointFriction, Mechanism, Spring

SOFTNESS = (1e-3, 2e-2), (5e-4, 5e-3), (2e-4, 1e-3)         # time step and time constant of the closures [s]
_EVERY = 0.01           # s between compared postures


def against_mujoco(name: str, seconds: float, softness: tuple[tuple[float, float], ...] = SOFTNESS) -> list[float]:
    """Greatest difference of a joint's position [rad or m] from MuJoCo's, for each softness of its closures.

    Constant forces pull on the drives, which have springs and viscous friction; legs without mass get some.
    """
    m = judged(name)
    t, tau, still = np.arange(0.0, seconds + _EVERY / 2.0, _EVERY), np.zeros(m.n), np.zeros(len(m.active))
    tau[list(m.active)] = np.linspace(10.0, 40.0, len(m.active))
    motion = forward_motion(m, lambda t, q, dq: tau, still, still, t)
    assert np.abs(motion.q[-1, list(m.active)]).max() > 0.01, "nothing moves"
    errors = []
    for timestep, time_constant in softness:
        model = mujoco_chain(m, timestep, time_constant)
        data, off = mujoco.MjData(model), 0.0
        data.qpos[:], data.qfrc_applied[:] = motion.q[0], tau
        for row in motion.q[1:]:
            for _ in range(round(_EVERY / timestep)):
                mujoco.mj_step(model, data)
            off = max(off, float(np.abs(data.qpos - row).max()))
        errors.append(off)
    return errors


def rubbing_against_mujoco(seconds: float, softness: tuple[tuple[float, float], ...] = SOFTNESS) -> list[float]:
    """The same of the planar 3-PRR with its friction: MuJoCo's sliders have the law's level at their speed and load in each step.

    One slider sticks and breaks loose, the others turn back.
    """
    m = load_mechanism("planar-3-prr")
    drives = list(m.active)
    m = replace(m, springs={j: Spring(300.0, 2.0) for j in drives})
    t, tau = np.arange(0.0, seconds + _EVERY / 2.0, _EVERY), np.zeros(m.n)
    tau[drives] = 20.0, -10.0, 25.0
    motion = forward_motion(m, lambda t, q, dq: tau, np.zeros(3), np.zeros(3), t)
    assert {event.what for event in motion.events} == {"breaks loose", "turns back"}
    viscous = JointFriction("coulomb-viscous", "none", {"coulomb": 0.0, "viscous": m.friction[drives[0]].parameters["viscous"]})
    errors = []
    for timestep, time_constant in softness:
        model = mujoco_chain(replace(m, friction=dict.fromkeys(drives, viscous)), timestep, time_constant)
        model.dof_solimp[:], model.dof_solref[:] = [0.9999, 0.9999, 0.001, 0.5, 2.0], [2.0 * timestep, 1.0]
        data, off = mujoco.MjData(model), 0.0
        data.qpos[:], data.qfrc_applied[:] = motion.q[0], tau
        mujoco.mj_forward(model, data)
        for row in motion.q[1:]:
            for _ in range(round(_EVERY / timestep)):
                mujoco.mj_rnePostConstraint(model, data)
                for j in drives:
                    speed, load = abs(data.qvel[j]), np.hypot(*data.cfrc_int[j + 1, 4:])       # slides along x, without moment
                    law = {**m.friction[j].parameters, "viscous": 0.0}
                    model.dof_frictionloss[j] = stribeck(np.array([max(speed, 1e-300)]), **law, load=np.array([load]))[0]
                mujoco.mj_step(model, data)
            off = max(off, float(np.abs(data.qpos - row).max()))
        errors.append(off)
    return errors


def judged(name: str) -> Mechanism:
    """A built-in chain as MuJoCo can have it: viscous friction, springs, mass in every link."""
    m = load_mechanism(name)
    bare = m.mass == 0.0
    return replace(m, friction={j: JointFriction("coulomb-viscous", "none", {"coulomb": 0.0, "viscous": 8.0}) for j in m.active},
                   springs={j: Spring(300.0, 2.0) for j in m.active}, balls=(),
                   closures=tuple(replace(closure, friction_arm=0.0) for closure in m.closures),
                   mass=np.where(bare, 0.3, m.mass) if bare.sum() > 1 else m.mass,
                   inertia=np.where(bare[:, None, None], 0.004 * np.eye(3), m.inertia) if bare.sum() > 1 else m.inertia)


def mujoco_chain(m: Mechanism, timestep: float, time_constant: float) -> mujoco.MjModel:
    """The chain in MuJoCo, its loops as soft `connect` constraints that close with a time constant."""
    spec = mujoco.MjSpec()
    spec.compiler.balanceinertia, spec.compiler.boundmass, spec.compiler.boundinertia = False, 0.0, 0.0
    bodies = [spec.worldbody]
    for j, parent in enumerate(m.parent):
        J, spring, friction = m.inertia[j] + 1e-12 * np.eye(3), m.springs.get(j, Spring(0.0)), m.friction.get(j)
        body = bodies[parent + 1].add_body(name=f"link {j}", pos=m.origin[j], mass=max(m.mass[j], 1e-9), ipos=m.com[j],
                                           explicitinertial=True)
        body.fullinertia = [J[0, 0], J[1, 1], J[2, 2], J[0, 1], J[0, 2], J[1, 2]]
        body.add_joint(type=mujoco.mjtJoint.mjJNT_SLIDE if m.prismatic[j] else mujoco.mjtJoint.mjJNT_HINGE, axis=m.axis[j],
                       stiffness=[spring.stiffness, 0.0, 0.0],
                       damping=[spring.damping + (friction.parameters["viscous"] if friction else 0.0), 0.0, 0.0])
        bodies.append(body)
    for closure in m.closures:
        a, b = (bodies[link + 1].name for link in closure.links)
        one = spec.add_equality(type=mujoco.mjtEq.mjEQ_CONNECT, objtype=mujoco.mjtObj.mjOBJ_BODY, name1=a, name2=b,
                                solref=[time_constant, 1.0], solimp=[0.9999, 0.9999, 0.001, 0.5, 2.0])
        one.data[:3], one.data[3:6] = closure.points
    spec.option.gravity, spec.option.timestep, spec.option.tolerance = m.gravity, timestep, 1e-14
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_RK4
    return spec.compile()
