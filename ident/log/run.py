"""A recorded run, read-only: what was measured, with the arm that it was measured on."""

import hashlib
import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Self

import numpy as np
import tomlkit
from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, NonNegativeFloat, PositiveFloat, model_validator

from stribeck.ident.arm.arm_file import ArmFile, load_arm
from stribeck.ident.arrays import Array
from stribeck.ident.errors import InputError
from stribeck.ident.toml_tables import parse_table, read_toml, upgrade
from stribeck.ident.whole_files import file_sha256

if TYPE_CHECKING:
    import pyarrow as pa

SCHEMA = 1
SAMPLES, EVENTS, RECORD, ARM = "samples.arrows", "events.jsonl", "run.json", "arm"
RUNS = "runs"               # folder of a campaign
DONE = "done"               # reason of a run that came to the end of its plan
FIT, VALIDATION, WARM_UP, LOWEST_SPEED, BREAKAWAY = "fit", "validation", "warm-up", "lowest-speed", "breakaway"
IMPORTED = "imported"           # for whatever its user wants
FITTED = (FIT, BREAKAWAY)       # the fit of a campaign takes runs of these purposes
REPLIES = "replies"     # event: how a bus did, when motion on it had ended
BREAKAWAY_RAMP = "ramp"     # kind of a segment, and event: where the torque of a joint begins to grow
MOVED = "moved"             # event: where that joint had broken loose
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
    sha256 : str
        Digest of the file of samples.
    """

    path: Path
    record: dict[str, Any]
    arm: ArmFile
    events: tuple[dict[str, Any], ...]
    names: tuple[str, ...]
    t: Array
    segment: np.ndarray
    signals: dict[str, Array]
    sha256: str = ""

    @property
    def closed(self) -> dict[str, Any] | None:
        """The closing event, or None if the recording was cut off."""
        return self.events[-1] if self.events and self.events[-1].get("event") == "closed" else None

    @property
    def purpose(self) -> str:
        """What it was recorded for."""
        return _purpose(self.record)

    @property
    def duration(self) -> float:
        """Robot time recorded [s]."""
        return float(np.ptp(self.t)) if len(self.t) else 0.0

    @cached_property
    def label(self) -> str:
        """How a calibration names this run, wherever the folder now lies."""
        parts = self.path.resolve().parts
        return "/".join(parts[-2:]) if len(parts) > 1 and parts[-2] == RUNS else parts[-1]


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
    record = read_json(path / RECORD)
    if not isinstance(record, dict):
        raise InputError(f"{path / RECORD}: not a run record")
    parse_table(_RecordTable, upgrade(record, path / RECORD, SCHEMA), path / RECORD)
    arm = load_arm(path / ARM / Path(record["arm_file"]).name, model_dir=path / ARM)
    if arm_sha256(arm) != record.get("arm_sha256"):
        raise InputError(f"{path / ARM}: the arm file or model was changed after the recording; restore it "
                         "(only the [simulation] table may differ)")
    names = tuple(record["names"])
    t, segment, columns, sha256 = _read_samples(path / SAMPLES, names, signals)
    run = Run(path, record, arm, _read_events(path / EVENTS), names, t, segment, columns, sha256)
    if run.closed is not None and run.closed.get("rows") not in (None, len(t)):
        raise InputError(f"{path}: only {len(t)} of {run.closed['rows']} recorded samples can be read; the recording was damaged "
                         "after it was closed, restore it from a copy")
    return run


def read_signal(run: Run, signal: str, rows: int) -> Array | None:
    """The first rows of a signal that `load_run` left on disk.

    Returns
    -------
    ndarray, shape (at most rows, n), or None
        None where it was not recorded.
    """
    if signal in run.signals:
        return run.signals[signal][:rows]
    path, columns = run.path / SAMPLES, tuple(f"{signal}.{name}" for name in run.names)
    if not path.is_file() or not set(columns) <= set(_schema(path).names):
        return None
    table = _read_columns(path, columns, rows)
    return _matrix(table.columns, min(rows, len(run.t), len(table)))


def samples_table(run: Run) -> "pa.Table":
    """All samples of a run as they were recorded, signal, joint and unit of each column in the schema's metadata."""
    path = run.path / SAMPLES
    return _read_columns(path, tuple(_schema(path).names)).slice(0, len(run.t))


