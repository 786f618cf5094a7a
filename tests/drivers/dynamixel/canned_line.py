"""A serial line with prepared bytes, and the published packets."""

from stribeck.drivers.dynamixel import protocol2 as dxl
from stribeck.drivers.dynamixel.serial_port import Port
from stribeck.drivers.dynamixel.servo_bus import ServoBus
from stribeck.drivers.wire.clock import VirtualClock

# e-Manual, Protocol 2.0, examples of each instruction
PUBLISHED = {
    "ping": (1, dxl.PING, b"", "ff ff fd 00 01 03 00 01 19 4e"),
    "read": (
        1,
        dxl.READ,
        dxl.read_request(dxl.PRESENT_POSITION),
        "ff ff fd 00 01 07 00 02 84 00 04 00 1d 15",
    ),
    "write": (
        1,
        dxl.WRITE,
        dxl.write_request(dxl.GOAL_POSITION, 512),
        "ff ff fd 00 01 09 00 03 74 00 00 02 00 00 ca 89",
    ),
    "reboot": (1, dxl.REBOOT, b"", "ff ff fd 00 01 03 00 08 2f 4e"),
    "sync read": (
        dxl.EVERYONE,
        dxl.SYNC_READ,
        dxl.read_request(dxl.PRESENT_POSITION) + bytes([1, 2]),
        "ff ff fd 00 fe 09 00 82 84 00 04 00 01 02 ce fa",
    ),
    "sync write": (
        dxl.EVERYONE,
        dxl.SYNC_WRITE,
        dxl.read_request(dxl.GOAL_POSITION)
        + bytes([1])
        + dxl.GOAL_POSITION.pack(150)
        + bytes([2])
        + dxl.GOAL_POSITION.pack(170),
        "ff ff fd 00 fe 11 00 83 74 00 04 00 01 96 00 00 00 02 aa 00 00 00 82 87",
    ),
}
STATUS = {
    "ping": (1, 0, "06 04 26", "ff ff fd 00 01 07 00 55 00 06 04 26 65 5d"),
    "read": (1, 0, "a6 00 00 00", "ff ff fd 00 01 08 00 55 00 a6 00 00 00 8c c0"),
    "sync read": (2, 0, "1f 08 00 00", "ff ff fd 00 02 08 00 55 00 1f 08 00 00 ba be"),
    "write": (1, 0, "", "ff ff fd 00 01 04 00 55 00 a1 0c"),
}


class Line:
    """A serial line with prepared bytes, of which each read takes a moment."""

    def __init__(self, incoming=b"", endless=b""):
        self.incoming, self.endless, self.sent = incoming, endless, b""
        self.clock = VirtualClock()

    def reset_input_buffer(self):
        """Do nothing: the prepared bytes are the answer, not old bytes."""

    def write(self, data):
        self.sent += data
        return len(data)

    def read(self, size):
        self.clock.sleep(1e-4)
        if not self.incoming:
            self.incoming = self.endless
        data, self.incoming = self.incoming[:size], self.incoming[size:]
        return data


def bus_on(line):
    return ServoBus(Port(line, 1_000_000, line.clock))
