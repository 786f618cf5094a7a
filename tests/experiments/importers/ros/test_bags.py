"""ROS 2 bags: reordered, late, repeated, split or truncated joint states give the same run."""

import numpy as np
import pytest

from benchmarks.mutations import joint_state
from stribeck.experiments.importers.readers import open_log
from stribeck.ident.errors import InputError
from tests.experiments.importers.logged_motion import NAMES, ROWS, STAMPS, Q, T, assert_is_the_log
from tests.experiments.importers.ros.written_bags import add_temperatures, states, write_bag


@pytest.mark.parametrize("kind", ["SQLITE3", "MCAP"])
class TestBags:
    @pytest.mark.parametrize("label", ["", "lift, turn"])
    @pytest.mark.slow
    def test_temperatures_are_held_until_the_next_message(self, bring, tmp_path, kind, label):
        run = bring(add_temperatures(write_bag(tmp_path / "bag", kind, states()), kind, 100, label))
        assert_is_the_log(run, 0.0)
        heard = (np.arange(ROWS) + 50) // 100 * 100.0 - 50.0
        expected = np.where(
            heard[:, None] < 0.0, np.nan, heard[:, None] + ([40.0, 30.0] if label else [30.0, 40.0])
        )
        np.testing.assert_array_equal(run.signals["temperature"], expected)
        held = "values of /motors/temperature (1 Hz) are held until the next"
        assert any(held in note for note in run.record["import"]["notes"])

    @pytest.mark.slow
    def test_temperatures_are_held_for_three_periods_at_most(self, bring, tmp_path, kind):
        """The topic ends in the middle of the log."""
        run = bring(
            add_temperatures(write_bag(tmp_path / "bag", kind, states()), kind, 10, last=200)
        )
        known = np.flatnonzero(np.isfinite(run.signals["temperature"]).all(axis=1))
        assert (known[0], known[-1]) == (5, 195 + 30)

    def test_joints_in_any_order(self, bring, tmp_path, kind):
        run = bring(
            write_bag(tmp_path / "bag", kind, states(lambda k: (0, 1) if k % 3 else (1, 0)))
        )
        assert_is_the_log(run, 0.0)
        assert np.isnan(run.signals["dq"]).all()

    @pytest.mark.slow
    def test_one_file_of_a_bag(self, bring, tmp_path, kind):
        folder = write_bag(tmp_path / "bag", kind, states())
        (file,) = (path for path in folder.iterdir() if path.suffix in (".db3", ".mcap"))
        before = file.read_bytes()
        assert_is_the_log(bring(file), 0.0)
        assert file.read_bytes() == before
        assert len(list(folder.iterdir())) == 2  # SQLite must not leave a journal

    @pytest.mark.parametrize("unset", [(0,), (0, 1, 2), range(0, ROWS, 2)])
    @pytest.mark.slow
    def test_some_header_stamps_are_zero(self, bring, tmp_path, kind, unset):
        """A few messages without stamp are left out; with many, the receipt stamps are used."""
        messages = [
            (receipt, 0 if k in unset else stamp, *rest)
            for k, (receipt, stamp, *rest) in enumerate(states())
        ]
        run = bring(write_bag(tmp_path / "bag", kind, messages))
        few = len(unset) <= 0.01 * ROWS
        kept = np.delete(np.arange(ROWS), list(unset)) if few else np.arange(ROWS)
        np.testing.assert_array_equal(run.signals["q"], Q[kept])
        np.testing.assert_allclose(run.t - run.t[0], T[kept] - T[kept[0]], atol=1e-9)
        (note,) = (note for note in run.record["import"]["notes"] if "time is the" in note)
        assert note.endswith(
            f"; {len(unset)} message(s) without a header stamp are left out"
            if few
            else f"; the header stamps are not set in {len(unset)} of {ROWS} messages"
        )

    def test_a_topic_may_be_given_without_its_slash(self, tmp_path, kind):
        write_bag(tmp_path / "bag", kind, states(), topic="/left/joint_states")
        assert len(open_log(tmp_path / "bag", topic="left/joint_states").read(["t"])["t"]) == ROWS

    def test_repeated_late_and_split_messages_and_other_publishers(self, bring, tmp_path, kind):
        messages = list(states())
        messages[10], messages[11] = messages[11], messages[10]
        messages.insert(50, messages[49])
        messages.insert(60, (STAMPS[58] + 1, STAMPS[58] + 1, ["gripper"], [0.5], [], []))
        whole = messages[100]
        stamp = whole[:2]
        messages[100:101] = [(*stamp, [NAMES[j]], [whole[3][j]], [], [whole[5][j]]) for j in (0, 1)]
        run = bring(write_bag(tmp_path / "bag", kind, messages))
        assert_is_the_log(run, 0.0)
        notes = " ".join(run.record["import"]["notes"])
        assert "1 message(s) were out of order" in notes
        assert "2 message(s) with the time stamp of another message were joined" in notes
        assert "1 row(s) contain neither position nor torque of this arm" in notes

    def test_all_header_stamps_are_zero(self, bring, tmp_path, kind):
        run = bring(
            write_bag(
                tmp_path / "bag", kind, ((message[0], 0, *message[2:]) for message in states())
            )
        )
        assert_is_the_log(run, 0.0)
        assert "the header stamps are not set" in run.record["import"]["notes"][0]

    @pytest.mark.slow
    def test_jitter_of_receipt_does_not_matter(self, bring, tmp_path, kind):
        late = np.random.default_rng(0).integers(0, 3_000_000, ROWS)
        messages = ((message[0] + late[k], *message[1:]) for k, message in enumerate(states()))
        run = bring(write_bag(tmp_path / "bag", kind, messages))
        assert_is_the_log(run, 0.0)
        table = open_log(tmp_path / "bag", stamps="receipt")
        assert np.abs(np.diff(table.read(["t"])["t"]) - 0.01).max() > 1e-3

    def test_a_joint_with_missing_messages_is_named(self, bring, tmp_path, kind):
        folder = write_bag(
            tmp_path / "bag", kind, states(lambda k: (0,) if 200 <= k < 220 else (0, 1))
        )
        with pytest.raises(InputError, match="q of lift is not a finite number in row 200"):
            bring(folder)

    def test_several_topics(self, bring, tmp_path, kind):
        """Two arms in one bag: the user must choose the topic."""
        folder = write_bag(
            tmp_path / "bag",
            kind,
            states(lambda k: (0, 1) if k % 2 else (1, 0)),
            lambda names: f"/{names[0]}/joint_states",
        )
        with pytest.raises(InputError, match="choose one with --topic"):
            open_log(folder)
        assert len(open_log(folder, topic="/turn/joint_states").read(["t"])["t"]) == ROWS // 2
        with pytest.raises(
            InputError,
            match=r"no message of sensor_msgs/JointState under /x; it has /lift/joint_states",
        ):
            open_log(folder, topic="/x")

    def test_a_bag_without_effort_is_refused(self, cli, arm, tmp_path, kind):
        outcome = cli(
            "import", write_bag(tmp_path / "bag", kind, states(effort=False)), "--arm", arm.path
        )
        assert outcome.code == 2
        assert "no column is given for tau.turn" in outcome.err
        assert "position.turn" in outcome.err


