"""Emulated drives use the settings that were written to them, not the arm file: otherwise a missing
setting would stay unseen.
"""

import numpy as np
import pytest

from stribeck.drivers.emulators.body import Body
from stribeck.drivers.wire.clock import VirtualClock
from tests.drivers.virtual import virtual_drives
from tests.drivers.wires import PAIR, with_port


@pytest.fixture
def body(make_arm):
    return Body(make_arm())


def after(body, seconds):
    """Velocities of both joints after a time, and the largest torque of each until then."""
    most = np.zeros(2)
    for _ in range(round(seconds / body._period)):
        body._step()
        most = np.maximum(most, [abs(drive.tau) for drive in body.drives])
    return [drive.dq for drive in body.drives], most


@pytest.mark.parametrize(
    ("ramp", "target", "reached"), [(np.inf, 1.0, 1.0), (4.0, 1.0, 0.2), (4.0, -1.0, -0.2)]
)
def test_a_step_of_the_set_point_is_followed_at_the_drives_own_ramp(body, ramp, target, reached):
    """The arm file allows 8 rad/s²."""
    for drive in body.drives:
        drive.power, drive.target, drive.ramp = "velocity", target, ramp
    velocity, _ = after(body, 0.05)
    assert velocity == pytest.approx([reached] * 2, abs=0.1)


def test_limits_stated_for_all_joints_do_not_reach_emulated_drives(make_arm):
    made = Body(
        make_arm(
            {
                "joints": {
                    "default": {
                        "acceleration": 4.0,
                        "torque": 60.0,
                        "temperature": 70.0,
                        "velocity": 2.0,
                    },
                    "turn": None,
                    "lift": None,
                }
            }
        )
    )
    for drive in made.drives:
        drive.power, drive.target, drive.ramp = "velocity", 1.0, np.inf
    assert after(made, 0.05)[0] == pytest.approx([1.0] * 2, abs=0.1)


@pytest.mark.parametrize("most", [np.inf, 30.0])
def test_torque_is_limited_by_the_drives_setting(body, most):
    for drive in body.drives:
        drive.power, drive.target, drive.most = "velocity", 2.0, most
    _, torque = after(body, 0.1)
    assert (torque > 60.0).all() if np.isinf(most) else (torque < 31.0).all()


# no CAN bus; position loop of the driver
@pytest.mark.parametrize("kind", sorted(set(PAIR) - {"dynamixel", "cubemars"}))
def test_each_drive_gets_its_torque_limit_or_has_its_own(make_arm, kind):
    nodes = []
    with virtual_drives(make_arm(with_port(PAIR[kind], 1)), nodes.append) as arm, arm:
        arm.enable()
        most, allowed = nodes[0].drive.most, arm.limits.torque[0]
    assert most == pytest.approx(allowed, rel=0.01) if kind != "damiao" else np.isfinite(most)


@pytest.fixture
def clock():
    return VirtualClock()


@pytest.fixture
def braked(make_arm, clock):
    """The boom stands level and powered, and has a brake."""
    made = Body(make_arm({"joints": {"lift": {"stop": "brake"}}}), clock=clock)
    for drive in made.drives:
        drive.power = "velocity"
    after(made, 0.1)
    return made


def test_a_brake_needs_time_to_close(braked):
    """Until then the joint falls as fast as without a brake."""
    lift = braked.drives[1]
    lift.let_go()
    (_, falls), _ = after(braked, 0.04)
    assert abs(falls) > 0.1
    assert lift.held_by == "nothing"
    (_, held), _ = after(braked, 0.05)
    assert abs(held) < 1e-3
    assert lift.held_by == "brake"


def test_a_drive_that_closes_its_brake_first_lets_nothing_fall(braked):
    braked.drives[1].let_go(braked=True)
    (_, dq), _ = after(braked, 0.04)
    assert abs(dq) < 1e-3


def test_a_brake_holds_more_torque_than_its_drive_may_give(braked):
    lift = braked.drives[1]
    lift.most = 1.0
    lift.let_go()
    after(braked, 0.1)
    assert abs(lift.dq) < 1e-3


def test_at_rest_time_passes_without_physics_steps_until_a_drive_gets_power(
    braked, clock, monkeypatch
):
    """An unused emulator needs no computing time; warm-up and rest continue."""
    for drive in braked.drives:
        drive.let_go()
    # the lift's brake closes, the other joint stands by its friction
    for _ in range(400):
        clock.sleep(0.005)
        braked.advance()
    assert braked.resting
    stepped = []
    monkeypatch.setattr(braked, "_step", lambda step=braked._step: (stepped.append(1), step())[1])
    began = braked._arm._loop._data.time
    q = [drive.q for drive in braked.drives]
    clock.sleep(20.0)
    braked.advance()
    assert stepped == []
    assert braked._arm._loop._data.time == pytest.approx(began + 20.0, abs=0.01)
    assert [drive.q for drive in braked.drives] == pytest.approx(q, abs=1e-3)
    for drive in braked.drives:
        drive.power, drive.target = "velocity", 1.0
    for _ in range(20):
        clock.sleep(0.005)
        braked.advance()
    assert len(stepped) > 40
    assert [drive.dq for drive in braked.drives] == pytest.approx([1.0] * 2, abs=0.2)
