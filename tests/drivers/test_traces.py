"""Frames of a motion are the same in virtual time as over a real bus: their order, and their
content where it does not depend on time.

The traces of real buses are stored in `traces`; `STRIBECK_RECORD_TRACES=1 pytest` on this file
records them anew, each with emulated drives in another process.
"""

import json
import os
from contextlib import contextmanager
from pathlib import Path
from pkgutil import resolve_name

import can
import pytest

from stribeck.drivers.connect import LINKS
from stribeck.drivers.dynamixel.serial_port import open_line
from stribeck.drivers.emulators.dynamixel_packets import frames
from stribeck.drivers.wire.wired_arm import WiredArm
from tests.drivers.virtual import Bench
from tests.drivers.wires import PACE, PAIR, benches, steps, with_port

TRACES = Path(__file__).parent / "traces"
RECORD = "STRIBECK_RECORD_TRACES"


class Tap:
    """A bus or line that notes, for each cycle, the frames of both directions in their order."""

    def __init__(self, transport, kind):
        self.transport, self.words = transport, WORDS[kind]
        self.cycles, self._sent = [([], [])], set()
        self._halves = [bytearray(), bytearray()]

    def __getattr__(self, name):
        return getattr(self.transport, name)

    def begin_cycle(self):
        self.cycles.append(([], []))

    def note(self, drives, word):
        if word is not None:
            self.cycles[-1][drives].append(word)

    # CAN

    def send(self, msg, timeout=None):
        self._sent.add((msg.arbitration_id, bytes(msg.data)))
        self.note(False, self.words(msg.arbitration_id, bytes(msg.data), msg.is_remote_frame))
        self.transport.send(msg, timeout)

    def recv(self, timeout=None):
        message = self.transport.recv(timeout)
        if message is not None:
            self._came(message)
        return message

    def _came(self, message):
        """Note a frame of the drives; UDP gives a program its own frames, too."""
        frame = message.arbitration_id, bytes(message.data)
        if frame not in self._sent and not message.is_remote_frame:
            self.note(True, self.words(*frame, False))

    # serial line

    @property
    def timeout(self):
        return self.transport.timeout

    @timeout.setter
    def timeout(self, value):
        self.transport.timeout = value

    def write(self, data):
        self._packets(False, data)
        return self.transport.write(data)

    def read(self, size=1):
        data = self.transport.read(size)
        self._packets(True, data)
        return data

    def _packets(self, drives, data):
        self._halves[drives] += data
        for packet in frames(self._halves[drives]):
            self.note(drives, self.words(*packet))


class VirtualTap(Tap):
    """A tap on a bus in memory, which calls the listeners of CANopen itself."""

    def __getattr__(self, name):
        if name == "tell" and hasattr(self.transport, name):
            return self._tell
        return super().__getattr__(name)

    def _tell(self, listeners):
        self.transport.tell([self._came, *listeners] if listeners else ())


def canopen(identifier, data, remote):
    """Without heartbeats and measurements."""
    if identifier & 0x780 == 0x700:
        return None
    if identifier & 0x780 == 0x180:
        return f"{identifier:03x} {data[:2].hex()} ..."
    if identifier & 0x780 == 0x280:
        return f"{identifier:03x} ... {data[4:].hex()}"
    return f"{identifier:03x} {data.hex()}"


def damiao(identifier, data, remote):
    """Without measurements in the states."""
    state = identifier in (0x11, 0x12) and data[2] not in (0x33, 0x55)
    return f"{identifier:03x} {data[:1].hex() + ' ...' if state else data.hex()}"


def cubemars(identifier, data, remote):
    """Without positions and gravity torques of set-points, and without measurements."""
    if identifier == 0:
        return f"000 {data[:1].hex()} ... {data[7:].hex()}"
    if data[:7] == b"\xff" * 7:
        return f"{identifier:03x} {data.hex()}"
    return f"{identifier:03x} ... {data[2:6].hex()} {data[6] >> 4:x} ..."


def odrive(identifier, data, remote):
    """Without heartbeats, temperatures and measurements."""
    command = identifier & 0x1F
    if command in (0x01, 0x15):
        return None
    if command in (0x09, 0x1C):
        return f"{identifier:03x} {'asked' if remote else '...'}"
    return f"{identifier:03x} {data.hex()}{' asked' if remote else ''}"


def dynamixel(servo, instruction, parameters):
    """Without goals and measurements."""
    if instruction == 0x83 and parameters[:2] == b"\x74\x00":
        return f"{servo} 83 goals ..."
    if instruction == 0x55 and len(parameters) > 10:
        return f"{servo} 55 {parameters[:1].hex()} state ..."
    if instruction == 0x03 and parameters[:2] == b"\x74\x00":
        return f"{servo} 03 goal ..."
    if instruction == 0x55 and len(parameters) == 5:
        return f"{servo} 55 {parameters[:1].hex()} number ..."
    return f"{servo} {instruction:02x} {parameters.hex()}"


WORDS = {
    "canopen": canopen,
    "damiao": damiao,
    "cubemars": cubemars,
    "odrive": odrive,
    "dynamixel": dynamixel,
}


def trace(arm, tap):
    """What the tap notes while the joints are connected, move for 25 cycles and stop; of equal
    cycles the first is kept, since their number depends on the time that drives and joints need.
    """
    exchange = arm.link.exchange

    def noted(deadline):
        tap.begin_cycle()
        return exchange(deadline)

    arm.link.exchange = noted
    with arm:
        arm.enable()
        steps(arm, 5)
        steps(arm, 20, PACE)
        arm.stop("enough")
    return [json.loads(cycle) for cycle in dict.fromkeys(map(json.dumps, tap.cycles))]


def in_virtual_time(make_arm, kind):
    bench = Bench(make_arm(with_port(PAIR[kind], 1)))
    tap = VirtualTap(bench.bus.join(), kind)
    return trace(WiredArm(bench.arm, resolve_name(LINKS[kind]), tap, bench.clock), tap)


def in_real_time(make_arm, kind):
    with contextmanager(benches)(make_arm) as start:
        arm = start(kind, {"driver": {"watchdog": PAIR[kind]["driver"].get("watchdog", 0.2)}}).arm
        keys = arm.driver.model_extra
        transport = (
            open_line(keys["port"], 1_000_000)
            if kind == "dynamixel"
            else can.Bus(**{"hop_limit": 0, **keys["bus"]})
        )
        tap = Tap(transport, kind)
        try:
            return trace(WiredArm(arm, resolve_name(LINKS[kind]), tap), tap)
        finally:
            (transport.close if kind == "dynamixel" else transport.shutdown)()


@pytest.mark.slow
@pytest.mark.parametrize("kind", PAIR)
def test_frames_are_those_of_a_real_bus(make_arm, kind):
    stored = TRACES / f"{kind}.json"
    if RECORD in os.environ:
        cycles = ",\n".join(json.dumps(cycle) for cycle in in_real_time(make_arm, kind))
        stored.write_text(f"[\n{cycles}\n]\n", encoding="utf-8")
        pytest.skip("recorded")
    assert in_virtual_time(make_arm, kind) == json.loads(stored.read_text(encoding="utf-8"))
