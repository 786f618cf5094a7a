"""Items of one servo: answers that are missing or doubled."""

from types import SimpleNamespace

import pytest

from stribeck.drivers.connect import connect
from stribeck.drivers.dynamixel import protocol2 as dxl
from stribeck.drivers.dynamixel.dynamixel_settings import Setting
from stribeck.drivers.dynamixel.servo_registers import ServoRegisters
from stribeck.drivers.errors import DriverError
from tests.drivers.virtual import virtual_drives
from tests.drivers.wires import PAIR, merged


class TestSilence:
    def test_a_missing_servo_is_reported_in_time_and_nothing_is_written(
        self, make_arm, pair, probe
    ):
        missing = make_arm(
            merged(
                PAIR["dynamixel"],
                {
                    "driver": {"port": pair.arm.driver.model_extra["port"]},
                    "joints": {"lift": {"drive": {"id": 9}}},
                },
            )
        )
        began = pair.clock.now()
        assert probe.write(1, 112, 77) == 0  # profile velocity
        with (
            pytest.raises(DriverError, match=r"drive of lift \(id 9\) does not answer"),
            connect(missing),
        ):
            pass
        assert pair.clock.now() - began < 2.0
        assert probe.read(1, 112) == 77


class Late:
    """A line on which one answer came twice, so that every later answer
    belongs to the question before.
    """

    def __init__(self, values):
        self.values, self.waiting = values, []

    def ask(self, servo, instruction, parameters, size):
        address = int.from_bytes(parameters[:2], "little")
        self.waiting.append(SimpleNamespace(error=0, data=self.values[address]))
        if len(self.waiting) == 1:
            self.waiting *= 2
        return self.waiting.pop(0)


def test_a_repeated_answer_is_not_taken_for_the_next_answer():
    """Otherwise the firmware's number would be read as a fault, and
    another answer as "no power".
    """
    registers = ServoRegisters("turn", 1, lambda: late)
    late = Late({12: b"\xff", 6: b"\x2d", 70: b"\x00", 64: b"\x01", 11: b"\x03"})
    found = [
        registers.read(item)
        for item in (dxl.SECONDARY_ID, dxl.FIRMWARE, dxl.HARDWARE_ERROR, dxl.TORQUE_ENABLE)
    ]
    assert found == [255, 45, 0, 1]
    registers.verify(Setting(dxl.OPERATING_MODE, 3, "operating mode"))
    with pytest.raises(DriverError, match=r"operating mode = 4 .* reads back 3"):
        registers.verify(Setting(dxl.OPERATING_MODE, 4, "operating mode"))


def test_a_servo_that_does_not_answer_writes_is_set_to_answer(arm_file):
    """Status Return Level is 1: the first write, which sets the level to 2, gets no answer."""

    def quiet(servo):
        servo.values[68] = 1

    with virtual_drives(arm_file, quiet) as driver, driver:
        driver.enable()
