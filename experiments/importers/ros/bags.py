"""Reader for ROS 2 bags and MCAP files: joint states and arrays of numbers are imported, all
other messages are ignored.
"""

import re
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from stribeck.experiments.importers.ros import multi_array
from stribeck.experiments.importers.ros.joint_state import STAMPS, TYPES, JointStates
from stribeck.experiments.importers.ros.multi_array import MultiArrays
from stribeck.experiments.importers.ros.ros1_bag import from_ros1
from stribeck.experiments.importers.table import Table
from stribeck.ident.errors import InputError, unknown_name

if TYPE_CHECKING:
    from mcap.records import Chunk

SUFFIXES = (".db3", ".mcap")
_USUAL = "/joint_states"
_LARGEST_RECORD = 1 << 30  # bytes of an MCAP record
_LARGEST_CHUNK = 1 << 28  # bytes of an MCAP chunk, unpacked
_LARGEST_ROW = 1 << 26  # bytes of a message in SQLite
_READ = (*TYPES, *multi_array.TYPES)
# first bytes of zstd-compressed data; CDR data never begins with them
_ZSTD = b"\x28\xb5\x2f\xfd"
# steps of SQLite's virtual machine, far more than a query needs; a damaged file may loop forever
_STEPS = 1_000_000_000


def open_bag(path: Path, topic: str | None = None, stamps: str = "auto") -> Table:
    """Open the joint states of a bag: a ROS 2 bag folder, a ``.db3`` or ``.mcap``
    file, or a ROS 1 ``.bag``.

    Parameters
    ----------
    path : Path
        File or folder.
    topic : str, optional
        Topic of the joint states; default: ``/joint_states``, or the only topic with joint states.
    stamps : str
        Time of a message: "header" (time of measurement), "receipt" (time of recording), or
        "auto" (header if it is set).

    Raises
    ------
    InputError
        If the file cannot be read, or has no joint states under the topic, or has several
        topics with joint states.
    """
    if stamps not in STAMPS:
        raise unknown_name("stamp", stamps, STAMPS)
    files = (
        sorted((file for file in path.iterdir() if file.suffix in SUFFIXES), key=_number)
        if path.is_dir()
        else [path]
    )
    found: dict[str, JointStates] = {}
    beside = MultiArrays()
    others: set[str] = set()
    notes: list[str] = []
    for file in files:
        for name, kind, receipt, data in _messages(file, notes):
            if kind in multi_array.TYPES:
                beside.add(name, data, receipt)
            if kind not in TYPES:
                others.add(f"{name} ({kind})")
            elif topic is None or _same(name, topic):
                found.setdefault(name, JointStates(str(path), name)).add(data, receipt)
            else:
                others.add(name)
    if topic is None and len(found) > 1:
        topic = _USUAL if _USUAL in found else None
        if topic is None:
            raise InputError(
                f"{path}: several topics have joint states: {', '.join(sorted(found))}; choose "
                "one with --topic"
            )
    states = next(
        (states for name, states in found.items() if topic is None or _same(name, topic)), None
    )
    if states is None or not len(states):
        wanted = f"sensor_msgs/JointState{f' under {topic}' if topic else ''}"
        raise InputError(
            f"{path}: the bag has no message of {wanted}; it has "
            f"{', '.join(sorted(others)[:10]) or 'no messages'}"
        )
    return states.table(stamps, tuple(notes), beside)


def _same(topic: str, asked: str) -> bool:
    """Whether two topic names are equal, with or without slashes at the ends."""
    return topic.strip("/") == asked.strip("/")


def _number(path: Path) -> tuple[str, int]:
    """Sort key for the files of one bag, which end in _0, _1, ... _10."""
    number = re.search(r"(\d+)$", path.stem)
    return path.stem[: number.start()] if number else path.stem, int(number[1]) if number else 0


def _messages(file: Path, notes: list[str]) -> Iterator[tuple[str, str, int, bytes]]:
    """Yield topic, type, receipt time [ns] and content of messages; yield topics of other
    types once, without content.
    """
    read = {".db3": _from_sqlite, ".bag": from_ros1}.get(file.suffix, _from_mcap)
    for name, kind, receipt, data in read(file, notes):
        if data.startswith(_ZSTD):
            raise InputError(
                f"{file}: the messages are compressed one by one; decompress the bag with ros2 "
                "bag convert"
            )
        yield name, kind, receipt, data


@contextmanager
def _complete(file: Path, notes: list[str]) -> Iterator[str]:
    """Yield the SQLite address of a database that includes its journal.

    A database that its recorder has not closed has a journal file. SQLite would merge the journal
    into the user's file, so both are copied first.
    """
    beside = [
        journal
        for end in ("-wal", "-journal")
        if (journal := file.with_name(file.name + end)).is_file() and journal.stat().st_size > 0
    ]
    if not beside:
        yield f"file:{quote(str(file.resolve()))}?mode=ro&immutable=1"
        return
    notes.append(
        f"{file.name} was not closed by its recorder; messages in {beside[0].name} were read, too"
    )
    with tempfile.TemporaryDirectory() as folder:
        for part in (file, *beside):
            shutil.copyfile(part, Path(folder) / part.name)
        yield f"file:{quote(str(Path(folder) / file.name))}?mode=rw"


