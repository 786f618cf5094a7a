"""The recorder: the only maker of run folders. What it was given survives a killed process."""

import json
import os
import platform
import re
import shutil
from collections.abc import Mapping
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import pyarrow as pa

from stribeck.drivers.arm import JointSample, Resolution
from stribeck.drivers.interrupts import uninterrupted
from stribeck.experiments.plans.plan import Segment
from stribeck.experiments.recording.disk import Disk
from stribeck.ident.arm.arm_file import ArmFile, load_arm
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.errors import InputError, StribeckError
from stribeck.ident.log.run import ARM, DONE, RECORD, RUNS, SCHEMA, arm_sha256, campaign_runs, records
from stribeck.ident.model.dynamics import same_dynamics
from stribeck.ident.model.mechanism import Mechanism

_STAMP = "%Y-%m-%dT%H-%M-%SZ"
_UNITS = {"q": ("rad", "m"), "dq": ("rad/s", "m/s"), "tau": ("N·m", "N"), "q_cmd": ("rad", "m"),
          "dq_cmd": ("rad/s", "m/s"), "t": ("s", "s"), "temperature": ("°C", "°C"), "raw": ("", "")}


class Recorder:
    """Writes one run folder: record before motion, samples in batches of a second or a segment, events as they happen.

    Parameters
    ----------
    folder : Path
        The run folder; must not exist.
    arm : ArmFile
        Copied into the run with its model.
    mechanism : Mechanism
        Names, and which joints slide.
    experiment : str
        What is recorded.
    rate : float
        Samples per second, the size of a batch.
    resolution : Resolution, optional
        The drive's steps.
    plan : dict, optional
        The plan as plain data.
    seed : int, optional
        Seed of the simulated arm.
    note : str
        The operator's note.
    origin : mapping, optional
        Where an imported log comes from, as plain data.
    continues : str, optional
        Label of the run whose rest this is.
    options : mapping, optional
        With which its campaign was begun, as plain data.
    waits : bool
        See `Disk`.
    """

    def __init__(self, folder: Path, arm: ArmFile, mechanism: Mechanism, experiment: str, rate: float,
                 resolution: Resolution | None = None, plan: dict[str, Any] | None = None, seed: int | None = None,
                 note: str = "", origin: Mapping[str, Any] | None = None, continues: str | None = None,
                 options: Mapping[str, Any] | None = None, waits: bool = True) -> None:
        self.folder = folder
        self.rows = 0
        self._names, self._prismatic = mechanism.names, mechanism.prismatic
        self._block_rows = max(1, round(rate))
        self._signals: tuple[str, ...] = ()
        self._filled = 0
        _copy_arm(arm, folder)
        _check_copy(arm, folder, mechanism)
        steps = {} if resolution is None else {key: value.tolist() for key, value in vars(resolution).items()
                                                     if value is not None}
        record = {"schema": SCHEMA, "experiment": experiment, "arm": arm.name, "names": list(mechanism.names),
                  "arm_file": arm.path.name, "arm_sha256": arm_sha256(arm), "driver": {**arm.driver.model_dump(), **steps},
                  "versions": {name: version(name) for name in ("stribeck", "numpy", "mujoco-core", "pyarrow")}
                  | {"python": platform.python_version()},
                  "start": datetime.now(UTC).isoformat(timespec="milliseconds"), "seed": seed, "note": note,
                  "continues": continues, **({"options": options} if options else {}), "plan": plan,
                  **({"import": origin} if origin else {})}
        _write_synced(folder / RECORD, json.dumps(record, indent=1, ensure_ascii=False) + "\n")
        self._disk = Disk(folder, waits)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close(DONE if kind is None else "stopped by the operator" if kind is KeyboardInterrupt else str(error))

    def start(self, segment: Segment) -> None:
        """Note that a segment begins."""
        mirror = {} if segment.mirror_of is None else {"mirror_of": segment.mirror_of}
        self.event("started", segment=segment.id, **mirror)

    def finish(self, segment: Segment) -> None:
        """Note that a segment was driven to its end, after its samples: where that note is found, they all are."""
        self._flush()
        self.event("finished", segment=segment.id)

    def event(self, event: str, **details: Any) -> None:
        """Append one line to the events."""
        self._disk.event({"event": event, "row": self.rows, **details})

    def sample(self, sample: JointSample, q_cmd: np.ndarray, dq_cmd: np.ndarray, segment: int) -> None:
        """Take over one sample with the set-points that it answers; raises what failed of those before."""
        self._disk.raise_failure()
        if not self._signals:
            self._take_columns(sample)
        row = self._filled
        self._t[row], self._segment[row] = sample.t, segment
        block = self._block
        block[0, row], block[1, row], block[2, row] = sample.q, sample.dq, sample.tau
        block[3, row], block[4, row], block[5, row] = q_cmd, dq_cmd, sample.t_joint
        for k, signal in enumerate(self._signals[6:], start=6):
            value = getattr(sample, signal)
            block[k, row] = np.nan if value is None else value
        self._filled += 1
        self.rows += 1
        if self._filled == self._block_rows:
            self._flush()

    def close(self, reason: str) -> None:
        """Write what is left and say how the run ended; safe to call twice.

        Ctrl-C waits; if a failure was raised before, nothing more is.
        """
        with uninterrupted(), ExitStack() as steps:
            steps.callback(self._disk.close, {"event": "closed", "row": self.rows, "rows": None, "reason": reason})
            self._flush()

    def _take_columns(self, sample: JointSample) -> None:
        """Columns follow from what the first sample reports."""
        self._signals = ("q", "dq", "tau", "q_cmd", "dq_cmd", "t",
                         *(["raw"] if sample.raw is not None else []),
                         *(["temperature"] if sample.temperature is not None else []))
        fields = [pa.field("t", pa.float64()), pa.field("segment", pa.int32())]
        about = {"t": {"signal": "t", "joint": None, "unit": "s"}, "segment": {"signal": "segment", "joint": None, "unit": ""}}
        for signal in self._signals:
            for name, slides in zip(self._names, self._prismatic, strict=True):
                fields.append(pa.field(f"{signal}.{name}", pa.float64()))
                about[f"{signal}.{name}"] = {"signal": signal, "joint": name, "unit": _UNITS[signal][int(slides)]}
        metadata = {column: json.dumps(entry, ensure_ascii=False) for column, entry in about.items()}
        self._schema = pa.schema(fields, metadata=metadata)
        self._t, self._segment = np.empty(self._block_rows), np.empty(self._block_rows, dtype=np.int32)
        self._block = np.empty((len(self._signals), self._block_rows, len(self._names)))

    @uninterrupted()
    def _flush(self) -> None:
        """Hand the block over; Ctrl-C takes effect when that is done."""
        if rows := self._filled:
            self._filled = 0
            signals = self._block[:, :rows].transpose(0, 2, 1).copy().reshape(-1, rows)
            self._disk.samples(self._schema, [self._t[:rows].copy(), self._segment[:rows].copy(), *signals])


