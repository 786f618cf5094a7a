"""The codec of CiA 402 against the published tables and frames, and against garbage."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stribeck.drivers.canopen import cia402
from stribeck.drivers.errors import DriverError
from stribeck.drivers.wire.transport import can_bits

# CiA 402-2, table of the statusword: bits that do not matter are set in the
# second value of each pair
STATUSWORDS = {
    "not ready": (0x0000, 0xFFB0 & ~0x004F),
    "switch on disabled": (0x0040, 0x0670),
    "ready to switch on": (0x0021, 0x0631),
    "switched on": (0x0023, 0x0633),
    "operation enabled": (0x0027, 0x1637),
    "quick stop": (0x0007, 0x0617),
    "fault reaction": (0x000F, 0x023F),
    "fault": (0x0008, 0x0238),
}


@pytest.mark.parametrize("name", STATUSWORDS)
def test_states_are_those_of_the_published_table(name):
    for word in STATUSWORDS[name]:
        assert cia402.state(word) == name


@given(st.integers(0, 0xFFFF))
def test_every_word_has_one_state(word):
    assert cia402.state(word) in (*STATUSWORDS, "unknown")


@pytest.mark.parametrize(
    ("state", "word"),
    [
        ("switch on disabled", 0x06),
        ("ready to switch on", 0x07),
        ("switched on", 0x0F),
        ("quick stop", 0x0F),
        ("operation enabled", None),
        ("fault", None),
        ("fault reaction", None),
        ("not ready", None),
    ],
)
def test_transitions_to_power_are_the_published_ones_and_none_leaves_a_fault(state, word):
    assert cia402.towards_power(state) == word


def test_frames_have_these_bytes():
    """Little-endian, in the order of the mapping."""
    assert cia402.pack_setpoint(-1000) == bytes.fromhex("18 fc ff ff")
    assert cia402.pack_setpoint(65536, -2, 10) == bytes.fromhex("00 00 01 00 fe ff 0a")
    assert cia402.pack_control(0x000F) == bytes.fromhex("0f 00")
    assert cia402.pack_control_by_sdo(0x000F) == bytes.fromhex("2b 40 60 00 0f 00 00 00")
    assert cia402.unpack_state(bytes.fromhex("37 06 00 f0 ff ff d6 ff")) == (0x0637, -4096, -42)
    assert cia402.unpack_velocity(bytes.fromhex("18 fc ff ff")) == (-1000, None)
    assert cia402.mapping((0x6041, 16), (0x6064, 32), (0x6077, 16)) == [
        0x60410010,
        0x60640020,
        0x60770010,
    ]


@pytest.mark.parametrize(
    ("word", "counts", "words"),
    [
        (0x00B44700, 60.0, "revolutions per min"),
        (0xFDB44700, 60_000.0, "10^-3 revolutions per min"),
        (0x01B44700, 6.0, "10^1 revolutions per min"),
        (0x00B50300, 4096.0, "increments per s"),
        (0x00410300, 360.0, "degrees per s"),
        (0xFD100300, 6283.185, "10^-3 radians per s"),
    ],
)
def test_units_of_speed_are_decoded(word, counts, words):
    """The first two are the words of EPOS4 and Nanotec drives for rpm and mrpm."""
    assert cia402.speed_unit(word, 4096) == (pytest.approx(counts), words)


@pytest.mark.parametrize(
    ("word", "counts", "words"),
    [
        (0xFAB45700, 1e6, "10^-6 revolutions per s²"),
        (0x00C00300, 60.0, "revolutions per min per s"),
        (0xFDC00300, 60_000.0, "10^-3 revolutions per min per s"),
        (0x00B55700, 4096.0, "increments per s²"),
        (0x00415700, 360.0, "degrees per s²"),
    ],
)
def test_units_of_acceleration_are_decoded(word, counts, words):
    assert cia402.acceleration_unit(word, 4096) == (pytest.approx(counts), words)


@pytest.mark.parametrize("word", [0, 0x00B40300, 0x00C04700, 0x00B45800, 0xFFFFFFFF])
def test_words_that_are_no_unit_of_acceleration_give_none(word):
    assert cia402.acceleration_unit(word, 4096) is None


@pytest.mark.parametrize("word", [0, 0x00B40000, 0x00000300, 0x00B44800, 0xFFFFFFFF])
def test_words_that_are_no_unit_of_speed_give_none(word):
    assert cia402.speed_unit(word, 4096) is None


@given(st.binary(max_size=8))
def test_any_bytes_give_a_frame_or_none(data):
    state, velocity = cia402.unpack_state(data), cia402.unpack_velocity(data)
    assert (state is None) == (len(data) != 8)
    assert velocity is None or velocity[0] == struct.unpack_from("<i", data)[0]


SCALE = cia402.Scale.of(
    position_counts=4096,
    velocity_counts=60,
    rated_torque=1.27,
    gear_ratio=100.0,
    direction=-1,
    zero=0.3,
)


def test_a_count_of_torque_is_a_thousandth_of_the_rated_torque_at_the_joint():
    """1.27 N·m behind a gear of 100: 0.127 N·m."""
    assert SCALE.torque == pytest.approx(-0.127)


def test_one_motor_revolution_moves_the_joint_by_this_angle():
    q, tau = SCALE.joint(4096, 1000)
    assert q == pytest.approx(0.3 - 2.0 * 3.141592653589793 / 100.0)
    assert tau == pytest.approx(-127.0)
    # rpm, backwards
    assert SCALE.counts(2.0 * 3.141592653589793 / 100.0, "velocity", 32) == -60


@given(st.integers(-(2**31) + 2, 2**31 - 2))
def test_positions_survive_a_round_trip_to_the_count(counts):
    assert SCALE.counts(SCALE.joint(counts, 0)[0], "position", 32) == pytest.approx(counts, abs=1)


@pytest.mark.parametrize(
    ("value", "quantity", "bits"),
    [(1e9, "velocity", 32), (5000.0, "torque", 16), (float("nan"), "velocity", 32)],
)
def test_values_beyond_a_field_are_refused_not_clipped(value, quantity, bits):
    with pytest.raises(DriverError, match=quantity):
        SCALE.counts(value, quantity, bits)


def test_emergencies_have_words():
    assert cia402.emergency_words(0x2310) == "error 0x2310 (overcurrent)"
    assert cia402.emergency_words(0x8130) == "error 0x8130 (communication lost)"
    assert cia402.emergency_words(0xFF01) == "error 0xFF01"


def test_frames_have_at_most_this_many_bits():
    """Classic frames with eight bytes: 135 bits with an 11-bit, 160 with a 29-bit identifier."""
    assert can_bits(8) == 135
    assert can_bits(0) == 55
    assert can_bits(8, extended=True) == 160
