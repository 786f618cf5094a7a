"""CubeMars AK motors: a position ramp with stiffness, damping and gravity torque, and
arm files that are refused."""

from contextlib import contextmanager

import can
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stribeck.drivers.arm import Command
from stribeck.drivers.connect import connect
from stribeck.drivers.errors import DriverError
from stribeck.drivers.mit.mit_frames import CUBEMARS, pack_command
from stribeck.drivers.wire.polled.polled_axis import Frame
from stribeck.ident.errors import InputError
from stribeck.ident.model.dynamics import inverse_dynamics
from tests.drivers.virtual import program_of
from tests.drivers.wires import PAIR, merged, steps, until_it_fails, with_port

FAULT = b"\xff\0\xff\0\xff\0\xff"  # the emulator's own command


@pytest.fixture(scope="module")
def pair(bench):
    """Emulated motors."""
    return bench("cubemars")


def changed(make_arm, **drive):
    """The pair with other keys of "lift"."""
    joint = {key: drive.pop(key) for key in ("stop", "slowest") if key in drive}
    return make_arm(
        merged(with_port(PAIR["cubemars"], 1), {"joints": {"lift": {**joint, "drive": drive}}})
    )


def test_gravity_is_compensated_and_a_ramp_is_followed(pair):
    """Without feed-forward of gravity the boom would sag by 6 mrad when its brake opens."""
    with connect(pair.arm) as arm:
        before = arm.look(5)[-1].q
        arm.enable()
        np.testing.assert_allclose(
            [sample.q for sample in steps(arm, 40)], np.tile(before, (40, 1)), atol=2e-3
        )
        speed = np.array([0.1, -0.08])
        samples = steps(arm, 120, speed)[40:]
        t, q = (
            np.array([sample.t for sample in samples]),
            np.array([sample.q for sample in samples]),
        )
        np.testing.assert_allclose((q[-1] - q[0]) / (t[-1] - t[0]), speed, rtol=0.05)
        assert samples[-1].temperature.tolist() == [35.0, 35.0]


def test_the_error_of_torque_readings_is_within_the_stated_bound(bench):
    """The motor pulls less and less until its next set-point, and is read at that moment: friction
    looks far too small here.
    """
    speed, stiff = 0.3, bench("cubemars", {"joints": {"turn": {"drive": {"kp": 90.0}}}})
    with connect(stiff.arm) as arm:
        arm.enable()
        ways = [
            np.array([sample.tau[0] for sample in steps(arm, 120, np.array([way, 0.0]))[40:]])
            for way in (speed, -speed)
        ]
        bound = arm.resolution.viscous_error[0] * speed
    odd, truth = (np.median(ways[0]) - np.median(ways[1])) / 2.0, 3.0 + 2.0 * speed
    assert bound == pytest.approx(90.0 * 4.0**2 / (2.0 * 200.0) * speed)
    assert 0.5 * bound < truth - odd < 1.1 * bound


def test_after_a_pause_the_joints_stop_where_they_stand(pair):
    """The motor has no watchdog, but the ramp stops when the program does; the
    joint runs on for kd / kp.
    """
    with connect(pair.arm) as arm:
        arm.enable()
        before = steps(arm, 60, np.array([0.2, 0.0]))[-1].q
        # 80 mrad at this speed, but 25 mrad in kd / kp
        pair.clock.sleep(0.4)
        with pytest.raises(
            DriverError, match=r"this computer sent nothing for \d+ ms; the arm was stopped"
        ):
            arm.step(Command(np.array([0.2, 0.0])))
        assert abs(arm.look(1)[0].q[0] - before[0] - 0.012) < 0.004  # and does not swing back


def test_an_earlier_fault_is_reported_and_kept_until_a_reset(pair):
    with pair.bus.join() as bus:
        bus.send(can.Message(arbitration_id=1, data=FAULT + b"\2", is_extended_id=False))
    pair.clock.sleep(0.1)
    for _ in range(2):
        with (
            pytest.raises(
                DriverError, match=r"drive of turn has a fault: overcurrent; .*check --reset"
            ),
            connect(pair.arm),
        ):
            pass
    connect(pair.arm).reset()
    with connect(pair.arm) as arm:
        arm.enable()
        steps(arm, 5)


