"""ROS 1 bags, by the package rosbags: messages of the kinds that are read, as ROS 2 would have sent them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from stribeck.experiments.importers.ros import multi_array
from stribeck.experiments.importers.ros.joint_state import TYPES
from stribeck.ident.errors import InputError

_STATE = "sensor_msgs/msg/JointState"


def from_ros1(file: Path, notes: list[str]) -> Iterator[tuple[str, str, int, bytes]]:
    """Topic, type, time of receipt [ns] and CDR content of messages; of topics that are not read only one, without content.

    Raises
    ------
    InputError
        If the package is missing, or the file is no ROS 1 bag that can be read.
    """
    try:
        from rosbags.rosbag1 import Reader
        from rosbags.typesys import Stores, get_typestore
    except ImportError:
        raise InputError(f"{file}: reading ROS 1 bags needs the package rosbags; pip install 'stribeck[ros1]'") from None
    old, new = get_typestore(Stores.ROS1_NOETIC), get_typestore(Stores.ROS2_HUMBLE)
    state, header, time = (new.types[name] for name in (_STATE, "std_msgs/msg/Header", "builtin_interfaces/msg/Time"))
    try:
        with Reader(file) as bag:
            wanted = [one for one in bag.connections if one.msgtype in (*TYPES, *multi_array.TYPES)]
            yield from ((one.topic, one.msgtype, 0, b"") for one in bag.connections if one not in wanted)
            for one, receipt, data in bag.messages(connections=wanted) if wanted else ():
                if one.msgtype == _STATE:           # the header of ROS 1 has a number more
                    found: Any = old.deserialize_ros1(data, one.msgtype)
                    stamp = time(found.header.stamp.sec, found.header.stamp.nanosec)
                    message = state(header(stamp, found.header.frame_id), found.name, found.position, found.velocity,
                                    found.effort)
                    yield one.topic, one.msgtype, receipt, bytes(new.serialize_cdr(message, _STATE))
                else:
                    yield one.topic, one.msgtype, receipt, bytes(old.ros1_to_cdr(data, one.msgtype))
    except InputError:
        raise
    except Exception as error:              # the package raises whatever a damaged file makes it run into
        raise InputError(f"{file}: not a ROS 1 bag that can be read: {' '.join(str(error).split())}") from error
