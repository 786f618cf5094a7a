"""Export of runs to MCAP files with ROS 2 messages, for ROS, Foxglove and PlotJuggler.

``/joint_states`` and ``/joint_commands`` are ``sensor_msgs/msg/JointState``; ``/segment`` is
``std_msgs/msg/Int32``. Other recorded signals (``/temperature``, ``/raw``, ``/t``, one value for
each joint) are ``std_msgs/msg/Float64MultiArray``. The run record, events, arm file and model are
attachments.
"""

import struct
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from stribeck.ident.errors import InputError
from stribeck.ident.log.run import ARM, EVENTS, RECORD, Run, load_run

_HEADER = "builtin_interfaces/Time stamp\nstring frame_id\n"
_TIME = "int32 sec\nuint32 nanosec\n"
_DIMENSION = "string label\nuint32 size\nuint32 stride\n"
_LAYOUT = "std_msgs/MultiArrayDimension[] dim\nuint32 data_offset\n"


def _definition(fields: str, **parts: str) -> str:
    """Message definition followed by the definitions of its parts, in the format of ROS 2 bags."""
    return fields + "".join(
        f"{'=' * 80}\nMSG: {name.replace('__', '/')}\n{text}" for name, text in parts.items()
    )


JOINT_STATE = "sensor_msgs/msg/JointState"
INT32 = "std_msgs/msg/Int32"
ARRAY = "std_msgs/msg/Float64MultiArray"
DEFINITIONS = {
    JOINT_STATE: _definition(
        "std_msgs/Header header\nstring[] name\nfloat64[] position\nfloat64[] velocity\nfloat64[] "
        "effort\n",
        std_msgs__Header=_HEADER,
        builtin_interfaces__Time=_TIME,
    ),
    INT32: _definition("int32 data\n"),
    ARRAY: _definition(
        "std_msgs/MultiArrayLayout layout\nfloat64[] data\n",
        std_msgs__MultiArrayLayout=_LAYOUT,
        std_msgs__MultiArrayDimension=_DIMENSION,
    ),
}
_STATES = {"/joint_states": ("q", "dq", "tau"), "/joint_commands": ("q_cmd", "dq_cmd", None)}
_ARRAYS = ("temperature", "raw", "t")


def write_mcap(run: Run, target: Path) -> None:
    """Write a run as an MCAP file; time is the UTC start of the run plus the arm's
    clock since the first sample.

    Raises
    ------
    InputError
        If the package mcap is not installed.
    """
    try:
        from mcap.writer import Writer
    except ImportError:
        raise InputError(
            "MCAP export needs the package mcap; run pip install 'stribeck[mcap]'"
        ) from None
    run = load_run(run.path, ("q", "dq", "tau", "q_cmd", "dq_cmd", *_ARRAYS))
    begin = datetime.fromisoformat(run.record["start"])
    begin_ns = round((begin if begin.tzinfo else begin.replace(tzinfo=UTC)).timestamp() * 1e9)
    stamps = [begin_ns + round(t * 1e9) for t in (run.t - run.t[0]).tolist()]
    with target.open("xb") as file:
        writer = Writer(file)
        writer.start(profile="ros2", library="stribeck")
        writer.add_metadata(
            "stribeck",
            {
                "run": run.label,
                "arm": run.arm.name,
                "joints": " ".join(run.names),
                "t_of_first_sample": repr(float(run.t[0])),
            },
        )
        for name, path in (
            ("run.json", run.path / RECORD),
            ("events.jsonl", run.path / EVENTS),
            *((f"{ARM}/{path.name}", path) for path in sorted((run.path / ARM).iterdir())),
        ):
            if path.is_file():
                writer.add_attachment(
                    begin_ns, begin_ns, name, "application/octet-stream", path.read_bytes()
                )
        channels = [
            (_channel(writer, topic, kind), messages) for topic, kind, messages in _topics(run)
        ]
        for k, stamp in enumerate(stamps):
            for channel, message in channels:
                writer.add_message(channel, stamp, message(k, stamp), stamp, k)
        writer.finish()


def _channel(writer: Any, topic: str, kind: str) -> int:
    schema = writer.register_schema(kind, "ros2msg", DEFINITIONS[kind].encode())
    return int(writer.register_channel(topic, "cdr", schema))


def _topics(run: Run) -> Iterator[tuple[str, str, Callable[[int, int], bytes]]]:
    """Yield topic, message type and message function (of row and time
    stamp) for each topic of a run.
    """
    for topic, signals in _STATES.items():
        if signals[0] in run.signals:
            yield topic, JOINT_STATE, _joint_state(run, signals)
    yield "/segment", INT32, lambda k, _: _CDR + struct.pack("<i", run.segment[k])
    for signal in _ARRAYS:
        if signal in run.signals:
            yield f"/{signal}", ARRAY, _array(run, run.signals[signal])


_CDR = b"\x00\x01\x00\x00"  # little endian; alignment counts from the byte after this header


def _joint_state(run: Run, signals: tuple[str | None, ...]) -> Callable[[int, int], bytes]:
    names = struct.pack("<I", len(run.names))
    for name in run.names:
        names = _padded(names, 4) + _string(name)
    # frame_id, behind the 8 bytes of the stamp
    head = _padded(_string(""), 4)
    fixed = _padded(head + names, 4)
    columns = [
        run.signals[signal] if signal and signal in run.signals else np.empty((run.rows, 0))
        for signal in signals
    ]

    def message(k: int, stamp: int) -> bytes:
        seconds, nanoseconds = divmod(stamp, 10**9)
        body = struct.pack("<iI", seconds, nanoseconds) + fixed
        for values in columns:
            body = _padded(body, 4) + struct.pack("<I", values.shape[1])
            if values.shape[1]:
                body = _padded(body, 8) + values[k].astype("<f8").tobytes()
        return _CDR + body

    return message


def _array(run: Run, values: np.ndarray) -> Callable[[int, int], bytes]:
    n = values.shape[1]
    layout = _padded(struct.pack("<I", 1) + _string(", ".join(run.names)), 4) + struct.pack(
        "<IIII", n, n, 0, n
    )
    layout = _padded(layout, 8)
    return lambda k, _: _CDR + layout + values[k].astype("<f8").tobytes()


def _string(text: str) -> bytes:
    data = text.encode() + b"\0"
    return struct.pack("<I", len(data)) + data


def _padded(data: bytes, size: int) -> bytes:
    return data + bytes(-len(data) % size)
