"""Plug-ins of other installed packages: entry points by group and name."""

from importlib import metadata
from typing import Any

from stribeck.ident.errors import InputError


def installed(group: str) -> dict[str, metadata.EntryPoint]:
    """Return the entry points of a group, such as ``stribeck.laws``, by name."""
    return {entry.name: entry for entry in metadata.entry_points(group=group)}


def load(group: str, name: str) -> Any:
    """Load the object of an entry point.

    Raises
    ------
    InputError
        If its package cannot be imported or lacks the object; names the plug-in and the reason.
    """
    entry = installed(group)[name]
    try:
        return entry.load()
    except Exception as error:  # foreign code may raise anything
        raise InputError(
            f"the plug-in {entry.value}, entry point {name} of the group {group}, cannot be "
            f"loaded: {error!r}"
        ) from error
