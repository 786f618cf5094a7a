"""Export of runs: public readers find exactly the recorded numbers."""

import json
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest

from stribeck.experiments.exporters.run_formats import RUN_EXPORTS, export_run
from stribeck.experiments.importers.readers import open_log
from stribeck.ident.arm.built_in import data_dir
from stribeck.ident.errors import InputError
from stribeck.ident.log.run import ARM, Run, load_run

GOLDEN = data_dir() / "golden" / "runs" / "constant-speed"
SIGNALS = ("q", "dq", "tau", "q_cmd", "dq_cmd", "temperature", "t")


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """The first seconds of a recording, with an invented second joint to test the joint order."""
    shutil.copytree(GOLDEN, tmp_path / "run")
    table = (
        pa.ipc.open_stream((tmp_path / "run" / "samples.arrows").read_bytes())
        .read_all()
        .slice(0, 200)
    )
    metadata, columns = (
        dict(table.schema.metadata),
        {name: table[name].to_numpy() for name in table.column_names},
    )
    for signal in SIGNALS:
        columns[f"{signal}.é 2"] = np.random.default_rng(0).normal(size=200)
        metadata[f"{signal}.é 2".encode()] = json.dumps(
            {"signal": signal, "joint": "é 2", "unit": "?"}
        ).encode()
    table = pa.table(columns).replace_schema_metadata(metadata)
    with pa.ipc.new_stream(str(tmp_path / "run" / "samples.arrows"), table.schema) as writer:
        writer.write_table(table)
    record = json.loads((tmp_path / "run" / "run.json").read_text(encoding="utf-8"))
    record["names"].append("é 2")
    del record["plan"]  # the plan has one joint only
    (tmp_path / "run" / "run.json").write_text(json.dumps(record), encoding="utf-8")
    # without the closing event
    events = (tmp_path / "run" / "events.jsonl").read_text(encoding="utf-8").splitlines()[:-1]
    (tmp_path / "run" / "events.jsonl").write_text("\n".join(events), encoding="utf-8")
    return load_run(tmp_path / "run", SIGNALS)


def test_csv_has_every_digit(run: Run, tmp_path: Path) -> None:
    target, losses = export_run(run.path, "csv", tmp_path / "run.csv")
    table = pd.read_csv(target)
    for signal in SIGNALS:
        for j, name in enumerate(run.names):
            np.testing.assert_array_equal(table[f"{signal}.{name}"], run.signals[signal][:, j])
    np.testing.assert_array_equal(table["t"], run.t)
    np.testing.assert_array_equal(table["segment"], run.segment)
    assert "units" in losses[0]


@pytest.mark.slow
def test_csv_can_be_imported_again(run: Run, tmp_path: Path, cli: Callable[..., Any]) -> None:
    target, _ = export_run(GOLDEN, "csv", tmp_path / "run.csv")
    columns = [
        part
        for signal in ("q", "dq", "tau")
        for part in ("--column", f"{signal}.hinge={signal}.hinge")
    ]
    arm = GOLDEN / ARM / "pendulum.toml"
    outcome = cli(
        "import",
        target,
        "--arm",
        arm,
        "--column",
        "t=t",
        *columns,
        "--yes",
        "-o",
        tmp_path / "again",
    )
    assert outcome.code == 0, outcome.err
    (again,) = (tmp_path / "again" / "runs").iterdir()
    np.testing.assert_array_equal(load_run(again).signals["tau"], load_run(GOLDEN).signals["tau"])


@pytest.mark.slow
def test_parquet_keeps_columns_and_units(run: Run, tmp_path: Path) -> None:
    target, _ = export_run(run.path, "parquet", tmp_path / "run.parquet")
    table = pa.parquet.read_table(target)
    assert table.equals(pa.ipc.open_stream((run.path / "samples.arrows").read_bytes()).read_all())
    assert json.loads(table.schema.metadata[b"dq.hinge"])["unit"] == "rad/s"


