"""Commands for thousands of recordings: fleet fit, fleet validate, fleet compare."""

import math
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stribeck.experiments.cli.command_options import (
    BacklashOption,
    BandwidthOption,
    BasisOption,
    ConstantOption,
    DirectionalOption,
    DriftOption,
    InertiaOption,
    JsonOption,
    LawOption,
    LoadOption,
    LossOption,
    MemoryOption,
    MotionOption,
    QuietOption,
    RippleOption,
    TemperatureOption,
    out_option,
)
from stribeck.experiments.cli.common import DIFFERS, console, print_json

if TYPE_CHECKING:
    from distributed import Client

    from stribeck.experiments.cli.screen.console import Console
    from stribeck.experiments.fleet.fleet_dataset import Dataset
    from stribeck.experiments.fleet.outcomes import Outcome, Task
    from stribeck.experiments.fleet.work_through import FleetResult, Order

_MEMORY = "1GB"  # limit of a worker
_NAMED = 5  # recordings that the terminal names; the file and --json name all

FoldersArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="FOLDER...",
        help="Folders with run folders or campaigns, at any depth; paths, or URLs of fsspec such "
        "as "
        "s3://bucket/arms. The runs of a campaign belong together.",
    ),
]
WorkersOption = Annotated[
    int | None,
    typer.Option(
        metavar="N", min=1, help="Processes of this computer. Default: one for each core."
    ),
]
SchedulerOption = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="Address of a running Dask scheduler whose workers do the work, for example "
        "tcp://host:8786.",
    ),
]
WorkerMemoryOption = Annotated[
    str | None,
    typer.Option(
        "--worker-memory",
        metavar="SIZE",
        help="Memory limit of a process of this computer. One that exceeds it is ended and "
        "started again; a recording that ends one after the other is left out and named. Default: "
        "1GB.",
    ),
]


@dataclass(frozen=True)
class _Worked:
    """Recordings, what became of them, and the dataset with the files that it had before."""

    out: str
    tasks: "list[Task]"
    result: "FleetResult"
    dataset: "Dataset"
    before: set[str]

    @property
    def failed(self) -> "list[Outcome]":
        """Recordings without a result."""
        from stribeck.experiments.fleet.outcomes import FAILED

        return self.result.of_state(FAILED)

    @property
    def files(self) -> list[Path | str]:
        """Files that the command wrote."""
        from stribeck.experiments.fleet.fleet_dataset import FAILED as FAILED_FILE

        place = self.dataset.place
        new = sorted(set(place.files()) - self.before | ({FAILED_FILE} if self.failed else set()))
        return [place.local / name if place.local else f"{place}/{name}" for name in new]