def _from_sqlite(file: Path, notes: list[str]) -> Iterator[tuple[str, str, int, bytes]]:
    # gives a clearer error than SQLite if the file cannot be opened
    with file.open("rb"):
        pass
    with _complete(file, notes) as address:
        yield from _rows(file, address)


def _rows(file: Path, address: str) -> Iterator[tuple[str, str, int, bytes]]:
    try:
        connection = sqlite3.connect(address, uri=True)
    except sqlite3.Error as error:
        raise InputError(f"{file}: not a ROS 2 bag: {error}") from error
    steps = iter(range(_STEPS // 1_000_000))
    connection.set_progress_handler(lambda: next(steps, None) is None, 1_000_000)
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LARGEST_ROW)
    connection.text_factory = lambda text: text.decode("utf-8", "replace")
    try:
        connection.execute("PRAGMA trusted_schema = OFF")
        kinds = dict(
            connection.execute(
                "SELECT name, type FROM sqlite_master WHERE name IN ('topics', 'messages')"
            )
        )
        if kinds != {"topics": "table", "messages": "table"}:
            raise InputError(
                f"{file}: not a ROS 2 bag: the database has no tables topics and messages"
            )
        for number, name, kind, form in connection.execute(
            "SELECT id, name, type, serialization_format FROM topics"
        ).fetchall():
            if kind not in _READ or (kind not in TYPES and form != "cdr"):
                yield str(name), str(kind), 0, b""
                continue
            if form != "cdr":
                raise InputError(
                    f"{file}: topic {name} is serialized as {form!r}; only cdr can be read"
                )
            for receipt, data in connection.execute(
                "SELECT timestamp, data FROM messages WHERE topic_id = ?", (number,)
            ):
                if not isinstance(data, bytes) or not isinstance(receipt, int):
                    raise InputError(
                        f"{file}: a message of topic {name} has no time or no content; the file "
                        "is damaged"
                    )
                yield str(name), str(kind), receipt, data
    except (sqlite3.Error, OverflowError, MemoryError, UnicodeDecodeError) as error:
        # the last if a name is not text
        raise InputError(f"{file}: cannot be read as a ROS 2 bag: {error}") from error
    finally:
        connection.close()


def _from_mcap(file: Path, notes: list[str]) -> Iterator[tuple[str, str, int, bytes]]:
    try:
        from mcap.exceptions import McapError
        from mcap.records import Channel, Message, Schema
    except ImportError:
        raise InputError(
            f"{file}: MCAP needs the package mcap; run pip install 'stribeck[mcap]'"
        ) from None
    schemas: dict[int, Schema] = {}
    channels: dict[int, Channel] = {}
    try:
        for record in _records(file):
            if isinstance(record, Schema):
                schemas[record.id] = record
            elif isinstance(record, Channel):
                channels[record.id] = record
            elif isinstance(record, Message) and record.channel_id in channels:
                channel = channels[record.channel_id]
                kind = (
                    schemas[channel.schema_id].name if channel.schema_id in schemas else "no type"
                )
                if kind in _READ and channel.message_encoding != "cdr":
                    kind = (
                        f"{kind} in {channel.message_encoding or 'no encoding'}, only cdr can be "
                        "read"
                    )
                yield channel.topic, kind, record.log_time, record.data if kind in _READ else b""
    except InputError:
        raise
    except (McapError, EOFError) as error:
        if not channels:
            raise InputError(
                f"{file}: cannot be read as an MCAP file: {str(error) or type(error).__name__}"
            ) from error
        notes.append(
            f"{file.name} is truncated or damaged; the messages before the damage are used"
        )
    except Exception as error:  # for a damaged file the package may raise any exception
        raise InputError(
            f"{file}: cannot be read as an MCAP file: {' '.join(str(error).split())}"
        ) from error


def _records(file: Path) -> Iterator[Any]:
    """Yield all records in file order; only one chunk is in memory at a time."""
    from mcap.records import Chunk
    from mcap.stream_reader import StreamReader, breakup_chunk

    with file.open("rb") as stream:
        for record in StreamReader(
            stream, emit_chunks=True, record_size_limit=_LARGEST_RECORD
        ).records:
            if isinstance(record, Chunk):
                record.data, record.compression = _unpacked(file, record), ""
                yield from breakup_chunk(record, validate_crc=True)
            else:
                yield record


def _unpacked(file: Path, chunk: "Chunk") -> bytes:
    """Decompress a chunk; refuse content of more than `_LARGEST_CHUNK` bytes."""
    if not chunk.compression:
        return chunk.data
    if chunk.compression == "zstd":
        import zstandard

        with zstandard.ZstdDecompressor(max_window_size=_LARGEST_CHUNK).stream_reader(
            chunk.data
        ) as reader:
            data = reader.read(_LARGEST_CHUNK + 1)
    elif chunk.compression == "lz4":
        from lz4.frame import LZ4FrameDecompressor

        data = LZ4FrameDecompressor().decompress(chunk.data, _LARGEST_CHUNK + 1)
    else:
        raise InputError(
            f"{file}: a chunk is compressed with {chunk.compression!r}; only zstd and lz4 can be "
            "read"
        )
    if len(data) > _LARGEST_CHUNK:
        raise InputError(
            f"{file}: a chunk exceeds {_LARGEST_CHUNK} bytes when decompressed; write the file "
            "with smaller chunks"
        )
    return data
