"""Thousands of recordings through `stribeck fleet fit`: speed, efficiency of two workers, memory,
and what survives faults.
"""

import argparse
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pyarrow as pa

from benchmarks.fit import long_run
from benchmarks.page import Table
from stribeck.experiments.fleet.dask_workers import local_workers
from stribeck.experiments.fleet.find_recordings import find_recordings
from stribeck.experiments.fleet.fit_recording import FitOrder
from stribeck.experiments.fleet.fleet_dataset import FITS, Dataset
from stribeck.experiments.fleet.outcomes import FAILED, WRITTEN, Outcome, Task
from stribeck.experiments.fleet.storage import Place
from stribeck.experiments.fleet.work_through import FleetResult, tasks_of, work_through
from stribeck.ident.errors import InputError
from stribeck.ident.fit.joint.options import Options
from stribeck.ident.log.run import ARM, RECORD, SAMPLES

if TYPE_CHECKING:
    from distributed import Client

WORKERS, MEMORY = 2, "700MB"
GOALS = {"efficiency": 0.85, "memory": 700.0}
# name of the recording that ends every worker, in place of a library that crashes
CRASHING = "crashing"
_CHANGE = 0.02  # relative change of friction torque between distinct runs
_KILLS = 3  # workers that are killed from outside
_ARMS = 2  # arms of ten runs each that are fitted while things go wrong
_EMPTY = 1000  # tasks without work
_CLUSTER = 100  # workers of the estimate
_FETCH = 50e6  # assumed speed of object storage for each worker [bytes/s]
_ALONE = """
import json, sys, time
from stribeck.experiments.fleet.find_recordings import find_recordings
from stribeck.experiments.fleet.fit_recording import FitOrder
from stribeck.experiments.fleet.fleet_dataset import FITS, Dataset
from stribeck.experiments.fleet.storage import Place
from stribeck.experiments.fleet.work_through import tasks_of
from stribeck.ident.fit.joint.options import Options
order = FitOrder(Options())
first, *tasks = tasks_of(find_recordings([sys.argv[1]]), order, Dataset.create(Place.of(sys.argv[2]), FITS))
order(first)
began, tasks = time.perf_counter(), tasks[:int(sys.argv[3])]
found = [order(task) for task in tasks]
print(json.dumps({"s": time.perf_counter() - began, "cpu_s": sum(one.cpu for one in found), "runs": len(found),
                  "memory_mb": max(one.memory for one in found)}))
"""


@dataclass(frozen=True)
class NoOrder:
    """No work, to see what a task costs by itself."""

    described: ClassVar[dict[str, str]] = {}

    def __call__(self, task: Task, scratch: str | None = None) -> Outcome:
        """Return at once."""
        return Outcome(task.recording.shown, WRITTEN)


@dataclass(frozen=True)
class FaultyOrder(FitOrder):
    """The fit, but one recording ends its worker."""

    def __call__(self, task: Task, scratch: str | None = None) -> Outcome:
        """Fit the recording."""
        if task.recording.shown.endswith(CRASHING):
            os.kill(os.getpid(), signal.SIGKILL)
        return super().__call__(task, scratch)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the benchmark."""
    parser.add_argument(
        "--distinct", type=int, default=500, help="number of runs with samples of their own"
    )
    parser.add_argument(
        "--runs",
        type=int,
        default=5000,
        help="number of run folders, hard-linked to the distinct ones",
    )
    parser.add_argument("--rows", type=int, default=60_000, help="rows of a run, of six joints")
    parser.add_argument(
        "--alone", type=int, default=20, help="number of runs that one process fits for comparison"
    )
    parser.add_argument(
        "--minutes", type=float, help="time after which the fit of the runs is stopped"
    )
    parser.add_argument(
        "--folder",
        type=Path,
        help="folder for runs and results, on a disk with room for all distinct runs",
    )


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Make the runs, fit some in one process, all with two workers, and some
    again while things go wrong.
    """
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        arms = linked(
            distinct(folder, options.distinct, options.rows), folder / "arms", options.runs
        )
        size = sum(
            path.stat().st_size for path in next(arms.glob("*/*")).rglob("*") if path.is_file()
        )
        before = one_process(arms, folder / "before", options.alone)
        figures = {
            "folders": options.runs,
            "rows": options.rows,
            "size_mb": size / 1e6,
            **clean(arms, folder / "fits", options.minutes),
            **faulty(arms, folder),
        }
        after = one_process(arms, folder / "after", options.alone)
        # that which other programs disturbed less
        alone = figures["alone"] = min(before, after, key=lambda one: one["s"])
    figures["efficiency"] = (
        alone["s"] / alone["runs"] / (WORKERS * figures["s"] / figures["fitted"])
    )
    figures["cpu_efficiency"] = alone["cpu_s"] / alone["runs"] / figures["cpu_s_a_run"]
    figures["load"] = os.getloadavg()[2]
    figures["estimate"] = estimate(figures)
    return figures


