"""Two programs at the same drives: at the same time, or one after the other left a joint held."""

import numpy as np
import pytest

from stribeck.drivers import check
from stribeck.drivers.check import check_arm
from stribeck.drivers.connect import connect
from stribeck.drivers.errors import DriverError
from tests.drivers.virtual import program_of
from tests.drivers.wires import PAIR, steps


@pytest.fixture(scope="module", params=PAIR)
def drives(request, bench):
    """Emulated drives of a protocol; the boom has no brake, except for motors without watchdog."""
    stop = "brake" if request.param == "cubemars" else "hold"
    return bench(request.param, {"joints": {"lift": {"stop": stop}}})


def test_a_second_program_is_refused_and_disturbs_nothing(drives):
    with program_of(drives) as program:
        for reset in (False, True):
            with pytest.raises(DriverError, match="follows another program"):
                check_arm(drives.arm, reset)
        drives.clock.sleep(1.2 * drives.arm.driver.model_extra.get("watchdog", 0.5))
        assert not program.said  # the first program moves on
        program.interrupt()
        assert program.said == "KeyboardInterrupt: "  # and ends on request


def test_joints_left_held_are_checked_and_taken_over_in_place(drives, monkeypatch):
    monkeypatch.setattr(check, "_CYCLES", 0.1)
    with program_of(drives) as program:
        program.interrupt()
    places = []
    for reset in (False, True, False):  # for any order of checks and resets
        found = check_arm(drives.arm, reset)
        places.append([float(row["position"].split()[0]) for row in found.pages["now"].values()])
    with connect(drives.arm) as arm:
        arm.enable()
        places += [steps(arm, 10)[-1].q]
    np.testing.assert_allclose(places, places[0] * np.ones((len(places), 1)), atol=5e-3)
