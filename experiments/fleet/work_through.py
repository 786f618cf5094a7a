"""All recordings of a fleet through the workers: what is unchanged is kept, what fails
is named, the rest goes on.
"""

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from stribeck.experiments.fleet.dask_workers import on_worker
from stribeck.experiments.fleet.find_recordings import Recording, digest
from stribeck.experiments.fleet.fleet_dataset import FAILED as FAILED_FILE
from stribeck.experiments.fleet.fleet_dataset import Dataset
from stribeck.experiments.fleet.outcomes import FAILED, KEPT, Outcome, Task
from stribeck.ident.versions import versions_of

if TYPE_CHECKING:
    from distributed import Client, Future


_KILLER = (
    "{}: every worker that took it was ended, by its memory limit or a crash; look at it alone "
    "with stribeck fit, or give more --worker-memory"
)


class Order(Protocol):
    """What is done with each recording; sent to workers."""

    @property
    def described(self) -> Mapping[str, Any]:
        """All that may change the result."""

    def __call__(self, task: Task, scratch: str | None = None) -> Outcome:
        """Do it."""


@dataclass(frozen=True)
class FleetResult:
    """What became of all recordings.

    Attributes
    ----------
    outcomes : tuple of Outcome
        In the order of the recordings.
    seconds : float
        Time between the first task and the last result [s].
    """

    outcomes: tuple[Outcome, ...]
    seconds: float

    def of_state(self, state: str) -> list[Outcome]:
        """Return the outcomes of a state."""
        return [one for one in self.outcomes if one.state == state]

    @property
    def rate(self) -> float:
        """Recordings that were worked on, a minute."""
        return 60.0 * (len(self.outcomes) - len(self.of_state(KEPT))) / max(self.seconds, 1e-9)


def tasks_of(recordings: Sequence[Recording], order: Order, out: Dataset) -> list[Task]:
    """Return a task for each recording, with its earlier results."""
    version = versions_of("stribeck")["stribeck"]
    key, known = (
        digest(json.dumps(order.described, sort_keys=True, default=str), version),
        out.entries(),
    )
    return [
        Task(recording, out, tuple(known.get(recording.key, ())), key, version)
        for recording in recordings
    ]


def work_through(
    client: "Client | None",
    tasks: Sequence[Task],
    order: Order,
    watch: Callable[[Outcome], None] = lambda _: None,
) -> FleetResult:
    """Work on all recordings that are new or changed, and note those
    without a result in the dataset.

    Parameters
    ----------
    client : distributed.Client, optional
        Workers; each must see the recordings and the folder of the dataset. None is
        enough if nothing is new.
    tasks : sequence of Task
        As `tasks_of` returns them.
    order : Order
        What is done with each.
    watch : callable, optional
        Called with each outcome as it arrives.
    """
    began, found = (
        time.monotonic(),
        {
            task.recording.place.url: Outcome(task.recording.shown, KEPT, same.file)
            for task in tasks
            if (same := task.unchanged)
        },
    )
    for outcome in found.values():
        watch(outcome)
    waiting = [task for task in tasks if task.recording.place.url not in found]
    suspects = []
    for task, ended in _done(client, waiting, order):
        if ended is None:
            suspects.append(task)
        else:
            found[task.recording.place.url] = ended
            watch(ended)
    # alone, since another recording may have ended the workers that it shared
    for task in suspects:
        ((_, ended),) = _done(client, [task], order)
        path = task.recording.shown
        found[task.recording.place.url] = ended or Outcome(
            path, FAILED, reason=_KILLER.format(path)
        )
        watch(found[task.recording.place.url])
    result = FleetResult(
        tuple(found[task.recording.place.url] for task in tasks), time.monotonic() - began
    )
    if tasks:
        _tidy(tasks[0].out, result)
    return result


def _done(
    client: "Client | None", tasks: Sequence[Task], order: Order
) -> Iterator[tuple[Task, Outcome | None]]:
    """Yield tasks with their outcomes as they end; None for those whose
    workers died again and again.
    """
    if not tasks:
        return
    from distributed import as_completed

    assert client is not None
    futures = client.map(
        on_worker,
        [order] * len(tasks),
        tasks,
        pure=False,
        key=f"stribeck-{digest(repr(time.time_ns()))}",
    )
    by_key = dict(zip((future.key for future in futures), tasks, strict=True))
    waiting = as_completed(futures)
    del futures  # the scheduler forgets what nobody holds
    for future in waiting:
        task = by_key.pop(future.key)
        yield task, _outcome(future, task)


def _outcome(future: "Future", task: Task) -> Outcome | None:
    """Return what a task returned, or why it ended; None if its worker died, also with the
    result that it still held.
    """
    from distributed.scheduler import KilledWorker

    try:
        outcome: Outcome = future.result()
    except (KilledWorker, CancelledError):
        return None
    except Exception as error:  # a mistake in this package: it costs this recording only
        return Outcome(
            task.recording.shown,
            FAILED,
            reason=f"{task.recording.shown}: {type(error).__name__}: {error}",
        )
    return outcome


def _tidy(out: Dataset, result: FleetResult) -> None:
    """Note what failed, or remove the note of an earlier call."""
    if failed := result.of_state(FAILED):
        out.note_failed((one.path, one.reason) for one in failed)
    elif FAILED_FILE in out.place.files():
        out.place.remove(FAILED_FILE)
    out.place.tidy()
