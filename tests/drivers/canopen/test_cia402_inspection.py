"""Drives with a wrong setting or state are not powered, and the message says what is wrong."""

import pytest

from stribeck.drivers.connect import connect
from stribeck.drivers.errors import DriverError
from tests.drivers.canopen.spoilt_nodes import deaf_to, says, stuck_at, without
from tests.drivers.virtual import program_of, virtual_drives
from tests.drivers.wires import PACE, PAIR, merged, steps, with_port


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (without(0x1016, 1), r"turn has no watchdog.*allow_no_watchdog"),
        (without(0x6007, 0), r"turn has no watchdog.*allow_no_watchdog"),
        (
            without(0x605A, 0),
            r"turn \(node 1\) has no object 0x605A:0 \(quick stop that ends in the brake\)",
        ),
        (
            deaf_to((0x6007, 0)),
            r"did not accept reaction to a lost connection = 3 \(0x6007:0\): it reads back 1",
        ),
        (deaf_to((0x1A00, 2)), r"did not accept PDO 0x1800"),
        (deaf_to((0x60FF, 0)), None),
        (says(0x6502, 0b100), r"has no mode csv \(0x6502 offers pv\)"),
        (
            says(0x6076, 600_000),
            r"rated torque of 600 N·m \(0x6076, in mN·m\); the arm file states 0.6 N·m",
        ),
        (
            says(0x60A9, 0x00B44700),
            r"counts speed in revolutions per min \(0x60A9\): 60 counts at one motor revolution "
            r"per second; "
            r"the arm file states \d+ \(velocity_counts, by default position_counts\)",
        ),
        (
            says(0x60AA, 0x00C00300),
            r"counts acceleration in revolutions per min per s \(0x60AA\): 60 counts at one motor "
            r"revolution "
            r"per second squared;"
            r" the arm file states \d+ \(acceleration_counts, by default velocity_counts\)",
        ),
        *[
            (
                says(0x607E, 1 << bit),
                rf"has a polarity that reverses signs \(0x607E = 0x{1 << bit:02X}\)",
            )
            for bit in (5, 6, 7)
        ],
        (
            says(0x607E, 0b1100_0000),
            r"has a polarity that reverses signs \(0x607E = 0xC0\).* direction = -1",
        ),
        (deaf_to((0x60B1, 0)), None),
        (
            stuck_at((0x60B1, 0), 5),
            r"did not accept velocity offset = 0 \(0x60B1:0\): it reads back 5",
        ),
        (
            lambda node: node.fault(0x4310),
            r"has a fault, error 0x4310 \(temperature of the drive\)",
        ),
        (lambda node: node._enter("operation enabled"), "is powered and follows another program"),
    ],
    ids=[
        "no heartbeat consumer",
        "no reaction",
        "no quick stop option",
        "reaction not taken",
        "mapping not taken",
        "zero is zero",
        "no csv",
        "unit of torque",
        "unit of speed",
        "unit of acceleration",
        "torque reversed",
        "velocity reversed",
        "position reversed",
        "all reversed",
        "no offset is zero",
        "offset not taken",
        "fault",
        "somebody else's",
    ],
)
def test_a_drive_with_a_wrong_setting_or_state_is_not_powered(make_arm, spoil, words):
    arm = make_arm(merged(with_port(PAIR["canopen"], 1), {"driver": {"modes": ["velocity"]}}))
    with virtual_drives(arm, spoil) as driver:
        if words is None:
            with driver:
                pass
            return
        with pytest.raises(DriverError, match=words), driver:
            pass


def test_a_drive_without_watchdog_moves_only_if_the_arm_file_allows_it(make_arm):
    arm = make_arm(merged(with_port(PAIR["canopen"], 1), {"driver": {"allow_no_watchdog": True}}))
    with virtual_drives(arm, without(0x1016, 1)) as driver, driver:
        driver.enable()
        steps(driver, 5)


@pytest.mark.parametrize("counts", [60.0, 60_000.0, 123.0])
def test_other_units_of_speed(make_arm, counts):
    """The drive names the first two units, not the last."""
    arm = make_arm(
        merged(
            with_port(PAIR["canopen"], 1),
            {"joints": {"turn": {"drive": {"velocity_counts": counts}}}},
        )
    )
    with virtual_drives(arm, lambda _: None) as driver, driver:
        told = driver.axes[0].identity()["speed counts"]
        assert told == f"{counts:g} at one motor revolution per second, " + (
            "reported by the drive"
            if counts != 123.0
            else "from the arm file; the drive does not report its unit (0x60A9)"
        )


class TestCompany:
    def test_looking_at_drives_does_not_stop_the_program_that_moves_them(self, own):
        drives, probe = own()
        with program_of(drives) as program:
            with (
                pytest.raises(DriverError, match="is powered and follows another program"),
                connect(drives.arm),
            ):
                pass
            drives.clock.sleep(0.2)
            assert not program.said
            assert abs(probe.read(1, 0x606C)) > 1000

    def test_a_program_that_connects_again_does_not_touch_drives_of_another_program(self, own):
        drives, probe = own()
        arm = connect(drives.arm)
        with arm:
            arm.enable()
            steps(arm, 20, PACE)
            arm.stop("enough")
        with (
            program_of(drives) as program,
            drives.bus.join() as bus,
        ):
            while bus.recv(0) is not None:
                pass
            with pytest.raises(DriverError, match="is powered and follows another program"), arm:
                pass
            assert not any(frame.arbitration_id == 0 for frame in iter(lambda: bus.recv(0), None))
            assert not program.said
            assert abs(probe.read(2, 0x606C)) > 1000
