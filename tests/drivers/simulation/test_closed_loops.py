"""The simulated machine with closed loops: MuJoCo's constraints hold, and its reaction forces
equal those of our model.
"""

from dataclasses import replace

import numpy as np
import pytest

from stribeck.drivers.arm import Command
from stribeck.drivers.errors import DriverError
from stribeck.drivers.simulation.simulated_arm import SimulatedArm
from stribeck.ident.arm.arm_file import ArmFile, load_arm
from stribeck.ident.arm.arm_tables import DriverTable
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.errors import InputError
from stribeck.ident.model.dynamics import mass_matrix
from stribeck.ident.model.files.closed_mujoco import closed_spec
from stribeck.ident.model.loads import joint_loads

# and the travel of their drives here
MACHINES = {"planar-3-prr": 0.03, "three-loop-chain": 1.0, "gough-stewart": 0.08}


def without_noise(name: str) -> ArmFile:
    """The built-in machine with exact sensors, at 1 kHz."""
    arm = load_arm(name)
    table = {**arm.simulation, "torque_noise": 0.0, "encoder_step": 0.0}
    return replace(arm, simulation=table, driver=DriverTable(kind="simulated", rate=1000.0))


@pytest.mark.slow
def test_loops_close_where_a_tiny_newton_step_is_left() -> None:
    """Before the last Newton step, the gap is just above the limit, and
    the step is just below it.
    """
    q = [
        -0.0014627803986200394,
        -0.0012102878483374355,
        0.0015123106181218163,
        -0.0010758442047522332,
        -0.0008803864679800853,
        -0.0007183315011665806,
    ]
    machine = SimulatedArm(without_noise("gough-stewart"))
    loops = machine._physics.loops
    assert loops is not None
    loops.close(machine._data, np.array(q))


@pytest.mark.parametrize(("name", "far"), MACHINES.items())
@pytest.mark.slow
def test_true_loads_equal_the_loads_of_the_model(name: str, far: float) -> None:
    """At rest and in motion; differences come from soft constraints in MuJoCo and from the
    inertia of massless links.
    """
    arm = load_arm(name)
    driven, machine = load_mechanism(arm), SimulatedArm(arm)
    rng = np.random.default_rng(1)
    q, dq = rng.uniform(-far, far, (20, driven.n)), 0.3 * far * rng.normal(size=(20, driven.n))
    near = driven.chain.condition(q - 0.1 * dq, q + 0.1 * dq) < 40.0
    q, dq = q[near][:4], dq[near][:4]
    assert len(q) == 4
    for rate in (None, dq):
        found, wanted = machine.loads(q, rate), joint_loads(driven, q, rate)
        load = wanted.normal if driven.bearings[0] is not None else wanted.torque
        np.testing.assert_allclose(found, load, rtol=5e-4, atol=2e-3 * load.max())


@pytest.mark.parametrize("name", MACHINES)
@pytest.mark.slow
def test_drive_torques_equal_model_plus_true_friction(name: str) -> None:
    """All drives move back and forth: torque is that of the model plus true friction,
    and the loops stay closed.
    """
    arm = without_noise(name)
    driven, machine, speed = (
        load_mechanism(arm),
        SimulatedArm(arm),
        0.1 * float(arm.limits(load_mechanism(arm)).velocity[0]),
    )
    machine.enable()
    states, apart = [], 0.0
    for k in range(400):
        sample = machine.step(Command(np.full(driven.n, speed * np.sin(2.0 * np.pi * k / 400))))
        states.append((sample.q, sample.dq, sample.tau))
        apart = max(apart, float(np.abs(machine._data.efc_pos[: machine._data.ne]).max()))
    q, dq, tau = (np.array(values) for values in zip(*states, strict=True))
    rows = np.flatnonzero(np.abs(dq).min(axis=1) > 0.3 * speed)[2:-2:9]
    before = rows - 1  # a torque acts from one sample to the next
    ddq = (dq[rows] - dq[before]) * arm.driver.rate
    loads = joint_loads(driven, q[before], dq[before], ddq)  # loads of accelerated motion
    friction = machine.truth.friction(
        dq[before], loads.torque if driven.bearings[0] is None else loads.normal, loads.tau
    )
    wanted = loads.tau + friction
    wanted += ddq * [
        arm.joint(joint).rotor_inertia * arm.joint(joint).ratio ** 2 for joint in driven.names
    ]
    assert np.abs(tau[rows] - wanted).max() < 0.01 * np.abs(friction).mean()
    assert apart < 1e-6  # m


@pytest.mark.slow
def test_softness_of_constraints_is_of_the_order_of_the_step_squared() -> None:
    """At half the step, the gap of the loops under the same load is a quarter."""
    gaps = []
    for rate in (1000.0, 2000.0):
        arm = replace(
            without_noise("planar-3-prr"), driver=DriverTable(kind="simulated", rate=rate)
        )
        machine = SimulatedArm(arm)
        machine.enable()
        for _ in range(int(0.1 * rate)):
            machine.step(Command(np.zeros(3)))
        gaps.append(float(np.abs(machine._data.efc_pos[: machine._data.ne]).max()))
    assert gaps[0] < 1e-7
    assert gaps[0] / gaps[1] == pytest.approx(4.0, rel=0.2)


@pytest.mark.parametrize("name", MACHINES)
@pytest.mark.slow
def test_the_inertia_at_the_drives_equals_that_of_the_model(name: str) -> None:
    arm = load_arm(name)
    driven, machine = load_mechanism(arm), SimulatedArm(arm)
    physics, data = machine._physics, machine._data
    physics.stand(data, np.zeros(driven.n))
    rotors = np.diag(
        [arm.joint(joint).rotor_inertia * arm.joint(joint).ratio ** 2 for joint in driven.names]
    )
    wanted = mass_matrix(driven, np.zeros((1, driven.n)))[0] + rotors
    np.testing.assert_allclose(physics.inertia(data), wanted, rtol=1e-3, atol=2e-3)


def test_a_pin_that_could_tilt_gets_two_constraints() -> None:
    """In a planar chain one point constraint per pin is enough; a hinge between a link and the
    ground in space needs two.
    """
    planar = load_mechanism("planar-3-prr")
    assert len(closed_spec(planar).equalities) == len(planar.closures)
    free = load_mechanism("gough-stewart")
    pinned = replace(free.closures[0], kind="pin", axis=np.array([0.0, 0.0, 1.0]))
    assert len(closed_spec(replace(free, closures=(pinned, *free.closures[1:]))).equalities) == 7


@pytest.mark.slow
def test_positions_out_of_reach_are_refused() -> None:
    machine = SimulatedArm(load_arm("planar-3-prr"))
    with pytest.raises(DriverError, match="loops do not close"):
        machine.loads(np.array([[0.3, -0.3, 0.0]]))


@pytest.mark.parametrize(
    ("knob", "words"),
    [
        (
            {"joints": {"slider1": {"stiffness": 1e5, "armature": 1.0}}},
            "simulation.joints.slider1.stiffness",
        ),
        ({"payload": {"mass": 1.0}}, "simulation.payload"),
    ],
)
def test_keys_for_open_chains_only_are_refused(knob: dict, words: str) -> None:
    arm = load_arm("planar-3-prr")
    with pytest.raises(InputError, match=words):
        SimulatedArm(replace(arm, simulation={**arm.simulation, **knob}))
