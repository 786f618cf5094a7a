"""Bags with joint states and temperatures, for tests."""

import numpy as np

from tests.experiments.importers.logged_motion import NAMES, ROWS, STAMPS, TAU, Q


def write_bag(folder, kind, messages, topic="/joint_states"):
    """Write a bag with an independent implementation; messages are (receipt, stamp, names,
    position, velocity, effort).
    """
    from rosbags.rosbag2 import StoragePlugin, Writer
    from rosbags.typesys import Stores, get_typestore

    store = get_typestore(Stores.ROS2_HUMBLE)
    state, header, time = (
        store.types[name]
        for name in (
            "sensor_msgs/msg/JointState",
            "std_msgs/msg/Header",
            "builtin_interfaces/msg/Time",
        )
    )
    with Writer(folder, version=9, storage_plugin=StoragePlugin[kind]) as bag:
        connections = {}
        for receipt, stamp, names, *values in messages:
            name = topic if isinstance(topic, str) else topic(names)
            if name not in connections:
                connections[name] = bag.add_connection(name, state.__msgtype__, typestore=store)
            message = state(
                header(time(int(stamp // 10**9), int(stamp % 10**9)), "base"),
                list(names),
                *(np.array(part, dtype=float) for part in values),
            )
            bag.write(
                connections[name], int(receipt), store.serialize_cdr(message, state.__msgtype__)
            )
    return folder


def states(order=lambda k: (0, 1), effort=True):
    for k in range(ROWS):
        j = list(order(k))
        yield (
            STAMPS[k] + 1000,
            STAMPS[k],
            [NAMES[i] for i in j],
            Q[k, j],
            [],
            TAU[k, j] if effort else [],
        )


def add_temperatures(folder, kind, every, label="", last=ROWS):
    """Add a slow topic with motor temperatures to a bag, with the independent implementation."""
    from rosbags.rosbag2 import Reader, StoragePlugin, Writer
    from rosbags.typesys import Stores, get_typestore

    store = get_typestore(Stores.ROS2_HUMBLE)
    kinds = (
        store.types[f"std_msgs/msg/{name}"]
        for name in ("Float64MultiArray", "MultiArrayLayout", "MultiArrayDimension")
    )
    many, layout, dimension = kinds
    with (
        Reader(folder) as old,
        Writer(folder.with_name("both"), version=9, storage_plugin=StoragePlugin[kind]) as bag,
    ):
        states = bag.add_connection("/joint_states", "sensor_msgs/msg/JointState", typestore=store)
        slow = bag.add_connection("/motors/temperature", many.__msgtype__, typestore=store)
        for k, (_, stamp, data) in enumerate(old.messages()):
            bag.write(states, stamp, data)
            if k % every == every // 2 and k < last:
                values = np.array([30.0, 40.0]) + k
                message = many(layout([dimension(label, 2, 2)] if label else [], 0), values)
                bag.write(slow, stamp, store.serialize_cdr(message, many.__msgtype__))
    return folder.with_name("both")


def write_ros1_bag(path, messages, topic="/joint_states"):
    """Write a ROS 1 bag with the same implementation, and with another
    topic that is not imported.
    """
    from rosbags.rosbag1 import Writer
    from rosbags.typesys import Stores, get_typestore

    store = get_typestore(Stores.ROS1_NOETIC)
    state, header, time, text = (
        store.types[name]
        for name in (
            "sensor_msgs/msg/JointState",
            "std_msgs/msg/Header",
            "builtin_interfaces/msg/Time",
            "std_msgs/msg/String",
        )
    )
    with Writer(path) as bag:
        states = bag.add_connection(topic, state.__msgtype__, typestore=store)
        beside = bag.add_connection("/mode", text.__msgtype__, typestore=store)
        for k, (receipt, stamp, names, *values) in enumerate(messages):
            message = state(
                header(k, time(int(stamp // 10**9), int(stamp % 10**9)), "base"),
                list(names),
                *(np.array(part, dtype=float) for part in values),
            )
            bag.write(states, int(receipt), store.serialize_ros1(message, state.__msgtype__))
            bag.write(beside, int(receipt), store.serialize_ros1(text("run"), text.__msgtype__))
    return path