def test_a_fault_stops_all_joints_and_is_reported(pair):
    with pair.bus.join() as bus:
        arm = connect(pair.arm)
        with arm:
            arm.enable()
            steps(arm, 5)
            bus.send(can.Message(arbitration_id=1, data=FAULT + b"\2", is_extended_id=False))
            with pytest.raises(DriverError, match="turn stopped by itself: overcurrent"):
                until_it_fails(arm)
        with pytest.raises(DriverError, match=r"overcurrent.*stribeck check --reset"), arm:
            pass
        arm.reset()
        with arm:
            arm.enable()
            steps(arm, 3)


ON, OFF = (b"\xff" * 7 + bytes([last]) for last in (0xFC, 0xFD))


def pulls(pair, bus, motor):
    """Whether a motor pulls after a torque command: its second reply shows that torque,
    its first the torque before.
    """
    data = pack_command(CUBEMARS["AK70-10"], 0.0, 0.0, 0.0, 0.0, 0.5)
    frame = can.Message(arbitration_id=motor, data=data, is_extended_id=False)
    while bus.recv(0) is not None:
        pass
    for _ in range(2):
        bus.send(frame)
        pair.clock.sleep(0.02)
    replies = [
        message.data
        for message in iter(lambda: bus.recv(0.05), None)
        if message.arbitration_id == 0
    ]
    return abs(((replies[-1][4] & 15) << 8 | replies[-1][5]) - 2047) > 20


@pytest.fixture
def bus(pair):
    with pair.bus.join() as made:
        yield made
        made.send(can.Message(arbitration_id=1, data=OFF, is_extended_id=False))
        pair.clock.sleep(0.15)


def test_connecting_sets_motors_to_rest_that_a_killed_program_left_powered(pair, bus):
    bus.send(can.Message(arbitration_id=1, data=ON, is_extended_id=False))
    assert pulls(pair, bus, 1)
    pair.clock.sleep(0.15)
    with connect(pair.arm):
        pass
    assert not pulls(pair, bus, 1)


def test_an_old_set_point_of_another_program_moves_no_joint_at_enabling(pair, bus):
    far = pack_command(CUBEMARS["AK70-10"], 2.0, 0.0, 80.0, 5.0, 0.0)
    for data in (ON, far, OFF):
        bus.send(can.Message(arbitration_id=1, data=data, is_extended_id=False))
    pair.clock.sleep(0.15)
    with connect(pair.arm) as arm:
        before = arm.look(5)[-1].q
        arm.enable()
        np.testing.assert_allclose(
            [sample.q for sample in steps(arm, 40)], np.tile(before, (40, 1)), atol=2e-3
        )


def test_a_reset_leaves_no_motor_limp_under_power(pair, bus):
    """The question for faults has zero gains: a motor that holds its joint, with its brake
    open, would drop the joint.
    """
    bus.send(can.Message(arbitration_id=1, data=ON, is_extended_id=False))
    assert pulls(pair, bus, 1)
    pair.clock.sleep(0.15)
    connect(pair.arm).reset()
    assert not pulls(pair, bus, 1)


@contextmanager
def losing(arm, data, count):
    """Lose the first frames with these bytes to the first motor, and
    check that as many were sent.
    """
    bus, left = arm.link._bus, count
    send = bus.send

    def lossy(message, timeout=None):
        nonlocal left
        if bytes(message.data) == data and message.arbitration_id == 1 and left:
            left -= 1
        else:
            send(message)

    bus.send = lossy
    yield
    bus.send = send
    assert left == 0


@pytest.mark.parametrize("lost", [1, 2])
def test_motor_mode_is_sent_until_it_is_answered(pair, lost):
    with connect(pair.arm) as arm:
        with losing(arm, ON, lost):
            arm.enable()
        q = [sample.q for sample in steps(arm, 60, np.array([0.3, 0.0]))]
    assert q[-1][0] - q[0][0] > 0.05


@pytest.mark.parametrize("lost", [1, 4])
def test_rest_mode_is_sent_until_it_is_answered(pair, bus, lost):
    with connect(pair.arm) as arm:
        arm.enable()
        steps(arm, 5)
        with losing(arm, OFF, lost):
            arm.stop("enough")
    assert not pulls(pair, bus, 1)