def find_runs(path: Path, purposes: tuple[str, ...] | None = None) -> list[Path]:
    """Run folders at a path: the folder itself, or those of a campaign in order, of some purposes only.

    Raises
    ------
    InputError
        If there is none.
    """
    path = Path(path)
    runs = [path] if (path / RECORD).is_file() else campaign_runs(path)
    if not runs:
        fitted = "; it holds what a fit wrote: name the folder that was fitted" if (path / "calibration.toml").is_file() else ""
        raise InputError(f"{path}: " + (f"neither a run folder nor a campaign with runs/{fitted}" if path.is_dir() else
                                        "this is a file, no run folder; stribeck import makes one of a log" if path.exists() else
                                        "no such folder"))
    if purposes is None or runs == [path]:
        return runs
    found = {run: _purpose(read_json(run / RECORD)) for run in runs}
    chosen = [run for run, purpose in found.items() if purpose in (*purposes, IMPORTED)]
    if not chosen:
        raise InputError(f"{path}: holds runs for {', '.join(sorted(set(found.values())))} only; name a run folder itself to use "
                         "it all the same")
    return chosen


def _purpose(record: Any) -> str:
    """What a run is for; "fit" where its plan says nothing else. An imported log may be for anything."""
    plan, imported = (record.get(key) for key in ("plan", "import")) if isinstance(record, dict) else (None, None)
    return str(plan.get("purpose", FIT)) if isinstance(plan, dict) else IMPORTED if imported else FIT


def campaign_runs(folder: Path) -> list[Path]:
    """Run folders of a campaign in order, but for those that ended before anything was recorded."""
    return [record.parent for record in records(folder) if _holds_something(record.parent)]


def records(folder: Path) -> list[Path]:
    """Records of all runs of a campaign in order, whether they hold anything or not."""
    return sorted(folder.glob(f"{RUNS}/*/{RECORD}"))


def _holds_something(run: Path) -> bool:
    """Whether a run holds samples, or says that it did when it was closed."""
    return any(event.get("event") == "closed" and event.get("rows") != 0
               for event in _read_events(run / EVENTS)) or holds_samples(run)


def holds_samples(run: Path) -> bool:
    """Whether anything was recorded in a run folder."""
    import pyarrow as pa

    try:
        return len(_read_columns(run / SAMPLES, ("t",), 1)) > 0
    except (pa.ArrowException, OSError):
        return False


def arm_sha256(arm: ArmFile, *but: str) -> str:
    """Digest of what the estimator sees of an arm: its file without ``[simulation]`` and other keys `but`, and its model."""
    digest = hashlib.sha256()
    if arm.path.suffix.lower() == ".toml":
        table = {key: value for key, value in read_toml(arm.path).items() if key not in ("simulation", *but)}
        digest.update(tomlkit.dumps(table, sort_keys=True).encode())
    digest.update(arm.model.read_bytes())
    return digest.hexdigest()


