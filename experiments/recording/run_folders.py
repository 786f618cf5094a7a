"""Folders for results: names of run folders by time, refusal of folders in use."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

from stribeck.ident.errors import InputError
from stribeck.ident.log.campaign_folder import campaign_runs, records
from stribeck.ident.log.run import ARM, RUNS

_STAMP = "%Y-%m-%dT%H-%M-%SZ"


def new_run_folder(campaign: Path, experiment: str) -> Path:
    """Name of the next run folder in a campaign: UTC time and experiment,
    so that names sort by time.

    If another run has the same second, the name uses the next free second.
    """
    time, word = datetime.now(UTC), re.sub(r"[^\w-]+", "-", experiment).strip("-")
    while list(campaign.glob(f"{RUNS}/{(stamp := time.strftime(_STAMP))}_*")):
        time += timedelta(seconds=1.0)
    return campaign / RUNS / f"{stamp}_{word}"


def refuse_used(folder: Path, remedy: str = "choose another --out") -> None:
    """Refuse a results folder that is not empty. Runs without a sample and the copy of
    an assumed arm are allowed.

    Raises
    ------
    InputError
        If the folder is not empty, because results are never mixed or overwritten.
    """
    failed = {record.parent for record in records(folder)} - set(campaign_runs(folder))
    strange = (
        set(folder.glob("*")) - {folder / RUNS, folder / ARM}
        | set(folder.glob(f"{RUNS}/*")) - failed
    )
    if folder.is_file() or strange:
        raise InputError(f"{folder} exists and is not empty; {remedy}")


def empty_folder(folder: Path) -> Path:
    """Create a folder if it is missing and return it; errors as in `refuse_used`."""
    refuse_used(folder)
    folder.mkdir(parents=True, exist_ok=True)
    return folder
