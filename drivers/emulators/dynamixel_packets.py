"""Packets of Dynamixel's Protocol 2.0, written only from the e-Manual: header, stuffing, CRC."""

import struct
from collections.abc import Iterator


def _of_byte(byte: int) -> int:
    crc = byte << 8
    for _ in range(8):
        crc = (crc << 1 ^ 0x8005 if crc & 0x8000 else crc << 1) & 0xFFFF
    return crc


_CRC = tuple(map(_of_byte, range(256)))


def crc16(data: bytes) -> int:
    """CRC-16 with polynomial 0x8005, most significant bit first, from zero."""
    crc = 0
    for byte in data:
        crc = (crc << 8 & 0xFFFF) ^ _CRC[crc >> 8 ^ byte]
    return crc


def frame(servo: int, instruction: int, rest: bytes) -> bytes:
    """Return a packet: header, id, length, stuffed instruction and parameters, CRC."""
    body = (bytes([instruction]) + rest).replace(b"\xff\xff\xfd", b"\xff\xff\xfd\xfd")
    packet = b"\xff\xff\xfd\x00" + struct.pack("<BH", servo, len(body) + 2) + body
    return packet + struct.pack("<H", crc16(packet))


def frames(buffer: bytearray) -> Iterator[tuple[int, int, bytes]]:
    """Take complete packets out of a buffer and yield id, instruction and parameters;
    damaged bytes are skipped.
    """
    while True:
        start = buffer.find(b"\xff\xff\xfd\x00")
        del buffer[: start if start >= 0 else max(0, len(buffer) - 3)]
        if len(buffer) < 7:
            return
        end = 7 + struct.unpack_from("<H", buffer, 5)[0]
        if not 10 <= end <= 1024:
            del buffer[0]
            continue
        if len(buffer) < end:
            return
        packet = bytes(buffer[:end])
        if crc16(packet[:-2]) != struct.unpack("<H", packet[-2:])[0]:
            del buffer[0]
            continue
        del buffer[:end]
        body = packet[7:-2].replace(b"\xff\xff\xfd\xfd", b"\xff\xff\xfd")
        yield packet[4], body[0], body[1:]
