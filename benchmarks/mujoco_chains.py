"""MuJoCo as judge of the forward dynamics of closed chains; its loops are soft constraints."""

from dataclasses import replace

import mujoco
import numpy as np

from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.laws.stribeck import stribeck
from stribeck.ident.model.driven.forward_simulation import forward_motion
from stribeck.ident.model.files.closed_mujoco import closed_spec
from stribeck.ident.model.joint_parts import JointFriction, Spring
from stribeck.ident.model.mechanism import Mechanism

# time step and time constant of the closures [s]
SOFTNESS = (1e-3, 2e-2), (5e-4, 5e-3), (2e-4, 1e-3)
_EVERY = 0.01  # s between compared postures


def against_mujoco(
    chain: str | Mechanism, seconds: float, softness: tuple[tuple[float, float], ...] = SOFTNESS
) -> list[float]:
    """Greatest difference of a joint's position [rad or m] from MuJoCo's, for each
    softness of its closures.

    Constant forces pull on the drives, which have springs and viscous friction. Massless legs get a
    mass. Elastic joints start in equilibrium.
    """
    m = judged(chain)
    t, tau, still = (
        np.arange(0.0, seconds + _EVERY / 2.0, _EVERY),
        np.zeros(m.n),
        np.zeros(len(m.active)),
    )
    tau[list(m.active)] = np.linspace(10.0, 40.0, len(m.active))
    motion = forward_motion(m, lambda t, q, dq: tau, still, still, t)
    assert np.abs(motion.q[-1, list(m.active)]).max() > 0.01, "nothing moves"
    errors = []
    for timestep, time_constant in softness:
        model = mujoco_chain(m, timestep, time_constant)
        data, off = mujoco.MjData(model), 0.0
        order = _order(m, model)
        data.qpos[order], data.qfrc_applied[order] = motion.q[0], tau
        for row in motion.q[1:]:
            for _ in range(round(_EVERY / timestep)):
                mujoco.mj_step(model, data)
            off = max(off, float(np.abs(data.qpos[order] - row).max()))
        errors.append(off)
    return errors


def rubbing_against_mujoco(
    seconds: float, softness: tuple[tuple[float, float], ...] = SOFTNESS
) -> list[float]:
    """The same difference for the planar 3-PRR with friction; each step sets the friction level of
    MuJoCo's sliders by the law.

    One slider sticks and breaks loose; the other sliders reverse.
    """
    m = load_mechanism("planar-3-prr")
    drives = list(m.active)
    m = replace(m, springs={j: Spring(300.0, 2.0) for j in drives})
    t, tau = np.arange(0.0, seconds + _EVERY / 2.0, _EVERY), np.zeros(m.n)
    tau[drives] = 20.0, -10.0, 25.0
    motion = forward_motion(m, lambda t, q, dq: tau, np.zeros(3), np.zeros(3), t)
    assert {event.what for event in motion.events} == {"breaks loose", "turns back"}
    viscous = JointFriction(
        "coulomb-viscous",
        "none",
        {"coulomb": 0.0, "viscous": m.friction[drives[0]].parameters["viscous"]},
    )
    errors = []
    for timestep, time_constant in softness:
        model = mujoco_chain(
            replace(m, friction=dict.fromkeys(drives, viscous)), timestep, time_constant
        )
        model.dof_solimp[:], model.dof_solref[:] = (
            [0.9999, 0.9999, 0.001, 0.5, 2.0],
            [2.0 * timestep, 1.0],
        )
        data, off = mujoco.MjData(model), 0.0
        order = _order(m, model)
        data.qpos[order], data.qfrc_applied[order] = motion.q[0], tau
        mujoco.mj_forward(model, data)
        for row in motion.q[1:]:
            for _ in range(round(_EVERY / timestep)):
                mujoco.mj_rnePostConstraint(model, data)
                for j in drives:
                    k = order[j]
                    # along x, no moment
                    speed, load = (
                        abs(data.qvel[k]),
                        np.hypot(*data.cfrc_int[model.jnt_bodyid[k], 4:]),
                    )
                    law = {**m.friction[j].parameters, "viscous": 0.0}
                    model.dof_frictionloss[k] = stribeck(
                        np.array([max(speed, 1e-300)]), **law, load=np.array([load])
                    )[0]
                mujoco.mj_step(model, data)
            off = max(off, float(np.abs(data.qpos[order] - row).max()))
        errors.append(off)
    return errors


def judged(chain: str | Mechanism) -> Mechanism:
    """Return a chain in a form that MuJoCo supports: viscous friction, springs,
    and mass in every last link.
    """
    m = load_mechanism(chain) if isinstance(chain, str) else chain
    bare = (m.mass == 0.0) & ~m.inertia.any(axis=(1, 2))
    if m.springs:
        bare &= [j not in m.parent for j in range(m.n)]
    return replace(
        m,
        friction={
            j: JointFriction("coulomb-viscous", "none", {"coulomb": 0.0, "viscous": 8.0})
            for j in m.active
        },
        springs={**m.springs, **{j: Spring(300.0, 2.0) for j in m.active}},
        balls=(),
        closures=tuple(replace(closure, friction_arm=0.0) for closure in m.closures),
        mass=np.where(bare, 0.3, m.mass) if bare.sum() > 1 else m.mass,
        inertia=np.where(bare[:, None, None], 0.004 * np.eye(3), m.inertia)
        if bare.sum() > 1
        else m.inertia,
    )


def mujoco_chain(m: Mechanism, timestep: float, time_constant: float) -> mujoco.MjModel:
    """MuJoCo model of the chain with soft loops of a given time constant, and with its
    springs and viscous friction.
    """
    spec = closed_spec(m)
    spec.option.timestep, spec.option.tolerance = timestep, 1e-14
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_RK4
    model = spec.compile()
    model.eq_solref[:], model.eq_solimp[:] = [time_constant, 1.0], [0.9999, 0.9999, 0.001, 0.5, 2.0]
    model.jnt_limited[:] = 0
    for j, name in enumerate(m.names):
        joint, spring = model.joint(name), m.springs.get(j, Spring(0.0))
        viscous = m.friction[j].parameters["viscous"] if j in m.friction else 0.0
        model.jnt_stiffness[joint.id], model.dof_damping[joint.dofadr[0]] = (
            spring.stiffness,
            spring.damping + viscous,
        )
    return model


def _order(m: Mechanism, model: mujoco.MjModel) -> list[int]:
    """Addresses of all joints in MuJoCo's positions; joints are slides or hinges."""
    return [int(model.joint(name).qposadr[0]) for name in m.names]