def _read_samples(path: Path, names: tuple[str, ...],
                  signals: tuple[str, ...]) -> tuple[Array, np.ndarray, dict[str, Array], str]:
    """Time, segment, signals and digest; a recording that was cut off gives the rows that all of them have."""
    import pyarrow as pa

    if not path.is_file():
        raise InputError(f"{path}: no such file; the run has no samples")
    try:
        schema = _schema(path)
        present = set(schema.names)
        missing = [column for column in ("t", "segment", *(f"{signal}.{name}" for signal in ("q", "tau") for name in names))
                   if column not in present]
        if missing:
            raise InputError(f"{path}: column {missing[0]} is missing")
        wanted = {signal: columns for signal in signals
                  if set(columns := tuple(f"{signal}.{name}" for name in names)) <= present}
        columns = ("t", "segment", *chain.from_iterable(wanted.values()))
        for column in columns:
            if not (pa.types.is_floating(kind := schema.field(column).type) or pa.types.is_integer(kind)):
                raise InputError(f"{path}: column {column} holds {kind}, not numbers")
        with ThreadPoolExecutor(2) as pool:                 # decompression is most of it, and runs beside itself
            halves = list(pool.map(partial(_read_columns, path), (columns[::2], columns[1::2])))
            digest = pool.submit(file_sha256, path)
            if (rows := min(map(len, halves))) == 0:
                raise InputError(f"{path}: the recording holds no samples")
            read = {name: column for half in halves for name, column in zip(half.column_names, half.columns, strict=True)}
            matrices = pool.map(lambda columns: _matrix([read[column] for column in columns], rows), wanted.values())
            return (read["t"].to_numpy()[:rows], read["segment"].to_numpy()[:rows],
                    dict(zip(wanted, matrices, strict=True)), digest.result())
    except (pa.ArrowException, UnicodeDecodeError, OSError) as error:
        raise InputError(f"{path}: not a recording that can be read: {error}") from error


def _read_columns(path: Path, columns: tuple[str, ...], rows: int | None = None) -> "pa.Table":
    """Columns of all batches that can be read, or of as many as hold those rows."""
    import pyarrow as pa

    schema, batches = _schema(path), []
    options = pa.ipc.IpcReadOptions(included_fields=[schema.get_field_index(column) for column in columns],
                                    use_threads=False)       # small batches: threads cost more than they save
    with pa.memory_map(str(path)) as source, pa.ipc.open_stream(source, options=options) as reader:
        with suppress(pa.ArrowException, ValueError, OSError):          # the batch that was being written when the power went
            for batch in reader:
                batches.append(batch)
                if rows is not None and sum(map(len, batches)) >= rows:
                    break
        return pa.Table.from_batches(batches, reader.schema).select(columns)


def _schema(path: Path) -> "pa.Schema":
    import pyarrow as pa

    with pa.memory_map(str(path)) as source:
        return pa.ipc.read_schema(source)


def _matrix(columns: list["pa.ChunkedArray"], rows: int) -> Array:
    """The first rows, one column a joint; each lies in one piece."""
    values = np.empty((rows, len(columns)), order="F")
    for k, column in enumerate(columns):
        values[:, k] = column.to_numpy()[:rows]
    return values


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
    target: list[FiniteFloat] | None = None
    reference: bool = False


class _RecordedPlan(BaseModel):
    model_config = ConfigDict(extra="allow")
    segments: list[_RecordedSegment]
    start: list[FiniteFloat] | None = None
    purpose: str = FIT


class _RecordedDriver(BaseModel):
    model_config = ConfigDict(extra="allow")
    rate: PositiveFloat | None = None
    viscous_error: list[Annotated[NonNegativeFloat, Field(allow_inf_nan=False)]] | None = None


class _RecordedImport(BaseModel):
    model_config = ConfigDict(extra="allow")
    torque_signal: str


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
    imported: _RecordedImport | None = Field(None, alias="import")
    seed: int | None = None

    @model_validator(mode="after")
    def _places_of_all_joints(self) -> Self:
        if self.plan is not None:
            for word, place in (("plan.start", self.plan.start),
                                *((f"target of segment {segment.id}", segment.target) for segment in self.plan.segments)):
                if place is not None and len(place) != len(self.names):
                    raise ValueError(f"{word} has {len(place)} numbers for {len(self.names)} joints")
        return self


def read_json(path: Path) -> Any:
    """What a file of a run holds, as plain data."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not a JSON file: {error}") from error
