"""Export formats for runs, by name."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from stribeck.experiments.exporters.mcap_file import write_mcap
from stribeck.ident.errors import InputError, unknown_name
from stribeck.ident.log.run import Run, load_run, samples_table


@dataclass(frozen=True)
class RunFormat:
    """Export format: file suffix, write function, and sentences about the data
    that the format cannot store.
    """

    suffix: str
    write: Callable[[Run, Path], None]
    losses: tuple[str, ...] = ()


def write_csv(run: Run, target: Path) -> None:
    """Write the samples as CSV with a header and with all digits."""
    from pyarrow import csv

    csv.write_csv(samples_table(run), target)


def write_parquet(run: Run, target: Path) -> None:
    """Write the samples as Parquet; the schema metadata hold signal,
    joint and unit of each column.
    """
    from pyarrow import parquet

    parquet.write_table(samples_table(run), target, compression="zstd")


RUN_EXPORTS: dict[str, RunFormat] = {
    "csv": RunFormat(
        ".csv", write_csv, ("CSV stores no units (all values are SI), plan, events or arm",)
    ),
    "parquet": RunFormat(".parquet", write_parquet, ("Parquet stores no plan, events or arm",)),
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
        New file; default: beside the run folder, with the same name.

    Returns
    -------
    Path
        The written file.
    tuple of str
        Sentences about data that the format cannot store.

    Raises
    ------
    InputError
        If the format is unknown, the run cannot be read or the file already exists.
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
        # an incomplete file could be mistaken for a complete one
        target.unlink(missing_ok=True)
        raise
    return target, form.losses
