"""The codec of MIT frames against published frames, and against garbage; velocity from position."""

import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stribeck.drivers.errors import DriverError
from stribeck.drivers.mit import mit_frames as mit
from stribeck.drivers.mit.mit_frames import DAMIAO, Ranges
from stribeck.drivers.wire.velocity_from_positions import Slope

DM4310, DM4340 = DAMIAO["DM4310"], DAMIAO["DM4340"]


# from the makers' documents and the tests of the SDK
@pytest.mark.parametrize(
    ("ranges", "values", "frame"),
    [
        (DM4310, (0.0, 0.0, 0.0, 0.0, 0.0), "7F FF 7F F0 00 00 07 FF"),
        (DM4310, (-0.6, 0.0, 100.0, 2.0, 0.0), "79 DA 7F F3 33 66 67 FF"),
        (DM4340, (12.5, 10.0, 500.0, 5.0, 28.0), "FF FF FF FF FF FF FF FF"),
        (DM4340, (-12.5, -10.0, 0.0, 0.0, -28.0), "00 00 00 00 00 00 00 00"),
    ],
)
def test_commands_have_these_bytes(ranges, values, frame):
    assert mit.pack_command(ranges, *values) == bytes.fromhex(frame)


def test_a_published_reply_of_a_damiao_motor():
    """Motor 6, enabled, 2.454 rad, drive at 40 °C."""
    state = mit.unpack_damiao(bytes.fromhex("16 99 21 7F E7 FF 28 00"))
    assert (state.motor, state.status, state.position, state.velocity, state.torque) == (
        6,
        1,
        0x9921,
        0x7FE,
        0x7FF,
    )
    assert state.temperature == 0.0
    q, dq, tau = state.si(Ranges(12.5, 10.0, 28.0))
    assert q == pytest.approx(2.454, abs=1e-3)
    assert (dq, tau) == pytest.approx((0.0, 0.0), abs=0.01)


def test_an_ak_motor_replies_with_six_bytes_or_eight():
    short, long = (
        mit.unpack_cubemars(bytes.fromhex(frame))
        for frame in ("03 7F FF 7F F7 FF", "03 7F FF 7F F7 FF 47 02")
    )
    assert (short.motor, short.status, short.position) == (3, 0, 0x7FFF)
    assert np.isnan(short.temperature)
    assert (long.status, long.temperature) == (2, 31.0)
    assert mit.cubemars_words(long.status) == "overcurrent"


def test_velocity_frames_and_questions_have_these_bytes():
    """float32, little-endian; register 9 of motor 2 to 4000 ticks of 50 µs; state of motor 2."""
    assert mit.pack_velocity(1.0) == bytes.fromhex("00 00 80 3F 00 00 00 00")
    assert mit.pack_question(2, mit.WRITE, mit.TIMEOUT, 4000) == bytes.fromhex(
        "02 00 55 09 A0 0F 00 00"
    )
    assert mit.pack_question(2, mit.READ, 21) == bytes.fromhex("02 00 33 15 00 00 00 00")
    assert mit.pack_question(2, mit.STATE) == bytes.fromhex("02 00 CC 00 00 00 00 00")
    assert mit.unpack_register(2, bytes.fromhex("02 00 33 15 00 00 48 41")) == (21, 12.5)
    assert (mit.ENABLE[7], mit.DISABLE[7], mit.CLEAR[7]) == (0xFC, 0xFD, 0xFB)


def test_steps_are_the_steps_of_the_fields():
    assert mit.step(12.5, 16) == pytest.approx(0.38e-3, rel=0.01)
    assert mit.step(10.0, 12) == pytest.approx(4.9e-3, rel=0.01)
    assert mit.step(28.0, 12) == pytest.approx(13.7e-3, rel=0.01)


@given(st.floats(-12.5, 12.5), st.floats(-30.0, 30.0), st.floats(-10.0, 10.0))
def test_packed_values_are_read_back_within_a_count(q, dq, tau):
    """A motor replies in the fields of a command."""
    word = int.from_bytes(mit.pack_command(DM4310, q, dq, 0.0, 0.0, tau), "big")
    fields = word >> 48, word >> 36 & 0xFFF, word & 0xFFF
    back = mit.State(1, 1, *fields, temperature=0.0).si(DM4310)
    steps = mit.step(12.5, 16), mit.step(30.0, 12), mit.step(10.0, 12)
    assert all(
        -1e-9 <= told - found <= step + 1e-9
        for told, found, step in zip((q, dq, tau), back, steps, strict=True)
    )


@pytest.mark.parametrize(
    "values",
    [
        (12.6, 0, 1, 1, 0),
        (0, -31, 1, 1, 0),
        (0, 0, 501, 1, 0),
        (0, 0, 1, 5.1, 0),
        (0, 0, 1, 1, 11),
        (float("nan"), 0, 1, 1, 0),
    ],
)
def test_values_beyond_a_field_are_refused_not_clipped(values):
    with pytest.raises(DriverError, match="does not fit"):
        mit.pack_command(DM4310, *values)


@given(st.binary(max_size=9))
def test_any_bytes_give_a_frame_or_none(data):
    assert (mit.unpack_damiao(data) is None) == (len(data) != 8)
    assert (mit.unpack_cubemars(data) is None) == (len(data) not in (6, 8))
    found = mit.unpack_register(1, data)
    assert found is None or data[:2] == b"\1\0"


@given(
    st.integers(1, 15),
    st.integers(mit.LOWEST, 0xFFFF),
    st.integers(0, 15),
    st.binary(min_size=5, max_size=5),
)
def test_a_state_is_never_taken_for_a_register(motor, position, status, rest):
    """For any status, unless the joint is at the very end of the motor's range."""
    data = struct.pack(">BH", motor | status << 4, position) + rest
    assert mit.unpack_register(motor, data) is None


class TestSlope:
    STEP = mit.step(12.5, 16)

    def follow(self, motion, seconds, rate=250.0):
        slope = Slope(self.STEP)
        times = np.arange(0.0, seconds, 1.0 / rate)
        return times, np.array(
            [slope.add(t, self.STEP * np.floor(motion(t) / self.STEP)) for t in times]
        )

    def test_the_velocity_at_rest_is_zero(self):
        _, velocity = self.follow(lambda t: 0.3, 0.5)
        assert (velocity == 0.0).all()

    @pytest.mark.parametrize("speed", [0.01, 0.1, 1.0, -0.5])
    def test_the_velocity_of_a_steady_joint_is_right_although_the_field_is_coarse(self, speed):
        """The velocity field of a DM4310 has steps of 15 mrad/s."""
        _, velocity = self.follow(lambda t: speed * t, 1.5)
        assert np.mean(velocity[125:]) == pytest.approx(speed, rel=0.01)
        assert np.std(velocity[125:]) < max(2e-3, 0.04 * abs(speed))

    @pytest.mark.parametrize(("begin", "lag"), [(0.2, 0.013), (2.0, 0.013)])
    def test_the_velocity_lags_by_half_of_its_window(self, begin, lag):
        """The joint accelerates with 2 rad/s², from 0.4 or 4 rad/s on."""
        times, velocity = self.follow(lambda t: t * t, begin + 0.5)
        late = (2.0 * times - velocity)[times > begin] / 2.0
        assert np.mean(late) == pytest.approx(lag, abs=0.003)
        assert np.max(late) < 0.03

    def test_clear_forgets_the_positions(self):
        slope = Slope(self.STEP)
        slope.add(0.0, 0.0)
        slope.clear()
        assert slope.add(0.1, 1.0) == 0.0
