"""Folders that results go into: named by time, new or empty."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

from stribeck.ident.errors import InputError
from stribeck.ident.log.campaign_folder import campaign_runs, records
from stribeck.ident.log.run import ARM, RUNS

_STAMP = "%Y-%m-%dT%H-%M-%SZ"


def new_run_folder(campaign: Path, experiment: str) -> Path:
    """Name of the next run folder in a campaign: UTC time, so that runs sort as they were made, and experiment.

    A run that begins in the same second as another is named after the next.
    """
    time, word = datetime.now(UTC), re.sub(r"[^\w-]+", "-", experiment).strip("-")
    while list(campaign.glob(f"{RUNS}/{(stamp := time.strftime(_STAMP))}_*")):
        time += timedelta(seconds=1.0)
    return campaign / RUNS / f"{stamp}_{word}"


def refuse_used(folder: Path, remedy: str = "choose another --out") -> None:
    """Refuse a folder for results in which something lies already, but for runs that failed before a sample and an assumed arm;
    makes nothing.

    Raises
    ------
    InputError
        Results are never mixed or overwritten.
    """
    failed = {record.parent for record in records(folder)} - set(campaign_runs(folder))
    strange = set(folder.glob("*")) - {folder / RUNS, folder / ARM} | set(folder.glob(f"{RUNS}/*")) - failed
    if folder.is_file() or strange:
        raise InputError(f"{folder} exists and is not empty; {remedy}")


def empty_folder(folder: Path) -> Path:
    """A folder that is new or empty, made where it is missing; errors as `refuse_used`."""
    refuse_used(folder)
    folder.mkdir(parents=True, exist_ok=True)
    return folder
