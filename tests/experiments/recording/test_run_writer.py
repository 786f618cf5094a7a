"""The run folder: complete and verbatim, and whatever happens to its writer, what was given to it can be read."""

import hashlib
import io
import json
import platform
import signal
import subprocess
import sys
import threading
import time
from importlib.metadata import version

import mujoco
import numpy as np
import pyarrow as pa
import pytest

from stribeck.drivers.arm import JointSample, Resolution
from stribeck.experiments.errors import RecordingFailed
from stribeck.experiments.plans.plan import Segment, plan_table
from stribeck.experiments.recording.run_writer import Recorder, empty_folder, new_run_folder
from stribeck.ident.arm.arm_file import load_arm
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.errors import InputError
from stribeck.ident.log.health.log_health import check_log
from stribeck.ident.log.run import ARM, DONE, EVENTS, RECORD, SAMPLES, SIGNALS, find_runs, load_run

RATE = 50.0             # rows a batch


def sample(k, n=2, temperature=True, raw=False):
    """Sample number k: every number in it tells which it is."""
    base = k + np.arange(n) / 10.0
    return JointSample(k / RATE, base + 0.01, base + 0.02, base + 0.03, np.full(n, k / RATE - 1e-3),
                       base + 0.04 if temperature else None, np.zeros(n, dtype=np.int64), base + 0.05 if raw else None)


