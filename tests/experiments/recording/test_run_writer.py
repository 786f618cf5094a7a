"""The run folder: complete, exact, and with the reason why the run ended."""

import hashlib
import json
import platform
from importlib.metadata import version

import mujoco
import numpy as np
import pyarrow as pa
import pytest

from stribeck.drivers.arm import JointSample, Resolution
from stribeck.experiments.plans.plan import Segment, plan_table
from stribeck.experiments.recording.run_writer import RunWriter
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.errors import InputError
from stribeck.ident.log.run import RECORD, SAMPLES, SIGNALS, load_run
from tests.experiments.recording.written_runs import RATE, assert_rows, fill


class TestContent:
    def test_every_sample_is_kept_to_the_last_bit(self, closed):
        assert_rows(load_run(closed, SIGNALS), 330)

    def test_signals_that_are_not_requested_are_not_loaded(self, closed):
        assert set(load_run(closed).signals) == {"q", "tau", "temperature"}

    def test_nan_and_infinity_are_kept(self, start, tmp_path):
        with start() as writer:
            writer.sample(
                JointSample(
                    0.0,
                    np.array([np.nan, np.inf]),
                    np.zeros(2),
                    np.full(2, -0.0),
                    np.zeros(2),
                    None,
                    np.zeros(2, dtype=np.int64),
                ),
                np.full(2, np.nan),
                np.full(2, np.nan),
                -1,
            )
        run = load_run(tmp_path / "run", SIGNALS)
        np.testing.assert_array_equal(run.signals["q"], [[np.nan, np.inf]])
        assert np.signbit(run.signals["tau"]).all()
        assert run.segment.tolist() == [-1]

    @pytest.mark.parametrize(
        ("options", "extra"),
        [
            ({}, {"temperature"}),
            ({"temperature": False}, set()),
            ({"raw": True}, {"raw", "temperature"}),
        ],
    )
    def test_columns_are_the_signals_of_the_arm(self, start, tmp_path, options, extra):
        with start() as writer:
            fill(writer, 3, **options)
        run = load_run(tmp_path / "run", SIGNALS)
        assert set(run.signals) == {"q", "dq", "tau", "q_cmd", "dq_cmd", "t"} | extra
        if "raw" in extra:
            np.testing.assert_array_equal(
                run.signals["raw"], [k + np.arange(2) / 10.0 + 0.05 for k in range(3)]
            )

    @pytest.mark.parametrize(
        ("base", "joint", "n", "units"),
        [
            (
                "pair",
                "lift",
                2,
                {
                    "q": "rad",
                    "dq": "rad/s",
                    "tau": "N·m",
                    "q_cmd": "rad",
                    "dq_cmd": "rad/s",
                    "t": "s",
                },
            ),
            (
                "slide",
                "carriage",
                1,
                {"q": "m", "dq": "m/s", "tau": "N", "q_cmd": "m", "dq_cmd": "m/s", "t": "s"},
            ),
        ],
    )
    def test_every_column_states_signal_joint_and_unit(
        self, make_arm, tmp_path, base, joint, n, units
    ):
        arm = make_arm(base=base)
        with RunWriter(tmp_path / "run", arm, load_mechanism(arm), "a test", RATE) as writer:
            fill(writer, 2, n=n)
        with pa.ipc.open_stream(str(tmp_path / "run" / SAMPLES)) as stream:
            schema = stream.schema
        assert schema.field("t").type == pa.float64()
        assert schema.field("segment").type == pa.int32()
        for signal_, unit in {**units, "temperature": "°C"}.items():
            about = json.loads(schema.metadata[f"{signal_}.{joint}".encode()])
            assert about == {"signal": signal_, "joint": joint, "unit": unit}

    def test_the_record_states_arm_plan_and_versions(self, arm, make_plan, tmp_path):
        resolution = Resolution(np.array([0.0, 0.1]), np.array([1e-4, 1e-5]), np.array([0.2, 0.3]))
        plan = plan_table(make_plan(arm))
        with RunWriter(
            tmp_path / "run",
            arm,
            load_mechanism(arm),
            "a test",
            RATE,
            resolution,
            plan,
            5,
            "with a cup of tea",
        ):
            # written before the first sample
            record = json.loads((tmp_path / "run" / RECORD).read_text(encoding="utf-8"))
        assert {
            key: record[key]
            for key in ("schema", "experiment", "arm", "names", "arm_file", "seed", "note", "plan")
        } == {
            "schema": 1,
            "experiment": "a test",
            "arm": "pair",
            "names": ["turn", "lift"],
            "arm_file": "pair.toml",
            "seed": 5,
            "note": "with a cup of tea",
            "plan": plan,
        }
        assert record["driver"]["kind"] == "simulated"
        assert record["driver"]["rate"] == 200.0
        assert record["driver"]["position_step"] == [1e-4, 1e-5]
        assert record["versions"]["stribeck"] == version("stribeck")
        assert record["versions"]["mujoco"] == mujoco.__version__
        assert record["versions"]["python"] == platform.python_version()
        assert record["start"].endswith("+00:00")

    def test_events_follow_each_other_and_the_last_is_closed(self, start, tmp_path):
        with start() as writer:
            fill(writer, 10)
            writer.start(Segment(0, "stroke", (0.0, 0.0), 0, "turn", 0.1))
            fill(writer, 10, 10)
            writer.finish(Segment(0, "stroke", (0.0, 0.0), 0, "turn", 0.1))
            writer.start(Segment(1, "stroke", (0.0, 0.0), 0, "turn", 0.1, 0))
            writer.event("warning", text="a µ")
        run = load_run(tmp_path / "run")
        assert run.events == (
            {"event": "started", "row": 10, "segment": 0},
            {"event": "finished", "row": 20, "segment": 0},
            {"event": "started", "row": 20, "segment": 1, "mirror_of": 0},
            {"event": "warning", "row": 20, "text": "a µ"},
            {"event": "closed", "row": 20, "rows": 20, "reason": "done"},
        )
        assert run.closed == run.events[-1]

    @pytest.mark.parametrize(
        ("error", "reason"),
        [
            (KeyboardInterrupt(), "stopped by the operator"),
            (RuntimeError("the cable came off"), "the cable came off"),
        ],
    )
    def test_the_run_states_why_it_ended_and_keeps_its_rows(self, start, tmp_path, error, reason):
        def record():
            with start() as writer:
                fill(writer, 120)
                raise error

        with pytest.raises(type(error)):
            record()
        run = load_run(tmp_path / "run", SIGNALS)
        assert_rows(run, 120)
        assert (run.closed["reason"], run.closed["rows"]) == (reason, 120)

    def test_closing_twice_changes_nothing(self, start, tmp_path):
        writer = start()
        fill(writer, 3)
        writer.close("done")
        writer.close("again")
        assert [event["event"] for event in load_run(tmp_path / "run").events] == ["closed"]

    def test_a_run_without_samples_is_closed_and_refused(self, start, tmp_path):
        with start():
            pass
        with pytest.raises(InputError, match=r"samples"):
            load_run(tmp_path / "run")

    def test_a_run_is_never_overwritten(self, closed, start):
        before = tree(closed)
        with pytest.raises(FileExistsError):
            start()
        assert tree(closed) == before


def tree(folder):
    """Digest of all files and folders below a folder."""
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        if path.is_file()
        else None
        for path in sorted(folder.rglob("*"))
    }
