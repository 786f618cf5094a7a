"""Frames and power state of a polled axis, for each goal and each condition of its drive."""

from types import SimpleNamespace

import pytest

from stribeck.drivers.wire.axis import Reading, Steps
from stribeck.drivers.wire.clock import VirtualClock
from stribeck.drivers.wire.polled.polled_axis import Frame, PolledAxis

VELOCITY, ON, OFF, RELEASE, SETTING, STATE = (Frame(k) for k in range(6))


class PlainAxis(PolledAxis):
    """A drive whose condition is set by a test."""

    condition = "off"
    steps = Steps(0.0, 1e-6, 0.0)

    def setpoint(self, velocity):
        return VELOCITY

    def power_on(self):
        yield ON

    def power_off(self):
        yield OFF

    def release(self):
        yield RELEASE

    def questions(self, told):
        yield STATE

    def watch(self, on):
        self.released = not on

    def take(self, frame):
        raise NotImplementedError

    def identity(self):
        raise NotImplementedError

    def configure(self):
        raise NotImplementedError

    def reset(self):
        raise NotImplementedError


@pytest.fixture
def axis():
    """An axis with one setting, and a clock that `until_at_rest` moves."""
    made = PlainAxis(SimpleNamespace(name="turn", small=1.0), SimpleNamespace(watchdog=0.2))
    made.settings = {"limit": (SETTING, 1.0)}
    made.clock = VirtualClock()
    made.forget()
    return made


def cycle(axis, answered=True):
    """Frames sent beside the question for the state, and the power state after the answer."""
    axis.clock.sleep(0.005)
    sent = [frame for frame in axis.frames() if frame != STATE]
    if answered:
        axis.measured(Reading(axis.clock.now(), 0.5, 0.0, 0.0))
    return sent


def until_at_rest(axis):
    for _ in range(30):
        cycle(axis)


GOALS = {
    "none": lambda axis: None,
    "on": PlainAxis.enable,
    "held": PlainAxis.quick_stop,
    "off": PlainAxis.disable,
}


@pytest.mark.parametrize(
    ("goal", "condition", "moving", "resting", "power"),
    [
        ("none", "off", [], [], "off"),
        ("none", "unknown", [], [], "off"),
        ("none", "powered", [], [], "on"),
        ("on", "unknown", [VELOCITY], [VELOCITY], "off"),
        ("on", "fault", [VELOCITY], [VELOCITY], "fault"),
        ("held", "powered", [VELOCITY], [VELOCITY, RELEASE], "on"),
        ("held", "unknown", [VELOCITY], [VELOCITY, RELEASE], "on"),
        ("off", "powered", [VELOCITY, OFF], [VELOCITY, OFF], "on"),
        ("off", "unknown", [VELOCITY, OFF], [VELOCITY, OFF], "on"),
        ("held", "off", [RELEASE], [RELEASE], "on"),
        ("off", "off", [RELEASE], [RELEASE], "on"),
        ("held", "fault", [], [RELEASE], "fault"),
        ("off", "fault", [], [RELEASE], "fault"),
    ],
)
def test_the_frames_sent_before_and_after_the_joint_rests(
    axis, goal, condition, moving, resting, power
):
    axis.condition = condition
    GOALS[goal](axis)
    assert cycle(axis) == moving
    until_at_rest(axis)
    assert cycle(axis) == resting
    assert axis.power == power


@pytest.mark.parametrize(
    ("goal", "condition", "sent", "power"),
    [
        ("none", "powered", [], "held"),
        ("held", "powered", [VELOCITY], "held"),
        ("held", "unknown", [VELOCITY], "on"),
        ("off", "powered", [VELOCITY, OFF], "held"),
        ("held", "off", [], "off"),
        ("off", "off", [], "off"),
        ("off", "fault", [], "fault"),
    ],
)
def test_a_watchdog_is_not_released_twice(axis, goal, condition, sent, power):
    axis.condition, axis.released = condition, True
    GOALS[goal](axis)
    until_at_rest(axis)
    assert cycle(axis) == sent
    assert axis.power == power


def test_power_follows_the_answer_to_zero_and_counts_after_settings_are_confirmed(axis):
    axis.enable()
    assert cycle(axis, answered=False) == [VELOCITY]
    assert cycle(axis) == [VELOCITY]
    assert cycle(axis) == [VELOCITY, ON]
    axis.condition = "powered"
    assert cycle(axis) == [VELOCITY, SETTING]
    assert axis.power == "off"
    axis.answers["limit"] = 1.0
    assert cycle(axis) == [VELOCITY]
    assert axis.power == "on"
    cycle(axis)
    axis.condition = "unknown"
    assert cycle(axis) == [VELOCITY]
    axis.condition = "off"
    # a drive that lost power is not powered again
    assert cycle(axis) == []
    assert axis.power == "off"
