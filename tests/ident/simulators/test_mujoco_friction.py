"""Calibrated friction in MuJoCo against the batch code, and against motion integrated by SciPy."""

from collections.abc import Callable
from dataclasses import replace

import mujoco
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import stribeck.mujoco
from stribeck import Calibration, load_mechanism
from stribeck.ident.calibration.calibration import Calibration as Calibrated
from stribeck.ident.calibration.joint_calibration import JointCalibration
from stribeck.ident.errors import InputError
from stribeck.ident.laws.law_table import LAWS
from stribeck.ident.laws.parameter import Parameter
from stribeck.ident.memory.joint_memory import JointMemory
from stribeck.ident.model.files.to_mujoco import compile_mechanism
from stribeck.ident.ripple.wave import COGGING, FRICTION, Wave
from stribeck.mujoco import MujocoFriction, attach
from tests.ident.calibration.test_feedforward import calibration, joint

STATE = np.array([0.2, 0.5, 0.9, -0.3, 0.6, 0.1])
NAMES = load_mechanism("lab6").names
PENDULUM = """
<mujoco><option timestep="{dt}" integrator="implicitfast"/>
<worldbody><body><joint name="{prefix}swing" axis="0 1 0" damping="0.7" frictionloss="0.3"/>
<inertial pos="0 0 -0.5" mass="2" diaginertia="0.01 0.01 0.01"/></body></worldbody></mujoco>"""
MASS, ARM, INERTIA = 2.0, 0.5, 2.0 * 0.5**2 + 0.01


def arm(law: str, load: str, **given: float) -> Calibrated:
    return calibration({name: joint(law, load, k, **given) for k, name in enumerate(NAMES)})


def simulated(made: Calibrated, dt: float) -> tuple[mujoco.MjModel, mujoco.MjData]:
    model = compile_mechanism(made.mechanism)
    model.opt.timestep, model.opt.integrator = dt, mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    model.dof_armature[:] = 0.5
    data = mujoco.MjData(model)
    data.qpos[:] = STATE
    mujoco.mj_forward(model, data)
    return model, data


def swing(dt: float, prefix: str = "") -> tuple[mujoco.MjModel, mujoco.MjData]:
    model = mujoco.MjModel.from_xml_string(PENDULUM.format(dt=dt, prefix=prefix))
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    return model, data


def one(law: str = "stribeck", **changes: object) -> Calibrated:
    """A calibration of a joint called swing."""
    values = {"coulomb": 1.0, "static": 1.5, "stribeck_velocity": 0.1, "viscous": 0.4}
    own = joint(
        law,
        "none",
        0,
        **{name: value for name, value in values.items() if name in LAWS[law].parameters(False)},
    )
    return replace(
        calibration({"swing": replace(own, **changes)}), joints={"swing": replace(own, **changes)}
    )


def wave(kind: str, order: float, amplitude: float, phase: float) -> Wave:
    return Wave(
        order,
        kind,
        "known",
        amplitude,
        0.0,
        amplitude,
        amplitude,
        phase,
        phase,
        phase,
        "N·m",
        "identified",
    )


def pulled(
    model: mujoco.MjModel,
    data: mujoco.MjData,
    friction: MujocoFriction,
    torque: float,
    seconds: float,
) -> None:
    """Pull with a constant torque against gravity's opposite."""
    for _ in range(round(seconds / model.opt.timestep)):
        # about the world's y axis, which is the joint's
        data.xfrc_applied[-1, 4] = torque
        friction.step()


def prescribed(
    model: mujoco.MjModel,
    data: mujoco.MjData,
    friction: MujocoFriction,
    speed: float,
    drives: np.ndarray,
) -> np.ndarray:
    """Friction of joints at a given motion, for which drives supply gravity and friction."""
    # friction follows the loads of the step before
    for _ in range(20):
        data.qpos[:], data.qvel[:] = STATE, speed
        mujoco.mj_forward(model, data)
        drive = data.qfrc_bias + drives
        data.qfrc_applied[:] += drive
        mujoco.mj_forward(model, data)
        friction.step()
        data.qfrc_applied[:] -= drive
    return friction.torque


