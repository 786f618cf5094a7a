"""``stribeck emulate``: one sentence about drives and faults that it cannot emulate."""

import json
import subprocess
import sys
from contextlib import ExitStack

import pytest

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
        [*COMMAND, str(arm.path), "--fault", "lift:fault@0.5s"], stdout=subprocess.PIPE, text=True
    ) as emulator:
        assert "emulated damiao drives listen" in emulator.stdout.readline()
        assert emulator.stdout.readline() == "0.5 s: the drive of lift: fault\n"
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


@pytest.mark.slow
def test_one_port_has_one_emulator(make_arm, cli):
    arm = make_arm(with_port(PAIR["dynamixel"], free_port()))
    with subprocess.Popen([*COMMAND, str(arm.path)], stdout=subprocess.PIPE, text=True) as emulator:
        assert "emulated dynamixel drives listen" in emulator.stdout.readline()
        second = cli("emulate", arm.path)
        assert (
            second.code,
            "another program, perhaps an emulator, listens on this port" in second.err,
        ) == (2, True), second.err
        emulator.terminate()


@pytest.mark.slow
def test_two_groups_share_one_port(make_arm):
    tables = [with_port(PAIR["damiao"], free_port())] * 2
    tables[1] = merged(tables[1], {"driver": {"bus": {"channel": "239.74.163.77"}}})
    with ExitStack() as emulators:
        for table in tables:
            arm = make_arm(table)
            one = emulators.enter_context(
                subprocess.Popen([*COMMAND, str(arm.path)], stdout=subprocess.PIPE, text=True)
            )
            emulators.callback(one.terminate)
            assert "emulated damiao drives listen" in one.stdout.readline()


def without_none(table):
    return {
        key: without_none(value) if isinstance(value, dict) else value
        for key, value in table.items()
        if value is not None
    }
