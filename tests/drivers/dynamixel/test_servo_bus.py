"""Packets on the line against those of the e-Manual, and garbage."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from stribeck.drivers.dynamixel import protocol2 as dxl
from stribeck.drivers.emulators.dynamixel_packets import frame, frames
from tests.drivers.dynamixel.canned_line import PUBLISHED, STATUS, Line, bus_on


@pytest.mark.parametrize("name", PUBLISHED)
def test_instructions_are_the_published_bytes(name):
    servo, instruction, parameters, published = PUBLISHED[name]
    line = Line()
    bus = bus_on(line)
    bus._send(servo, instruction, parameters)
    list(bus._replies(line.clock.now()))
    assert line.sent == bytes.fromhex(published)
    # the emulator packs the same bytes
    assert frame(servo, instruction, parameters) == line.sent
    assert list(frames(bytearray(b"\xff" + line.sent))) == [(servo, instruction, parameters)]


@pytest.mark.parametrize("name", STATUS)
def test_published_status_packets_are_read(name):
    servo, error, data, published = STATUS[name]
    bus = bus_on(Line(b"\xff\xff" + bytes.fromhex(published)))
    reply = next(bus._replies(bus.port.clock.now() + 1.0))
    assert reply == (servo, error, bytes.fromhex(data))
    assert frame(servo, dxl.STATUS, bytes([error]) + reply.data) == bytes.fromhex(published)


def test_packets_of_a_cycle_are_sent_together_and_unanswered_ones_wait():
    line = Line()
    bus = bus_on(line)
    bus.sync_write(dxl.GOAL_POSITION, {1: 150, 2: 170})
    bus.sync_write(dxl.GOAL_POSITION, {})
    assert line.sent == b""
    # late, but all are sent
    list(bus.sync_read(dxl.PRESENT_POSITION, [1, 2], line.clock.now() - 1.0))
    assert line.sent == bytes.fromhex(PUBLISHED["sync write"][3] + PUBLISHED["sync read"][3])


def test_a_silent_servo_does_not_lose_the_replies_of_others():
    line = Line(bytes.fromhex(STATUS["sync read"][3]))
    replies = list(bus_on(line).sync_read(dxl.PRESENT_POSITION, [1, 2], line.clock.now() + 0.05))
    assert [reply.servo for reply in replies] == [2]


def test_a_damaged_reply_is_counted_and_the_next_reply_is_used():
    good = bytes.fromhex(STATUS["read"][3])
    bus = bus_on(Line(good[:-1] + b"\x00" + bytes.fromhex(STATUS["sync read"][3])))
    assert next(bus._replies(bus.port.clock.now() + 1.0)).servo == 2
    assert bus.corrupt == 1


replies = st.builds(
    lambda servo, rest: frame(servo, dxl.STATUS, rest), st.integers(0, 252), st.binary(max_size=20)
)
noise = st.lists(
    st.one_of(
        st.binary(max_size=30),
        replies,
        st.just(b"\xff\xff\xfd\x00\x01"),
        st.just(b"\xff\xff\xfd\xfd"),
        st.builds(lambda body: b"\xff\xff\xfd\x00\x01" + body, st.binary(max_size=12)),
    ),
    max_size=8,
)


@settings(max_examples=60, deadline=None)
@given(noise, st.booleans())
@example([b"\xff\xff\xfd\x00\x01\x00\x00\x55\x00\x00\x00\x00"], True)
def test_any_bytes_end_in_time_and_give_a_reply_or_none(parts, endless):
    stream = b"".join(parts)
    bus = bus_on(Line(stream, stream if endless else b""))
    for reply in bus.sync_read(dxl.STATE, [1, 2], bus.port.clock.now() + 3e-3):
        assert reply.servo in (1, 2)
        state = dxl.unpack_state(reply.data)
        assert state is None or len(reply.data) == 14
