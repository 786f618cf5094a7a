"""Reader for ROS 1 bags with the package rosbags; messages are converted to CDR as in ROS 2."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from stribeck.experiments.importers.ros import multi_array
from stribeck.experiments.importers.ros.joint_state import TYPES
from stribeck.ident.errors import InputError

_STATE = "sensor_msgs/msg/JointState"


def from_ros1(file: Path, notes: list[str]) -> Iterator[tuple[str, str, int, bytes]]:
    """Yield topic, type, receipt time [ns] and CDR content of messages; yield topics of other
    types once, without content.

    Raises
    ------
    InputError
        If the package is missing, or the file cannot be read as a ROS 1 bag.
    """
    try:
        from rosbags.rosbag1 import Reader
        from rosbags.typesys import Stores, get_typestore
    except ImportError:
        raise InputError(
            f"{file}: ROS 1 bags need the package rosbags; run pip install 'stribeck[ros1]'"
        ) from None
    old, new = get_typestore(Stores.ROS1_NOETIC), get_typestore(Stores.ROS2_HUMBLE)
    state, header, time = (
        new.types[name] for name in (_STATE, "std_msgs/msg/Header", "builtin_interfaces/msg/Time")
    )
    try:
        with Reader(file) as bag:
            wanted = [one for one in bag.connections if one.msgtype in (*TYPES, *multi_array.TYPES)]
            yield from (
                (one.topic, one.msgtype, 0, b"") for one in bag.connections if one not in wanted
            )
            for one, receipt, data in bag.messages(connections=wanted) if wanted else ():
                if one.msgtype == _STATE:  # the ROS 1 header has one field more (seq)
                    found: Any = old.deserialize_ros1(data, one.msgtype)
                    stamp = time(found.header.stamp.sec, found.header.stamp.nanosec)
                    message = state(
                        header(stamp, found.header.frame_id),
                        found.name,
                        found.position,
                        found.velocity,
                        found.effort,
                    )
                    yield one.topic, one.msgtype, receipt, bytes(new.serialize_cdr(message, _STATE))
                else:
                    yield one.topic, one.msgtype, receipt, bytes(old.ros1_to_cdr(data, one.msgtype))
    except InputError:
        raise
    except Exception as error:  # for a damaged file the package may raise any exception
        raise InputError(
            f"{file}: cannot be read as a ROS 1 bag: {' '.join(str(error).split())}"
        ) from error