def fill(recorder, rows, first=0, n=2, **options):
    for k in range(first, first + rows):
        recorder.sample(sample(k, n, **options), np.full(n, k + 0.5), np.full(n, k + 0.6), k // 100)


def assert_rows(run, least, most=None):
    """The run holds this many rows from the first on, each as it was given."""
    rows = len(run.t)
    assert least <= rows <= (least if most is None else most)
    k = np.arange(rows)
    np.testing.assert_array_equal(run.t, k / RATE)
    np.testing.assert_array_equal(run.segment, k // 100)
    base = k[:, None] + np.arange(2) / 10.0
    for signal_, offset in {"q": 0.01, "dq": 0.02, "tau": 0.03, "temperature": 0.04}.items():
        np.testing.assert_array_equal(run.signals[signal_], base + offset)
    np.testing.assert_array_equal(run.signals["q_cmd"], np.tile(k + 0.5, (2, 1)).T)
    np.testing.assert_array_equal(run.signals["dq_cmd"], np.tile(k + 0.6, (2, 1)).T)


class Raw(io.RawIOBase):
    """A file on a disk with so much room."""

    def __init__(self, file, room):
        self.file, self.room = file, room

    def writable(self):
        return True

    def fileno(self):
        return self.file.fileno()

    def write(self, data):
        size = min(len(data), self.room)
        if not size:
            raise OSError(28, "No space left on device")
        self.room -= size
        return self.file.write(bytes(data[:size]))


def wait_for(condition):
    end = time.monotonic() + 5.0
    while not condition():
        assert time.monotonic() < end
        time.sleep(1e-3)


@pytest.fixture
def arm(make_arm):
    return make_arm()


@pytest.fixture
def start(arm, tmp_path):
    """Makes a recorder for the run folder ``run``."""
    def recorder(**options):
        return Recorder(tmp_path / "run", arm, load_mechanism(arm), "a test", RATE, **options)
    return recorder


@pytest.fixture
def closed(start, tmp_path):
    """A run of 330 rows: six full batches and a part."""
    with start() as recorder:
        fill(recorder, 330)
    return tmp_path / "run"


class TestContent:
    def test_every_sample_is_kept_to_the_last_bit(self, closed):
        assert_rows(load_run(closed, SIGNALS), 330)

    def test_signals_that_were_not_asked_for_stay_on_disk(self, closed):
        assert set(load_run(closed).signals) == {"q", "tau", "temperature"}

    def test_numbers_that_are_none_are_kept_as_such(self, start, tmp_path):
        with start() as recorder:
            recorder.sample(JointSample(0.0, np.array([np.nan, np.inf]), np.zeros(2), np.full(2, -0.0), np.zeros(2), None,
                                        np.zeros(2, dtype=np.int64)), np.full(2, np.nan), np.full(2, np.nan), -1)
        run = load_run(tmp_path / "run", SIGNALS)
        np.testing.assert_array_equal(run.signals["q"], [[np.nan, np.inf]])
        assert np.signbit(run.signals["tau"]).all()
        assert run.segment.tolist() == [-1]

    @pytest.mark.parametrize(("options", "extra"), [({}, {"temperature"}), ({"temperature": False}, set()),
                                                    ({"raw": True}, {"raw", "temperature"})])
    def test_columns_are_what_the_arm_reports(self, start, tmp_path, options, extra):
        with start() as recorder:
            fill(recorder, 3, **options)
        run = load_run(tmp_path / "run", SIGNALS)
        assert set(run.signals) == {"q", "dq", "tau", "q_cmd", "dq_cmd", "t"} | extra
        if "raw" in extra:
            np.testing.assert_array_equal(run.signals["raw"], [k + np.arange(2) / 10.0 + 0.05 for k in range(3)])

    @pytest.mark.parametrize(("base", "joint", "n", "units"), [
        ("pair", "lift", 2, {"q": "rad", "dq": "rad/s", "tau": "N·m", "q_cmd": "rad", "dq_cmd": "rad/s", "t": "s"}),
        ("slide", "carriage", 1, {"q": "m", "dq": "m/s", "tau": "N", "q_cmd": "m", "dq_cmd": "m/s", "t": "s"}),
    ])
    def test_every_column_says_signal_joint_and_unit(self, make_arm, tmp_path, base, joint, n, units):
        arm = make_arm(base=base)
        with Recorder(tmp_path / "run", arm, load_mechanism(arm), "a test", RATE) as recorder:
            fill(recorder, 2, n=n)
        with pa.ipc.open_stream(str(tmp_path / "run" / SAMPLES)) as stream:
            schema = stream.schema
        assert schema.field("t").type == pa.float64()
        assert schema.field("segment").type == pa.int32()
        for signal_, unit in {**units, "temperature": "°C"}.items():
            about = json.loads(schema.metadata[f"{signal_}.{joint}".encode()])
            assert about == {"signal": signal_, "joint": joint, "unit": unit}

    def test_the_record_says_what_ran_on_what(self, arm, make_plan, tmp_path):
        resolution = Resolution(np.array([0.0, 0.1]), np.array([1e-4, 1e-5]), np.array([0.2, 0.3]))
        plan = plan_table(make_plan(arm))
        with Recorder(tmp_path / "run", arm, load_mechanism(arm), "a test", RATE, resolution, plan, 5, "with a cup of tea"):
            record = json.loads((tmp_path / "run" / RECORD).read_text(encoding="utf-8"))      # there before the first sample
        assert {key: record[key] for key in ("schema", "experiment", "arm", "names", "arm_file", "seed", "note", "plan")} == {
            "schema": 1, "experiment": "a test", "arm": "pair", "names": ["turn", "lift"], "arm_file": "pair.toml", "seed": 5,
            "note": "with a cup of tea", "plan": plan}
        assert record["driver"]["kind"] == "simulated"
        assert record["driver"]["rate"] == 200.0
        assert record["driver"]["position_step"] == [1e-4, 1e-5]
        assert record["versions"]["stribeck"] == version("stribeck")
        assert record["versions"]["mujoco"] == mujoco.__version__
        assert record["versions"]["python"] == platform.python_version()
        assert record["start"].endswith("+00:00")

    def test_arm_file_and_model_are_copied_byte_for_byte(self, arm, closed):
        for source in (arm.path, arm.model):
            assert (closed / ARM / source.name).read_bytes() == source.read_bytes()

    def test_a_run_needs_nothing_outside_itself(self, arm, closed, tmp_path):
        elsewhere = tmp_path / "elsewhere" / "copy"
        elsewhere.parent.mkdir()
        closed.rename(elsewhere)
        for path in (arm.path, arm.model):
            path.unlink()
        run = load_run(elsewhere, SIGNALS)
        assert_rows(run, 330)
        assert load_mechanism(run.arm).names == ("turn", "lift")

    def test_a_bare_model_is_an_arm_too(self, arm, tmp_path):
        from stribeck.ident.arm.arm_file import load_arm

        bare = load_arm(arm.model)
        with Recorder(tmp_path / "bare", bare, load_mechanism(bare), "a test", RATE) as recorder:
            fill(recorder, 3)
        assert_rows(load_run(tmp_path / "bare", SIGNALS), 3)

    def test_a_model_of_several_files_is_refused_before_anything_moves(self, make_arm, tmp_path):
        """Only the model itself is copied; a run that could not be read later would be worse than none."""
        arm = split_model(make_arm())
        with pytest.raises(InputError, match="one file"):
            Recorder(tmp_path / "run", arm, load_mechanism(arm), "a test", RATE)

    def test_events_follow_each_other_and_the_last_is_closed(self, start, tmp_path):
        with start() as recorder:
            fill(recorder, 10)
            recorder.start(Segment(0, "stroke", (0.0, 0.0), 0, "turn", 0.1))
            fill(recorder, 10, 10)
            recorder.finish(Segment(0, "stroke", (0.0, 0.0), 0, "turn", 0.1))
            recorder.start(Segment(1, "stroke", (0.0, 0.0), 0, "turn", 0.1, 0))
            recorder.event("warning", text="a µ")
        run = load_run(tmp_path / "run")
        assert run.events == (
            {"event": "started", "row": 10, "segment": 0}, {"event": "finished", "row": 20, "segment": 0},
            {"event": "started", "row": 20, "segment": 1, "mirror_of": 0}, {"event": "warning", "row": 20, "text": "a µ"},
            {"event": "closed", "row": 20, "rows": 20, "reason": "done"})
        assert run.closed == run.events[-1]

    @pytest.mark.parametrize(("error", "reason"), [(KeyboardInterrupt(), "stopped by the operator"),
                                                   (RuntimeError("the cable came off"), "the cable came off")])
    def test_what_ended_the_run_is_its_reason_and_the_rows_are_kept(self, start, tmp_path, error, reason):
        def record():
            with start() as recorder:
                fill(recorder, 120)
                raise error

        with pytest.raises(type(error)):
            record()
        run = load_run(tmp_path / "run", SIGNALS)
        assert_rows(run, 120)
        assert (run.closed["reason"], run.closed["rows"]) == (reason, 120)

    def test_closing_twice_is_closing_once(self, start, tmp_path):
        recorder = start()
        fill(recorder, 3)
        recorder.close("done")
        recorder.close("again")
        assert [event["event"] for event in load_run(tmp_path / "run").events] == ["closed"]

    def test_a_run_without_samples_is_closed_and_says_so(self, start, tmp_path):
        with start():
            pass
        with pytest.raises(InputError, match=r"samples"):
            load_run(tmp_path / "run")

    def test_a_run_is_never_written_over(self, closed, start):
        before = tree(closed)
        with pytest.raises(FileExistsError):
            start()
        assert tree(closed) == before


class TestFolders:
    def test_runs_of_the_same_second_have_names_of_their_own_in_order(self, tmp_path):
        made = []
        for _ in range(4):
            made.append(new_run_folder(tmp_path, "constant speed / j1"))
            made[-1].mkdir(parents=True)
            (made[-1] / RECORD).touch()
            (made[-1] / EVENTS).write_text('{"event": "closed"}\n', encoding="utf-8")
        assert len(set(made)) == 4
        assert all(folder.parent == tmp_path / "runs" for folder in made)
        assert find_runs(tmp_path) == made

    @pytest.mark.parametrize("content", ["file", "folder"])
    def test_results_go_to_an_empty_folder_only(self, tmp_path, content):
        assert empty_folder(tmp_path / "new" / "one").is_dir()
        full = tmp_path / "full"
        full.mkdir()
        (full / "a").mkdir() if content == "folder" else (full / "a").write_text("precious")
        with pytest.raises(InputError, match=r"full exists and is not empty"):
            empty_folder(full)
        assert (full / "a").exists()

    def test_a_file_is_no_folder(self, tmp_path):
        (tmp_path / "file").write_text("precious")
        with pytest.raises(InputError, match="file"):
            empty_folder(tmp_path / "file")
        assert (tmp_path / "file").read_text() == "precious"


WRITER = f"""
import sys
from pathlib import Path
import numpy as np
from stribeck.drivers.arm import JointSample
from stribeck.experiments.recording.run_writer import Recorder
from stribeck.ident.arm.arm_file import load_arm
from stribeck.ident.arm.load_mechanism import load_mechanism

arm = load_arm(Path(sys.argv[1]))
with Recorder(Path(sys.argv[2]), arm, load_mechanism(arm), "a test", {RATE}) as recorder:
    for k in range(10**7):
        base = k + np.arange(2) / 10.0
        sample = JointSample(k / {RATE}, base + 0.01, base + 0.02, base + 0.03, np.full(2, k / {RATE} - 1e-3), base + 0.04,
                             np.zeros(2, dtype=np.int64))
        recorder.sample(sample, np.full(2, k + 0.5), np.full(2, k + 0.6), k // 100)
        recorder.event("tick", number=k) if k % 50 == 49 else None
        if (k + 1) % {int(RATE)} == 0:
            print(recorder._disk.written, flush=True)
"""


class TestDamage:
    def test_a_killed_process_leaves_every_batch_that_it_wrote(self, arm, tmp_path):
        """kill -9 in the middle: all rows that the writer said were written are there, and the run says it is not closed."""
        with subprocess.Popen([sys.executable, "-c", WRITER, str(arm.path), str(tmp_path / "run")],
                              stdout=subprocess.PIPE, text=True) as writer:
            for line in writer.stdout:
                if int(line) >= 20 * RATE:
                    break
            writer.send_signal(signal.SIGKILL)
            written = max([int(line), *(int(rest) for rest in writer.stdout.read().split("\n")[:-1])])
        assert writer.returncode == -signal.SIGKILL
        run = load_run(tmp_path / "run", SIGNALS)
        assert_rows(run, written, 10**7)
        assert run.closed is None
        assert len(run.events) >= written // 50 - 1
        assert any(finding.kind == "torn" and "cut off" in finding.text for finding in check_log(run))

    def test_a_finished_segment_is_on_disk_whatever_comes_then(self, start, tmp_path):
        recorder, segment = start(), Segment(7, "stroke", (0.1, 0.0), 1, "turn", 0.1)
        recorder.start(segment)
        fill(recorder, 20)
        recorder.finish(segment)
        fill(recorder, 5, 20)                                        # never flushed, never closed
        wait_for(lambda: "finished" in (tmp_path / "run" / EVENTS).read_text(encoding="utf-8"))
        run = load_run(tmp_path / "run", SIGNALS)
        assert_rows(run, 20)
        assert run.events[-1] == {"event": "finished", "row": 20, "segment": 7}

    def test_killed_before_the_first_batch_there_is_nothing_and_that_is_said(self, start, tmp_path):
        fill(start(), 20)                                            # never flushed, never closed
        with pytest.raises(InputError, match=r"samples\.arrows"):
            load_run(tmp_path / "run")

    def test_wherever_the_samples_are_cut_the_whole_batches_before_are_read(self, closed):
        whole = (closed / SAMPLES).read_bytes()
        (closed / EVENTS).unlink()                                   # the writer was cut off as well
        rows = set()
        for size in np.linspace(1, len(whole) - 1, 60).astype(int):
            (closed / SAMPLES).write_bytes(whole[:size])
            try:
                run = load_run(closed, SIGNALS)
            except InputError as error:
                assert size < len(whole) / 4                         # less than the schema and the first batch
                assert_one_sentence(error, "samples.arrows")
            else:
                assert_rows(run, len(run.t))
                rows.add(len(run.t))
        assert rows >= {50 * k for k in range(1, 7)}

    def test_a_file_that_lost_its_tail_is_not_taken_for_a_whole_one(self, closed):
        """Closed after 330 rows, says the last event; a copy that broke off has fewer."""
        whole = (closed / SAMPLES).read_bytes()
        (closed / SAMPLES).write_bytes(whole[: len(whole) // 2])
        with pytest.raises(InputError) as caught:
            load_run(closed)
        assert_one_sentence(caught.value, "of 330 recorded samples")

    @pytest.mark.parametrize("seed", range(20))
    def test_flipped_bytes_are_refused_or_read_but_never_a_crash(self, closed, seed):
        rng = np.random.default_rng(seed)
        content = np.frombuffer((closed / SAMPLES).read_bytes(), dtype=np.uint8).copy()
        content[rng.integers(0, len(content), 10)] = rng.integers(0, 256, 10)
        (closed / SAMPLES).write_bytes(content.tobytes())
        try:
            run = load_run(closed, SIGNALS)
        except InputError as error:
            assert_one_sentence(error, "run")
        else:
            assert len(run.t) <= 330

    @pytest.mark.parametrize("content", [b"", b"not arrow at all\n" * 40, bytes(4000), b"\xff\xff\xff\xff" + b"\x7f" * 400,
                                         np.random.default_rng(0).bytes(3000)], ids=["empty", "text", "zeros", "long", "random"])
    def test_garbage_for_samples_is_refused_in_a_sentence(self, closed, content):
        (closed / SAMPLES).write_bytes(content)
        with pytest.raises(InputError) as caught:
            load_run(closed)
        assert_one_sentence(caught.value, "samples.arrows")

    def test_a_torn_last_event_is_left_out(self, closed):
        text = (closed / EVENTS).read_text(encoding="utf-8")
        (closed / EVENTS).write_text('{"event": "started", "row": 0, "segment": 0}\n' + text[: len(text) // 2], encoding="utf-8")
        run = load_run(closed)
        assert run.events == ({"event": "started", "row": 0, "segment": 0},)
        assert run.closed is None
        assert len(run.t) == 330

    def test_a_run_without_events_can_be_read_and_is_not_closed(self, closed):
        (closed / EVENTS).unlink()
        assert load_run(closed).closed is None

    @pytest.mark.parametrize(("damage", "words"), [
        (lambda run: (run / RECORD).unlink(), ["not a run folder", "run.json"]),
        (lambda run: (run / RECORD).write_text("{"), ["run.json", "not a JSON file"]),
        (lambda run: (run / RECORD).write_text("[1, 2]"), ["run.json", "not a run record"]),
        (lambda run: edit_record(run, driver={"viscous_error": [-0.1]}), ["driver.viscous_error", "greater than"]),
        (lambda run: edit_record(run, driver={"viscous_error": "much"}), ["run.json", "driver.viscous_error", "much"]),
        (lambda run: (run / RECORD).write_bytes(b"\xff\xfe"), ["run.json", "not a JSON file"]),
        (lambda run: edit_record(run, schema=9), ["run.json", "schema 9"]),
        (lambda run: edit_record(run, names=["turn", "elbow"]), ["q.elbow"]),
        (lambda run: edit_record(run, names=7), ["run.json", "names"]),
        (lambda run: edit_record(run, arm_file=7), ["run.json", "arm_file"]),
        (lambda run: edit_record(run, plan={"start": [0.0], "segments": []}), ["plan.start has 1 numbers for 2 joints"]),
        (lambda run: edit_record(run, plan={"segments": [{"id": 4, "kind": "move", "target": [0.0, 0.0, 0.0]}]}),
         ["run.json", "target of segment 4 has 3 numbers for 2 joints"]),
        (lambda run: (run / SAMPLES).unlink(), ["samples.arrows", "no samples"]),
        (lambda run: (run / ARM / "pair.toml").unlink(), ["pair.toml", "no such file"]),
        (lambda run: (run / ARM / "pair.urdf").unlink(), ["pair.urdf", "no such file"]),
        (lambda run: replace_text(run / ARM / "pair.toml", "2.5]", "2.4]"), ["arm file", "changed after the recording"]),
        (lambda run: replace_text(run / ARM / "pair.urdf", 'mass value="2"', 'mass value="3"'), ["changed after the recording"]),
        (lambda run: drop_column(run, "tau.lift"), ["samples.arrows", "tau.lift is missing"]),
        (lambda run: drop_column(run, "t"), ["samples.arrows", "is missing"]),
        (lambda run: empty_column(run, "t"), ["samples.arrows", "column t holds null, not numbers"]),
    ], ids=lambda value: "" if callable(value) else "-".join(value))
    def test_a_damaged_run_is_refused_in_a_sentence(self, closed, damage, words):
        damage(closed)
        with pytest.raises(InputError) as caught:
            load_run(closed)
        assert_one_sentence(caught.value, *words)

    def test_the_truth_may_change(self, closed):
        replace_text(closed / ARM / "pair.toml", "seed = 0", "seed = 1")
        assert_rows(load_run(closed, SIGNALS), 330)

    @pytest.mark.parametrize("place", ["nowhere", "empty"])
    def test_no_run_where_there_is_none(self, tmp_path, place):
        (tmp_path / "empty").mkdir()
        with pytest.raises(InputError, match=place):
            find_runs(tmp_path / place)


class TestBrokenOff:
    class Disk:
        """A file that takes so many bytes, and then raises in the middle of a write."""

        def __init__(self, file, room, error):
            self.file, self.room, self.error = file, room, error

        def write(self, data):
            data = bytes(memoryview(data).cast("B"))
            if len(data) > self.room:
                self.file.write(data[: self.room])
                self.room = 0
                raise self.error
            self.room -= len(data)
            return self.file.write(data)

        def __getattr__(self, name):
            return getattr(self.file, name)

    @pytest.mark.parametrize("room", [100, 12_000, 30_000])
    def test_rows_before_survive_and_the_run_is_closed_with_its_reason(self, start, tmp_path, room):
        def record():
            with start() as recorder:
                recorder._disk._samples = self.Disk(recorder._disk._samples, room, OSError(28, "No space left on device"))
                fill(recorder, 10_000)

        with pytest.raises(RecordingFailed) as caught:
            record()
        assert_one_sentence(caught.value, "samples.arrows", "No space left on device")
        if room == 100:                                              # not even the first batch
            with pytest.raises(InputError, match=r"samples\.arrows"):
                load_run(tmp_path / "run")
            return
        run = load_run(tmp_path / "run", SIGNALS)
        assert_rows(run, 50 if room == 12_000 else 300, 10_000)
        assert "No space left on device" in run.closed["reason"]
        assert run.closed["rows"] in (None, len(run.t))              # unknown rather than wrong

    class Slow:
        """A file whose writes wait."""

        def __init__(self, file):
            self.file, self.free = file, threading.Event()

        def write(self, data):
            assert self.free.wait(20.0)
            return self.file.write(data)

        def __getattr__(self, name):
            return getattr(self.file, name)

    def test_the_arm_does_not_wait_for_a_disk_that_takes_its_time(self, start, tmp_path):
        with start() as recorder:
            slow = recorder._disk._samples = self.Slow(recorder._disk._samples)
            fill(recorder, 990)
            recorder.event("while it waits")
            assert recorder._disk.written == 0
            slow.free.set()
        run = load_run(tmp_path / "run", SIGNALS)
        assert_rows(run, 990)
        assert [event["event"] for event in run.events] == ["while it waits", "closed"]

    def test_a_disk_that_takes_nothing_ends_the_motion_in_the_end(self, start, tmp_path, monkeypatch):
        monkeypatch.setattr("stribeck.experiments.recording.disk._STUCK", 0.05)
        def record():
            with start() as recorder:
                slow = recorder._disk._samples = self.Slow(recorder._disk._samples)
                try:
                    fill(recorder, 10_000)
                finally:
                    slow.free.set()

        with pytest.raises(RecordingFailed) as caught:
            record()
        assert_one_sentence(caught.value, "the disk took nothing for 0.05 s", "what was recorded before is kept")
        run = load_run(tmp_path / "run", SIGNALS)
        assert_rows(run, RATE, 70 * RATE)                           # it hangs, or nothing more can wait, whatever comes first
        assert run.closed["reason"].endswith("the disk took nothing for 0.05 s")

    def test_an_arm_that_moves_does_not_wait_for_a_disk_that_is_far_behind(self, start):
        recorder = start(waits=False)
        slow = recorder._disk._samples = self.Slow(recorder._disk._samples)
        began = time.monotonic()
        with pytest.raises(RecordingFailed, match="the disk is too slow, 64 batches and events wait for it; what was recorded"):
            fill(recorder, 10_000)
        assert time.monotonic() - began < 3.0
        slow.free.set()
        recorder.close("too slow")

    def test_a_disk_that_hangs_for_good_does_not_keep_the_program(self, start, tmp_path, monkeypatch):
        monkeypatch.setattr("stribeck.experiments.recording.disk._STUCK", 0.2)
        recorder = start()
        slow = recorder._disk._samples = self.Slow(recorder._disk._samples)
        fill(recorder, 60)
        began = time.monotonic()
        with pytest.raises(RecordingFailed, match=r"the disk took nothing for 0\.2 s"):
            recorder.close(DONE)
        assert time.monotonic() - began < 3.0
        slow.free.set()

    def test_an_arm_is_stopped_as_soon_as_a_write_hangs(self, start, monkeypatch):
        """And not only when nothing more can wait."""
        monkeypatch.setattr("stribeck.experiments.recording.disk._STUCK", 0.2)
        recorder = start()
        slow = recorder._disk._samples = self.Slow(recorder._disk._samples)
        fill(recorder, 60)
        time.sleep(0.3)
        began = time.monotonic()
        with pytest.raises(RecordingFailed, match=r"the disk took nothing for 0\.2 s"):
            fill(recorder, 60, 60)
        assert time.monotonic() - began < 0.1
        slow.free.set()
        recorder.close("it hung")

    @pytest.mark.parametrize("room", range(0, 6001, 500))
    def test_a_disk_that_is_full_when_the_last_is_written(self, start, tmp_path, room):
        """Wherever it is full: one error that names the file, and no count of rows that are not there."""
        def record():
            with start() as recorder:
                recorder._disk._samples = io.BufferedWriter(Raw(recorder._disk._samples.detach(), room), 1 << 16)
                fill(recorder, 45)

        with pytest.raises(RecordingFailed, match=r"samples\.arrows: No space left on device; what was recorded"):
            record()
        closed = json.loads((tmp_path / "run" / EVENTS).read_text(encoding="utf-8").splitlines()[-1])
        assert closed["event"] == "closed"
        assert closed["rows"] is None
        assert closed["reason"].endswith("No space left on device")

    def test_an_error_of_the_program_is_not_swallowed(self, start):
        def record(schema, columns):
            raise SystemExit("nobody should")

        recorder = start()
        recorder._disk._write_samples = record
        fill(recorder, 60)
        with pytest.raises(SystemExit):
            recorder.close(DONE)

    @pytest.mark.parametrize(("base", "n"), [("slide", 1), ("pair", 2)])
    def test_what_comes_later_does_not_change_what_waits(self, make_arm, tmp_path, base, n):
        arm = make_arm(base=base)
        with Recorder(tmp_path / "run", arm, load_mechanism(arm), "a test", RATE) as recorder:
            slow = recorder._disk._samples = self.Slow(recorder._disk._samples)
            fill(recorder, 330, n=n)
            slow.free.set()
        run = load_run(tmp_path / "run", SIGNALS)
        np.testing.assert_array_equal(run.signals["q"][:, 0], np.arange(330) + 0.01)
        np.testing.assert_array_equal(run.t, np.arange(330) / RATE)

    class Watched:
        """A file during one of whose writes an operator presses Ctrl-C."""

        def __init__(self, file, when):
            self.file, self.left = file, when

        def write(self, data):
            self.left -= 1
            if self.left == 0:
                signal.raise_signal(signal.SIGINT)
            return self.file.write(data)

        def __getattr__(self, name):
            return getattr(self.file, name)

    @pytest.mark.parametrize("when", [1, 40, 90])
    def test_ctrl_c_in_the_middle_of_a_write_waits_until_it_is_whole(self, start, tmp_path, when):
        def record():
            with start() as recorder:
                recorder._disk._samples = self.Watched(recorder._disk._samples, when)
                fill(recorder, 10_000)

        with pytest.raises(KeyboardInterrupt):
            record()
        run = load_run(tmp_path / "run", SIGNALS)
        assert run.closed["reason"] == "stopped by the operator"
        assert_rows(run, RATE, 9_999)
        assert run.closed["rows"] == len(run.t)


def split_model(arm):
    """The arm with a model that includes a second file."""
    body = """<mujoco><worldbody><body name="column"><inertial pos="0.05 0 0.1" mass="3" diaginertia="0.02 0.02 0.01"/>
    <joint name="turn" type="hinge" axis="0 0 1" range="-149 149"/></body></worldbody></mujoco>"""
    (arm.path.parent / "body.xml").write_text(body, encoding="utf-8")
    (arm.path.parent / "whole.xml").write_text('<mujoco><include file="body.xml"/></mujoco>', encoding="utf-8")
    text = arm.path.read_text(encoding="utf-8").replace("pair.urdf", "whole.xml")
    arm.path.write_text(text[: text.index("[joints.lift]")], encoding="utf-8")
    return load_arm(arm.path)


def test_a_model_whose_masses_are_those_of_meshes_is_refused_before_anything_moves(tmp_path):
    """The run would be fitted without them: only the model itself is kept with it."""
    corners = np.array([[0.0, 0.0, 0.0], [0.2, 0.0, 0.0], [0.0, 0.2, 0.0], [0.0, 0.0, 0.2]])
    faces = [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]
    record = b"".join(np.concatenate((np.zeros(3), *corners[list(face)])).astype("<f4").tobytes() + b"\0\0" for face in faces)
    (tmp_path / "part.stl").write_bytes(bytes(80) + np.uint32(len(faces)).tobytes() + record)
    (tmp_path / "meshed.xml").write_text("""<mujoco><asset><mesh name="part" file="part.stl"/></asset><worldbody>
    <body name="link"><joint name="hinge" type="hinge" axis="0 1 0" range="-90 90"/><geom type="mesh" mesh="part"/></body>
    </worldbody></mujoco>""", encoding="utf-8")
    (tmp_path / "meshed.toml").write_text("""schema = 1
    name = "meshed"
    model = "meshed.xml"
    driver = { kind = "simulated", rate = 100.0 }
    [joints.hinge]
    position = [-1.5, 1.5]
    velocity = 1.0
    acceleration = 2.0
    torque = 50.0
    """, encoding="utf-8")
    arm = load_arm(tmp_path / "meshed.toml")
    with pytest.raises(InputError, match=r"needs other files, .* and a run keeps the model alone"):
        Recorder(tmp_path / "run", arm, load_mechanism(arm), "test", 100.0)
    assert not (tmp_path / "run").exists()


def assert_one_sentence(error, *words):
    assert "\n" not in str(error)
    for word in words:
        assert word in str(error)


def tree(folder):
    """Digest of every file below a folder, and the folders."""
    return {path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else None
            for path in sorted(folder.rglob("*"))}


def edit_record(run, **changes):
    record = json.loads((run / RECORD).read_text(encoding="utf-8"))
    (run / RECORD).write_text(json.dumps({**record, **changes}), encoding="utf-8")


def replace_text(path, old, new):
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def drop_column(run, name):
    table = pa.ipc.open_stream((run / SAMPLES).read_bytes()).read_all().drop_columns([name])
    with pa.ipc.new_stream(str(run / SAMPLES), table.schema) as writer:
        writer.write_table(table)


def empty_column(run, name):
    table = pa.ipc.open_stream((run / SAMPLES).read_bytes()).read_all()
    table = table.set_column(table.column_names.index(name), name, pa.nulls(len(table)))
    with pa.ipc.new_stream(str(run / SAMPLES), table.schema) as writer:
        writer.write_table(table)
