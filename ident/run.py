"""A recorded run, read-only: what was measured, with the arm that it was measured on."""

import hashlib
import json
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import tomlkit
from pydantic import BaseModel, ConfigDict, Field, PositiveFloat

from ident.armfile import ArmFile, load_arm, parse_table, read_toml, upgrade
from ident.errors import InputError
from ident.mechanism import Array

SCHEMA = 1
SAMPLES, EVENTS, RECORD, ARM = "samples.arrows", "events.jsonl", "run.json", "arm"
SIGNALS = ("q", "dq", "tau", "q_cmd", "dq_cmd", "t", "raw", "temperature")


@dataclass(frozen=True)
class Run:
    """One run folder.

    Attributes
    ----------
    path : Path
        The folder.
    record : dict
        Its ``run.json``.
    arm : ArmFile
        The arm as copied into the run.
    events : tuple of dict
        Segments started and finished, warnings, trips; the last says how the run was closed.
    t : ndarray, shape (N,)
        Time of each sample [s].
    segment : ndarray of int, shape (N,)
        Which segment of the plan a sample belongs to; -1 between segments.
    signals : dict of str to ndarray, shape (N, n)
        Recorded signals by name (q, dq, tau, ...), columns as `names`; absent where nothing was recorded.
    names : tuple of str
        Joint names.
    """

    path: Path
    record: dict[str, Any]
    arm: ArmFile
    events: tuple[dict[str, Any], ...]
    names: tuple[str, ...]
    t: Array
    segment: np.ndarray
    signals: dict[str, Array]

    @property
    def closed(self) -> dict[str, Any] | None:
        """The closing event, or None if the recording was cut off."""
        return self.events[-1] if self.events and self.events[-1].get("event") == "closed" else None

    @cached_property
    def sha256(self) -> str:
        """Digest of the recorded samples."""
        return hashlib.sha256((self.path / SAMPLES).read_bytes()).hexdigest()

    @property
    def label(self) -> str:
        """How a calibration names this run, wherever the folder now lies."""
        parts = self.path.resolve().parts
        return "/".join(parts[-2:]) if len(parts) > 1 and parts[-2] == "runs" else parts[-1]


def load_run(path: Path, signals: tuple[str, ...] = ("q", "tau", "temperature")) -> Run:
    """Read a run folder.

    Parameters
    ----------
    path : Path
        The folder.
    signals : tuple of str
        Which recorded signals to read; the others stay on disk.

    Raises
    ------
    InputError
        If the folder is no run, a file in it is missing or damaged, or the arm's files were changed.
    """
    path = Path(path)
    if not (path / RECORD).is_file():
        raise InputError(f"{path}: not a run folder ({RECORD} is missing)")
    record = _read_json(path / RECORD)
    if not isinstance(record, dict):
        raise InputError(f"{path / RECORD}: not a run record")
    parse_table(_RecordTable, upgrade(record, path / RECORD, SCHEMA), path / RECORD)
    arm = load_arm(path / ARM / Path(record["arm_file"]).name, model_dir=path / ARM)
    if arm_sha256(arm) != record.get("arm_sha256"):
        raise InputError(f"{path / ARM}: the arm file or model was changed after the recording; restore it "
                         "(only the [simulation] table may differ)")
    names = tuple(record["names"])
    t, segment, columns = _read_samples(path / SAMPLES, names, signals)
    run = Run(path, record, arm, _read_events(path / EVENTS), names, t, segment, columns)
    if run.closed is not None and run.closed.get("rows") not in (None, len(t)):
        raise InputError(f"{path}: only {len(t)} of {run.closed['rows']} recorded samples can be read; the recording was damaged "
                         "after it was closed, restore it from a copy")
    return run


def find_runs(path: Path) -> list[Path]:
    """Run folders at a path: the folder itself, or those of a campaign in order."""
    path = Path(path)
    if (path / RECORD).is_file():
        return [path]
    runs = sorted(record.parent for record in path.glob(f"runs/*/{RECORD}"))
    if not runs:
        raise InputError(f"{path}: " + ("neither a run folder nor a campaign with runs/" if path.is_dir()
                                        else "no such folder"))
    return runs