@pytest.mark.parametrize("dt", [0.001, 0.005])
@pytest.mark.parametrize(
    ("law", "load"),
    [
        ("coulomb-viscous", "none"),
        ("stribeck", "torque"),
        ("power", "bending"),
        ("stribeck", "normal"),
        ("loaded-viscous", "torque"),
        ("quadratic", "none"),
    ],
)
def test_sliding_friction_is_that_of_the_law(law: str, load: str, dt: float) -> None:
    made = arm(
        law,
        load,
        **{name: 0.05 * (k + 1) for k, name in enumerate(LAWS[law].with_load)}
        if load != "none"
        else {},
    )
    model, data = simulated(made, dt)
    with attach(model, data, made) as friction:
        for speed in (0.03, 0.3, 0.9, -0.3):
            expected = made.friction(STATE[None], np.full((1, 6), speed))[0]
            np.testing.assert_allclose(
                prescribed(model, data, friction, speed, expected), expected, rtol=1e-3
            )


@pytest.mark.slow
@pytest.mark.parametrize("dt", [0.001, 0.005])
def test_a_joint_at_rest_stays_there(dt: float) -> None:
    made = one()
    model, data = swing(dt)
    friction = attach(model, data, made)
    pulled(model, data, friction, 0.9 * 1.5, 1.0)
    start = data.qpos[0]
    pulled(model, data, friction, 0.9 * 1.5, 4.0)
    assert abs(data.qpos[0] - start) < 4e-7
    pulled(model, data, friction, -0.9 * 1.5, 1.0)  # a sudden change of sign is held, too
    assert abs(data.qpos[0] - start) < 0.3 * dt


@pytest.mark.slow
def test_a_joint_breaks_loose_above_its_static_friction() -> None:
    for torque, moves in ((0.98, False), (1.02, True)):
        model, data = swing(0.002)
        pulled(model, data, attach(model, data, one()), torque * 1.5, 2.0)
        assert bool(abs(data.qpos[0]) > 1e-3) is moves


def reference(q: float, friction: Callable[[float], float], seconds: float) -> np.ndarray:
    """Pendulum with dry friction by SciPy: it swings until it stops at a place where
    static friction holds gravity.
    """
    out, t = np.zeros((0, 2)), 0.0
    while t < seconds:
        way = -np.sign(q)
        if MASS * 9.81 * ARM * abs(np.sin(q)) < 1.5:
            break

        def motion(_t: float, y: np.ndarray, way: float = way) -> list[float]:
            return [y[1], (-MASS * 9.81 * ARM * np.sin(y[0]) - way * friction(abs(y[1]))) / INERTIA]

        def stops(now: float, y: np.ndarray, way: float = way, begun: float = t) -> float:
            return float(way * y[1]) if now > begun + 1e-3 else 1.0

        stops.terminal = True  # type: ignore[attr-defined]
        found = solve_ivp(
            motion, (t, seconds), [q, 0.0], events=stops, rtol=1e-9, atol=1e-10, max_step=1e-3
        )
        out = np.vstack((out, np.column_stack((found.t, found.y[0]))))
        t, q = float(found.t[-1]), float(found.y[0, -1])
    return out


@pytest.mark.slow
def test_a_pendulum_swings_as_integrated_by_scipy() -> None:
    """Errors shrink in proportion to the step."""
    true, errors = (
        reference(1.2, lambda w: 1.0 + 0.5 * np.exp(-((w / 0.1) ** 2)) + 0.4 * w, 3.0),
        [],
    )
    for dt in (0.004, 0.001):
        model, data = swing(dt)
        data.qpos[0] = 1.2
        mujoco.mj_forward(model, data)
        q = []
        with attach(model, data, one()) as friction:
            for _ in range(round(3.0 / dt)):
                friction.step()
                q.append(data.qpos[0])
        t = dt * np.arange(1, len(q) + 1)
        errors.append(float(np.abs(np.interp(t, *true.T) - q).max()))
    assert errors[0] < 0.02
    assert errors[1] < 0.4 * errors[0]