class TestMcap:
    @pytest.fixture
    def messages(self, run: Run, tmp_path: Path) -> dict[str, list[tuple[int, Any]]]:
        """Time and decoded message by topic, from a public reader."""
        reader = pytest.importorskip(
            "mcap.reader", reason="this test reads the file with the package mcap"
        )
        ros2 = pytest.importorskip(
            "mcap_ros2.decoder", reason="this test decodes the messages with mcap-ros2-support"
        )
        target, losses = export_run(run.path, "mcap", tmp_path / "run.mcap")
        assert losses == ()
        found: dict[str, list[tuple[int, Any]]] = {}
        with target.open("rb") as file:
            made = reader.make_reader(
                file, validate_crcs=True, decoder_factories=[ros2.DecoderFactory()]
            )
            assert made.get_header().profile == "ros2"
            self.attachments = {entry.name: entry.data for entry in made.iter_attachments()}
            for _, channel, message, decoded in made.iter_decoded_messages():
                found.setdefault(channel.topic, []).append((message.log_time, decoded))
        return found

    @pytest.mark.slow
    def test_joint_states_and_commands(
        self, run: Run, messages: dict[str, list[tuple[int, Any]]]
    ) -> None:
        for topic, signals in (
            ("/joint_states", ("q", "dq", "tau")),
            ("/joint_commands", ("q_cmd", "dq_cmd")),
        ):
            assert len(messages[topic]) == len(run.t)
            for k, (_, state) in enumerate(messages[topic]):
                assert state.name == list(run.names)
                for field, signal in zip(("position", "velocity", "effort"), signals, strict=False):
                    np.testing.assert_array_equal(getattr(state, field), run.signals[signal][k])
                assert len(state.effort) == (2 if "tau" in signals else 0)

    @pytest.mark.slow
    def test_segments_temperatures_and_times(
        self, run: Run, messages: dict[str, list[tuple[int, Any]]]
    ) -> None:
        np.testing.assert_array_equal(
            [message.data for _, message in messages["/segment"]], run.segment
        )
        for signal in ("temperature", "t"):
            np.testing.assert_array_equal(
                [message.data for _, message in messages[f"/{signal}"]], run.signals[signal]
            )
            assert messages[f"/{signal}"][0][1].layout.dim[0].label == "hinge, é 2"

    @pytest.mark.slow
    def test_time_is_utc_and_keeps_its_steps(
        self, run: Run, messages: dict[str, list[tuple[int, Any]]]
    ) -> None:
        stamps = np.array([time for time, _ in messages["/joint_states"]])
        assert stamps[0] == round(pd.Timestamp(run.record["start"]).timestamp() * 1e9)
        np.testing.assert_allclose((stamps - stamps[0]) * 1e-9, run.t - run.t[0], rtol=0, atol=1e-9)
        header = messages["/joint_states"][7][1].header.stamp
        assert header.sec * 10**9 + header.nanosec == stamps[7]

    @pytest.mark.slow
    def test_mcap_can_be_imported_again(
        self, run: Run, messages: dict[str, list[tuple[int, Any]]], tmp_path: Path
    ) -> None:
        table = open_log(tmp_path / "run.mcap")
        for name, signal in (
            ("position", "q"),
            ("velocity", "dq"),
            ("effort", "tau"),
            ("temperature",) * 2,
            ("t", "t"),
        ):
            columns = table.read([f"{name}.{joint}" for joint in run.names]).values()
            np.testing.assert_array_equal(np.column_stack(list(columns)), run.signals[signal])

    @pytest.mark.slow
    def test_attachments(self, run: Run, messages: dict[str, list[tuple[int, Any]]]) -> None:
        assert self.attachments.keys() == {
            "run.json",
            "events.jsonl",
            "arm/pendulum.toml",
            "arm/pendulum.urdf",
        }
        assert self.attachments["run.json"] == (run.path / "run.json").read_bytes()

    def test_a_missing_package_is_named(
        self, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(sys.modules, "mcap.writer", None)
        with pytest.raises(InputError, match=r"pip install 'stribeck\[mcap\]'"):
            export_run(run.path, "mcap", tmp_path / "run.mcap")
        assert not (tmp_path / "run.mcap").exists()


@pytest.mark.parametrize("to", RUN_EXPORTS)
@pytest.mark.slow
def test_export_changes_no_file_of_the_run_and_replaces_no_file(run: Run, to: str) -> None:
    before = {path: path.read_bytes() for path in run.path.rglob("*") if path.is_file()}
    if to == "mcap":
        pytest.importorskip("mcap", reason="the package mcap writes the file")
    target, _ = export_run(run.path, to)
    assert target == run.path.parent / f"run{RUN_EXPORTS[to].suffix}"
    assert {path: path.read_bytes() for path in run.path.rglob("*") if path.is_file()} == before
    with pytest.raises(InputError, match="exists; choose another --out"):
        export_run(run.path, to)


def test_a_format_of_calibrations_is_refused_for_runs(run: Run) -> None:
    with pytest.raises(
        InputError, match=r"unknown format of runs 'urdf' \(valid: csv, parquet, mcap\)"
    ):
        export_run(run.path, "urdf")


@pytest.mark.slow
def test_the_export_command(cli: Callable[..., Any], run: Run) -> None:
    outcome = cli("export", run.path, "--to", "csv")
    assert outcome.code == 0, outcome.err
    assert "CSV stores no units" in outcome.out
    assert cli("export", run.path, "--to", "csv", "--into", "x.urdf").code == 2


@pytest.mark.slow
def test_the_only_run_of_a_campaign_without_calibration_is_exported(
    cli: Callable[..., Any], run: Run, tmp_path: Path
) -> None:
    """As after an import; of several runs, the user must name one."""
    campaign = tmp_path / "campaign"
    shutil.copytree(run.path, campaign / "runs" / "one")
    outcome = cli("export", campaign, "--to", "csv", "-o", tmp_path / "one.csv")
    assert outcome.code == 0, outcome.err
    assert (tmp_path / "one.csv").read_bytes().startswith(b'"t",')
    shutil.copytree(run.path, campaign / "runs" / "two")
    outcome = cli("export", campaign, "--to", "csv", "-o", tmp_path / "two.csv")
    assert outcome.code == 2
    assert re.search(r"holds 2 runs; name the one to export: \S+one, \S+two", outcome.err)