@pytest.mark.slow
def test_the_messages_of_a_truncated_mcap_file_are_read(bring, tmp_path):
    """A killed recorder writes neither the end nor the index."""
    from mcap.writer import Writer

    file = tmp_path / "log.mcap"
    with file.open("wb") as stream:
        writer = Writer(stream, chunk_size=2000)
        writer.start("ros2", "")
        schema = writer.register_schema("sensor_msgs/msg/JointState", "ros2msg", b"")
        channel = writer.register_channel("/joint_states", "cdr", schema)
        for receipt, stamp, *values in states():
            writer.add_message(channel, int(receipt), joint_state(int(stamp), *values), int(stamp))
        writer.finish()
    whole = file.read_bytes()
    kept = [len(bring_cut(bring, file, whole, part).t) for part in (0.3, 0.6, 0.9)]
    assert kept == sorted(kept)
    assert 0 < kept[0] < kept[-1]


def bring_cut(bring, file, whole, part):
    file.write_bytes(whole[: int(part * len(whole))])
    run = bring(file)
    assert "is truncated or damaged" in run.record["import"]["notes"][0]
    assert np.array_equal(run.signals["q"], Q[: len(run.t)])
    return run


def test_the_encoder_of_the_benchmark_agrees_with_ros():
    from rosbags.typesys import Stores, get_typestore

    store = get_typestore(Stores.ROS2_HUMBLE)
    message = store.deserialize_cdr(
        joint_state(STAMPS[7], ("a", "long name"), [1.0, 2.0], [], [3.0, 4.0]),
        "sensor_msgs/msg/JointState",
    )
    assert message.name == ["a", "long name"]
    assert message.position.tolist() == [1.0, 2.0]
    assert message.effort.tolist() == [3.0, 4.0]
    assert message.header.stamp.sec * 10**9 + message.header.stamp.nanosec == STAMPS[7]
