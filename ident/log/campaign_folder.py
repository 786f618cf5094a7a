"""Run folders of a campaign, selected by purpose."""

from pathlib import Path

from stribeck.ident.errors import InputError
from stribeck.ident.log.run import EVENTS, IMPORTED, RECORD, RUNS, SAMPLES, purpose_of
from stribeck.ident.log.run_record import read_events, read_json
from stribeck.ident.log.samples_file import read_columns

CALIBRATION = "calibration.toml"  # file with the result of a fit


def find_runs(path: Path, purposes: tuple[str, ...] | None = None) -> list[Path]:
    """Return run folders: the folder itself, or the runs of a campaign in
    order, with the given purposes.

    Raises
    ------
    InputError
        If no run is found.
    """
    path = Path(path)
    runs = [path] if (path / RECORD).is_file() else campaign_runs(path)
    if not runs:
        fitted = (
            "; it has the results of a fit: give the folder that was fitted"
            if (path / CALIBRATION).is_file()
            else ""
        )
        hint = (
            f"; give a folder with {RECORD}, or a campaign folder, whose folder runs/ holds run "
            "folders"
        )
        raise InputError(
            f"{path}: "
            + (
                f"neither a run folder nor a campaign with runs/{fitted or hint}"
                if path.is_dir()
                else "a file, not a run folder; stribeck import converts logs to runs"
                if path.exists()
                else "no such folder; check the path"
            )
        )
    if purposes is None or runs == [path]:
        return runs
    found = {run: purpose_of(read_json(run / RECORD)) for run in runs}
    chosen = [run for run, purpose in found.items() if purpose in (*purposes, IMPORTED)]
    if not chosen:
        raise InputError(
            f"{path}: the campaign only has runs for {', '.join(sorted(set(found.values())))}; "
            "give the path of a run folder to use this run"
        )
    return chosen


def campaign_runs(folder: Path) -> list[Path]:
    """Run folders of a campaign in order, without runs that ended before the first sample."""
    return [record.parent for record in records(folder) if _holds_something(record.parent)]


def records(folder: Path) -> list[Path]:
    """Run records of all runs of a campaign in order, with or without samples."""
    return sorted(folder.glob(f"{RUNS}/*/{RECORD}"))


def _holds_something(run: Path) -> bool:
    """Whether a run has samples, or had samples according to its closing event."""
    return any(
        event.get("event") == "closed" and event.get("rows") != 0
        for event in read_events(run / EVENTS)
    ) or holds_samples(run)


def holds_samples(run: Path) -> bool:
    """Whether a run folder has samples."""
    import pyarrow as pa

    try:
        return len(read_columns(run / SAMPLES, ("t",), 1)) > 0
    except (pa.ArrowException, OSError):
        return False
