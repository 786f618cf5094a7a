"""Long recordings stay on disk: parts, excerpts, and results equal to those
of the recording in memory.
"""

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.errors import InputError
from stribeck.ident.fit.joint.options import Options
from stribeck.ident.identify import identify
from stribeck.ident.log import parts as parts_module
from stribeck.ident.log import run as run_module
from stribeck.ident.log.health.log_health import check_log
from stribeck.ident.log.parts import excerpt, parts, parts_with_strokes
from stribeck.ident.log.reduction.round_trips import reduce_run
from stribeck.ident.log.run import EVENTS, SAMPLES, Run, load_run, load_runs, read_signal

GOLDEN = Path("data/golden/runs/constant-speed")
ROWS = 2000  # rows of a part


@pytest.fixture
def long_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every file counts as long, and parts are short."""
    monkeypatch.setattr(run_module, "LONG", 0)
    monkeypatch.setattr(parts_module, "VALUES", 5 * ROWS)


@pytest.fixture(scope="module")
def whole() -> Run:
    return load_run(GOLDEN)


@pytest.fixture
def long(whole: Run, long_files: None) -> Run:
    return load_run(GOLDEN)


def spoiled(folder: Path, change) -> Path:
    """Copy the golden run with changed samples; `change` gets the columns as arrays."""
    shutil.copytree(GOLDEN, folder)
    with pa.memory_map(str(GOLDEN / SAMPLES)) as source, pa.ipc.open_stream(source) as reader:
        batches, schema = list(reader), reader.schema
    columns = {name: np.array(pa.Table.from_batches(batches)[name]) for name in schema.names}
    change(columns)
    with pa.OSFile(str(folder / SAMPLES), "wb") as sink, pa.ipc.new_stream(sink, schema) as stream:
        first = 0
        for batch in batches:
            rows = slice(first, first := first + len(batch))
            stream.write_batch(
                pa.record_batch([columns[name][rows] for name in schema.names], schema=schema)
            )
    return folder


class TestRows:
    def test_a_long_run_is_not_read_before_its_use(self, long: Run):
        assert long.rows == 15746
        assert long.about(serial="7", note="greased").rows == 15746
        assert callable(long.__dict__["_t"])

    def test_rows_and_signals_are_those_of_the_run_in_memory(self, long: Run, whole: Run):
        for first, stop in (
            (0, 1),
            (79, 81),
            (80, 160),
            (5000, 9001),
            (15745, 15746),
            (15000, 99999),
        ):
            some = long.between(first, stop)
            assert np.array_equal(some.t, whole.t[first:stop])
            assert np.array_equal(some.segment, whole.segment[first:stop])
            assert all(
                np.array_equal(some.signals[key], whole.signals[key][first:stop], equal_nan=True)
                for key in whole.signals
            )
            assert some.first == first
        assert np.array_equal(long.t, whole.t)
        assert np.array_equal(long.signals["tau"], whole.signals["tau"])
        assert (long.begin, long.duration, long.sha256) == (
            whole.begin,
            whole.duration,
            whole.sha256,
        )

    def test_signals_that_were_not_loaded_are_read_from_the_rows_of_a_part(self, long: Run):
        every = read_signal(long, "dq", long.rows)
        part = list(parts(long))[2]
        assert np.array_equal(read_signal(part, "dq", 50), every[part.first : part.first + 50])

    def test_changed_signals_count_and_not_those_of_the_file(self, long: Run):
        tau = 2.0 * long.signals["tau"]
        changed = replace(long, signals={**long.signals, "tau": tau})
        assert np.array_equal(np.concatenate([part.signals["tau"] for part in parts(changed)]), tau)

    def test_several_runs_that_are_long_together_stay_on_disk(
        self, monkeypatch: pytest.MonkeyPatch
    ):
        size = (GOLDEN / SAMPLES).stat().st_size
        monkeypatch.setattr(run_module, "LONG", 2 * size)
        assert all(run.file is None for run in load_runs([GOLDEN, GOLDEN]))
        assert all(
            run.file is not None and run.rows == 15746
            for run in load_runs([GOLDEN, GOLDEN, GOLDEN])
        )

    @pytest.mark.parametrize("signal", ["q", "tau"])
    def test_the_range_of_a_signal_is_known_without_reading_it(
        self, long: Run, whole: Run, signal: str
    ):
        assert np.array_equal(long.range_of(signal), whole.range_of(signal))


class TestParts:
    def test_parts_follow_each_other_without_gap_or_overlap(self, long: Run, whole: Run):
        pieces = list(parts(long))
        assert len(pieces) >= 8
        assert [piece.first for piece in pieces[1:]] == [
            piece.first + piece.rows for piece in pieces[:-1]
        ]
        assert np.array_equal(np.concatenate([piece.t for piece in pieces]), whole.t)
        assert max(piece.rows for piece in pieces) <= ROWS

    def test_no_part_ends_within_a_stroke(self, long: Run, whole: Run):
        strokes = reduce_run(whole, load_mechanism(whole.arm)).strokes
        assert sum(len(own) for _, own in parts_with_strokes(long, strokes)) == len(strokes)
        for part, own in parts_with_strokes(long, strokes):
            assert all(stroke.rows.stop <= part.rows for stroke in own)

    def test_a_run_in_memory_is_one_part(self, whole: Run):
        assert list(parts(whole)) == [whole]
        assert excerpt(whole, [slice(3, 5)])[0] is whole

    def test_an_excerpt_has_the_rows_of_all_slices_once_and_says_where(self, long: Run, whole: Run):
        rows = [slice(9000, 9100), slice(100, 300), slice(250, 400)]
        some, shift = excerpt(long, rows)
        assert some.rows == 300 + 100
        for own, by in zip(rows, shift.tolist(), strict=True):
            assert np.array_equal(some.t[own.start + by : own.stop + by], whole.t[own])


class TestResults:
    @pytest.mark.slow
    def test_points_are_those_of_the_run_in_memory(self, long: Run, whole: Run):
        """The encoder step, the smallest change in the first part, moves
        ends of strokes by a row.
        """
        mechanism = load_mechanism(whole.arm)
        mine, theirs = reduce_run(long, mechanism), reduce_run(whole, mechanism)
        assert len(mine.points) == len(theirs.points) > 80
        assert mine.points[["joint", "segment", "posture", "run"]].equals(
            theirs.points[["joint", "segment", "posture", "run"]]
        )
        assert np.abs(mine.points["n"] - theirs.points["n"]).max() <= 2
        for column, near in (
            ("odd", 0.02),
            ("even", 0.05),
            ("speed", 1e-4),
            ("t", 0.02),
            ("torque", 0.05),
        ):
            assert np.allclose(mine.points[column], theirs.points[column], rtol=0.0, atol=near), (
                column
            )
        ends = np.array(
            [[(one.rows.start, one.rows.stop) for one in own.strokes] for own in (mine, theirs)]
        )
        assert np.abs(ends[0] - ends[1]).max() <= 1

    @pytest.mark.slow
    def test_points_are_equal_if_the_first_part_has_the_encoder_step(
        self, tmp_path: Path, long_files: None, monkeypatch: pytest.MonkeyPatch
    ):
        def coarse(columns: dict[str, np.ndarray]) -> None:
            columns["q.hinge"] = np.round(columns["q.hinge"] / 1e-3) * 1e-3

        folder = spoiled(tmp_path / "run", coarse)
        mine = reduce_run(load_run(folder), load_mechanism(load_run(folder).arm)).points
        monkeypatch.setattr(run_module, "LONG", 2**30)
        theirs = reduce_run(load_run(folder), load_mechanism(load_run(folder).arm)).points
        assert len(mine) == len(theirs) > 40
        assert mine[["segment", "n"]].equals(theirs[["segment", "n"]])
        for column in ("odd", "even", "gravity", "speed", "position", "t", "std"):
            assert np.allclose(mine[column], theirs[column], rtol=1e-9, atol=1e-12), column

    @pytest.mark.slow
    def test_the_calibration_and_its_findings_equal_those_of_the_run_in_memory(
        self, long: Run, whole: Run
    ):
        options = Options(law="stribeck", load="torque")
        mine, theirs = identify([long], options), identify([whole], options)
        one, other = mine.calibration.joints["hinge"], theirs.calibration.joints["hinge"]
        assert other.parameters
        for name, entry in other.parameters.items():
            assert abs(one.parameters[name].value - entry.value) < 0.05 * (
                entry.high - entry.low
            ), name
        assert {(found.joint, found.kind) for found in mine.findings} == {
            (found.joint, found.kind) for found in theirs.findings
        }
        assert not [
            found.text for found in mine.findings if "parts of this long recording" in found.text
        ]


class TestHealth:
    @pytest.mark.slow
    def test_gaps_within_and_between_parts_are_counted(self, tmp_path: Path, long: Run):
        ends = [piece.first + piece.rows for piece in parts(long)]

        def late(columns: dict[str, np.ndarray]) -> None:
            for row in (ends[0], ends[3] - 500):
                columns["t"][row:] += 2.0 if row == ends[0] else 1.0

        found = {
            finding.kind: finding.text
            for finding in check_log(load_run(spoiled(tmp_path / "run", late)))
        }
        assert found["gaps"].startswith("2 gap(s)")
        assert "longest 2.0" in found["gaps"]
        assert "no gaps" not in found["rate"]

    @pytest.mark.parametrize("row", [0, 15700])
    def test_a_bad_number_is_refused_with_its_row_in_the_recording(
        self, tmp_path: Path, long_files: None, row: int
    ):
        folder = spoiled(
            tmp_path / "run", lambda columns: columns["tau.hinge"].__setitem__(row, np.nan)
        )
        with pytest.raises(InputError, match=f"tau of hinge is not a finite number in row {row} "):
            check_log(load_run(folder))

    def test_time_that_runs_back_between_two_parts_is_refused(self, tmp_path: Path, long: Run):
        end = next(iter(parts(long))).rows
        folder = spoiled(
            tmp_path / "run",
            lambda columns: columns["t"].__setitem__(slice(end, None), columns["t"][end:] - 1.0),
        )
        with pytest.raises(InputError, match=f"it does not after row {end - 1} "):
            check_log(load_run(folder))

    def test_warming_over_many_parts_is_told(self, tmp_path: Path, long_files: None):
        folder = spoiled(
            tmp_path / "run",
            lambda columns: columns["temperature.hinge"].__setitem__(
                slice(None), np.linspace(20.0, 50.0, 15746)
            ),
        )
        (found,) = [
            finding for finding in check_log(load_run(folder)) if finding.kind == "temperature"
        ]
        assert "between 20 and 50 °C" in found.text
        assert found.t == pytest.approx(196.8, abs=0.5)

    def test_torque_at_its_limit_in_a_few_parts_is_told_once(
        self, tmp_path: Path, long_files: None
    ):
        def saturated(columns: dict[str, np.ndarray]) -> None:
            # the first lie in two parts
            columns["tau.hinge"][9000:9400] = columns["tau.hinge"][12000:12300] = 1e3

        found = [
            finding
            for finding in check_log(load_run(spoiled(tmp_path / "run", saturated)))
            if finding.kind == "saturation"
        ]
        assert len(found) == 1
        assert "(3 of 9 parts of this long recording have such a finding" in found[0].text


class TestDamage:
    @pytest.mark.slow
    def test_a_recording_that_was_cut_off_gives_its_whole_batches(
        self, tmp_path: Path, long_files: None
    ):
        shutil.copytree(GOLDEN, tmp_path / "run")
        (tmp_path / "run" / EVENTS).write_text("")
        data = (GOLDEN / SAMPLES).read_bytes()
        (tmp_path / "run" / SAMPLES).write_bytes(data[: len(data) // 2])
        torn = load_run(tmp_path / "run")
        assert 5000 < torn.rows < 10000
        assert torn.rows == sum(part.rows for part in parts(torn)) == len(torn.t)
        assert {finding.kind for finding in check_log(torn)} >= {"torn"}
        assert len(reduce_run(torn, load_mechanism(torn.arm)).points) > 20

    def test_a_closed_recording_that_lost_samples_is_refused(
        self, tmp_path: Path, long_files: None
    ):
        shutil.copytree(GOLDEN, tmp_path / "run")
        data = (GOLDEN / SAMPLES).read_bytes()
        (tmp_path / "run" / SAMPLES).write_bytes(data[: len(data) // 2])
        with pytest.raises(InputError, match="of 15746 recorded samples can be read"):
            load_run(tmp_path / "run")

    def test_a_file_that_was_damaged_after_it_was_opened_is_named(
        self, tmp_path: Path, long_files: None
    ):
        shutil.copytree(GOLDEN, tmp_path / "run")
        run, file = load_run(tmp_path / "run"), tmp_path / "run" / SAMPLES
        file.write_bytes(file.read_bytes()[:100_000] + bytes(200_000))
        with pytest.raises(InputError, match="cannot be read as a recording"):
            list(parts(run))
