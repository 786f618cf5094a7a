"""A fleet of calibrations: from results of `stribeck fleet fit`, by path or URL, and from
folders with calibrations.
"""

from collections.abc import Iterable
from pathlib import Path

from stribeck.experiments.fleet.calibration_rows import read_calibrations
from stribeck.experiments.fleet.fleet_dataset import HEAD
from stribeck.experiments.fleet.storage import Place
from stribeck.ident.calibration.calibration import Calibration
from stribeck.ident.fleet.fleet import Fleet, calibrations_below


def load_fleet(places: Iterable[str]) -> Fleet:
    """Return the fleet of all calibrations at some places.

    Parameters
    ----------
    places : iterable of str
        Datasets by path or URL, and calibrations by path: files, their
        folders, or folders above them.

    Raises
    ------
    InputError
        If a place holds neither, or as `Fleet.of`.
    """
    found: dict[str, Calibration] = {}
    for place in places:
        dataset = "://" in place or (Path(place) / HEAD).is_file()
        found |= (
            read_calibrations(Place.of(place)) if dataset else calibrations_below([Path(place)])
        )
    return Fleet.of(found)
