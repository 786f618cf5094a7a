"""Recorded runs (read-only): measured signals, with the arm file and model of the recording."""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import tomlkit

from stribeck.ident.arm.arm_file import ArmFile, load_arm
from stribeck.ident.arrays import Array
from stribeck.ident.errors import InputError
from stribeck.ident.log.run_record import RecordTable, read_events, read_json
from stribeck.ident.log.samples_file import (
    SamplesFile,
    matrix,
    read_columns,
    read_samples,
    schema_of,
)
from stribeck.ident.toml_tables import parse_table, read_toml, upgrade

if TYPE_CHECKING:
    import pyarrow as pa

SCHEMA = 1
SAMPLES, EVENTS, RECORD, ARM = "samples.arrows", "events.jsonl", "run.json", "arm"
RUNS = "runs"  # folder of the runs in a campaign
DONE = "done"  # closing reason of a run that finished its plan
FIT, VALIDATION, WARM_UP, LOWEST_SPEED, BREAKAWAY = (
    "fit",
    "validation",
    "warm-up",
    "lowest-speed",
    "breakaway",
)
EXCITATION = "excitation"  # general motion that identifies links and friction
PRESLIDING = "presliding"  # small round trips that show friction after reversals
PURPOSES = FIT, VALIDATION, WARM_UP, LOWEST_SPEED, BREAKAWAY, EXCITATION, PRESLIDING
IMPORTED = "imported"  # the purpose of an imported log is unknown
# purposes of the runs that the fit of a campaign uses
FITTED = (FIT, EXCITATION, PRESLIDING, BREAKAWAY)
REPLIES = "replies"  # event: statistics of a bus, after the motion
BREAKAWAY_RAMP = "ramp"  # kind of segment, and event: the torque of a joint begins to rise
# segment id of the move to the start of a plan, and of trials of its segments
TO_START = -1
MOVED = "moved"  # event: the joint has broken loose
LONG = 2**27  # bytes; samples of a longer file stay on disk until they are used
_PERIODS = 200_000  # rows that give the sampling period
SIGNALS = ("q", "dq", "tau", "q_cmd", "dq_cmd", "t", "raw", "temperature", "q_link")


_ON_DISK = "t", "segment"  # fields of a run that may be on disk until their first use


class _ReadAtFirstUse:
    """A field that holds an array, or a function that reads it from disk at its first use."""

    def __init__(self, name: str) -> None:
        self._name = f"_{name}"

    def __get__(self, run: "Run", owner: type) -> Array:
        value = run.__dict__[self._name]
        if callable(value):
            value = run.__dict__[self._name] = value()
        return np.asarray(value)

    def __set__(self, run: "Run", value: Array | Callable[[], Array]) -> None:
        run.__dict__[self._name] = value


class _SignalsOnDisk(Mapping[str, Array]):
    """Signals of a file, each read at its first use."""

    def __init__(self, file: SamplesFile) -> None:
        self.file, self._read = file, dict[str, Array]()

    def __getitem__(self, signal: str) -> Array:
        if signal not in self._read:
            self._read[signal] = matrix(
                self.file.table(self.file.signals[signal]).columns, len(self.file)
            )
        return self._read[signal]

    def __contains__(self, signal: object) -> bool:
        return signal in self.file.signals

    def __iter__(self) -> Iterator[str]:
        return iter(self.file.signals)

    def __len__(self) -> int:
        return len(self.file.signals)