@pytest.mark.slow
@pytest.mark.parametrize("dt", [0.001, 0.005])
def test_bristles_follow_a_slow_force_as_integrated_by_scipy(dt: float) -> None:
    stiffness, damping = 2000.0, 20.0

    def known(value: float, unit: str) -> Parameter:
        return Parameter(value, None, None, None, unit, "identified")

    memory = JointMemory(
        "lugre",
        {
            "bristle_stiffness": known(stiffness, "N·m/rad"),
            "bristle_damping": known(damping, "N·m·s/rad"),
        },
        1e-3,
        0.0,
        0.0,
    )
    made = one("coulomb-viscous", memory=memory)
    level, viscous = (made.joints["swing"].values[name] for name in ("coulomb", "viscous"))

    def motion(t: float, y: np.ndarray) -> list[float]:
        q, w, z = y
        rate = w - abs(w) * stiffness * z / level
        rubs = stiffness * z + damping * rate + viscous * w
        return [
            w,
            (0.9 * level * np.sin(2.0 * t) - MASS * 9.81 * ARM * np.sin(q) - rubs) / INERTIA,
            rate,
        ]

    true = solve_ivp(
        motion,
        (0.0, 4.0),
        [0.0, 0.0, 0.0],
        method="LSODA",
        rtol=1e-8,
        atol=1e-10,
        dense_output=True,
    )
    model, data = swing(dt)
    friction, found = attach(model, data, made), []
    for k in range(round(4.0 / dt)):
        data.xfrc_applied[-1, 4] = 0.9 * level * np.sin(2.0 * (k + 0.5) * dt)
        friction.step()
        found.append(data.qpos[0])
    expected = true.sol(dt * np.arange(1, len(found) + 1))[0]
    assert np.sqrt(np.mean((np.array(found) - expected) ** 2)) < 0.05 * np.abs(expected).max()


def test_a_payload_of_the_model_presses_on_the_joints() -> None:
    """The loads are those of the simulation, with everything that the arm
    carries or touches there.
    """
    made, found = (
        arm("coulomb-viscous", "torque", coulomb=1.0, viscous=0.5, coulomb_coefficient=0.1),
        {},
    )
    for mass in (0.0, 3.0):
        model, data = simulated(made, 0.002)
        model.body_mass[-1] += mass
        mujoco.mj_setConst(model, data)
        friction = attach(model, data, made)
        found[mass] = prescribed(model, data, friction, 0.2, np.full(6, 1.5))
    assert found[3.0][1] > found[0.0][1] + 0.5


def test_offset_cogging_ripple_and_temperature_are_felt() -> None:
    waves = (wave(COGGING, 12.0, 0.2, 0.3), wave(FRICTION, 30.0, 0.1, 0.0))
    made = one("coulomb-viscous", ripple=waves, offset=0.15, gravity={})
    model, data = swing(0.001)
    friction = attach(model, data, made)
    q = []
    for _ in range(300):
        data.qvel[0] = -0.5
        before = data.qpos[0]
        friction.step()
        q.append((before, friction.torque[0]))
    place, torque = np.array(q).T
    own = made.joints["swing"]
    expected = (
        -own.values["coulomb"]
        - 0.5 * own.values["viscous"]
        + 0.15
        + own.ripple_torque(place, np.full(len(place), -0.5))
    )
    np.testing.assert_allclose(torque[20:], expected[20:], rtol=5e-3)


def test_the_model_gets_its_own_friction_back() -> None:
    model, data = swing(0.002, "left/")
    fields = (
        "dof_frictionloss",
        "dof_damping",
        "dof_solimp",
        "dof_solref",
        "jnt_stiffness",
        "qpos_spring",
    )
    before = [getattr(model, name).copy() for name in fields]
    with attach(model, data, one(), prefix="left/") as friction:
        friction.step(10)
        assert model.dof_frictionloss[0] > 0.3
    for kept, name in zip(before, fields, strict=True):
        np.testing.assert_array_equal(kept, getattr(model, name))


