"""Decoder for the Common Data Representation (CDR) of ROS 2 messages; values
are aligned to their size.
"""

import struct

import numpy as np


def opened(data: bytes) -> tuple[memoryview, str, int]:
    """Return the body of a message, its byte order for `struct`, and the
    alignment of doubles [bytes].

    Raises
    ------
    ValueError
        If the message is not plain CDR.
    """
    if len(data) < 4 or data[0] != 0 or data[1] not in (0, 1, 6, 7):
        raise ValueError(
            f"the encapsulation is {data[:4].hex(' ') or 'empty'}; only plain CDR can be read"
        )
    return memoryview(data)[4:], "><"[data[1] & 1], 8 if data[1] < 2 else 4


def text(body: memoryview, at: int, order: str) -> tuple[str, int]:
    """Return a string and the position behind it.

    Raises
    ------
    ValueError, struct.error
        If the message is damaged; `doubles` raises the same errors.
    """
    at = padded(at, 4)
    (length,) = struct.unpack_from(f"{order}I", body, at)
    if length > len(body):
        raise ValueError("a string is longer than the message")
    return bytes(body[at + 4 : at + 4 + length]).rstrip(b"\0").decode("utf-8"), at + 4 + length


def doubles(body: memoryview, at: int, order: str, align: int) -> tuple[bytes, int]:
    """Return a list of doubles as bytes in the byte order of this machine, and the
    position behind the list.
    """
    at = padded(at, 4)
    (count,) = struct.unpack_from(f"{order}I", body, at)
    if not count:
        return b"", at + 4
    at = padded(at + 4, align)
    if 8 * count > len(body) - at:
        raise ValueError(f"the message claims {count} values but is shorter")
    return np.frombuffer(body, f"{order}f8", count, at).astype(float).tobytes(), at + 8 * count


def padded(at: int, size: int) -> int:
    """Round a position up to a multiple of `size`."""
    return -(-at // size) * size
