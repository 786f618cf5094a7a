"""The judge of the fault campaign detects deviations, and faults of a bus do what they say.

The campaign itself is `python -m benchmarks reliability`.
"""

import time
from dataclasses import replace

import numpy as np
import pytest

from benchmarks import reliability
from benchmarks.between import DELAY, WIRES, Way, damaged
from benchmarks.reliability import FAULTS, PROTOCOLS, SECOND, Case, judge, small_arm

AT, OVER = 10.0, 14.0


@pytest.fixture(scope="module")
def arm(tmp_path_factory):
    return small_arm("canopen", tmp_path_factory.mktemp("arm"))


def trace(rest_after=0.3, ends=(0, 1), q=0.0, speed=1.0):
    """Trace of both joints: powered from 8 s on, moving until the given time after the fault."""
    t = np.arange(8.0, 16.0, 0.002)
    row = np.zeros((len(t), 2, 3))
    row[:, :, 0] = 1
    row[t > 12.0, :, 0] = ends
    row[:, :, 1] = (q, 1.0)
    row[:, 0, 1] -= 0.02 * np.maximum(AT + rest_after - t, 0.0)
    row[t < AT + rest_after, :, 2] = speed
    return np.hstack((t[:, None], row.reshape(len(t), 6)))


HELD = trace(ends=(1, 1))
CABLE_OUT = Case(
    "cable out",
    None,
    AT,
    OVER,
    3,
    "stribeck: turn has not replied for 52 ms; the arm was stopped\n",
    trace(),
    None,
)


def judged(case, arm, tmp_path):
    return judge(replace(case, campaign=tmp_path), arm)["breaches"]


def test_a_case_with_the_required_outcome_has_no_breach(arm, tmp_path):
    assert judged(CABLE_OUT, arm, tmp_path) == []


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"trace": trace(rest_after=1.0)}, "moved under power 1.00 s after the fault"),
        ({"trace": trace(q=0.612)}, "turn passed its limit by 0.017 rad"),
        ({"trace": trace(speed=2.5)}, "times its highest speed"),
        ({"trace": trace(ends=(0, 0))}, "lift was left to fall"),
        ({"trace": HELD}, "turn ended held, not braked"),
        ({"fault": "replies damaged", "trace": HELD}, "turn ended held, not braked"),
        ({"fault": "host stopped", "trace": HELD}, "turn ended held, not braked"),
        (
            {"fault": "drive fault", "struck": 1, "trace": trace(ends=(0, 1))},
            "lift ended held, not falls",
        ),
        ({"fault": "drive silent", "struck": 1, "trace": HELD}, "turn ended held, not braked"),
        ({"fault": "frames lost"}, "no reply is counted as missed or damaged in 4.0 s"),
        ({"fault": "replies damaged"}, "no reply is counted as missed or damaged in 4.0 s"),
        ({"code": 0}, "exit code 0, not 3"),
        ({"code": -11}, "exit code -11"),
        ({"code": None}, "the program hung"),
        ({"said": "stribeck: something else\n"}, "not said"),
        ({"said": "Traceback (most recent call last):\n" + CABLE_OUT.said}, "a traceback"),
        ({"fault": "frames lost"}, "not tolerated"),
        (
            {"fault": SECOND, "code": 0, "second": (AT, 0, "")},
            "the second program was not refused: exit code 0",
        ),
        (
            {"fault": SECOND, "code": 0, "second": (AT, 3, "stribeck: a fault")},
            "was not refused: exit code 3, stribeck: a f",
        ),
        (
            {"fault": SECOND, "code": 0, "second": (AT, 1, "Traceback")},
            "the second program ended with exit code 1",
        ),
    ],
)
def test_the_judge_finds_each_breach(arm, tmp_path, changes, words):
    found = judged(replace(CABLE_OUT, **changes), arm, tmp_path)
    assert any(words in breach for breach in found), found


@pytest.mark.parametrize(
    ("protocol", "fault", "ends"),
    [
        ("canopen", "host killed", ("braked", "held")),
        ("cubemars", "host killed", ("held", "held")),
        ("damiao", "host killed", ("braked", "falls")),
        ("odrive", "host stopped", ("braked", "falls")),
        ("dynamixel", "cable out", ("held", "held")),
        ("damiao", "frames lost", ("braked", "held")),
        ("odrive", "drive reset", ("braked", "falls")),
    ],
)
def test_required_final_states_of_joints(protocol, fault, ends):
    """Joints with and without brake; a faulty joint at rest may have been stopped
    before, or may be stopped later.
    """
    for unmoved in (False, True):
        for j, end in enumerate(ends):
            case = replace(
                CABLE_OUT, fault=fault, struck=j if fault in reliability.DRIVES else None
            )
            may = reliability.may_end_as(case, PROTOCOLS[protocol], j, brake=not j, unmoved=unmoved)
            assert may == ({end, ("braked", "held")[j]} if unmoved else {end})