def table(figures: dict[str, Any]) -> Table:
    """Return a row for each figure."""
    alone, guess = figures["alone"], figures["estimate"]
    alone_cpu = alone["cpu_s"] / alone["runs"]
    rows = [
        ("runs a minute: one process", f"{60.0 * alone['runs'] / alone['s']:.1f}"),
        ("runs a minute: two workers", f"{60.0 * figures['fitted'] / figures['s']:.1f}"),
        ("efficiency by wall time", f"{figures['efficiency']:.2f}"),
        ("efficiency by computing time, with start", f"{figures['cpu_efficiency']:.2f}"),
        ("efficiency by computing time, tasks alone", f"{alone_cpu / figures['task_cpu_s']:.2f}"),
        ("computing time of a run in one process s", f"{alone_cpu:.2f}"),
        ("computing time of a run with two workers s", f"{figures['cpu_s_a_run']:.2f}"),
        ("scheduler's time for a task ms", f"{1e3 * figures['task_s_scheduler']:.1f}"),
        ("peak memory of a worker MB", f"{figures['memory_mb']:.0f}"),
        ("runs that a second call fits again", figures["to_do_again"]),
        ("time to know it s", f"{figures['listing_s']:.2f}"),
        (
            f"runs fitted while {figures['killed']} workers are killed",
            f"{figures['good_fitted']} of {figures['good']}",
        ),
        ("corrupt and crashing runs that are named", f"{figures['named']} of {figures['bad']}"),
        (
            f"estimate for {_CLUSTER} workers: runs a minute",
            f"{guess['a_minute']:,.0f} ({guess['network']:.0f} MB/s)",
        ),
    ]
    return Table(
        f"{figures['fitted']} of {figures['folders']} run folders of {figures['rows']:,} rows and "
        f"six joints in {figures['s'] / 60.0:.0f} minutes, {WORKERS} workers with {MEMORY} each. "
        f"Goals: efficiency {GOALS['efficiency']:g}, {GOALS['memory']:g} MB. The estimate assumes "
        f"cores like this one and {_FETCH / 1e6:g} MB/s of storage for each worker.",
        ["figure", "value"],
        rows,
    )


def one_process(arms: Path, out: Path, runs: int) -> dict[str, Any]:
    """Fit some runs in one process."""
    return dict(
        json.loads(
            subprocess.run(
                [sys.executable, "-c", _ALONE, str(arms), str(out), str(runs)],
                check=True,
                capture_output=True,
                text=True,
            ).stdout
        )
    )


def distinct(folder: Path, count: int, rows: int) -> list[Path]:
    """Make runs of lab6 with the given number of rows; torques of each
    joint differ from run to run.
    """
    first = long_run(folder, rows)
    with pa.ipc.open_stream(pa.memory_map(str(first / SAMPLES))) as reader:
        table = reader.read_all()
    made = []
    for k in range(count):
        made.append(
            shutil.copytree(
                first, folder / "distinct" / f"{k:04d}", ignore=shutil.ignore_patterns(SAMPLES)
            )
        )
        rng, own = np.random.default_rng(k), table
        for column in [name for name in table.column_names if name.startswith("tau.")]:
            speed, tau = (
                table[name].to_numpy() for name in (column.replace("tau.", "dq."), column)
            )
            tau = tau + _CHANGE * rng.normal() * np.abs(tau).mean() * np.tanh(100.0 * speed)
            own = own.set_column(
                own.column_names.index(column), table.schema.field(column), pa.array(tau)
            )
        compressed = pa.ipc.IpcWriteOptions(compression="zstd")
        with (
            pa.OSFile(str(made[-1] / SAMPLES), "wb") as file,
            pa.ipc.new_stream(file, table.schema, options=compressed) as writer,
        ):
            writer.write_table(own, max_chunksize=250)
    return made


def linked(distinct: list[Path], arms: Path, count: int) -> Path:
    """Link the distinct runs to `count` run folders, ten of each arm; only the record, with its
    serial number, is a new file.
    """
    for k in range(count):
        source, target = distinct[k % len(distinct)], arms / f"S{k // 10:04d}" / f"day{k % 10}"
        for path in source.rglob("*"):
            if path.is_file():
                (target / path.relative_to(source)).parent.mkdir(parents=True, exist_ok=True)
                if path.name != RECORD:
                    os.link(path, target / path.relative_to(source))
        record = json.loads((source / RECORD).read_text(encoding="utf-8"))
        (target / RECORD).write_text(
            json.dumps(record | {"serial": f"S{k // 10:04d}"}), encoding="utf-8"
        )
    return arms


def spoiled(arms: Path) -> set[str]:
    """Add corrupt runs and one that crashes; return their paths."""
    good = next(arms.glob("*/*"))
    bad = {
        name: shutil.copytree(good, arms / "bad" / name)
        for name in ("cut", "text", "record", "arm", CRASHING)
    }
    (bad["cut"] / SAMPLES).write_bytes((good / SAMPLES).read_bytes()[:100_000])
    (bad["text"] / SAMPLES).write_text("t,q,tau\n0,0,0\n", encoding="utf-8")
    (bad["record"] / RECORD).write_text("{", encoding="utf-8")
    (model,) = (bad["arm"] / ARM).glob("*.urdf")
    model.write_text(model.read_text(encoding="utf-8").replace("1.0", "1.1"), encoding="utf-8")
    return set(map(str, bad.values()))


