"""The run writer: the only code that creates run folders. Written data survive a killed process."""

import json
import os
import platform
from collections.abc import Mapping
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import pyarrow as pa

from stribeck.drivers.arm import JointSample, Resolution
from stribeck.drivers.interrupts import uninterrupted
from stribeck.experiments.plans.plan import Segment
from stribeck.experiments.recording.arm_copy import check_copy, copy_arm
from stribeck.experiments.recording.disk import Disk
from stribeck.ident.arm.arm_file import ArmFile
from stribeck.ident.log.run import DONE, RECORD, SCHEMA, arm_sha256
from stribeck.ident.model.mechanism import Mechanism
from stribeck.ident.versions import versions_of

_UNITS = {
    "q": ("rad", "m"),
    "dq": ("rad/s", "m/s"),
    "tau": ("N·m", "N"),
    "q_cmd": ("rad", "m"),
    "dq_cmd": ("rad/s", "m/s"),
    "t": ("s", "s"),
    "temperature": ("°C", "°C"),
    "raw": ("", ""),
    "q_link": ("rad", "m"),
}


class RunWriter:
    """Writes one run folder: the record before motion, samples in batches of a second or a
    segment, events immediately.

    Parameters
    ----------
    folder : Path
        The run folder; must not exist.
    arm : ArmFile
        The arm; its file and model are copied into the run.
    mechanism : Mechanism
        Joint names, and which joints slide.
    experiment : str
        Name of the experiment.
    rate : float
        Sampling rate [Hz], also the number of samples in a batch.
    resolution : Resolution, optional
        Resolution of the drives.
    plan : dict, optional
        The plan as plain data.
    seed : int, optional
        Seed of the simulated arm.
    note : str
        The operator's note.
    origin : mapping, optional
        Source of an imported log, as plain data.
    continues : str, optional
        Label of the interrupted run that this run continues.
    options : mapping, optional
        Options of the campaign, as plain data.
    waits : bool
        See `Disk`.
    """

    def __init__(
        self,
        folder: Path,
        arm: ArmFile,
        mechanism: Mechanism,
        experiment: str,
        rate: float,
        resolution: Resolution | None = None,
        plan: dict[str, Any] | None = None,
        seed: int | None = None,
        note: str = "",
        origin: Mapping[str, Any] | None = None,
        continues: str | None = None,
        options: Mapping[str, Any] | None = None,
        waits: bool = True,
    ) -> None:
        self.folder = folder
        self.rows = 0
        self._names, self._prismatic = mechanism.names, mechanism.prismatic
        self._block_rows = max(1, round(rate))
        self._signals: tuple[str, ...] = ()
        self._filled = 0
        copy_arm(arm, folder)
        check_copy(arm, folder, mechanism)
        steps = (
            {}
            if resolution is None
            else {
                key: value.tolist() for key, value in vars(resolution).items() if value is not None
            }
        )
        record = {
            "schema": SCHEMA,
            "experiment": experiment,
            "arm": arm.name,
            **({"serial": arm.serial} if arm.serial else {}),
            "names": list(mechanism.names),
            "arm_file": arm.path.name,
            "arm_sha256": arm_sha256(arm),
            "driver": {**arm.driver.model_dump(), **steps},
            "versions": versions_of("stribeck", "numpy", "mujoco", "pyarrow")
            | {"python": platform.python_version()},
            "start": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "seed": seed,
            "note": note,
            "continues": continues,
            **({"options": options} if options else {}),
            "plan": plan,
            **({"import": origin} if origin else {}),
        }
        _write_synced(folder / RECORD, json.dumps(record, indent=1, ensure_ascii=False) + "\n")
        self._disk = Disk(folder, waits)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close(
            DONE
            if kind is None
            else "stopped by the operator"
            if kind is KeyboardInterrupt
            else str(error)
        )

    def start(self, segment: Segment) -> None:
        """Write the event that a segment begins."""
        mirror = {} if segment.mirror_of is None else {"mirror_of": segment.mirror_of}
        self.event("started", segment=segment.id, **mirror)

    def finish(self, segment: Segment) -> None:
        """Write the event that a segment is complete, after all its
        samples are handed to the disk.
        """
        self._flush()
        self.event("finished", segment=segment.id)

    def event(self, event: str, **details: Any) -> None:
        """Append one event."""
        self._disk.event({"event": event, "row": self.rows, **details})

    def sample(
        self, sample: JointSample, q_cmd: np.ndarray, dq_cmd: np.ndarray, segment: int
    ) -> None:
        """Record one sample with its set-points; raise if writing an earlier sample failed."""
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
        """Write remaining samples and the event that says how the run ended; safe to call twice.

        Ctrl-C takes effect afterwards. A failure that was already raised is not raised again.
        """
        with uninterrupted(), ExitStack() as steps:
            steps.callback(
                self._disk.close,
                {"event": "closed", "row": self.rows, "rows": None, "reason": reason},
            )
            self._flush()

    def _take_columns(self, sample: JointSample) -> None:
        """Choose the columns from the signals of the first sample."""
        self._signals = (
            "q",
            "dq",
            "tau",
            "q_cmd",
            "dq_cmd",
            "t",
            *(["raw"] if sample.raw is not None else []),
            *(["temperature"] if sample.temperature is not None else []),
            *(["q_link"] if sample.q_link is not None else []),
        )
        fields = [pa.field("t", pa.float64()), pa.field("segment", pa.int32())]
        about = {
            "t": {"signal": "t", "joint": None, "unit": "s"},
            "segment": {"signal": "segment", "joint": None, "unit": ""},
        }
        for signal in self._signals:
            for name, slides in zip(self._names, self._prismatic, strict=True):
                fields.append(pa.field(f"{signal}.{name}", pa.float64()))
                about[f"{signal}.{name}"] = {
                    "signal": signal,
                    "joint": name,
                    "unit": _UNITS[signal][int(slides)],
                }
        metadata = {
            column: json.dumps(entry, ensure_ascii=False) for column, entry in about.items()
        }
        self._schema = pa.schema(fields, metadata=metadata)
        self._t, self._segment = (
            np.empty(self._block_rows),
            np.empty(self._block_rows, dtype=np.int32),
        )
        self._block = np.empty((len(self._signals), self._block_rows, len(self._names)))

    @uninterrupted()
    def _flush(self) -> None:
        """Hand the block of samples to the disk; Ctrl-C takes effect afterwards."""
        if rows := self._filled:
            self._filled = 0
            signals = self._block[:, :rows].transpose(0, 2, 1).copy().reshape(-1, rows)
            self._disk.samples(
                self._schema, [self._t[:rows].copy(), self._segment[:rows].copy(), *signals]
            )


def _write_synced(path: Path, text: str) -> None:
    """Write a file completely or not at all, even if the process is killed."""
    part = path.with_name(f"{path.name}.part")
    with part.open("x", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    part.rename(path)