def test_motors_that_follow_another_program_are_left_alone(bench):
    motors = bench("cubemars")
    with program_of(motors) as program:
        with (
            pytest.raises(DriverError, match=r"(turn|lift) follows another program"),
            connect(motors.arm),
        ):
            pass
        motors.clock.sleep(0.2)
        assert not program.said


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"kp": 0.0}, r"joints.lift.drive.kp = 0: state joints.lift.slowest"),
        (
            {"kp": 0.0, "slowest": 0.01},
            r"kp = 0: a gravity torque of .* would pull the joint off its slowest speed, 0.01 "
            r"rad/s; "
            "without kp at most 0.08 N·m",
        ),
        ({"kp": 600.0}, r"joints.lift.drive.kp = 600"),
        (
            {"kp": 90.0},
            r"kp = 90: at 1.5 rad/s each step of the position ramp would add 10.8 N·m,.*10 N·m, "
            r"0.25 of the",
        ),
        (
            {"kp": 20.0},
            r"kd = 5: .* keeps its speed for up to kd / kp = 0.25 s, but plans allow for only "
            r"driver.watchdog = 0.2 s",
        ),
        ({"kd": 0.0}, r"joints.lift.drive.kd = 0"),
        ({"id": 1}, r"joints.lift.drive.id = 1 is already used by turn"),
        (
            {"stop": "hold"},
            r"joints.lift.stop = \"hold\": an AK motor does not report whether it holds",
        ),
    ],
)
def test_joints_that_would_sag_or_fall_are_refused(make_arm, keys, words):
    with pytest.raises(InputError, match=words), connect(changed(make_arm, **keys)):
        pass


def test_a_joint_without_stiffness_is_accepted_if_damping_is_stronger_than_gravity(make_arm):
    """A column that turns about the vertical, where gravity has no torque."""
    arm = connect(
        make_arm(
            merged(
                with_port(PAIR["cubemars"], 1),
                {"joints": {"turn": {"slowest": 0.01, "drive": {"kp": 0.0}}}},
            )
        )
    )
    with can.Bus(interface="virtual", channel="nobody") as bus:
        arm.link.open(bus)


def test_the_largest_gravity_torque_is_found_between_the_random_postures(make_arm):
    link = connect(make_arm(with_port(PAIR["cubemars"], 1))).link
    low, high = np.array([axis.joint.position for axis in link.axes]).T
    angles = np.linspace(low[1], high[1], 100_001)
    gravity = inverse_dynamics(link.mechanism, np.column_stack((np.zeros_like(angles), angles)))[
        :, 1
    ]
    assert link._most_gravity(1, low, high) == pytest.approx(np.abs(gravity).max(), rel=1e-6)


def test_the_missing_watchdog_must_be_allowed_in_the_arm_file(pair, make_arm):
    port = pair.arm.driver.model_extra["bus"]["port"]
    arm = make_arm(
        merged(with_port(PAIR["cubemars"], port), {"driver": {"allow_no_watchdog": False}})
    )
    with pytest.raises(
        InputError, match=r"pair.toml: AK motors have no watchdog.*allow_no_watchdog"
    ):
        connect(arm)


@pytest.fixture(scope="module")
def axis(make_arm):
    return connect(make_arm(with_port(PAIR["cubemars"], 1))).axes[0]


def test_a_fault_under_power_leads_to_rest_mode_and_is_remembered(axis, monkeypatch):
    """The brake closes only in rest mode, which clears the motor's fault."""
    reply = bytearray(8)
    reply[0], reply[7] = 1, 2
    axis.due, axis._powered, axis._goal = True, True, "follow"
    axis.take(Frame(0, bytes(reply)))
    assert (axis.power, axis.trouble) == ("fault", "overcurrent")
    for ended in (axis.quick_stop, axis.disable):
        axis._powered = True
        ended()
        assert [frame.data for frame in axis.frames()] == [OFF]
    for _ in range(3):
        axis.due = True
        axis.take(Frame(0, bytes(reply)))
    assert not axis._powered
    assert [frame.data for frame in axis.frames()] != [OFF]
    monkeypatch.setattr(axis, "_state", lambda: 0)
    with pytest.raises(DriverError, match=r"turn has a fault: overcurrent.*check --reset"):
        axis.configure()


@given(identifier=st.sampled_from([0, 1, 2]), data=st.binary(max_size=8), due=st.booleans())
def test_the_reader_survives_any_frame_on_the_bus(axis, identifier, data, due):
    axis.due = due
    axis.take(Frame(identifier, data))
    assert axis.power in ("off", "on", "held", "fault")
    assert axis.trouble is None or isinstance(axis.trouble, str)
    assert list(axis.frames())