def new_run_folder(campaign: Path, experiment: str) -> Path:
    """Name of the next run folder in a campaign: UTC time, so that runs sort as they were made, and experiment.

    A run that begins in the same second as another is named after the next.
    """
    time, word = datetime.now(UTC), re.sub(r"[^\w-]+", "-", experiment).strip("-")
    while list(campaign.glob(f"{RUNS}/{(stamp := time.strftime(_STAMP))}_*")):
        time += timedelta(seconds=1.0)
    return campaign / RUNS / f"{stamp}_{word}"


def refuse_used(folder: Path, remedy: str = "choose another --out") -> None:
    """Refuse a folder for results in which something lies already, but for runs that failed before a sample and an assumed arm;
    makes nothing.

    Raises
    ------
    InputError
        Results are never mixed or overwritten.
    """
    failed = {record.parent for record in records(folder)} - set(campaign_runs(folder))
    strange = set(folder.glob("*")) - {folder / RUNS, folder / ARM} | set(folder.glob(f"{RUNS}/*")) - failed
    if folder.is_file() or strange:
        raise InputError(f"{folder} exists and is not empty; {remedy}")


def empty_folder(folder: Path) -> Path:
    """A folder that is new or empty, made where it is missing; errors as `refuse_used`."""
    refuse_used(folder)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def refuse_parts(model: Path) -> None:
    """Refuse a model in several files.

    Raises
    ------
    InputError
        Says how to make one of them.
    """
    if b"<include" in model.read_bytes():
        raise InputError(f"{model}: the model includes other files, but a run keeps the model in one file; "
                         "let MuJoCo save it as one (mj_saveLastXML) and name that in the arm file")


def _copy_arm(arm: ArmFile, folder: Path) -> None:
    """Verbatim copies of arm file and model, so that the run needs nothing outside itself."""
    refuse_parts(arm.model)
    (folder / ARM).mkdir(parents=True)
    for source in {arm.path, arm.model}:
        shutil.copyfile(source, folder / ARM / source.name)


def _check_copy(arm: ArmFile, folder: Path, mechanism: Mechanism) -> None:
    """Refuse a model that is another without the files beside it, before anything moves: a run is fitted from its own copy."""
    try:
        copy = load_mechanism(load_arm(folder / ARM / arm.path.name, model_dir=folder / ARM))
        why = "" if same_dynamics(copy, mechanism) else "its masses or inertias are others without them"
    except StribeckError as error:
        why = str(error)
    if why:
        shutil.rmtree(folder)
        raise InputError(f"{arm.model}: the model needs other files, such as meshes that give masses, and a run keeps the model "
                         f"alone ({why}); state an <inertial> for every body, or let MuJoCo save the compiled model in one file")


def _write_synced(path: Path, text: str) -> None:
    """The whole file or none of it, whenever the process is killed."""
    part = path.with_name(f"{path.name}.part")
    with part.open("x", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    part.rename(path)
