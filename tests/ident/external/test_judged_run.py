"""Judge of the observer on a recorded run: false alarms, and marked pushes added to the
torque of a real log's kind.
"""

from dataclasses import replace

import numpy as np
import pytest

from stribeck import Calibration, load_run
from stribeck.ident.errors import InputError
from stribeck.ident.external.judged_run import count_alarms, judge_external
from stribeck.ident.external.pushes import Push, read_pushes
from tests.places import DATA

GOLDEN = DATA / "golden"
JOINTS, LAST = ("hinge",), 100.0


@pytest.fixture(scope="module")
def calibration():
    return Calibration.load(GOLDEN)


@pytest.fixture(scope="module")
def free():
    """The golden run as if it were another run."""
    return replace(load_run(GOLDEN / "runs" / "constant-speed"), sha256="another")


def with_pushes(run, *pushes):
    """The run under pushes against which the drive works: its torque changes by as much."""
    tau = run.signals["tau"].copy()
    for push in pushes:
        tau[(run.t > push.start) & (run.t <= push.end)] -= push.torque
    return replace(run, signals={**run.signals, "tau": tau})


def moving(run, calibration, seconds=1.0):
    """A time from which the hinge slides for a while."""
    judged = judge_external(run, calibration).joints["hinge"]
    count = int(seconds / 0.0125)
    slides = np.convolve(~judged.rests, np.ones(count), "valid") == count
    return float(run.t[np.flatnonzero(slides)[len(np.flatnonzero(slides)) // 2]])


def test_free_motion_raises_no_alarm(free, calibration):
    judged = judge_external(free, calibration)
    joint = judged.joints["hinge"]
    assert (joint.false_alarms, joint.per_hour, judged.failed) == (0, 0.0, ())
    assert joint.moving + joint.resting == pytest.approx(free.duration)
    assert joint.moving > joint.resting > 5.0
    assert joint.rate == (0.0, pytest.approx(3.689 * 3600.0 / free.duration, rel=1e-3))
    assert joint.threshold[1] < 1.5 < 3.0 < joint.undetectable[1]
    assert repr(judged) == "<ExternalValidation of 1 joint: 0 false alarms; 0 of 0 pushes found>"
    assert judged.to_dataframe()["false_alarms"].tolist() == [0]


@pytest.mark.slow
def test_pushes_are_found_or_missed_as_their_size_allows(free, calibration):
    start = moving(free, calibration)
    for torque, found in ((-6.0, True), (6.0, True), (0.05, False)):
        push = Push(start + 0.1, start + 0.6, "hinge", torque)
        judged = judge_external(with_pushes(free, push), calibration, [push]).joints["hinge"]
        (one,) = judged.pushes
        assert judged.false_alarms == 0
        assert (one.delay is not None) == found
        assert not one.resting
        if found:
            assert 0.0 <= one.delay < 0.04
            assert one.torque == pytest.approx(torque, abs=1.0)


def test_an_unmarked_push_is_a_false_alarm(free, calibration):
    start = moving(free, calibration)
    pushed = with_pushes(free, Push(start + 0.1, start + 0.6, "hinge", 6.0))
    judged = judge_external(pushed, calibration)
    assert judged.joints["hinge"].false_alarms == 1
    assert judged.failed == ("hinge",)
    assert judge_external(pushed, calibration, false_alarms=1e3).failed == ()


def test_a_higher_gain_is_faster(free, calibration):
    start = moving(free, calibration)
    push = Push(start + 0.1, start + 0.6, "hinge", 4.0)
    run = with_pushes(free, push)
    slow, fast = (
        judge_external(run, calibration, [push], gain).joints["hinge"].pushes[0].delay
        for gain in (10.0, 40.0)
    )
    assert fast < slow


def test_a_run_that_was_fitted_is_refused(calibration):
    with pytest.raises(InputError, match="was fitted to this run"):
        judge_external(load_run(GOLDEN / "runs" / "constant-speed"), calibration)


def test_close_alarms_count_once():
    t = np.arange(10.0)
    assert count_alarms(t, np.isin(t, [1.0, 2.0, 3.0, 7.0]), 2.0) == 2
    assert count_alarms(t, np.isin(t, [1.0, 2.0, 3.0, 7.0]), 4.0) == 1
    assert count_alarms(t, t < 0.0, 2.0) == 0


class TestPushes:
    def read(self, tmp_path, text):
        (tmp_path / "pushes.csv").write_text(text, encoding="utf-8")
        return read_pushes(tmp_path / "pushes.csv", JOINTS, LAST)

    def test_a_table_with_comments_and_some_torques(self, tmp_path):
        text = "# by hand\nstart,end,joint,torque\n1.5, 2.0, hinge, -3\n\n4,5,hinge,\n"
        assert self.read(tmp_path, text) == [Push(1.5, 2.0, "hinge", -3.0), Push(4.0, 5.0, "hinge")]
        assert self.read(tmp_path, "joint,end,start\nhinge,2,1\n") == [Push(1.0, 2.0, "hinge")]

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("", "pushes.csv: no rows; a table of pushes has the columns start, end, joint"),
            ("start,end,joint\n", "no pushes below the names"),
            ("start,end\n1,2\n", "no column joint, only start, end"),
            ("start,end,joint,force\n1,2,hinge,3\n", "unknown column 'force'"),
            ("start,end,joint\n1,2,elbow\n", "line 2: unknown joint 'elbow'"),
            ("start,end,joint\n1,x,hinge\n", "line 2: end = 'x' is not a finite number"),
            ("start,end,joint\n1,nan,hinge\n", "line 2: end = 'nan' is not a finite number"),
            ("start,end,joint\n1\n", "line 2: end = '' is not a finite number"),
            (
                "start,end,joint\n3,2,hinge\n",
                "line 2: start = 3 s, end = 2 s; a push ends after it starts",
            ),
            ("start,end,joint\n99,101,hinge\n", "within the run of 0 to 100 s"),
            ("start,end,joint,torque\n1,2,hinge,big\n", "torque = 'big' is not a finite number"),
        ],
    )
    def test_refused(self, tmp_path, text, message):
        with pytest.raises(InputError, match=message):
            self.read(tmp_path, text)

    def test_files_that_cannot_be_read(self, tmp_path):
        with pytest.raises(InputError, match="no such file"):
            read_pushes(tmp_path / "none.csv", JOINTS, LAST)
        (tmp_path / "utf16.csv").write_text("start,end,joint\n", encoding="utf-16")
        with pytest.raises(InputError, match="not a UTF-8 text file"):
            read_pushes(tmp_path / "utf16.csv", JOINTS, LAST)
