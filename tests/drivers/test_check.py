"""The findings of `stribeck check`: the same tables for every driver, with true values."""

import re
from dataclasses import replace

import numpy as np
import pytest

from stribeck.drivers.check import check_arm, falling, limits_page, unguarded
from stribeck.drivers.errors import NoAnswer
from stribeck.drivers.simulation.simulated_arm import SimulatedArm
from stribeck.ident.arm.load_mechanism import load_mechanism
from tests.drivers.wires import PAIR, merged, with_port

DEVICES = {
    "canopen": "device",
    "dynamixel": "XM430-W210",
    "damiao": "DM10010L",
    "odrive": "ODrive",
    "cubemars": "AK70-10",
}


@pytest.mark.parametrize("kind", PAIR)
def test_the_tables_of_every_driver(bench, kind):
    drives = bench(kind, {"joints": {"turn": {"position": [-0.5, 0.5]}}})
    found = check_arm(drives.arm)
    assert list(found.pages) == [
        "drives",
        "now",
        "signs and scales",
        "limits in force",
        "resolution",
    ]
    assert all(list(page) == ["turn", "lift"] for page in found.pages.values())
    identity, now, limits = (found.pages[title] for title in ("drives", "now", "limits in force"))
    assert all(text for row in identity.values() for text in row.values())
    assert DEVICES[kind] in " ".join((*identity["turn"], *identity["turn"].values()))
    assert limits["turn"]["position"] == "-0.500 ... 0.500 rad"
    assert limits["turn"]["when stopped"] == "brake"
    for row in now.values():
        replied, asked = map(int, re.fullmatch(r"(\d+) of (\d+)", row["replies"]).groups())
        assert replied == asked
        assert abs(float(row["position"].split()[0])) < 0.05
        assert row["velocity"].endswith(" rad/s")
        assert row["torque"].endswith(" N·m")
        assert row["state"] != "fault"
    assert re.search(
        rf"pair: 2 joints, {kind}, 200 Hz \(measured 200\.0 Hz\), \d+ % of the bus, watchdog ",
        found.summary,
    )
    assert found.summary.endswith("watchdog none" if kind == "cubemars" else "watchdog 500 ms")
    assert any("turn, lift: no watchdog" in note for note in found.notes) == (kind == "cubemars")


def test_a_joint_beyond_its_limits_is_reported(bench):
    drives = bench("canopen", {"joints": {"turn": {"position": [0.4, 1.0]}}})
    found = check_arm(drives.arm)
    assert any(
        re.match(r"turn stands at .* rad, outside its limits 0.4 ... 1: check zero_offset", note)
        for note in found.notes
    )


# Dynamixel would need a line; CubeMars is not greeted
@pytest.mark.parametrize("kind", ["canopen", "damiao", "odrive"])
def test_all_drives_that_do_not_answer_are_named_together(make_arm, bench, kind):
    with pytest.raises(
        NoAnswer,
        match=r"^none of 2 drives answers: the drive of turn .*does not answer; check power, "
        r"wiring",
    ):
        check_arm(make_arm(with_port(PAIR[kind], 1)))


def test_a_simulated_arm_has_no_drives(make_arm):
    found = check_arm(make_arm())
    assert found.notes == ("this arm has no drives on a bus; only the arm file was checked",)


def test_limits_of_slides_are_in_metres(make_arm):
    arm = make_arm()
    slides = replace(load_mechanism(arm), prismatic=np.array([True, False]))
    page = limits_page(arm, slides, SimulatedArm(arm).limits)
    units = [
        page["turn"][key].split()[-1] for key in ("position", "velocity", "acceleration", "torque")
    ]
    assert units == ["m", "m/s", "m/s²", "N"]
    assert page["lift"]["torque"].endswith(" N·m")


@pytest.mark.parametrize("kind", ["canopen", "dynamixel"])
def test_limits_held_by_drives_of_slides_are_in_metres(bench, kind, monkeypatch):
    slides = np.array([True, False])
    monkeypatch.setattr(
        "stribeck.drivers.wire.wired_arm.load_mechanism",
        lambda arm: replace(load_mechanism(arm), prismatic=slides),
    )
    drives = bench(kind)
    page = check_arm(drives.arm).pages["drives"]
    assert re.match(r"[\d.]+ m/s(, [\d.]+ N)?$", page["turn"]["holds"])
    assert re.match(r"[\d.]+ rad/s(, [\d.]+ N·m)?$", page["lift"]["holds"])


@pytest.mark.parametrize("kind", ["damiao", "odrive"])
def test_joints_that_fall_when_the_computer_hangs_are_named(make_arm, kind):
    arm = make_arm(merged(with_port(PAIR[kind], 1), {"joints": {"lift": {"stop": "hold"}}}))
    assert falling(arm, ("turn", "lift")) == (
        "lift: no brake; may fall when power is lost, as happens if this computer hangs "
        '(stop = "hold")'
    )


@pytest.mark.parametrize(
    ("kind", "allowed"), [("canopen", False), ("canopen", True), ("cubemars", True)]
)
def test_drives_that_may_move_without_watchdog_are_reported(make_arm, kind, allowed):
    arm = make_arm(merged(with_port(PAIR[kind], 1), {"driver": {"allow_no_watchdog": allowed}}))
    assert (
        unguarded(arm).startswith(
            "driver.allow_no_watchdog = true: if this computer hangs, nothing stops a joint"
        )
        == allowed
    )
    assert bool(unguarded(arm)) == allowed


def test_joints_without_brake_are_named(make_arm):
    arm = make_arm({"joints": {"turn": {"stop": "brake"}, "lift": {"stop": "hold"}}})
    assert (
        falling(arm, ("turn", "lift"))
        == 'lift: no brake; may fall when power is lost (stop = "hold")'
    )
    assert (
        falling(
            make_arm({"joints": {"turn": {"stop": "brake"}, "lift": {"stop": "brake"}}}),
            ("turn", "lift"),
        )
        == ""
    )