@pytest.mark.parametrize(
    ("breaches", "stood", "again"),
    [
        (["not tolerated: stribeck: turn has not replied for 61 ms"], 0.03, True),
        ([], 0.03, False),
        (["not tolerated: stribeck: turn has not replied for 61 ms"], 0.02, False),
        (["lift moved under power 0.70 s after the fault", "not said: "], 0.03, True),
        (["lift was left to fall"], 0.5, False),
        (["turn passed its limit by 0.015 rad", "not tolerated: "], 0.5, False),
    ],
)
def test_a_pause_of_the_computer_excuses_only_its_consequences(breaches, stood, again):
    assert reliability.excused({"breaches": breaches, "stood": stood}) == again


def test_a_drive_reset_before_power_may_be_powered_again(arm, tmp_path):
    before = replace(
        CABLE_OUT, fault="drive reset", struck=1, at=7.5, code=3, trace=trace(ends=(0, 1))
    )
    assert not any("ended" in breach for breach in judged(before, arm, tmp_path))
    after = judged(replace(before, at=AT), arm, tmp_path)
    assert "lift ended held, not falls" in after


@pytest.mark.parametrize(
    ("fault", "at", "may"),
    [
        ("drive reset", 8.2, True),
        ("drive reset", 8.5, False),
        ("host stopped", 8.2, False),
        ("host stopped", 7.5, True),
    ],
)
def test_a_fault_while_the_arm_is_enabled_may_be_harmless(arm, tmp_path, fault, at, may):
    """The joint has power from 8 s on and moves from 8.4 s on."""
    rows = trace(rest_after=2.0)
    rows[rows[:, 0] < 8.4, 3::3] = 0.0
    found = judged(
        replace(CABLE_OUT, fault=fault, struck=1, at=at, over=12.5, code=3, trace=rows),
        arm,
        tmp_path,
    )
    assert any("moved under power" in breach for breach in found) != may, found


def test_every_fault_is_implemented():
    assert {
        *WIRES,
        *reliability.DRIVES,
        "bus error",
        "emulator killed",
        "host stopped",
        "host killed",
        SECOND,
    } == set(FAULTS)


def passed(fault, count=2000, begins=0.0, replies=True):
    """Numbers that left one direction of a bus, in order."""
    way, out = Way(fault, lambda: begins, replies, lambda frame, _: -frame, 0), []
    for number in range(1, count + 1):
        way.put(number)
        while (frame := way.due()) is not None:
            out.append(frame)
    end = time.monotonic() + 10.0 * DELAY
    while time.monotonic() < end:
        if (frame := way.due()) is not None:
            out.append(frame)
    return out


class TestWay:
    @pytest.mark.parametrize("fault", [*WIRES, "none"])
    def test_all_frames_pass_before_the_fault(self, fault):
        assert passed(fault, 100, begins=np.inf) == list(range(1, 101))

    def test_some_frames_are_lost(self):
        out = passed("frames lost")
        assert 1950 < len(out) < 2000
        assert out == sorted(set(out))

    def test_delayed_frames_arrive_in_order(self):
        assert passed("frames delayed", 30) == list(range(1, 31))

    def test_some_frames_arrive_twice(self):
        out = passed("frames doubled")
        assert set(out) == set(range(1, 2001))
        assert 2050 < len(out) < 2200

    def test_some_frames_are_overtaken_and_none_is_lost(self):
        out = passed("frames swapped")
        assert sorted(out) == list(range(1, 2001))
        assert 20 < sum(np.diff(out) < 0) < 200
        assert np.abs(np.array(out) - np.arange(1, 2001)).max() <= 1

    def test_only_replies_are_damaged(self):
        assert 0 < sum(frame < 0 for frame in passed("replies damaged")) < 60
        assert min(passed("replies damaged", replies=False)) > 0

    def test_no_frame_passes_an_unplugged_cable(self):
        assert passed("cable out") == []

    def test_damage_changes_the_frame(self):
        rng = np.random.default_rng(0)
        spoiled = [damaged(bytes(8), rng) for _ in range(50)]
        assert sum(one != bytes(8) for one in spoiled) > 30
        assert {len(one) for one in spoiled} > {8}
