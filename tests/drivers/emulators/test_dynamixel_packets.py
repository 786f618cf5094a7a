"""The emulator's packing and parsing against garbage."""

from hypothesis import given
from hypothesis import strategies as st

from stribeck.drivers.dynamixel import protocol2 as dxl
from stribeck.drivers.emulators.dynamixel_packets import frame, frames


@given(st.lists(st.binary(max_size=40), max_size=5))
def test_the_emulators_parser_survives_any_bytes(parts):
    buffer = bytearray()
    for part in parts:
        buffer += part
        for _ in frames(buffer):
            pass
    assert len(buffer) < 1100
    buffer += bytes(1100) + frame(1, dxl.PING, b"")
    assert list(frames(buffer))[-1:] == [(1, dxl.PING, b"")] or b"\xff\xff\xfd\x00" in b"".join(
        parts
    )
