"""Fits in which something goes wrong, for workers: they import this module."""

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from stribeck.experiments.fleet.outcomes import Outcome, Task


@dataclass(frozen=True)
class Crashing:
    """The fit, but recordings of a name end their worker, as a crash of a library does; before
    imports, which take seconds.
    """

    name: str = "crashing"
    described: ClassVar[dict[str, str]] = {}

    def __call__(self, task: Task, scratch: str | None = None) -> Outcome:
        """Fit, or crash."""
        if task.recording.shown.endswith(self.name):
            os.kill(os.getpid(), signal.SIGKILL)
        from stribeck.experiments.fleet.fit_recording import FitOrder
        from stribeck.ident.fit.joint.options import Options

        return FitOrder(Options())(task, scratch)


@dataclass(frozen=True)
class Waiting(Crashing):
    """The fit, but the first attempt notes the process and waits, so that the test can kill
    it in the middle of a run.
    """

    note: str = ""

    def __call__(self, task: Task, scratch: str | None = None) -> Outcome:
        """Fit, or wait."""
        note = Path(self.note)
        if not note.exists():
            note.with_suffix(".new").write_text(str(os.getpid()), encoding="utf-8")
            note.with_suffix(".new").replace(note)
            time.sleep(60.0)
        return super().__call__(task, scratch)


@dataclass(frozen=True)
class Raising(Crashing):
    """The fit, but each raises an error that nobody expects."""

    def __call__(self, task: Task, scratch: str | None = None) -> Outcome:
        """Raise."""
        raise ZeroDivisionError("by a mistake")
