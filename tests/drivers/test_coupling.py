"""Motors that move several joints: commands are for joints, and the drives are motors."""

import numpy as np
import pytest

from stribeck.drivers.arm import Command
from stribeck.drivers.coupling import limits_of_motors
from stribeck.drivers.errors import DriverError
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.errors import InputError
from tests.drivers.ideal_drives import ideal_arm
from tests.drivers.virtual import virtual_drives
from tests.drivers.wires import PAIR, steps, with_port

COUPLED = {"transmission": {"lift": {"turn": 0.5}}}
RATE = np.array([0.3, -0.2])  # of the joints
OF_MOTORS = np.array([0.3, -0.2 + 0.5 * 0.3])


def test_limits_of_motors_let_joints_use_their_limits(make_arm):
    arm = make_arm(COUPLED)
    mechanism = load_mechanism(arm)
    joints, coupled = arm.limits(mechanism), mechanism.transmission
    motors = limits_of_motors(joints, coupled)
    rng = np.random.default_rng(0)
    q = rng.uniform(*joints.position.T, (2000, 2))
    travel = coupled.of_motors(np.vstack((q, joints.position.T)))
    assert (travel >= motors.position[:, 0] - 1e-12).all()
    assert (travel <= motors.position[:, 1] + 1e-12).all()
    np.testing.assert_allclose(motors.velocity, [2.0, 1.5 + 0.5 * 2.0])
    # u_turn = tau_turn - 0.5 tau_lift
    np.testing.assert_allclose(motors.torque, [60.0 + 0.5 * 40.0, 40.0])


def test_set_points_go_to_motors_and_replies_are_converted_to_joints(make_arm):
    with ideal_arm(make_arm(COUPLED)) as arm:
        arm.enable()
        samples = steps(arm, 20, RATE)
        assert [axis.velocity for axis in arm.axes] == pytest.approx(OF_MOTORS)
        assert samples[-1].dq == pytest.approx(RATE)
        way = samples[-1].q - samples[0].q
        assert way == pytest.approx(19 * 0.005 * RATE)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["canopen", "damiao", "odrive"])
def test_emulated_drives_carry_a_coupled_joint(make_arm, kind):
    """Both joints follow their commands, and the reported torques are those of the joints."""
    simulation = {"motors": {"lift": {"coulomb": 1.5, "viscous": 0.8}}}
    table = with_port(PAIR[kind], 1) | COUPLED | {"simulation": simulation}
    with virtual_drives(make_arm(table), lambda node: None) as arm, arm:
        arm.enable()
        samples = steps(arm, 120, RATE)
        late = samples[60:]
        rate = np.mean([sample.dq for sample in late], axis=0)
        torque = np.mean([sample.tau for sample in late], axis=0)
        assert rate == pytest.approx(RATE, abs=0.02)
        back = np.mean([sample.tau for sample in steps(arm, 120, -RATE)[60:]], axis=0)
    # gravity changes little within a tenth of a radian
    odd = 0.5 * (torque - back)
    motor = 1.5 * np.sign(OF_MOTORS[1]) + 0.8 * OF_MOTORS[1]
    assert odd[0] == pytest.approx(3.0 + 2.0 * 0.3 + 0.5 * motor, rel=0.1)
    assert odd[1] == pytest.approx(-2.0 - 1.5 * 0.2 + motor, rel=0.15)


def test_joints_that_share_a_motor_must_share_a_mode(make_arm):
    table = with_port(PAIR["canopen"], 1) | COUPLED
    with virtual_drives(make_arm(table), lambda node: None) as arm, arm:
        arm.enable()
        with pytest.raises(DriverError, match="turn and lift share the motor of lift"):
            arm.step(Command(np.zeros(2), np.zeros(2), ("torque", "velocity")))


def test_a_driver_without_coupling_refuses_a_transmission(make_arm):
    from stribeck.drivers.connect import connect

    with pytest.raises(
        InputError,
        match=r"\[transmission\]: the driver cubemars does not support motors that move "
        "several joints",
    ):
        connect(make_arm(with_port(PAIR["cubemars"], 1) | COUPLED))
