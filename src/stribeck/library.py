"""Calibrations that others made, with points and provenance: ``stribeck.library.load("lab6")``."""

from stribeck.experiments.library.library_entry import LibraryEntry
from stribeck.experiments.library.library_folders import entries, load

__all__ = ["LibraryEntry", "entries", "load"]
