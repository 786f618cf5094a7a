"""The formats that runs are exported to, by name."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from stribeck.experiments.exporters.mcap_file import write_mcap
from stribeck.ident.errors import InputError, unknown_name
from stribeck.ident.log.run import Run, load_run, samples_table


@dataclass(frozen=True)
class RunFormat:
    """How a run is written: suffix of the file, the function that writes it, and what the format leaves out."""

    suffix: str
    write: Callable[[Run, Path], None]
    losses: tuple[str, ...] = ()


def write_csv(run: Run, target: Path) -> None:
    """Samples with a header, every digit of every number."""
    from pyarrow import csv

    csv.write_csv(samples_table(run), target)


def write_parquet(run: Run, target: Path) -> None:
    """Samples with signal, joint and unit of every column in the schema's metadata."""
    from pyarrow import parquet

    parquet.write_table(samples_table(run), target, compression="zstd")


RUN_EXPORTS: dict[str, RunFormat] = {
    "csv": RunFormat(".csv", write_csv, ("CSV has no units (all SI), plan, events and arm",)),
    "parquet": RunFormat(".parquet", write_parquet, ("Parquet has no plan, events and arm",)),
    "mcap": RunFormat(".mcap", write_mcap),
}


def export_run(path: Path, to: str, out: Path | None = None) -> tuple[Path, tuple[str, ...]]:
    """Write the samples of a run for other software.

    Parameters
    ----------
    path : Path
        Run folder.
    to : str
        A name in `RUN_EXPORTS`.
    out : Path, optional
        New file; default beside the run folder, under its name.

    Returns
    -------
    Path
        What was written.
    tuple of str
        What the format leaves out.

    Raises
    ------
    InputError
        If the format is unknown, the run cannot be read or the file exists.
    """
    if to not in RUN_EXPORTS:
        raise unknown_name("format of runs", to, RUN_EXPORTS)
    form, run = RUN_EXPORTS[to], load_run(path)
    target = out or path.resolve().parent / f"{path.resolve().name}{form.suffix}"
    if target.exists():
        raise InputError(f"{target} exists; choose another --out")
    try:
        form.write(run, target)
    except BaseException:
        target.unlink(missing_ok=True)          # half a file would be taken for a whole one
        raise
    return target, form.losses