@pytest.mark.parametrize("spring", ["", 'stiffness="3" springref="20"'])
def test_torques_of_other_programs_stay_what_they_are(spring: str) -> None:
    """Programs set `qfrc_applied` as a whole before each step; a spring of
    the joint keeps its torque.
    """
    text = PENDULUM.format(dt=0.002, prefix="").replace('axis="0 1 0"', f'axis="0 1 0" {spring}')
    made, speeds = one("coulomb-viscous", offset=0.4), []
    for attached in (True, False):
        model = mujoco.MjModel.from_xml_string(text)
        data = mujoco.MjData(model)
        model.opt.gravity[:] = 0.0
        friction = attach(model, data, made) if attached else None
        if not attached:
            model.dof_frictionloss[0], model.dof_damping[0] = (
                made.joints["swing"].values[key] for key in ("coulomb", "viscous")
            )
        for _ in range(200):
            data.qfrc_applied[:] = 5.0 - (0.0 if attached else 0.4)
            if friction is not None:
                friction.update()
                friction.update()  # twice is as good as once
            mujoco.mj_step(model, data)
        speeds.append(data.qvel[0])
    assert speeds[0] == pytest.approx(speeds[1], rel=1e-6)


def test_a_simulation_that_begins_again_forgets() -> None:
    model, data = swing(0.002)
    friction = attach(model, data, one())
    pulled(model, data, friction, 1.3, 1.0)
    mujoco.mj_resetData(model, data)
    friction.step()
    assert abs(data.qvel[0]) < 1e-9
    assert abs(friction.torque[0]) < 1e-6


def test_friction_of_an_exported_file_does_not_count_twice() -> None:
    bristle = (
        '<actuator><dcmotor name="swing_friction" joint="swing" input="none" motorconst="0 0" '
        'resistance="1" lugre="4000 50 1 1.5 0.1"/><motor name="drive" joint="swing" '
        'gear="3"/></actuator></mujoco>'
    )
    model = mujoco.MjModel.from_xml_string(
        PENDULUM.format(dt=0.002, prefix="").replace("</mujoco>", bristle)
    )
    data = mujoco.MjData(model)
    with attach(model, data, one()) as friction:
        pulled(model, data, friction, 1.1 * 1.5, 1.0)
        assert abs(data.qpos[0]) > 0.01
        assert model.actuator_gear[:, 0].tolist() == [0.0, 3.0]
    assert model.actuator_gear[:, 0].tolist() == [1.0, 3.0]


def test_what_cannot_be_attached_is_named() -> None:
    model, data = swing(0.002, "left/")
    with pytest.raises(InputError, match=r"unknown joint 'swing'.*left/swing"):
        attach(model, data, one())
    model, data = swing(0.002)
    distance = Parameter(0.01, None, None, None, "rad", "identified")
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_RK4
    with pytest.raises(InputError, match=r"implicit integrator.*RK4"):
        attach(
            model,
            data,
            one(memory=JointMemory("relaxing", {"presliding_distance": distance}, 0.01, 0.0, 0.0)),
        )
    model, data = swing(0.002)
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_FRICTIONLOSS)
    with pytest.raises(InputError, match="which disables frictionloss; friction needs it"):
        attach(model, data, one())
    model, data = swing(0.002)
    model.jnt_stiffnesspoly[0, 0] = 1.0
    with pytest.raises(InputError, match="the spring of joint swing is a polynomial"):
        attach(model, data, one())
    unpressed: JointCalibration = joint("coulomb-viscous", "normal", 0, bearing=False)
    with pytest.raises(
        InputError,
        match="swing: its friction grows with the normal load, but the calibration states no "
        "bearing",
    ):
        attach(*swing(0.002), replace(one(), joints={"swing": unpressed}))


def test_data_of_another_model_and_a_wrong_number_of_temperatures_are_named() -> None:
    model, data = swing(0.002)
    other = mujoco.MjData(mujoco.MjModel.from_xml_string("<mujoco/>"))
    with pytest.raises(InputError, match="another model"):
        attach(model, other, one())
    with attach(model, data, one()) as friction, pytest.raises(InputError, match=r"shape \(2,\)"):
        friction.temperature = [20.0, 30.0]


def test_after_the_end_nothing_is_set_anymore() -> None:
    model, data = swing(0.002)
    with attach(model, data, one()) as friction:
        friction.step()
    model.dof_damping[0] = 5.0  # by the user, afterwards
    with pytest.raises(InputError, match="detached"):
        friction.step()
    friction.detach()
    assert model.dof_damping[0] == 5.0
    assert model.dof_frictionloss[0] == 0.3


def test_a_calibration_file_is_enough() -> None:
    assert stribeck.mujoco.attach is attach
    made = Calibration.load("data/golden")
    assert set(made.joints)
