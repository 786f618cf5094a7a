"""Programs that are killed, interrupted or hung while joints move, and two programs at once: what
only processes and signals show.
"""

import os
import re
import signal
import time
from contextlib import suppress

import numpy as np
import pytest

from stribeck.drivers.arm import Command
from stribeck.drivers.check import check_arm
from stribeck.drivers.connect import connect
from stribeck.drivers.errors import DriverError
from stribeck.ident.arm.arm_file import load_arm
from tests.drivers.wires import PACE, processes, program_of, steps

# the boom has no brake; the test waits for watchdogs, which are short
HELD = {"driver": {"watchdog": 0.5}, "joints": {"lift": {"stop": "hold"}}}
END = 60.0  # s that a process may take to end on a busy computer


def connected_at_last(arm):
    """The first look at drives that no longer follow another program."""
    end = time.monotonic() + END
    while time.monotonic() < end:
        with suppress(DriverError), connect(arm) as connected:
            return connected.look(20), [axis.power for axis in connected.axes]
    raise TimeoutError


@pytest.mark.parametrize(("kind", "held"), [("canopen", "held"), ("dynamixel", "held")])
def test_drives_of_a_killed_program_hold_or_brake_their_joints(bench, kind, held):
    """kill -9: only the drives' own watchdogs are left."""
    drives = bench(kind, HELD)
    with program_of(drives.arm) as (program, _):
        program.kill()
        program.join()
        samples, powers = connected_at_last(drives.arm)
        assert powers[1] == held
        np.testing.assert_allclose(samples[-1].q, samples[0].q, atol=2e-3)


def test_a_hung_program_is_stopped_and_does_not_resume(bench):
    drives = bench("canopen", HELD)
    with program_of(drives.arm) as (program, said):
        os.kill(program.pid, signal.SIGSTOP)
        time.sleep(1.0)
        os.kill(program.pid, signal.SIGCONT)
        assert re.match(
            r"DriverError: (turn has not replied|this computer sent nothing) for \d+ ms; the arm "
            r"was stopped",
            said.get(timeout=END),
        )
        program.join()
    samples, powers = connected_at_last(drives.arm)
    assert powers == ["off", "held"]
    np.testing.assert_allclose(samples[-1].q, samples[0].q, atol=2e-3)


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_program_stops_brakes_and_holds(bench, ending):
    """Also if the signal comes several times: a person who sees the arm
    still slow down may try again.
    """
    drives = bench("canopen", HELD)
    with program_of(drives.arm) as (program, said):
        while said.empty():
            os.kill(program.pid, ending)
            time.sleep(0.003)
        assert "KeyboardInterrupt" in said.get(timeout=END)
        program.join()
    assert connected_at_last(drives.arm)[1] == ["off", "held"]


def script(arm, said):
    """A script of a user, which does not handle signals."""
    try:
        with connect(load_arm(arm)) as connected:
            connected.enable()
            steps(connected, 5)
            said.put("moving")
            while True:
                connected.step(Command(PACE))
    except KeyboardInterrupt:
        said.put("interrupted")


def test_a_script_that_is_asked_to_end_stops_the_arm_first(bench):
    drives = bench("canopen", HELD)
    said = processes.Queue()
    program = processes.Process(target=script, args=(drives.arm.path, said), daemon=True)
    program.start()
    assert said.get(timeout=END) == "moving"
    os.kill(program.pid, signal.SIGTERM)
    assert said.get(timeout=END) == "interrupted"
    program.join()
    assert connected_at_last(drives.arm)[1] == ["off", "held"]


def connect_and_wait(path, said):
    """A program that waits for the confirmation of its user."""
    with connect(load_arm(path)):
        said.put("connected")
        time.sleep(END)


@pytest.mark.parametrize("kind", ["canopen", "dynamixel"])
def test_a_connected_program_excludes_other_programs(bench, kind):
    """With or without power, until the program ends in any way: a drive without power
    does not show its program.
    """
    drives = bench(kind)
    said = processes.Queue()
    other = processes.Process(target=connect_and_wait, args=(drives.arm.path, said), daemon=True)
    other.start()
    assert said.get(timeout=END) == "connected"
    for reset in (False, True):
        with pytest.raises(
            DriverError, match=r"another program uses the drives at .*; end that program first"
        ):
            check_arm(drives.arm, reset)
    other.kill()
    other.join()
    assert check_arm(drives.arm).pages["now"]
