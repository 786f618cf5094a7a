"""Work in which something goes wrong, for workers: they import this module."""

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pyarrow as pa

from stribeck.experiments.fleet.find_recordings import digest
from stribeck.experiments.fleet.outcomes import WRITTEN, Outcome, Task, judged


@dataclass(frozen=True)
class Crashing:
    """A table without a fit, whose imports take seconds; recordings of a name end their worker, as
    a crash of a library does.
    """

    name: str = "crashing"
    described: ClassVar[dict[str, str]] = {}

    def __call__(self, task: Task, scratch: str | None = None) -> Outcome:
        """Write a table, or crash."""
        if task.recording.shown.endswith(self.name):
            os.kill(os.getpid(), signal.SIGKILL)
        return judged(task, lambda: (WRITTEN, self._write(task)))

    def _write(self, task: Task) -> str:
        entry = (task.recording.key, task.stamp, digest(task.order))
        return task.out.write(pa.table({"joint": ["hinge"]}), "S1", entry, task.known)


@dataclass(frozen=True)
class Waiting(Crashing):
    """The table, but the first attempt notes the process and waits, so that the test can kill
    it in the middle of a run.
    """

    note: str = ""

    def __call__(self, task: Task, scratch: str | None = None) -> Outcome:
        """Write a table, or wait."""
        note = Path(self.note)
        if not note.exists():
            note.with_suffix(".new").write_text(str(os.getpid()), encoding="utf-8")
            note.with_suffix(".new").replace(note)
            time.sleep(60.0)
        return super().__call__(task, scratch)


@dataclass(frozen=True)
class Raising(Crashing):
    """Each raises an error that nobody expects."""

    def __call__(self, task: Task, scratch: str | None = None) -> Outcome:
        """Raise."""
        raise ZeroDivisionError("by a mistake")
