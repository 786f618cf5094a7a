"""The codec of Dynamixel servos: items, states, scales and words."""

import math
import time

import pytest
from dynamixel_sdk import Protocol2PacketHandler
from hypothesis import example, given
from hypothesis import strategies as st

from stribeck.drivers.dynamixel import protocol2 as dxl
from stribeck.drivers.emulators.dynamixel_packets import frame
from stribeck.drivers.errors import DriverError
from tests.drivers.dynamixel.canned_line import Line, bus_on


@pytest.mark.parametrize(
    ("item", "value", "data"),
    [
        (dxl.PRESENT_VELOCITY, -50, "ce ff ff ff"),
        (dxl.GOAL_POSITION, -1, "ff ff ff ff"),
        (dxl.PRESENT_CURRENT, -3, "fd ff"),
        (dxl.WATCHDOG, -1, "ff"),
        (dxl.PROFILE_VELOCITY, 200, "c8 00 00 00"),
    ],
)
def test_signed_items_may_be_negative_although_the_library_reads_them_unsigned(item, value, data):
    assert item.pack(value) == bytes.fromhex(data)
    assert item.unpack(bytes.fromhex(data)) == value


def test_the_state_has_ten_measured_bytes_and_four_status_bytes():
    places = dxl.INDIRECT.pack(dxl.indirect_addresses())
    addresses = [int.from_bytes(places[k : k + 2], "little") for k in range(0, len(places), 2)]
    assert sorted(addresses) == [64, 70, 98, *range(126, 136), 146]
    table = dict(
        zip(addresses, bytes.fromhex("fd ff 01 fe ff ff ff 20 1f 08 00 00 ff 24"), strict=True)
    )
    state = dxl.unpack_state(bytes(table[address] for address in addresses))
    assert state == (-3, 1, -2, 0x20, 2079, -1, 36)
    assert state.tripped
    assert state.word == 0x2003
    assert dxl.hardware_words(state.hardware_error) == "overload"


values = st.one_of(st.integers(-4, 4), st.integers(-(2**14), 2**14))


@given(
    current=values,
    velocity=values,
    position=st.one_of(values, st.integers(-256 * 4096, 256 * 4096)),
    torque=st.integers(0, 1),
    watchdog=st.integers(-1, 127),
    error=st.sampled_from([0, 1, 4, 0x20, 0x3D]),
    temperature=st.integers(0, 120),
)
@example(current=-1, velocity=-3, position=-3, torque=1, watchdog=-1, error=0, temperature=30)
def test_any_state_survives_the_librarys_unstuffing(
    current, velocity, position, torque, watchdog, error, temperature
):
    state = dxl.State(current, torque, velocity, error, position, watchdog, temperature)
    packet = frame(1, dxl.STATUS, b"\0" + dxl._STATE_FORM.pack(*state))
    assert b"\xff\xff\xfd" not in packet[4:]
    reply = next(bus_on(Line(packet))._replies(time.monotonic() + 1.0))
    assert dxl.unpack_state(reply.data) == state


def test_the_library_still_damages_packets_with_two_stuffings():
    """This is the reason for the order of `protocol2._STATE`; if this test fails, the
    order is no longer needed.
    """
    body = bytes.fromhex("fffffffdfdff0000ff00fffdfd")
    packet = list(frame(1, dxl.STATUS, b"\0" + body))
    assert dxl.unpack_reply(Protocol2PacketHandler().removeStuffing(packet)).data != body


SCALE = dxl.Scale.of(
    current_step=2.69e-3, torque_constant=2.4, reduction=2.0, direction=-1, zero=0.3
)


def test_one_count_has_these_values_at_the_joint():
    q, dq, tau = SCALE.joint(dxl.State(100, 1, 10, 0, 2048 + 4096, 5, 30))
    assert q == pytest.approx(0.3 - math.pi)
    assert dq == pytest.approx(-10 * 0.229 / 60.0 * math.pi)
    assert tau == pytest.approx(-100 * 2.69e-3 * 2.4 * 2.0)


@given(st.integers(-255 * 4096, 255 * 4096))
def test_positions_survive_a_round_trip_to_the_count(count):
    q, _, _ = SCALE.joint(dxl.State(0, 1, 0, 0, count, 5, 30))
    assert SCALE.goal(q) == count


@pytest.mark.parametrize("position", [1e4, -1e4, math.nan])
def test_a_goal_that_the_servo_cannot_count_is_refused_not_clipped(position):
    with pytest.raises(DriverError, match="256"):
        SCALE.goal(position)


def test_errors_have_words():
    assert dxl.error_words(0x07) == "no access (read-only, or locked while powered)"
    assert dxl.error_words(0x80) == ""
    assert dxl.alert(0x84)
    assert dxl.error_words(0x84) == "value out of range"
    assert dxl.hardware_words(0x05) == "input voltage, overheating"
