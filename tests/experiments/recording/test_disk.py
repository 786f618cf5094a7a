"""The writing thread: full, slow and hanging disks, and Ctrl-C; samples on disk
stay readable in all cases.
"""

import io
import json
import signal
import threading
import time

import numpy as np
import pytest

from stribeck.experiments.errors import RecordingFailed
from stribeck.experiments.recording.run_writer import RunWriter
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.errors import InputError
from stribeck.ident.log.run import DONE, EVENTS, SIGNALS, load_run
from tests.experiments.recording.written_runs import RATE, assert_one_sentence, assert_rows, fill


class Raw(io.RawIOBase):
    """A file on a disk with limited space."""

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


class TestBrokenOff:
    class Disk:
        """A file that accepts a number of bytes, then raises during a write."""

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
    def test_rows_before_a_failure_survive_and_the_run_states_the_reason(
        self, start, tmp_path, room
    ):
        def record():
            with start() as writer:
                writer._disk._samples = self.Disk(
                    writer._disk._samples, room, OSError(28, "No space left on device")
                )
                fill(writer, 10_000)

        with pytest.raises(RecordingFailed) as caught:
            record()
        assert_one_sentence(caught.value, "samples.arrows", "No space left on device")
        if room == 100:  # not even the first batch
            with pytest.raises(InputError, match=r"samples\.arrows"):
                load_run(tmp_path / "run")
            return
        run = load_run(tmp_path / "run", SIGNALS)
        assert_rows(run, 50 if room == 12_000 else 300, 10_000)
        assert "No space left on device" in run.closed["reason"]
        assert run.closed["rows"] in (None, len(run.t))  # unknown rather than wrong

    class Slow:
        """A file whose writes block."""

        def __init__(self, file):
            self.file, self.free = file, threading.Event()

        def write(self, data):
            assert self.free.wait(20.0)
            return self.file.write(data)

        def __getattr__(self, name):
            return getattr(self.file, name)

    def test_the_arm_does_not_wait_for_a_slow_disk(self, start, tmp_path):
        with start() as writer:
            slow = writer._disk._samples = self.Slow(writer._disk._samples)
            fill(writer, 990)
            writer.event("while it waits")
            assert writer._disk.written == 0
            slow.free.set()
        run = load_run(tmp_path / "run", SIGNALS)
        assert_rows(run, 990)
        assert [event["event"] for event in run.events] == ["while it waits", "closed"]

    @pytest.mark.slow
    def test_a_hanging_disk_ends_the_motion(self, start, tmp_path, monkeypatch):
        monkeypatch.setattr("stribeck.experiments.recording.disk._STUCK", 0.05)

        def record():
            with start() as writer:
                slow = writer._disk._samples = self.Slow(writer._disk._samples)
                try:
                    fill(writer, 10_000)
                finally:
                    slow.free.set()

        with pytest.raises(RecordingFailed) as caught:
            record()
        assert_one_sentence(
            caught.value, "the disk did not respond for 0.05 s", "samples recorded before are kept"
        )
        run = load_run(tmp_path / "run", SIGNALS)
        # until the write times out or the queue is full
        assert_rows(run, RATE, 70 * RATE)
        assert run.closed["reason"].endswith("the disk did not respond for 0.05 s")

    @pytest.mark.slow
    def test_a_moving_arm_does_not_wait_for_a_full_queue(self, start):
        writer = start(waits=False)
        slow = writer._disk._samples = self.Slow(writer._disk._samples)
        with pytest.raises(
            RecordingFailed,
            match="the disk is too slow, 64 batches and events are waiting; samples recorded",
        ):
            fill(writer, 10_000)
        slow.free.set()
        writer.close("too slow")

    def test_a_hanging_disk_does_not_keep_the_program_alive(self, start, tmp_path, monkeypatch):
        monkeypatch.setattr("stribeck.experiments.recording.disk._STUCK", 0.2)
        writer = start()
        slow = writer._disk._samples = self.Slow(writer._disk._samples)
        fill(writer, 60)
        with pytest.raises(RecordingFailed, match=r"the disk did not respond for 0\.2 s"):
            writer.close(DONE)
        slow.free.set()

    def test_an_arm_is_stopped_as_soon_as_a_write_hangs(self, start, monkeypatch):
        """The arm stops before the queue is full."""
        monkeypatch.setattr("stribeck.experiments.recording.disk._STUCK", 0.2)
        writer = start()
        slow = writer._disk._samples = self.Slow(writer._disk._samples)
        fill(writer, 60)
        time.sleep(0.3)
        with pytest.raises(RecordingFailed, match=r"the disk did not respond for 0\.2 s"):
            fill(writer, 60, 60)
        slow.free.set()
        writer.close("it hung")

    @pytest.mark.parametrize("room", range(0, 6001, 500))
    def test_a_disk_that_is_full_at_the_last_write(self, start, tmp_path, room):
        """One error names the file, and the run states no rows that are missing."""

        def record():
            with start() as writer:
                writer._disk._samples = io.BufferedWriter(
                    Raw(writer._disk._samples.detach(), room), 1 << 16
                )
                fill(writer, 45)

        with pytest.raises(
            RecordingFailed, match=r"samples\.arrows: No space left on device; samples recorded"
        ):
            record()
        closed = json.loads(
            (tmp_path / "run" / EVENTS).read_text(encoding="utf-8").splitlines()[-1]
        )
        assert closed["event"] == "closed"
        assert closed["rows"] is None
        assert closed["reason"].endswith("No space left on device")

    def test_an_error_of_the_program_is_not_swallowed(self, start):
        def record(schema, columns):
            raise SystemExit("nobody should")

        writer = start()
        writer._disk._write_samples = record
        fill(writer, 60)
        with pytest.raises(SystemExit):
            writer.close(DONE)

    @pytest.mark.parametrize(("base", "n"), [("slide", 1), ("pair", 2)])
    def test_later_samples_do_not_change_queued_ones(self, make_arm, tmp_path, base, n):
        arm = make_arm(base=base)
        with RunWriter(tmp_path / "run", arm, load_mechanism(arm), "a test", RATE) as writer:
            slow = writer._disk._samples = self.Slow(writer._disk._samples)
            fill(writer, 330, n=n)
            slow.free.set()
        run = load_run(tmp_path / "run", SIGNALS)
        np.testing.assert_array_equal(run.signals["q"][:, 0], np.arange(330) + 0.01)
        np.testing.assert_array_equal(run.t, np.arange(330) / RATE)

    class Watched:
        """A file during whose write the operator presses Ctrl-C."""

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
    def test_ctrl_c_during_a_write_waits_for_its_end(self, start, tmp_path, when):
        def record():
            with start() as writer:
                writer._disk._samples = self.Watched(writer._disk._samples, when)
                fill(writer, 10_000)

        with pytest.raises(KeyboardInterrupt):
            record()
        run = load_run(tmp_path / "run", SIGNALS)
        assert run.closed["reason"] == "stopped by the operator"
        assert_rows(run, RATE, 9_999)
        assert run.closed["rows"] == len(run.t)