def arm_sha256(arm: ArmFile) -> str:
    """Digest of what the estimator sees of an arm: its file without ``[simulation]``, and its model."""
    digest = hashlib.sha256()
    if arm.path.suffix.lower() == ".toml":
        table = {key: value for key, value in read_toml(arm.path).items() if key != "simulation"}
        digest.update(tomlkit.dumps(table, sort_keys=True).encode())
    digest.update(arm.model.read_bytes())
    return digest.hexdigest()


def _read_samples(path: Path, names: tuple[str, ...],
                  signals: tuple[str, ...]) -> tuple[Array, np.ndarray, dict[str, Array]]:
    import pyarrow as pa

    if not path.is_file():
        raise InputError(f"{path}: no such file; the run has no samples")
    batches = []
    try:
        with pa.memory_map(str(path)) as source:
            schema = pa.ipc.read_schema(source)
            missing = [f"{signal}.{name}" for signal in ("q", "tau") for name in names
                       if f"{signal}.{name}" not in schema.names]
            if missing or not {"t", "segment"} <= set(schema.names):
                raise InputError(f"{path}: column {missing[0] if missing else 't or segment'} is missing")
            wanted = ["t", "segment", *(f"{signal}.{name}" for signal in signals for name in names
                                        if f"{signal}.{name}" in schema.names)]
            source.seek(0)
            options = pa.ipc.IpcReadOptions(included_fields=sorted(schema.get_field_index(name) for name in wanted),
                                           use_threads=False)       # small batches: threads cost more than they save
            with pa.ipc.open_stream(source, options=options) as reader:
                try:
                    for batch in reader:
                        batches.append(batch)
                except (pa.ArrowException, ValueError, OSError):        # the batch that was being written when the power went
                    pass
    except (pa.ArrowException, UnicodeDecodeError, OSError) as error:
        raise InputError(f"{path}: not a recording that can be read: {error}") from error
    rows = sum(len(batch) for batch in batches)
    if rows == 0:
        raise InputError(f"{path}: the recording holds no samples")
    table = pa.Table.from_batches(batches)
    t = table["t"].to_numpy()
    columns: dict[str, Array] = {}
    for signal in signals:
        present = [f"{signal}.{name}" for name in names]
        if present[0] in table.column_names:
            values = np.empty((rows, len(names)), order="F")
            for k, column in enumerate(present):
                values[:, k] = table[column].to_numpy()
            columns[signal] = values
    return t, table["segment"].to_numpy(), columns


def _read_events(path: Path) -> tuple[dict[str, Any], ...]:
    """Events, without the line that was being written when the process died."""
    if not path.is_file():
        return ()
    events = []
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            event = json.loads(line)
        except json.JSONDecodeError:
            break
        if isinstance(event, dict):
            events.append(event)
    return tuple(events)


class _RecordedSegment(BaseModel):
    model_config = ConfigDict(extra="allow")
    id: int
    kind: str
    posture: int = 0
    joint: str | None = None
    reference: bool = False


class _RecordedPlan(BaseModel):
    model_config = ConfigDict(extra="allow")
    segments: list[_RecordedSegment]


class _RecordedDriver(BaseModel):
    model_config = ConfigDict(extra="allow")
    rate: PositiveFloat | None = None


class _RecordTable(BaseModel):
    """What the estimator relies on in a run record."""

    model_config = ConfigDict(extra="allow")
    schema_version: int = Field(alias="schema")
    experiment: str
    names: list[str] = Field(min_length=1)
    arm_file: str
    arm_sha256: str
    start: datetime
    driver: _RecordedDriver = _RecordedDriver()
    plan: _RecordedPlan | None = None
    seed: int | None = None


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not a JSON file: {error}") from error
