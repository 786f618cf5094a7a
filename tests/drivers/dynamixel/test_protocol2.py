"""The codec of Dynamixel servos against the published packets and garbage; the emulator's packing against the same packets."""

import math
import time

import pytest
from dynamixel_sdk import Protocol2PacketHandler
from hypothesis import example, given, settings
from hypothesis import strategies as st

from stribeck.drivers.dynamixel import protocol2 as dxl
from stribeck.drivers.dynamixel.dynamixel_link import Bus, Port
from stribeck.drivers.emulators.dynamixel import frame, frames
from stribeck.drivers.errors import DriverError

# e-Manual, Protocol 2.0, examples of each instruction
PUBLISHED = {
    "ping": (1, dxl.PING, b"", "ff ff fd 00 01 03 00 01 19 4e"),
    "read": (1, dxl.READ, dxl.read_request(dxl.PRESENT_POSITION), "ff ff fd 00 01 07 00 02 84 00 04 00 1d 15"),
    "write": (1, dxl.WRITE, dxl.write_request(dxl.GOAL_POSITION, 512), "ff ff fd 00 01 09 00 03 74 00 00 02 00 00 ca 89"),
    "reboot": (1, dxl.REBOOT, b"", "ff ff fd 00 01 03 00 08 2f 4e"),
    "sync read": (dxl.EVERYONE, dxl.SYNC_READ, dxl.read_request(dxl.PRESENT_POSITION) + bytes([1, 2]),
                  "ff ff fd 00 fe 09 00 82 84 00 04 00 01 02 ce fa"),
    "sync write": (dxl.EVERYONE, dxl.SYNC_WRITE, dxl.read_request(dxl.GOAL_POSITION) + bytes([1]) + dxl.GOAL_POSITION.pack(150)
                   + bytes([2]) + dxl.GOAL_POSITION.pack(170),
                   "ff ff fd 00 fe 11 00 83 74 00 04 00 01 96 00 00 00 02 aa 00 00 00 82 87")}
STATUS = {
    "ping": (1, 0, "06 04 26", "ff ff fd 00 01 07 00 55 00 06 04 26 65 5d"),
    "read": (1, 0, "a6 00 00 00", "ff ff fd 00 01 08 00 55 00 a6 00 00 00 8c c0"),
    "sync read": (2, 0, "1f 08 00 00", "ff ff fd 00 02 08 00 55 00 1f 08 00 00 ba be"),
    "write": (1, 0, "", "ff ff fd 00 01 04 00 55 00 a1 0c")}


class Line:
    """A serial line of canned bytes."""

    def __init__(self, incoming=b"", endless=b""):
        self.incoming, self.endless, self.sent = incoming, endless, b""

    def reset_input_buffer(self):
        """What comes is the answer, not what came before."""

    def write(self, data):
        self.sent += data
        return len(data)

    def read(self, size):
        if not self.incoming:
            self.incoming = self.endless
        data, self.incoming = self.incoming[:size], self.incoming[size:]
        return data


def bus_on(line):
    return Bus(Port(line, 1_000_000))


@pytest.mark.parametrize("name", PUBLISHED)
def test_instructions_are_the_published_bytes(name):
    servo, instruction, parameters, published = PUBLISHED[name]
    line = Line()
    bus = bus_on(line)
    bus._send(servo, instruction, parameters)
    list(bus._replies(time.monotonic()))
    assert line.sent == bytes.fromhex(published)
    assert frame(servo, instruction, parameters) == line.sent                            # and so the emulator packs them
    assert list(frames(bytearray(b"\xff" + line.sent))) == [(servo, instruction, parameters)]


@pytest.mark.parametrize("name", STATUS)
def test_published_status_packets_are_read(name):
    servo, error, data, published = STATUS[name]
    reply = next(bus_on(Line(b"\xff\xff" + bytes.fromhex(published)))._replies(time.monotonic() + 1.0))
    assert reply == (servo, error, bytes.fromhex(data))
    assert frame(servo, dxl.STATUS, bytes([error]) + reply.data) == bytes.fromhex(published)


def test_packets_of_a_cycle_leave_together_and_what_is_not_answered_waits():
    line = Line()
    bus = bus_on(line)
    bus.sync_write(dxl.GOAL_POSITION, {1: 150, 2: 170})
    bus.sync_write(dxl.GOAL_POSITION, {})
    assert line.sent == b""
    list(bus.sync_read(dxl.PRESENT_POSITION, [1, 2], time.monotonic() - 1.0))           # a cycle that is late already sends all
    assert line.sent == bytes.fromhex(PUBLISHED["sync write"][3] + PUBLISHED["sync read"][3])


def test_a_silent_servo_does_not_cost_the_replies_of_others():
    line = Line(bytes.fromhex(STATUS["sync read"][3]))
    replies = list(bus_on(line).sync_read(dxl.PRESENT_POSITION, [1, 2], time.monotonic() + 0.05))
    assert [reply.servo for reply in replies] == [2]


def test_a_damaged_reply_is_counted_and_the_next_one_taken():
    good = bytes.fromhex(STATUS["read"][3])
    bus = bus_on(Line(good[:-1] + b"\x00" + bytes.fromhex(STATUS["sync read"][3])))
    assert next(bus._replies(time.monotonic() + 1.0)).servo == 2
    assert bus.corrupt == 1


@pytest.mark.parametrize(("item", "value", "data"), [
    (dxl.PRESENT_VELOCITY, -50, "ce ff ff ff"), (dxl.GOAL_POSITION, -1, "ff ff ff ff"), (dxl.PRESENT_CURRENT, -3, "fd ff"),
    (dxl.WATCHDOG, -1, "ff"), (dxl.PROFILE_VELOCITY, 200, "c8 00 00 00")])
