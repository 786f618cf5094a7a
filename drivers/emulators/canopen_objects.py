"""Objects of an emulated CiA 402 drive, and the server that reads and writes them by SDO (CiA 301):
expedited both ways, segmented upload for texts.
"""

import struct
from collections.abc import Callable

_ABSENT, _READ_ONLY, _LENGTH, _STATE, _COMMAND, _VALUE = (
    0x06020000,
    0x06010002,
    0x06070010,
    0x08000022,
    0x05040001,
    0x06090030,
)
_OBJECTS = {  # (index, sub-index): type (struct), value at power-on, writable
    (0x1000, 0): ("I", 0x00020192, False),
    (0x1001, 0): ("B", 0, False),
    (0x1016, 0): ("B", 1, False),
    (0x1016, 1): ("I", 0, True),
    (0x1017, 0): ("H", 0, True),
    (0x1018, 0): ("B", 1, False),
    (0x1018, 1): ("I", 0, False),
    (0x2FFF, 0): ("H", 0, True),
    (0x603F, 0): ("H", 0, False),
    (0x6040, 0): ("H", 0, True),
    (0x6041, 0): ("H", 0, False),
    (0x6007, 0): ("h", 1, True),
    (0x605A, 0): ("h", 2, True),
    (0x605E, 0): ("h", 2, True),
    (0x6060, 0): ("b", 0, True),
    (0x6061, 0): ("b", 0, False),
    (0x6502, 0): ("I", 0b11_0000_1100, False),
    (0x6064, 0): ("i", 0, False),
    (0x606C, 0): ("i", 0, False),
    (0x6077, 0): ("h", 0, False),
    (0x60FF, 0): ("i", 0, True),
    (0x60B1, 0): ("i", 0, True),
    (0x60B2, 0): ("h", 0, True),
    (0x6071, 0): ("h", 0, True),
    (0x6072, 0): ("H", 1000, True),
    (0x6076, 0): ("I", 0, False),
    (0x6083, 0): ("I", 1, True),
    (0x6084, 0): ("I", 1, True),
    (0x6085, 0): ("I", 1, True),
    (0x607E, 0): ("B", 0, True),
    (0x607F, 0): ("I", 2**31, True),
    (0x6087, 0): ("I", 1, True),
    (0x607D, 0): ("B", 2, False),
    (0x607D, 1): ("i", -(2**31), True),
    (0x607D, 2): ("i", 2**31 - 1, True),
    (0x60A9, 0): ("I", 0, False),
    (0x60AA, 0): ("I", 0, False),
    (0x60C2, 0): ("B", 2, False),
    (0x60C2, 1): ("B", 1, True),
    (0x60C2, 2): ("b", -3, True),
}
_TEXTS = {0x1008: "stribeck emulated drive", 0x100A: "1.0"}


class ObjectDictionary:
    """Types and values of the objects of a drive; they start with the values after power-on.

    Attributes
    ----------
    types : dict
        Type (struct) by index and sub-index.
    values : dict
        Value by index and sub-index.
    """

    def __init__(self, node: int) -> None:
        self.types = {key: form for key, (form, _, _) in _OBJECTS.items()}
        self.values: dict[tuple[int, int], int] = {
            key: value for key, (_, value, _) in _OBJECTS.items()
        }
        for k in range(4):
            for parameters, base in ((0x1400, 0x200), (0x1800, 0x180)):
                for sub, form, value in (
                    (0, "B", 2),
                    (1, "I", base + 0x100 * k + node),
                    (2, "B", 255),
                ):
                    self.types[parameters + k, sub], self.values[parameters + k, sub] = form, value
                for sub in range(9):
                    self.types[parameters + 0x200 + k, sub] = "I" if sub else "B"
                    self.values[parameters + 0x200 + k, sub] = 0

    def raw(self, index: int, sub: int) -> bytes:
        """Bytes of a value."""
        return struct.pack("<" + self.types[index, sub], self.values[index, sub])

    def entries(self, index: int) -> list[int]:
        """Entries of a PDO mapping."""
        return [self.values[index, sub] for sub in range(1, self.values[index, 0] + 1)]


class _Abort(Exception):
    def __init__(self, code: int) -> None:
        super().__init__(f"SDO abort 0x{code:08X}")
        self.code = code


class SdoServer:
    """Answers SDO requests.

    Parameters
    ----------
    objects : ObjectDictionary
        The objects to read.
    measure : callable
        Updates measured values before an object is read.
    take : callable
        Writes a value; takes (index, sub-index) and the bytes of the value.
    """

    def __init__(
        self,
        objects: ObjectDictionary,
        measure: Callable[[], None],
        take: Callable[[tuple[int, int], bytes], None],
    ) -> None:
        self._objects, self._measure, self._take = objects, measure, take
        self._upload: bytes | None = None
        self._toggle = 0

    def answer(self, request: bytes) -> bytes:
        """Return the answer to a request; both have eight bytes."""
        command, index, sub = request[0], *struct.unpack_from("<HB", request, 1)
        if command >> 5 == 3 and self._upload is not None:
            return self._segment(command)
        head = struct.pack("<HB", index, sub)
        try:
            if command >> 5 == 1:
                self._write((index, sub), command, request[4:])
                return b"\x60" + head + bytes(4)
            if command >> 5 == 2:
                if index in _TEXTS and sub == 0:
                    self._upload, self._toggle = _TEXTS[index].encode(), 0
                    return b"\x41" + head + struct.pack("<I", len(self._upload))
                if (index, sub) not in self._objects.types:
                    raise _Abort(_ABSENT)
                self._measure()
                data = self._objects.raw(index, sub)
                return bytes([0x43 | (4 - len(data)) << 2]) + head + data.ljust(4, b"\0")
            raise _Abort(_COMMAND)
        except _Abort as abort:
            return b"\x80" + head + struct.pack("<I", abort.code)

    def _segment(self, command: int) -> bytes:
        assert self._upload is not None
        if command >> 4 & 1 != self._toggle:
            self._upload = None
            return b"\x80" + bytes(3) + struct.pack("<I", 0x05030000)
        part, rest = self._upload[:7], self._upload[7:]
        head = self._toggle << 4 | (7 - len(part)) << 1 | (not rest)
        self._toggle ^= 1
        self._upload = rest or None
        return bytes([head]) + part.ljust(7, b"\0")

    def _write(self, key: tuple[int, int], command: int, data: bytes) -> None:
        if key not in self._objects.types:
            raise _Abort(_ABSENT)
        if key in _OBJECTS and not _OBJECTS[key][2]:
            raise _Abort(_READ_ONLY)
        size = struct.calcsize(self._objects.types[key])
        if not command & 2 or (command & 1 and 4 - (command >> 2 & 3) != size):
            raise _Abort(_LENGTH)
        index, sub = key
        if 0x1600 <= index < 0x1800 or 0x1A00 <= index < 0x1C00:
            if not self._objects.values[index - 0x200, 1] >> 31 or (
                sub and self._objects.values[index, 0]
            ):
                # a mapping changes only while its PDO is off and its count zero
                raise _Abort(_STATE)
            mapped = int.from_bytes(data[:4], "little")
            if sub and (mapped >> 16, mapped >> 8 & 0xFF) not in self._objects.types:
                raise _Abort(0x06040041)
        if key == (0x6060, 0) and not self._objects.values[0x6502, 0] >> (data[0] - 1) & 1:
            raise _Abort(_VALUE)
        self._take(key, data[:size])
