"""Two programs at the same drives: at the same time, or one after the other left a joint held."""

import os
import signal
import time

import numpy as np
import pytest

from stribeck.drivers.check import check_arm
from stribeck.drivers.connect import connect
from stribeck.drivers.errors import DriverError
from stribeck.ident.arm.arm_file import load_arm
from tests.drivers.wires import PAIR, processes, program_of, steps


@pytest.fixture(scope="module", params=PAIR)
def drives(request, bench):
    """Emulated drives of a protocol; the boom has no brake, except for motors without watchdog."""
    stop = "brake" if request.param == "cubemars" else "hold"
    found = bench(request.param, {"joints": {"lift": {"stop": stop}}})
    yield found
    found.end()


def test_a_second_program_is_refused_and_disturbs_nothing(drives):
    with program_of(drives.arm) as (program, said):
        for reset in (False, True):
            with pytest.raises(DriverError, match="follows another program"):
                check_arm(drives.arm, reset)
        time.sleep(2.0 * drives.arm.driver.model_extra.get("watchdog", 0.5))
        assert said.empty()  # the first program moves on
        os.kill(program.pid, signal.SIGTERM)
        assert said.get(timeout=30.0).startswith("KeyboardInterrupt")  # and ends on request


def test_a_connected_program_excludes_other_programs(drives):
    """With or without power, until the program ends in any way: a drive without power
    does not show its program.
    """
    said = processes.Queue()
    other = processes.Process(target=connect_and_wait, args=(drives.arm.path, said), daemon=True)
    other.start()
    assert said.get(timeout=30.0) == "connected"
    for reset in (False, True):
        with pytest.raises(
            DriverError, match=r"another program uses the drives at .*; end that program first"
        ):
            check_arm(drives.arm, reset)
    other.kill()
    other.join()
    assert check_arm(drives.arm).pages["now"]


def connect_and_wait(path, said):
    """A program that waits for the confirmation of its user."""
    with connect(load_arm(path)):
        said.put("connected")
        time.sleep(60.0)


def test_joints_left_held_are_checked_and_taken_over_in_place(drives):
    with program_of(drives.arm) as (program, said):
        os.kill(program.pid, signal.SIGTERM)
        assert said.get(timeout=30.0).startswith("KeyboardInterrupt")
    places = []
    for reset in (False, True, False):  # for any order of checks and resets
        found = check_arm(drives.arm, reset)
        places.append([float(row["position"].split()[0]) for row in found.pages["now"].values()])
    with connect(drives.arm) as arm:
        arm.enable()
        places += [steps(arm, 10)[-1].q]
    np.testing.assert_allclose(places, places[0] * np.ones((len(places), 1)), atol=5e-3)