def test_signed_items_are_negative_where_the_library_has_them_unsigned(item, value, data):
    assert item.pack(value) == bytes.fromhex(data)
    assert item.unpack(bytes.fromhex(data)) == value


def test_the_state_is_the_ten_measured_bytes_and_four_that_tell_how_the_servo_is():
    places = dxl.INDIRECT.pack(dxl.indirect_addresses())
    addresses = [int.from_bytes(places[k:k + 2], "little") for k in range(0, len(places), 2)]
    assert sorted(addresses) == [64, 70, 98, *range(126, 136), 146]
    table = dict(zip(addresses, bytes.fromhex("fd ff 01 fe ff ff ff 20 1f 08 00 00 ff 24"), strict=True))
    state = dxl.unpack_state(bytes(table[address] for address in addresses))
    assert state == (-3, 1, -2, 0x20, 2079, -1, 36)
    assert state.tripped
    assert state.word == 0x2003
    assert dxl.hardware_words(state.hardware_error) == "overload"


values = st.one_of(st.integers(-4, 4), st.integers(-2**14, 2**14))


@given(current=values, velocity=values, position=st.one_of(values, st.integers(-256 * 4096, 256 * 4096)),
       torque=st.integers(0, 1), watchdog=st.integers(-1, 127), error=st.sampled_from([0, 1, 4, 0x20, 0x3D]),
       temperature=st.integers(0, 120))
@example(current=-1, velocity=-3, position=-3, torque=1, watchdog=-1, error=0, temperature=30)
def test_any_state_comes_through_the_librarys_unstuffing(current, velocity, position, torque, watchdog, error, temperature):
    state = dxl.State(current, torque, velocity, error, position, watchdog, temperature)
    packet = frame(1, dxl.STATUS, b"\0" + dxl._STATE_FORM.pack(*state))
    assert b"\xff\xff\xfd" not in packet[4:]
    reply = next(bus_on(Line(packet))._replies(time.monotonic() + 1.0))
    assert dxl.unpack_state(reply.data) == state


def test_the_library_still_damages_packets_with_two_stuffings():
    """The order of `dynamixel2._STATE` exists for this; if this fails, it is needed no more."""
    body = bytes.fromhex("fffffffdfdff0000ff00fffdfd")
    packet = list(frame(1, dxl.STATUS, b"\0" + body))
    assert dxl.unpack_reply(Protocol2PacketHandler().removeStuffing(packet)).data != body


SCALE = dxl.Scale.of(current_step=2.69e-3, torque_constant=2.4, reduction=2.0, direction=-1, zero=0.3)


def test_counts_are_this_much_of_the_joint():
    q, dq, tau = SCALE.joint(dxl.State(100, 1, 10, 0, 2048 + 4096, 5, 30))
    assert q == pytest.approx(0.3 - math.pi)
    assert dq == pytest.approx(-10 * 0.229 / 60.0 * math.pi)
    assert tau == pytest.approx(-100 * 2.69e-3 * 2.4 * 2.0)


@given(st.integers(-255 * 4096, 255 * 4096))
def test_positions_come_back_to_the_count(count):
    q, _, _ = SCALE.joint(dxl.State(0, 1, 0, 0, count, 5, 30))
    assert SCALE.goal(q) == count


@pytest.mark.parametrize("position", [1e4, -1e4, math.nan])
def test_a_goal_that_the_servo_cannot_count_is_refused_not_clipped(position):
    with pytest.raises(DriverError, match="256"):
        SCALE.goal(position)


def test_errors_are_told_in_words():
    assert dxl.error_words(0x07) == "no access (read-only, or locked while powered)"
    assert dxl.error_words(0x80) == ""
    assert dxl.alert(0x84)
    assert dxl.error_words(0x84) == "value out of range"
    assert dxl.hardware_words(0x05) == "input voltage, overheating"


replies = st.builds(lambda servo, rest: frame(servo, dxl.STATUS, rest), st.integers(0, 252), st.binary(max_size=20))
noise = st.lists(st.one_of(st.binary(max_size=30), replies, st.just(b"\xff\xff\xfd\x00\x01"), st.just(b"\xff\xff\xfd\xfd"),
                           st.builds(lambda body: b"\xff\xff\xfd\x00\x01" + body, st.binary(max_size=12))), max_size=8)


@settings(max_examples=60, deadline=None)
@given(noise, st.booleans())
@example([b"\xff\xff\xfd\x00\x01\x00\x00\x55\x00\x00\x00\x00"], True)
def test_whatever_comes_ends_in_time_and_is_a_reply_or_none(parts, endless):
    stream = b"".join(parts)
    bus = bus_on(Line(stream, stream if endless else b""))
    for reply in bus.sync_read(dxl.STATE, [1, 2], time.monotonic() + 3e-3):
        assert reply.servo in (1, 2)
        state = dxl.unpack_state(reply.data)
        assert state is None or len(reply.data) == 14


@given(st.lists(st.binary(max_size=40), max_size=5))
def test_the_emulators_parser_survives_whatever_comes(parts):
    buffer = bytearray()
    for part in parts:
        buffer += part
        for _ in frames(buffer):
            pass
    assert len(buffer) < 1100
    buffer += bytes(1100) + frame(1, dxl.PING, b"")
    assert list(frames(buffer))[-1:] == [(1, dxl.PING, b"")] or b"\xff\xff\xfd\x00" in b"".join(parts)
