"""A probe that reads and writes servos by packets of its own, without the driver. Its
packets restart the watchdogs.
"""

import struct

from stribeck.drivers.emulators.body import SILENT
from stribeck.drivers.emulators.dynamixel_packets import frame, frames

SLOW = 2  # counts: 0.016 rad/s at the joint
HAPPEN = 1000  # the emulator's own item
TORQUE, STATUS_RETURN, WATCHDOG, GOAL, PROFILE_TIME, POSITION, VELOCITY = (
    64,
    68,
    98,
    116,
    112,
    132,
    128,
)


class Probe:
    """Reads and writes items of servos without the driver."""

    def __init__(self, bench):
        self.port, self.clock = bench.bus.join(), bench.clock
        self.port.timeout = 1e-3

    def send(self, servo, instruction, parameters=b""):
        """Send a packet that gets no answer."""
        self.port.write(frame(servo, instruction, parameters))
        self.clock.sleep(1e-3)

    def ask(self, servo, instruction, parameters=b""):
        self.port.write(frame(servo, instruction, parameters))
        buffer, end = bytearray(), self.clock.now() + 1.0
        while self.clock.now() < end:
            buffer += self.port.read(256)
            for _, _, rest in frames(buffer):
                return rest[0], rest[1:]
        raise TimeoutError

    def read(self, servo, address, form="<i"):
        error, data = self.ask(servo, 2, struct.pack("<HH", address, struct.calcsize(form)))
        assert error & 0x7F == 0
        return struct.unpack(form, data)[0]

    def write(self, servo, address, value, form="<i"):
        return self.ask(servo, 3, struct.pack("<H", address) + struct.pack(form, value))[0] & 0x7F

    def happen(self, servo, what):
        if what == SILENT:
            self.send(servo, 3, struct.pack("<HH", HAPPEN, what))
        else:
            self.write(servo, HAPPEN, what, "<H")

    def powered(self, servo):
        return self.read(servo, TORQUE, "<B") == 1
