"""``stribeck emulate``: one sentence about drives and faults that it cannot emulate."""

import json
import subprocess
import sys
from contextlib import closing

import pytest

from stribeck.drivers.emulators.emulator import emulate
from tests.drivers.wires import PAIR, free_port, merged, with_port

COMMAND = [sys.executable, "-m", "stribeck", "emulate"]


@pytest.mark.parametrize(
    ("changes", "code", "words"),
    [
        ({"driver": {"bus": None}}, 2, "driver.bus"),
        ({"joints": {"lift": {"drive": {"node": None}}}}, 2, "joints.lift.drive.node"),
        ({"driver": {"bus": {"port": "no number"}}}, 2, "cannot be opened"),
        (
            {"driver": {"bus": {"interface": "socketcan", "channel": "can0"}}},
            2,
            "socketcan can0, where real drives may listen",
        ),
        (
            {"driver": {"bus": {"interface": "slcan", "channel": "/dev/ttyACM0"}}},
            2,
            "where real drives may listen",
        ),
        ({"driver": {"kind": "simulated"}}, 2, "a simulated arm has no drives to emulate"),
    ],
)
def test_driver_that_cannot_be_emulated_is_named(make_arm, cli, changes, code, words):
    arm = make_arm(without_none(merged(with_port(PAIR["canopen"], 1), changes)))
    outcome = cli("emulate", arm.path)
    assert (outcome.code, words in outcome.err) == (code, True), outcome.err
    assert "Traceback" not in outcome.err


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("j9:silent@2s", "unknown joint 'j9'"),
        ("lift:broken@2s", "JOINT:silent@TIME"),
        ("lift:silent", "JOINT:silent@TIME"),
        ("lift:silent@soon", "--fault 'soon'"),
    ],
)
def test_impossible_fault_is_refused(make_arm, cli, fault, words):
    arm = make_arm(with_port(PAIR["canopen"], 1))
    outcome = cli("emulate", arm.path, "--fault", fault)
    assert (outcome.code, words in outcome.err) == (2, True), outcome.err


@pytest.mark.slow
def test_fault_occurs_at_the_requested_time(make_arm, cli):
    arm = make_arm(with_port(PAIR["damiao"], free_port()))
    with subprocess.Popen(
        [*COMMAND, str(arm.path), "--fault", "lift:fault@0.1s"], stdout=subprocess.PIPE, text=True
    ) as emulator:
        assert "emulated damiao drives listen" in emulator.stdout.readline()
        assert emulator.stdout.readline() == "0.1 s: the drive of lift: fault\n"
        found = cli("check", arm.path)
        assert (
            found.code,
            "the drive of lift has a fault" in found.err,
            "--reset" in found.err,
        ) == (3, True, True), found.err
        assert "now" in json.loads(cli("check", arm.path, "--reset", "--json").out)["pages"]
        second = cli("emulate", arm.path)
        assert (
            second.code,
            "another emulator listens on interface udp_multicast" in second.err,
        ) == (2, True), second.err
        emulator.terminate()


def test_one_port_has_one_emulator(make_arm, cli):
    arm = make_arm(with_port(PAIR["dynamixel"], free_port()))
    with closing(emulate(arm)):
        second = cli("emulate", arm.path)
    assert (
        second.code,
        "another program, perhaps an emulator, listens on this port" in second.err,
    ) == (2, True), second.err


def test_two_groups_share_one_port(make_arm):
    first = with_port(PAIR["damiao"], free_port())
    second = merged(first, {"driver": {"bus": {"channel": "239.74.163.77"}}})
    with closing(emulate(make_arm(first))), closing(emulate(make_arm(second))):
        pass


def without_none(table):
    return {
        key: without_none(value) if isinstance(value, dict) else value
        for key, value in table.items()
        if value is not None
    }
