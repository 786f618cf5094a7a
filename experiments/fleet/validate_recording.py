"""The validation of one recording of a fleet by the calibration of its arm, as a worker does it."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from stribeck.experiments.fleet.calibration_rows import restored
from stribeck.experiments.fleet.find_recordings import digest, stamp
from stribeck.experiments.fleet.fleet_dataset import FITS, Dataset, kind_of
from stribeck.experiments.fleet.outcomes import KEPT, WRITTEN, Outcome, Task, judged, local_files
from stribeck.experiments.fleet.storage import Place, fetched
from stribeck.ident.calibration.calibration import Calibration
from stribeck.ident.calibration.validation import Validation, validate
from stribeck.ident.errors import InputError
from stribeck.ident.log.campaign_folder import CALIBRATION, find_runs
from stribeck.ident.log.run import VALIDATION, Run, load_run

if TYPE_CHECKING:
    import pyarrow as pa

TEXTS = ("source", "model", "serial", "content", "calibration", "joint", "unit", "left_out")
NUMBERS = ("error", "without_friction", "friction", "noise", "outside", "inertia")


@dataclass(frozen=True)
class ValidationOrder:
    """What is done with each recording.

    Attributes
    ----------
    judge : Place
        Folder of a calibration, which judges all runs; or a dataset of calibrations, whose newest
        one of an arm judges its runs.
    tolerance : float
        Largest allowed error as a part of friction.
    """

    judge: Place
    tolerance: float

    @property
    def described(self) -> Mapping[str, Any]:
        """All that may change the result."""
        return {"judge": stamp(self.judge.files()), "tolerance": self.tolerance}

    def __call__(self, task: Task, scratch: str | None = None) -> Outcome:
        """Judge the recording, unless it was judged with the same content;
        temporary copies go to `scratch`.
        """
        return judged(task, lambda: self._validate(task, scratch))

    def _validate(self, task: Task, scratch: str | None) -> tuple[str, str]:
        with local_files(task, scratch) as folder:
            content = task.recording.content(folder)
            run = load_run(find_runs(folder, (VALIDATION,))[-1])
            with self._calibration_for(run, scratch) as (name, calibration):
                text = (calibration.folder / CALIBRATION).read_text(encoding="utf-8")
                key = digest(content, text, str(self.tolerance), task.version)
                if file := task.kept(key):
                    return KEPT, file
                table = validation_rows(
                    validate(run, calibration, self.tolerance),
                    run,
                    task.recording.place.url,
                    content,
                    name,
                    self.tolerance,
                )
        return WRITTEN, task.out.write(
            table, run.arm.serial or run.arm.name, (task.recording.key, task.stamp, key), task.known
        )

    @contextmanager
    def _calibration_for(self, run: Run, scratch: str | None) -> Iterator[tuple[str, Calibration]]:
        """Yield name and calibration that judges a run."""
        if kind_of(self.judge) != FITS:
            with fetched(self.judge, self.judge.files(), scratch) as folder:
                yield str(self.judge), Calibration.load(folder)
            return
        fits, arm = Dataset(self.judge), run.arm.serial or run.arm.name
        rows = fits.read(
            ("source", "model", "serial", "created", "calibration", "model_file", "model_sha256"),
            arm,
        )
        rows = rows[
            (rows["serial"] == run.arm.serial) & (rows["model"] == run.arm.name)
        ].drop_duplicates("source")
        others = [not run.sha256 or run.sha256 not in text for text in rows["calibration"]]
        rows = rows.loc[np.array(others, dtype=bool)].sort_values("created")
        if rows.empty:
            raise InputError(
                f"{run.path}: {self.judge} has no calibration of arm {arm} that was fitted to "
                "other runs; fit one "
                "with stribeck fleet fit, or give one calibration for all with --calibration"
            )
        if not run.arm.serial and len(rows) > 1:
            raise InputError(
                f"{run.path}: the run names no serial number, and neither do {len(rows)} "
                f"calibrations of {self.judge}: which is of its arm is not known. Record runs with "
                "--serial, or give one calibration for all with --calibration"
            )
        with TemporaryDirectory(dir=scratch) as folder:
            newest = {str(name): value for name, value in rows.iloc[-1].items()}
            yield str(newest["source"]), restored(fits, newest, Path(folder))


def judge_at(path: str) -> Place:
    """Return the place of a dataset of calibrations, or of a calibration.

    Raises
    ------
    InputError
        If there is neither.
    """
    place = Place.of(path)
    if kind_of(place) != FITS and CALIBRATION not in place.files():
        raise InputError(
            f"--calibration {path!r}: neither a result of stribeck fleet fit nor a folder with "
            f"{CALIBRATION}; give one of them"
        )
    return place


def validation_schema() -> "pa.Schema":
    """Columns of a dataset of validations."""
    import pyarrow as pa

    return pa.schema(
        [
            *((name, pa.string()) for name in TEXTS),
            ("passed", pa.bool_()),
            ("recorded", pa.timestamp("us", tz="UTC")),
            *((name, pa.float64()) for name in (*NUMBERS, "tolerance")),
        ]
    )


def validation_rows(
    found: Validation, run: Run, source: str, content: str, calibration: str, tolerance: float
) -> "pa.Table":
    """Return a row for each calibrated joint: the figures of `JointValidation`,
    or why it was not judged.
    """
    import pyarrow as pa

    about = {
        "source": source,
        "content": content,
        "model": run.arm.name,
        "serial": run.arm.serial,
        "calibration": calibration,
        "recorded": datetime.fromisoformat(run.record["start"]),
        "tolerance": tolerance,
    }
    rows = [
        {
            **about,
            "joint": name,
            "unit": one.unit,
            "passed": one.passed,
            **{key: getattr(one, key) for key in NUMBERS},
        }
        for name, one in found.joints.items()
    ]
    rows += [
        {**about, "joint": name, "left_out": reason} for name, reason in found.left_out.items()
    ]
    return pa.Table.from_pylist(rows, schema=validation_schema())