@dataclass(frozen=True)
class Run:
    """One run folder.

    Samples of a long recording stay on disk until they are used: `parts` yields it in
    parts that fit into memory.

    Attributes
    ----------
    path : Path
        The folder.
    record : dict
        Content of its ``run.json``.
    arm : ArmFile
        Arm file as copied into the run.
    events : tuple of dict
        Events: segments started and finished, warnings, trips; the last event
        states how the run was closed.
    t : ndarray, shape (N,)
        Time of each sample [s].
    segment : ndarray of int, shape (N,)
        Plan segment of each sample; -1 between segments.
    signals : dict of str to ndarray, shape (N, n)
        Recorded signals by name (q, dq, tau, ...), one column for each joint in
        `names`; missing if not recorded.
    names : tuple of str
        Joint names.
    sha256 : str
        Digest of the samples file.
    first : int
        Row of the first sample in the samples file; 0 except for parts of a run.
    """

    path: Path
    record: dict[str, Any]
    arm: ArmFile
    events: tuple[dict[str, Any], ...]
    names: tuple[str, ...]
    t: Array
    segment: np.ndarray
    signals: Mapping[str, Array]
    sha256: str = ""
    first: int = 0

    def __repr__(self) -> str:
        joints = f"{len(self.names)} joint{'s' * (len(self.names) != 1)}"
        return (
            f"<Run {self.path}: {self.arm.name}, {joints}, {self.duration:.0f} s, {self.rows} "
            f"samples of {', '.join(self.signals)}>"
        )

    @property
    def closed(self) -> dict[str, Any] | None:
        """The closing event, or None if the recording was cut off."""
        return self.events[-1] if self.events and self.events[-1].get("event") == "closed" else None

    @property
    def purpose(self) -> str:
        """Purpose of the recording."""
        return purpose_of(self.record)

    @property
    def note(self) -> str:
        """The operator's note; empty without one."""
        return str(self.record.get("note", ""))

    def about(self, serial: str = "", note: str = "") -> "Run":
        """Return the run with a serial number of its arm and another note, where given; errors
        as in `ArmFile.numbered`.
        """
        unread = {name: self.__dict__[f"_{name}"] for name in _ON_DISK}
        return replace(
            self,
            arm=self.arm.numbered(serial),
            record={**self.record, "note": note or self.note},
            **unread,
        )

    def rotor_inertia(self) -> Array:
        """Inertia of the rotors at the joints, shape (n, n) [kg·m² or kg]; rotors without a
        stated inertia count as 0.
        """
        return self.arm.rotor_inertia(self.names)

    def compliance(self) -> Array:
        """Deflection of each link from the encoder of its joint per torque, shape (n,); 0
        where no stiffness is stated.
        """
        return np.array([1.0 / (self.arm.joint(name).stiffness or np.inf) for name in self.names])

    @property
    def file(self) -> SamplesFile | None:
        """The file of samples that stay on disk until they are used; None for samples in memory."""
        return self.signals.file if isinstance(self.signals, _SignalsOnDisk) else None

    @property
    def rows(self) -> int:
        """Number of samples."""
        return len(self.t) if self.file is None else len(self.file)

    @cached_property
    def begin(self) -> float:
        """Time of the first sample [s]."""
        return float(self.between(0, 1).t[0])

    @cached_property
    def duration(self) -> float:
        """Recorded time [s]."""
        return float(self.between(self.rows - 1, self.rows).t[0]) - self.begin if self.rows else 0.0

    @cached_property
    def period(self) -> float:
        """Median time between the samples at the begin of the run [s]."""
        return float(np.median(np.diff(self.between(0, _PERIODS).t)))

    def range_of(self, signal: str) -> tuple[Array, Array]:
        """Least and greatest number of a recorded signal, shapes (n,); nan
        for joints without numbers.
        """
        if self.file is not None:
            return self.file.range_of(signal)
        values = self.signals[signal]
        return (
            np.fmin.reduce(values, axis=0, initial=np.nan),
            np.fmax.reduce(values, axis=0, initial=np.nan),
        )

    def between(self, first: int, stop: int) -> "Run":
        """Return some rows of the run as a run of its own, in memory."""
        stop = min(stop, self.rows)
        if self.file is None:
            t, segment = self.t[first:stop], self.segment[first:stop]
            signals = {signal: values[first:stop] for signal, values in self.signals.items()}
        else:
            t, segment, signals = self.file.read(first, stop)
        return replace(self, t=t, segment=segment, signals=signals, first=self.first + first)

    @cached_property
    def label(self) -> str:
        """Name of this run in a calibration, independent of the place of the folder."""
        parts = self.path.resolve().parts
        return "/".join(parts[-2:]) if len(parts) > 1 and parts[-2] == RUNS else parts[-1]


for _name in _ON_DISK:
    setattr(Run, _name, _ReadAtFirstUse(_name))


def load_runs(paths: Sequence[Path]) -> list[Run]:
    """Read run folders as `load_run` does; samples stay on disk if all files together are long."""
    sizes = [file.stat().st_size for path in paths if (file := path / SAMPLES).is_file()]
    return [load_run(path, hold=None if sum(sizes) <= LONG else False) for path in paths]


