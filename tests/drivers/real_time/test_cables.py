"""Cables that come out and ports that cannot be opened: what only real interfaces show."""

import can
import pytest

from stribeck.drivers.arm import Command
from stribeck.drivers.canopen.canopen_link import CanopenLink
from stribeck.drivers.connect import connect
from stribeck.drivers.errors import ArmStopped, DriverError
from stribeck.drivers.wire.wired_arm import WiredArm
from stribeck.ident.errors import InputError
from tests.drivers.wire.test_transport import Stumbles
from tests.drivers.wires import PACE, PAIR, REST, merged, steps, until_it_fails


def test_a_cut_line_is_reported(bench):
    servos = bench("dynamixel")
    with connect(servos.arm) as arm:
        arm.enable()
        steps(arm, 20, PACE)
        servos.end()
        with pytest.raises(DriverError, match="the bus failed"):
            until_it_fails(arm)
        with pytest.raises(ArmStopped):
            arm.step(Command(REST))


def test_an_unplugged_line_raises_driver_error(bench, on_pty):
    """The other end of a pty is gone, which the system reports by several kinds of errors."""
    servos = bench("dynamixel", on_pty)

    def unplugged():
        with connect(servos.arm) as arm:
            arm.enable()
            steps(arm, 5)
            servos.end()
            until_it_fails(arm)

    with pytest.raises(DriverError, match=r"the bus failed|has not replied"):
        unplugged()


# pytest's warning about the ended thread
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_an_unreadable_bus_is_reported_without_a_traceback(bench, capfd):
    drives = bench("canopen")
    with (
        can.Bus(**{"hop_limit": 0, **drives.arm.driver.model_extra["bus"]}) as real,
        WiredArm(drives.arm, CanopenLink, Stumbles(real)) as arm,
    ):
        arm.enable()
        steps(arm, 10)
        arm.link._bus._bus.left = 10**9
        with pytest.raises(DriverError, match=r"cannot be read any more: .*ValueError"):
            until_it_fails(arm)
    assert "Traceback" not in capfd.readouterr().err


def test_unreadable_bytes_lose_only_a_frame(bench):
    drives = bench("canopen")
    with (
        can.Bus(**{"hop_limit": 0, **drives.arm.driver.model_extra["bus"]}) as real,
        WiredArm(drives.arm, CanopenLink, Stumbles(real)) as arm,
    ):
        arm.enable()
        for _ in range(3):
            arm.link._bus._bus.left = 2
            steps(arm, 50, PACE)
        assert arm.link.error_frames == 6


def test_a_socket_url_without_port_number_is_refused(make_arm):
    with (
        pytest.raises(
            InputError,
            match=r"pair.toml: the port socket://127.0.0.1 cannot be opened: .*number of the "
            r"port",
        ),
        connect(make_arm(merged(PAIR["dynamixel"], {"driver": {"port": "socket://127.0.0.1"}}))),
    ):
        pass


def test_a_port_that_cannot_be_opened_is_named(make_arm):
    for port in ("socket://127.0.0.1:9", "/dev/nothing-here"):
        with (
            pytest.raises(DriverError, match=f"^the port {port} cannot be opened: ") as refused,
            connect(make_arm(merged(PAIR["dynamixel"], {"driver": {"port": port}}))),
        ):
            pass
        assert str(refused.value).count(port) == 1
