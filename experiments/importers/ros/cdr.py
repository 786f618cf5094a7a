"""Common Data Representation, as ROS 2 messages lie in bags: every text and every list of doubles is aligned to its size."""

import struct

import numpy as np


def opened(data: bytes) -> tuple[memoryview, str, int]:
    """Body of a message, its byte order as `struct` writes it, and to how many bytes doubles are aligned.

    Raises
    ------
    ValueError
        If it is not plain CDR.
    """
    if len(data) < 4 or data[0] != 0 or data[1] not in (0, 1, 6, 7):
        raise ValueError(f"its encapsulation is {data[:4].hex(' ') or 'empty'}, only plain CDR is known")
    return memoryview(data)[4:], "><"[data[1] & 1], 8 if data[1] < 2 else 4


def text(body: memoryview, at: int, order: str) -> tuple[str, int]:
    """A text, and where it ends.

    Raises
    ------
    ValueError, struct.error
        If the message is damaged; so do those below.
    """
    at = padded(at, 4)
    (length,) = struct.unpack_from(f"{order}I", body, at)
    if length > len(body):
        raise ValueError("a text is longer than the message")
    return bytes(body[at + 4:at + 4 + length]).rstrip(b"\0").decode("utf-8"), at + 4 + length


def doubles(body: memoryview, at: int, order: str, align: int) -> tuple[bytes, int]:
    """A list of doubles in the byte order of this machine, and where it ends."""
    at = padded(at, 4)
    (count,) = struct.unpack_from(f"{order}I", body, at)
    if not count:
        return b"", at + 4
    at = padded(at + 4, align)
    if 8 * count > len(body) - at:
        raise ValueError(f"it claims {count} values and ends before")
    return np.frombuffer(body, f"{order}f8", count, at).astype(float).tobytes(), at + 8 * count


def padded(at: int, size: int) -> int:
    """The next place that is a multiple of a size."""
    return -(-at // size) * size
