"""The time at which a joint that is being held counts as standing still."""

import numpy as np

from stribeck.drivers.wire.polled.standstill import Standstill

PERIOD, STEP = 0.01, 1e-6


def stands(positions, held=False, step=STEP):
    """Whether the joint stands still after each of these positions, a period apart."""
    watch = Standstill(1.0)
    watch.forget(0.0)
    if held:
        watch.hold(0.0)
    said = []
    for k, q in enumerate(positions, 1):
        watch.see(k * PERIOD, q, step)
        said.append(watch.reached)
    return np.array(said)


def test_a_joint_stands_still_a_tenth_of_a_second_after_its_last_motion():
    said = stands([0.1 * k for k in range(10)] + [0.9] * 20)
    assert not said[:19].any()
    assert said[20:].all()


def test_a_swinging_joint_does_not_stand_still_at_its_turning_points():
    t = PERIOD * np.arange(200)
    assert not stands(0.01 * np.sin(2.0 * np.pi * 2.0 * t)).any()


def test_a_creeping_joint_counts_as_standing_half_a_second_after_the_order_to_hold():
    creeping = 0.01 * PERIOD * np.arange(200)  # 10 mrad/s
    assert not stands(creeping).any()
    said = stands(creeping, held=True)
    assert not said[:45].any()
    assert said[80:].any()


def test_a_coarse_counter_may_step_to_and_fro():
    assert stands([0.0, 0.01] * 20, step=0.005)[-1]
    assert not stands([0.0, 0.01] * 20).any()


def test_positions_before_a_pause_are_forgotten():
    watch = Standstill(1.0)
    for k in range(50):
        watch.see(k * PERIOD, 0.0, STEP)
    assert watch.reached
    watch.forget(10.0)
    assert not watch.reached
    watch.see(10.2, 0.0, STEP)
    assert not watch.reached
