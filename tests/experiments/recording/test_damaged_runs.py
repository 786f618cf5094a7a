"""Damaged runs: whole batches before the damage are read; other damage is
refused with one sentence.
"""

import json
import shutil
import signal
from contextlib import suppress
from multiprocessing import Pipe, get_context

import numpy as np
import pyarrow as pa
import pytest

from stribeck.experiments.plans.plan import Segment
from stribeck.ident.errors import InputError
from stribeck.ident.log.campaign_folder import find_runs
from stribeck.ident.log.health.log_health import check_log
from stribeck.ident.log.run import ARM, EVENTS, RECORD, SAMPLES, SIGNALS, load_run
from tests.experiments.recording.written_runs import (
    RATE,
    assert_one_sentence,
    assert_rows,
    fill,
    wait_for,
)


def write_on(start, told):
    """Code of the other process: write rows and events, and send the number of written rows."""
    with start() as writer:
        for k in range(10**5):
            fill(writer, int(RATE), k * int(RATE))
            writer.event("tick", number=k)
            told.send(writer._disk.written)


class TestDamage:
    @pytest.mark.slow
    def test_a_killed_process_leaves_all_written_batches(self, start, tmp_path):
        """After kill -9 all rows reported as written are present, and the
        run is not marked as closed.
        """
        heard, told = Pipe(duplex=False)
        process = get_context("fork").Process(target=write_on, args=(start, told))
        process.start()
        told.close()
        while (written := heard.recv()) < 20 * RATE:
            pass
        process.kill()
        process.join()
        assert process.exitcode == -signal.SIGKILL
        with suppress(EOFError):
            while True:
                written = heard.recv()
        run = load_run(tmp_path / "run", SIGNALS)
        assert_rows(run, written, 10**7)
        assert run.closed is None
        assert len(run.events) >= written // 50 - 1
        assert any(
            finding.kind == "torn" and "cut off" in finding.text for finding in check_log(run)
        )

    def test_a_finished_segment_is_on_disk(self, start, tmp_path):
        writer, segment = start(), Segment(7, "stroke", (0.1, 0.0), 1, "turn", 0.1)
        writer.start(segment)
        fill(writer, 20)
        writer.finish(segment)
        fill(writer, 5, 20)  # never flushed, never closed
        wait_for(lambda: "finished" in (tmp_path / "run" / EVENTS).read_text(encoding="utf-8"))
        run = load_run(tmp_path / "run", SIGNALS)
        assert_rows(run, 20)
        assert run.events[-1] == {"event": "finished", "row": 20, "segment": 7}

    def test_a_run_killed_before_the_first_batch_is_refused_with_a_reason(self, start, tmp_path):
        fill(start(), 20)  # never flushed, never closed
        with pytest.raises(InputError, match=r"samples\.arrows"):
            load_run(tmp_path / "run")

    @pytest.mark.slow
    def test_whole_batches_before_a_cut_are_read(self, closed):
        whole = (closed / SAMPLES).read_bytes()
        # the events are missing as well
        (closed / EVENTS).unlink()
        rows = set()
        for size in np.linspace(1, len(whole) - 1, 60).astype(int):
            (closed / SAMPLES).write_bytes(whole[:size])
            try:
                run = load_run(closed, SIGNALS)
            except InputError as error:
                # less than the schema and the first batch
                assert size < len(whole) / 4
                assert_one_sentence(error, "samples.arrows")
            else:
                assert_rows(run, len(run.t))
                rows.add(len(run.t))
        assert rows >= {50 * k for k in range(1, 7)}

    def test_a_truncated_file_of_a_closed_run_is_refused(self, closed):
        """The last event states 330 rows, but an interrupted copy has fewer."""
        whole = (closed / SAMPLES).read_bytes()
        (closed / SAMPLES).write_bytes(whole[: len(whole) // 2])
        with pytest.raises(InputError) as caught:
            load_run(closed)
        assert_one_sentence(caught.value, "of 330 recorded samples")

    @pytest.mark.parametrize("seed", range(20))
    def test_flipped_bytes_never_cause_a_crash(self, closed, seed):
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

    @pytest.mark.parametrize(
        "content",
        [
            b"",
            b"not arrow at all\n" * 40,
            bytes(4000),
            b"\xff\xff\xff\xff" + b"\x7f" * 400,
            np.random.default_rng(0).bytes(3000),
        ],
        ids=["empty", "text", "zeros", "long", "random"],
    )
    def test_garbage_for_samples_is_refused_in_a_sentence(self, closed, content):
        (closed / SAMPLES).write_bytes(content)
        with pytest.raises(InputError) as caught:
            load_run(closed)
        assert_one_sentence(caught.value, "samples.arrows")

    def test_an_incomplete_last_event_is_ignored(self, closed):
        text = (closed / EVENTS).read_text(encoding="utf-8")
        (closed / EVENTS).write_text(
            '{"event": "started", "row": 0, "segment": 0}\n' + text[: len(text) // 2],
            encoding="utf-8",
        )
        run = load_run(closed)
        assert run.events == ({"event": "started", "row": 0, "segment": 0},)
        assert run.closed is None
        assert len(run.t) == 330

    def test_a_run_without_events_can_be_read_and_is_not_closed(self, closed):
        (closed / EVENTS).unlink()
        assert load_run(closed).closed is None

    def test_a_campaign_is_no_run_and_the_message_names_one(self, tmp_path, closed):
        shutil.copytree(closed, tmp_path / "campaign" / "runs" / "first")
        with pytest.raises(
            InputError,
            match=r"campaign: not a run folder .*1 run\(s\): load for example .*runs.first",
        ):
            load_run(tmp_path / "campaign")

    @pytest.mark.parametrize(
        ("damage", "words"),
        [
            (lambda run: (run / RECORD).unlink(), ["not a run folder", "run.json"]),
            (lambda run: (run / RECORD).write_text("{"), ["run.json", "not a JSON file"]),
            (lambda run: (run / RECORD).write_text("[1, 2]"), ["run.json", "not a run record"]),
            (
                lambda run: edit_record(run, driver={"viscous_error": [-0.1]}),
                ["driver.viscous_error", "greater than"],
            ),
            (
                lambda run: edit_record(run, driver={"viscous_error": "much"}),
                ["run.json", "driver.viscous_error", "much"],
            ),
            (lambda run: (run / RECORD).write_bytes(b"\xff\xfe"), ["run.json", "not a JSON file"]),
            (lambda run: edit_record(run, schema=9), ["run.json", "schema 9"]),
            (lambda run: edit_record(run, names=["turn", "elbow"]), ["q.elbow"]),
            (lambda run: edit_record(run, names=7), ["run.json", "names"]),
            (lambda run: edit_record(run, arm_file=7), ["run.json", "arm_file"]),
            (
                lambda run: edit_record(run, plan={"start": [0.0], "segments": []}),
                ["plan.start has 1 numbers for 2 joints"],
            ),
            (
                lambda run: edit_record(
                    run, plan={"segments": [{"id": 4, "kind": "move", "target": [0.0, 0.0, 0.0]}]}
                ),
                ["run.json", "target of segment 4 has 3 numbers for 2 joints"],
            ),
            (lambda run: (run / SAMPLES).unlink(), ["samples.arrows", "no samples"]),
            (lambda run: (run / ARM / "pair.toml").unlink(), ["pair.toml", "no such file"]),
            (lambda run: (run / ARM / "pair.urdf").unlink(), ["pair.urdf", "no such file"]),
            (
                lambda run: replace_text(run / ARM / "pair.toml", "2.5]", "2.4]"),
                ["arm file", "changed after the recording"],
            ),
            (
                lambda run: replace_text(
                    run / ARM / "pair.urdf", 'mass value="2"', 'mass value="3"'
                ),
                ["changed after the recording"],
            ),
            (lambda run: drop_column(run, "tau.lift"), ["samples.arrows", "tau.lift is missing"]),
            (lambda run: drop_column(run, "t"), ["samples.arrows", "is missing"]),
            (
                lambda run: empty_column(run, "t"),
                ["samples.arrows", "column t has type null, but a numeric type"],
            ),
        ],
        ids=lambda value: "" if callable(value) else "-".join(value),
    )
    def test_a_damaged_run_is_refused_in_a_sentence(self, closed, damage, words):
        damage(closed)
        with pytest.raises(InputError) as caught:
            load_run(closed)
        assert_one_sentence(caught.value, *words)

    def test_the_truth_of_a_simulated_arm_may_change(self, closed):
        replace_text(closed / ARM / "pair.toml", "seed = 0", "seed = 1")
        assert_rows(load_run(closed, SIGNALS), 330)

    @pytest.mark.parametrize("place", ["nowhere", "empty"])
    def test_a_folder_without_a_run_is_refused(self, tmp_path, place):
        (tmp_path / "empty").mkdir()
        with pytest.raises(InputError, match=place):
            find_runs(tmp_path / place)


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
