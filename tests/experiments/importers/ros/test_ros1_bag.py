"""ROS 1 bags: the same motion gives the same run as in other formats."""

import sys

import pytest

from stribeck.experiments.importers.readers import open_log
from stribeck.ident.errors import InputError
from tests.experiments.importers.logged_motion import assert_is_the_log
from tests.experiments.importers.ros.written_bags import states, write_ros1_bag


@pytest.mark.slow
def test_joint_states(bring, tmp_path):
    """With header stamps, and with another joint order in every second message."""
    path = write_ros1_bag(tmp_path / "log.bag", states(lambda k: (1, 0) if k % 2 else (0, 1)))
    assert_is_the_log(bring(path))


def test_a_damaged_bag_is_refused(tmp_path):
    whole = write_ros1_bag(tmp_path / "log.bag", states()).read_bytes()
    for part in (b"", b"nonsense" * 50, whole[: len(whole) // 2]):
        (tmp_path / "torn.bag").write_bytes(part)
        with pytest.raises(InputError, match="cannot be read as a ROS 1 bag"):
            open_log(tmp_path / "torn.bag")


def test_a_bag_without_joint_states_is_refused(tmp_path):
    path = write_ros1_bag(tmp_path / "log.bag", ())
    with pytest.raises(InputError, match="no message of sensor_msgs/JointState"):
        open_log(path)


def test_a_missing_package_is_named(tmp_path, monkeypatch):
    path = write_ros1_bag(tmp_path / "log.bag", ())
    monkeypatch.setitem(sys.modules, "rosbags.rosbag1", None)
    with pytest.raises(InputError, match=r"pip install 'stribeck\[ros1\]'"):
        open_log(path)