def load_run(
    path: Path | str,
    signals: tuple[str, ...] = ("q", "tau", "temperature"),
    hold: bool | None = None,
) -> Run:
    """Read a run folder.

    Parameters
    ----------
    path : Path or str
        The folder.
    signals : tuple of str
        Signals to read; other recorded signals stay on disk.
    hold : bool, optional
        Whether the samples are held in memory; by default, those of files up to 128 MiB.

    Raises
    ------
    InputError
        If the folder is not a run, a file is missing or damaged, or the
        copied arm files were changed.

    Returns
    -------
    Run

    Examples
    --------
    >>> from stribeck import load_run
    >>> load_run("data/golden/runs/constant-speed")
    <Run data/golden/runs/constant-speed: pendulum, 1 joint, 197 s, 15746
    samples of q, tau, temperature>
    """
    path = Path(path)
    if not (path / RECORD).is_file():
        runs = sorted(path.glob(f"runs/*/{RECORD}"))
        of_campaign = (
            f"; its folder runs has {len(runs)} run(s): load for example {runs[0].parent}"
            if runs
            else ""
        )
        raise InputError(
            f"{path}: not a run folder ({RECORD} is "
            f"missing{of_campaign or '; give the folder that holds it'})"
        )
    record = read_json(path / RECORD)
    if not isinstance(record, dict):
        raise InputError(f"{path / RECORD}: not a run record (a JSON object is needed)")
    parse_table(RecordTable, upgrade(record, path / RECORD, SCHEMA), path / RECORD)
    if not (path / ARM / Path(record["arm_file"]).name).is_file():
        raise InputError(
            f"{path / RECORD}: arm_file = {record['arm_file']!r}: the folder {ARM} of the run has "
            "no such file"
        )
    arm = load_arm(path / ARM / Path(record["arm_file"]).name, model_dir=path / ARM)
    if arm_sha256(arm) != record.get("arm_sha256"):
        raise InputError(
            f"{path / ARM}: the arm file or model was changed after the recording: their digest is "
            f"not arm_sha256 = {record['arm_sha256']!r} of {RECORD}; restore both (only the "
            "[simulation] table may differ)"
        )
    names = tuple(record["names"])
    arm = arm.numbered(record.get("serial", ""))
    run = _with_samples(
        path,
        names,
        signals,
        hold,
        partial(Run, path, record, arm, read_events(path / EVENTS), names),
    )
    if run.closed is not None and run.closed.get("rows") not in (None, run.rows):
        raise InputError(
            f"{path}: only {run.rows} of {run.closed['rows']} recorded samples can be read; the "
            "recording was damaged after it was closed. Restore it from a copy"
        )
    return run


def _with_samples(
    path: Path,
    names: tuple[str, ...],
    signals: tuple[str, ...],
    hold: bool | None,
    made: Callable[..., Run],
) -> Run:
    """Make a run with its samples in memory or on disk."""
    samples = path / SAMPLES
    if not samples.is_file() or (samples.stat().st_size <= LONG if hold is None else hold):
        return made(*read_samples(samples, names, signals))
    file = SamplesFile.of(samples, names, signals)
    t, segment = (lambda name=name: file.table((name,)).columns[0].to_numpy() for name in _ON_DISK)
    return made(t, segment, _SignalsOnDisk(file), file.sha256)


def read_signal(run: Run, signal: str, rows: int) -> Array | None:
    """Return the first rows of a signal, from memory or from disk.

    Returns
    -------
    ndarray, shape (at most rows, n), or None
        None if the signal was not recorded.
    """
    if signal in run.signals:
        return run.signals[signal][:rows]
    path, columns = run.path / SAMPLES, tuple(f"{signal}.{name}" for name in run.names)
    if not path.is_file() or not set(columns) <= set(schema_of(path).names):
        return None
    table = read_columns(path, columns, run.first + rows).slice(run.first)
    return matrix(table.columns, min(rows, run.rows, len(table)))


def samples_table(run: Run) -> "pa.Table":
    """All recorded samples of a run; the schema metadata state signal,
    joint and unit of each column.
    """
    path = run.path / SAMPLES
    return read_columns(path, tuple(schema_of(path).names)).slice(run.first, run.rows)


def purpose_of(record: Any) -> str:
    """Purpose of a run: the purpose of its plan, by default "fit";
    `IMPORTED` for an imported log.
    """
    plan, imported = (
        (record.get(key) for key in ("plan", "import"))
        if isinstance(record, dict)
        else (None, None)
    )
    return (
        str(plan.get("purpose", FIT)) if isinstance(plan, dict) else IMPORTED if imported else FIT
    )


def arm_sha256(arm: ArmFile, *but: str) -> str:
    """Digest of arm file and model, without the table ``[simulation]`` and the keys `but`,
    which the fit does not use.
    """
    digest = hashlib.sha256()
    if arm.path.suffix.lower() == ".toml":
        table = {
            key: value
            for key, value in read_toml(arm.path).items()
            if key not in ("simulation", *but)
        }
        digest.update(tomlkit.dumps(table, sort_keys=True).encode())
    digest.update(arm.model.read_bytes())
    return digest.hexdigest()
