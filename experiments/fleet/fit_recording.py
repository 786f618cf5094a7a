"""The fit of one recording of a fleet, as a worker does it."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from stribeck.experiments.fit_runs import load_fitted
from stribeck.experiments.fleet.calibration_rows import calibration_rows, store_model
from stribeck.experiments.fleet.find_recordings import digest
from stribeck.experiments.fleet.outcomes import KEPT, WRITTEN, Outcome, Task, judged, local_files
from stribeck.ident.calibration.calibration import Calibration
from stribeck.ident.fit.joint.options import Options
from stribeck.ident.identify import Identification, identify
from stribeck.ident.log.campaign_folder import CALIBRATION


@dataclass(frozen=True)
class FitOrder:
    """What is done with each recording.

    Attributes
    ----------
    options : Options
        Options of the fit.
    """

    options: Options

    @property
    def described(self) -> Mapping[str, Any]:
        """All that changes the result."""
        return asdict(self.options)

    def __call__(self, task: Task, scratch: str | None = None) -> Outcome:
        """Fit the recording, unless it was fitted with the same content;
        temporary copies go to `scratch`.
        """
        return judged(task, lambda: self._fit(task, scratch))

    def _fit(self, task: Task, scratch: str | None) -> tuple[str, str]:
        with local_files(task, scratch) as folder, TemporaryDirectory(dir=scratch) as results:
            content = task.recording.content(folder)
            key = digest(content, task.order)
            if file := task.kept(key):
                return KEPT, file
            # dated as its last run, so that histories are right
            result = identify(load_fitted([folder]), self.options)
            calibration = _as_in_a_file(result, Path(results))
            store_model(task.out, calibration)
            table = calibration_rows(calibration, task.recording.place.url, content)
            return WRITTEN, task.out.write(
                table,
                calibration.serial or calibration.arm,
                (task.recording.key, task.stamp, key),
                task.known,
            )


def _as_in_a_file(result: Identification, folder: Path) -> Calibration:
    """Return the calibration with the digits that its file has, and the file
    and its model in a folder.
    """
    name = result.calibration.model.file
    (folder / name).write_bytes((result.calibration.folder / name).read_bytes())
    result.calibration.save(folder / CALIBRATION)
    return Calibration.load(folder)
