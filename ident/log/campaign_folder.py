"""Run folders of a campaign: which there are, and what for."""

from pathlib import Path

from stribeck.ident.errors import InputError
from stribeck.ident.log.run import EVENTS, IMPORTED, RECORD, RUNS, SAMPLES, purpose_of
from stribeck.ident.log.run_record import read_events, read_json
from stribeck.ident.log.samples_file import read_columns


def find_runs(path: Path, purposes: tuple[str, ...] | None = None) -> list[Path]:
    """Run folders at a path: the folder itself, or those of a campaign in order, of some purposes only.

    Raises
    ------
    InputError
        If there is none.
    """
    path = Path(path)
    runs = [path] if (path / RECORD).is_file() else campaign_runs(path)
    if not runs:
        fitted = "; it holds what a fit wrote: name the folder that was fitted" if (path / "calibration.toml").is_file() else ""
        raise InputError(f"{path}: " + (f"neither a run folder nor a campaign with runs/{fitted}" if path.is_dir() else
                                        "this is a file, no run folder; stribeck import makes one of a log" if path.exists() else
                                        "no such folder"))
    if purposes is None or runs == [path]:
        return runs
    found = {run: purpose_of(read_json(run / RECORD)) for run in runs}
    chosen = [run for run, purpose in found.items() if purpose in (*purposes, IMPORTED)]
    if not chosen:
        raise InputError(f"{path}: holds runs for {', '.join(sorted(set(found.values())))} only; name a run folder itself to use "
                         "it all the same")
    return chosen


def campaign_runs(folder: Path) -> list[Path]:
    """Run folders of a campaign in order, but for those that ended before anything was recorded."""
    return [record.parent for record in records(folder) if _holds_something(record.parent)]


def records(folder: Path) -> list[Path]:
    """Records of all runs of a campaign in order, whether they hold anything or not."""
    return sorted(folder.glob(f"{RUNS}/*/{RECORD}"))


def _holds_something(run: Path) -> bool:
    """Whether a run holds samples, or says that it did when it was closed."""
    return any(event.get("event") == "closed" and event.get("rows") != 0
               for event in read_events(run / EVENTS)) or holds_samples(run)


def holds_samples(run: Path) -> bool:
    """Whether anything was recorded in a run folder."""
    import pyarrow as pa

    try:
        return len(read_columns(run / SAMPLES, ("t",), 1)) > 0
    except (pa.ArrowException, OSError):
        return False
