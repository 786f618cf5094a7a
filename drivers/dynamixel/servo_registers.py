"""Reads and writes items of one servo's control table by single instructions."""

from collections.abc import Callable

from stribeck.drivers.dynamixel import protocol2 as dxl
from stribeck.drivers.dynamixel.dynamixel_settings import Setting
from stribeck.drivers.dynamixel.protocol2 import Register
from stribeck.drivers.dynamixel.servo_bus import ServoBus
from stribeck.drivers.errors import DriverError, NoAnswer

# number of further readings of an item until two successive answers agree
_AGREE = 4


class ServoRegisters:
    """Reads and writes items of the servo of one joint.

    Parameters
    ----------
    joint : str
        Name of the joint, for errors.
    servo : int
        Id of the servo.
    bus : callable
        Returns the line, or raises `DriverError` if the line is not open.
    """

    def __init__(self, joint: str, servo: int, bus: Callable[[], ServoBus]) -> None:
        self._joint, self._servo, self._bus = joint, servo, bus

    def read(self, item: Register, apart: int = 0) -> int:
        """Return the value of an item on which two successive answers agree: an answer may be late
        and belong to another item.
        """
        found = self.read_once(item)
        for _ in range(_AGREE):
            before, found = found, self.read_once(item)
            if abs(found - before) <= apart:
                return found
        raise self.error(
            f"returns a different value of register {item.address} at every reading; check the "
            "serial line"
        )

    def read_once(self, item: Register) -> int:
        """Return the value of an item from a single answer."""
        return item.unpack(
            self._ask(dxl.READ, dxl.read_request(item), item.size, f"register {item.address}")
        )

    def write(self, setting: Setting) -> None:
        """Write one item."""
        self._ask(
            dxl.WRITE,
            dxl.write_request(setting.item, setting.value),
            0,
            f"{setting.what} = {setting.value}",
        )

    def tell(self, setting: Setting) -> None:
        """Write one item and read it back."""
        self.write(setting)
        self.verify(setting)

    def verify(self, setting: Setting) -> None:
        """Read one item back, and raise an error if the servo holds
        another value than the setting.
        """
        found = self.read_once(setting.item)
        if found != setting.value:  # the answer may belong to an earlier question
            found = self.read(setting.item)
        if found != setting.value:
            raise self.error(
                f"did not accept {setting.what} = {setting.value} (register "
                f"{setting.item.address}): it reads back {found}"
            )

    def _ask(self, instruction: int, parameters: bytes, size: int, what: str) -> bytes:
        reply = self._bus().ask(self._servo, instruction, parameters, size)
        if reply is None:
            raise self.error("does not answer; check power, wiring, baud_rate and id", NoAnswer)
        words = dxl.error_words(reply.error)
        if words:
            raise self.error(f"refuses {what}: {words}")
        return reply.data

    def error(self, words: str, kind: type[DriverError] = DriverError) -> DriverError:
        """Return an error that names the servo."""
        return kind(f"the drive of {self._joint} (id {self._servo}) {words}")
