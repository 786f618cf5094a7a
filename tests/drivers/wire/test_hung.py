"""A program that hangs while joints move, and continues later: nothing in it keeps the
joints moving in between.
"""

import numpy as np
import pytest

from stribeck.drivers.arm import Command
from stribeck.drivers.connect import connect
from stribeck.drivers.errors import DriverError
from tests.drivers.wires import PACE, steps

WATCHDOG, BRAKING = 0.2, 0.1  # s


@pytest.mark.parametrize(
    ("kind", "ends"),
    [
        ("canopen", {"turn": "brake", "lift": "drive"}),
        ("dynamixel", {"turn": "drive", "lift": "drive"}),
        ("damiao", {"turn": "brake", "lift": "nothing"}),
        ("odrive", {"turn": "brake", "lift": "nothing"}),
        ("cubemars", {"turn": "drive", "lift": "drive"}),
    ],
)
def test_the_drives_of_a_hung_program_stop_by_themselves(bench, kind, ends):
    """As in the table of docs/safety.md: turn has a brake, lift has none
    (CubeMars: both have one).
    """
    changes = {
        "driver": {} if kind == "cubemars" else {"watchdog": WATCHDOG},
        "joints": {"lift": {"stop": "brake" if kind == "cubemars" else "hold"}},
    }
    made = bench(kind, changes)
    with connect(made.arm) as arm:
        drives = made.emulator.body.drives
        arm.enable()
        steps(arm, 60, PACE)
        begin = np.array([drive.q for drive in drives])
        assert np.abs([drive.dq for drive in drives]) == pytest.approx(np.abs(PACE), rel=0.3)
        made.clock.sleep(WATCHDOG + BRAKING + 0.15)
        assert dict(zip(arm.names, [drive.held_by for drive in drives], strict=True)) == ends
        stood = np.array([drive.q for drive in drives])
        made.clock.sleep(0.1)
        held = np.array([end != "nothing" for end in ends.values()])
        assert (np.abs([drive.q for drive in drives] - stood)[held] < 0.005).all()
        assert (np.abs(stood - begin)[held] < np.abs(PACE)[held] * (WATCHDOG + BRAKING)).all()
        with pytest.raises(
            DriverError, match=r"this computer sent nothing for \d+ ms|stopped by itself|watchdog"
        ):
            arm.step(Command(PACE))
