"""What became of one recording, and what a task may use."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from stribeck.experiments.fleet.find_recordings import Recording, digest
from stribeck.experiments.fleet.fleet_dataset import Dataset, Entry
from stribeck.experiments.fleet.storage import fetched
from stribeck.ident.errors import InputError, StribeckError
from stribeck.ident.versions import versions_of

WRITTEN, KEPT, FAILED = "written", "kept", "failed"
_STATUS = Path("/proc/self/status")


@dataclass(frozen=True)
class Outcome:
    """What became of one recording.

    Attributes
    ----------
    path : str
        The recording, as the user would write it.
    state : str
        `WRITTEN`, `KEPT` or `FAILED`.
    file : str
        File in the dataset; empty without a result.
    reason : str
        Why there is no result.
    cpu : float
        Computing time of the task [s].
    memory : float
        Peak memory of the worker so far, in 10⁶ bytes; nan where the system does not tell.
    """

    path: str
    state: str
    file: str = ""
    reason: str = ""
    cpu: float = 0.0
    memory: float = float("nan")


@dataclass(frozen=True)
class Task:
    """One recording and where its result goes; small, since it is sent to a worker.

    Attributes
    ----------
    recording : Recording
    out : Dataset
    known : tuple of Entry
        Earlier files of this recording.
    order : str
        Digest of options and version.
    version : str
        Version of stribeck that made the task.
    """

    recording: Recording
    out: Dataset
    known: tuple[Entry, ...]
    order: str
    version: str

    @property
    def stamp(self) -> str:
        """Digest of the files' names, sizes and dates, and of the order."""
        return digest(self.recording.stamp, self.order)

    @property
    def unchanged(self) -> Entry | None:
        """The earlier file, if neither the recording nor the order was changed."""
        return next((entry for entry in self.known if entry.stamp == self.stamp), None)

    def kept(self, content: str) -> str:
        """Return the file of an earlier result of the same content, or an empty text."""
        same = next((entry for entry in self.known if entry.content == content), None)
        return self.out.keep(same, self.stamp) if same else ""


@contextmanager
def local_files(task: Task, scratch: str | None) -> Iterator[Path]:
    """Yield the recording's folder on this computer; errors name the recording
    instead of a temporary copy.
    """
    with fetched(task.recording.place, task.recording.files, scratch) as folder:
        try:
            yield folder
        except StribeckError as error:
            raise type(error)(str(error).replace(str(folder), task.recording.shown)) from error


def judged(task: Task, work: Callable[[], tuple[str, str]]) -> Outcome:
    """Run the work of a task, which returns state and file; an error with a sentence for
    the user is an outcome, too.
    """
    began, found = time.process_time(), Outcome(task.recording.shown, FAILED)
    try:
        if (here := versions_of("stribeck")["stribeck"]) != task.version:
            raise InputError(
                f"{task.recording.shown}: the worker has stribeck {here}, but the command is of "
                f"{task.version}; install the same version for all workers"
            )
        state, file = work()
        found = replace(found, state=state, file=file)
    except StribeckError as error:
        found = replace(found, reason=str(error))
    return replace(found, cpu=time.process_time() - began, memory=_peak_memory())


def _peak_memory() -> float:
    """Peak of the resident memory of this process, in 10⁶ bytes; not that of
    `resource`, which children inherit.
    """
    if not _STATUS.is_file():
        return float("nan")
    (line,) = (
        line
        for line in _STATUS.read_text(encoding="utf-8").splitlines()
        if line.startswith("VmHWM:")
    )
    return 1024e-6 * float(line.split()[1])