def fleet_fit(
    folders: FoldersArgument,
    out: Annotated[
        str,
        typer.Option(
            "--out",
            "-o",
            metavar="PATH",
            help="Folder or URL of the dataset: new, or that of an "
            "earlier call, which is continued.",
        ),
    ] = "fleet-fit",
    workers: WorkersOption = None,
    scheduler: SchedulerOption = None,
    worker_memory: WorkerMemoryOption = None,
    law: LawOption = "auto",
    load: LoadOption = "auto",
    motion: MotionOption = "none",
    directional: DirectionalOption = "auto",
    torque_basis: BasisOption = "drive",
    drift: DriftOption = "auto",
    loss: LossOption = "auto",
    inertia: InertiaOption = "auto",
    memory: MemoryOption = "auto",
    ripple: RippleOption = "none",
    temperature: TemperatureOption = "auto",
    backlash: BacklashOption = "auto",
    bandwidth: BandwidthOption = None,
    constant: ConstantOption = "fit",
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Fit thousands of recordings, each for itself; a second call does what
    is missing or was changed.

    The result is a Parquet dataset with a row for each joint of each calibration. The exit code is
    1 if a run has no result.
    """
    from stribeck.experiments.fleet.fit_recording import FitOrder
    from stribeck.experiments.fleet.fleet_dataset import FITS
    from stribeck.ident.fit.joint.options import Options

    options = Options(
        law,
        load,
        motion,
        directional,
        torque_basis,
        drift,
        loss,
        inertia=inertia,
        memory=memory,
        ripple=ripple,
        temperature=temperature,
        backlash=backlash,
        bandwidth=bandwidth,
        constant=constant,
    )
    text = console(as_json, quiet=quiet)
    worked = _worked(
        text, folders, out, FITS, FitOrder(options), _workers(workers, scheduler, worker_memory)
    )
    _told(text, worked, "fitted")
    if as_json:
        print_json(_numbers(worked), worked.files)
    if worked.failed:
        raise typer.Exit(DIFFERS)


def fleet_validate(
    folders: FoldersArgument,
    calibration: Annotated[
        str,
        typer.Option(
            metavar="PATH",
            help="Result of fleet fit, whose newest calibration of an arm judges the arm's runs; "
            "or one "
            "calibration for all runs.",
        ),
    ] = "fleet-fit",
    out: Annotated[
        str,
        typer.Option(
            "--out",
            "-o",
            metavar="PATH",
            help="Folder or URL of the dataset: new, or that of an "
            "earlier call, which is continued.",
        ),
    ] = "fleet-validate",
    tolerance: Annotated[
        float,
        typer.Option(
            metavar="RATIO",
            min=0.0,
            help="Pass threshold: noise-corrected RMS error over RMS friction.",
        ),
    ] = 0.1,
    workers: WorkersOption = None,
    scheduler: SchedulerOption = None,
    worker_memory: WorkerMemoryOption = None,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Judge thousands of runs by the calibrations of their arms; exit code 1 if a joint
    fails or a run has no result.

    Of a campaign, its last validation run is judged.
    """
    from stribeck.experiments.fleet.fleet_dataset import VALIDATIONS
    from stribeck.experiments.fleet.validate_recording import ValidationOrder, judge_at

    text, order = console(as_json, quiet=quiet), ValidationOrder(judge_at(calibration), tolerance)
    worked = _worked(
        text, folders, out, VALIDATIONS, order, _workers(workers, scheduler, worker_memory)
    )
    _told(text, worked, "judged")
    verdicts = _verdicts(worked)
    failing = {path: joints for path, joints in verdicts.items() if joints}
    for path, joints in list(failing.items())[:_NAMED]:
        text.print(f"fails     {path}: {', '.join(joints)}")
    if len(failing) > _NAMED:
        text.print(f"more      {len(failing) - _NAMED} runs in --json and in the dataset")
    without = f"; {len(worked.failed)} without a result" if worked.failed else ""
    text.print(
        f"verdict   {len(verdicts) - len(failing)} of {len(verdicts)} judged runs pass{without}"
    )
    if as_json:
        print_json(
            {**_numbers(worked), "passed": not failing and not worked.failed, "failing": failing},
            worked.files,
        )
    if failing or worked.failed:
        raise typer.Exit(DIFFERS)


def fleet_compare(
    folders: Annotated[
        list[str],
        typer.Argument(
            metavar="FOLDER...",
            help="Results of fleet fit, by path or URL; or folders with calibrations.",
        ),
    ],
    out: Annotated[
        Path | None, out_option("Page (.html), picture (.png, .svg, .pdf) or table (.csv).")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Show what is normal for each joint of a fleet and what differs, as compare does; exit
    code 1 if something differs.
    """
    from stribeck.experiments.cli.commands.compare import compare_fleet
    from stribeck.experiments.fleet.load_fleet import load_fleet

    compare_fleet(load_fleet(folders), out, as_json)


def _workers(
    count: int | None, scheduler: str | None, memory: str | None
) -> "AbstractContextManager[Client]":
    """Return the workers that the options ask for."""
    import os

    from stribeck.experiments.fleet.dask_workers import local_workers, memory_limit, workers_of
    from stribeck.ident.errors import InputError

    if scheduler is not None and count is not None:
        raise InputError(
            f"--workers {count} are processes of this computer, but --scheduler {scheduler!r} has "
            "its own workers; give one of the two"
        )
    if scheduler is not None and memory is not None:
        raise InputError(
            f"--worker-memory {memory!r} is for processes of this computer, but --scheduler "
            f"{scheduler!r} has its "
            "own workers; leave it out, and start them with dask worker --memory-limit"
        )
    memory = _MEMORY if memory is None else memory
    memory_limit(memory)  # refused before anything is made
    return (
        workers_of(scheduler)
        if scheduler is not None
        else local_workers(count or os.cpu_count() or 1, memory)
    )


def _worked(
    text: "Console",
    folders: list[str],
    out: str,
    kind: str,
    order: "Order",
    workers: "AbstractContextManager[Client]",
) -> "_Worked":
    """Find the recordings, and work through those that are new or changed."""
    from stribeck.experiments.fleet.find_recordings import find_recordings
    from stribeck.experiments.fleet.fleet_dataset import Dataset
    from stribeck.experiments.fleet.storage import Place
    from stribeck.experiments.fleet.work_through import tasks_of, work_through

    place, recordings = Place.of(out), find_recordings(folders)
    before = set(place.files())
    dataset = Dataset.at(place, kind)
    tasks = tasks_of(recordings, order, dataset)
    new = sum(task.unchanged is None for task in tasks)
    text.print(
        f"found     {len(tasks)} recording{'s' * (len(tasks) != 1)}, {len(tasks) - new} of them "
        "done before and unchanged"
    )
    if not new:
        return _Worked(out, tasks, work_through(None, tasks, order), dataset, before)
    with workers as client, _progress(text, len(tasks)) as watch:
        try:
            Dataset.create(place, kind)
            return _Worked(out, tasks, work_through(client, tasks, order, watch), dataset, before)
        except KeyboardInterrupt:
            text.print("stopped   what is done is kept; repeat the command to go on")
            raise


@contextmanager
def _progress(text: "Console", total: int) -> "Iterator[Callable[[Outcome], None]]":
    """Draw a line with the share that is done, failures, and the time left; only in a terminal."""
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    failed = 0
    with Progress(
        TextColumn("fleet    "),
        BarColumn(bar_width=30),
        MofNCompleteColumn(),
        TextColumn("{task.description}"),
        TimeRemainingColumn(compact=True),
        TextColumn("left"),
        console=text,
        refresh_per_second=2,
        disable=not text.is_terminal,
    ) as bar:
        row = bar.add_task("", total=total)

        def watch(outcome: "Outcome") -> None:
            nonlocal failed
            failed += bool(outcome.reason)
            bar.update(row, advance=1, description=f"{failed} failed" if failed else "")

        yield watch


def _told(text: "Console", worked: "_Worked", verb: str) -> None:
    """Print how many recordings have a result, which have none, and where the results are."""
    from stribeck.experiments.fleet.fleet_dataset import FAILED as FAILED_FILE
    from stribeck.experiments.fleet.outcomes import KEPT, WRITTEN

    result, failed = worked.result, worked.failed
    written = result.of_state(WRITTEN)
    peak = max((one.memory for one in written if math.isfinite(one.memory)), default=0.0)
    rate = (
        f"; {result.rate:.3g} a minute" + (f", at most {peak:.0f} MB a worker" if peak else "")
        if written
        else ""
    )
    text.print(
        f"done      {len(written)} {verb}, {len(result.of_state(KEPT))} kept, {len(failed)} "
        f"without a result{rate}"
    )
    for one in failed[:_NAMED]:
        text.files(f"failed    {one.reason}")
    if len(failed) > _NAMED:
        text.files(f"more      {len(failed) - _NAMED} recordings without a result in {FAILED_FILE}")
    text.files(f"{'wrote' if written else 'kept':<9} {worked.out}")


def _numbers(worked: "_Worked") -> dict[str, Any]:
    """Return what became of the recordings as plain data."""
    from stribeck.experiments.fleet.outcomes import KEPT, WRITTEN

    result = worked.result
    return {
        "dataset": str(worked.dataset.place),
        "recordings": len(result.outcomes),
        "written": len(result.of_state(WRITTEN)),
        "kept": len(result.of_state(KEPT)),
        "failed": [{"path": one.path, "reason": one.reason} for one in worked.failed],
        "seconds": result.seconds,
        "cpu_seconds": sum(one.cpu for one in result.outcomes),
        "memory": max(
            (one.memory for one in result.outcomes if math.isfinite(one.memory)), default=None
        ),
    }


def _verdicts(worked: "_Worked") -> dict[str, list[str]]:
    """Return the joints that fail, for each recording with a result."""
    paths = {task.recording.place.url: task.recording.shown for task in worked.tasks}
    keys = [task.recording.key for task in worked.tasks]
    rows = worked.dataset.read(("source", "joint", "passed"), keys=keys)
    verdicts: dict[str, list[str]] = {paths[source]: [] for source in rows["source"]}
    for source, joint in zip(
        *(rows.loc[rows["passed"].eq(False), name] for name in ("source", "joint")), strict=True
    ):
        verdicts[paths[source]].append(joint)
    return verdicts