class _Enough(Exception):
    """The time is over."""


def clean(arms: Path, out: Path, minutes: float | None) -> dict[str, Any]:
    """Fit all runs with two workers, or those of some minutes, and ask what a second call would
    do; then send empty tasks.
    """
    order, dataset = FitOrder(Options()), Dataset.create(Place.of(out), FITS)
    tasks, before = tasks_of(find_recordings([str(arms)]), order, dataset), _cpu()
    fitted: list[Outcome] = []

    def watch(outcome: Outcome) -> None:
        if outcome.state == WRITTEN:
            fitted.append(outcome)
        if minutes is not None and time.monotonic() > began + 60.0 * minutes:
            raise _Enough

    with local_workers(WORKERS, MEMORY) as client:
        _warm(client)
        began = time.monotonic()
        with suppress(_Enough):
            work_through(client, tasks, order, watch)
        seconds = time.monotonic() - began
    if not fitted:
        raise InputError("no run was fitted; give more --minutes")
    total = _cpu() - before
    began, done = time.perf_counter(), {one.path for one in fitted}
    again = [
        task
        for task in tasks_of(find_recordings([str(arms)]), order, dataset)
        if task.unchanged is None and task.recording.shown in done
    ]
    listing = time.perf_counter() - began
    return {
        "s": seconds,
        "fitted": len(fitted),
        "cpu_s_a_run": total / len(fitted),
        "task_cpu_s": float(np.median([one.cpu for one in fitted])),
        "memory_mb": max(one.memory for one in fitted),
        "to_do_again": len(again),
        "listing_s": listing,
        "task_s_scheduler": _scheduling(tasks, dataset),
    }


def _scheduling(tasks: list[Task], dataset: Dataset) -> float:
    """Computing time of command and scheduler for a task [s], from tasks without work."""
    many = [
        replace(
            task, recording=replace(task.recording, place=Place(f"{task.recording.place.url}/{k}"))
        )
        for k in range(-(-_EMPTY // len(tasks)))
        for task in tasks
    ]
    with local_workers(WORKERS, MEMORY) as client:
        _warm(client)
        before = time.process_time()
        work_through(client, many, NoOrder())
        return (time.process_time() - before) / len(many)


def faulty(arms: Path, folder: Path) -> dict[str, Any]:
    """Fit some runs with two workers that are killed now and then, beside corrupt runs and
    one that ends its workers.
    """
    some = folder / "some"
    for arm in sorted(arms.iterdir())[:_ARMS]:
        shutil.copytree(arm, some / arm.name, copy_function=os.link)
    bad = spoiled(some)
    order, dataset = FaultyOrder(Options()), Dataset.create(Place.of(folder / "faulty"), FITS)
    tasks = tasks_of(find_recordings([str(some)]), order, dataset)
    with local_workers(WORKERS, MEMORY) as client:
        result, killed = _killing(client, tasks, order)
    named = {one.path: one.reason for one in result.of_state(FAILED)}
    return {
        "good": len(tasks) - len(bad),
        "good_fitted": len(result.of_state(WRITTEN)),
        "killed": killed,
        "bad": len(bad),
        "named": len(named.keys() & bad),
        "wrongly_named": [reason for path, reason in named.items() if path not in bad],
    }


def _killing(client: "Client", tasks: list[Task], order: FaultyOrder) -> tuple[FleetResult, int]:
    """Work through the tasks, while a worker is killed from outside now and then."""
    killed: list[int] = []
    at = {round(len(tasks) * (k + 1) / (_KILLS + 1)) for k in range(_KILLS)}
    counted = 0

    def watch(outcome: Outcome) -> None:
        nonlocal counted
        counted += 1
        if counted in at:
            pid = next(iter(client.run(os.getpid).values()))
            os.kill(pid, signal.SIGKILL)
            killed.append(pid)

    result = work_through(client, tasks, order, watch)
    return result, len(killed)


def _warm(client: "Client") -> None:
    """Import what a fit needs in all workers, so that the rate is that of a long job."""
    client.run(__import__, "stribeck.experiments.fleet.fit_recording")


def _cpu() -> float:
    """Computing time of this process and of ended children [s]."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def estimate(figures: dict[str, Any]) -> dict[str, float]:
    """Rate of a cluster, from the time of a run in one process, of its files, and of scheduler
    and command for each run.
    """
    work = figures["task_cpu_s"] + figures["size_mb"] * 1e6 / _FETCH
    by_workers, by_scheduler = 60.0 * _CLUSTER / work, 60.0 / max(figures["task_s_scheduler"], 1e-6)
    return {
        "work_s": work,
        "by_workers": by_workers,
        "by_scheduler": by_scheduler,
        "a_minute": min(by_workers, by_scheduler),
        "network": figures["size_mb"] * min(by_workers, by_scheduler) / 60.0,
    }
