"""Foreign logs to run folders: a table of readers, a column map with units, and checks before anything is written."""

from experiments.importers.columns import ColumnMap, parse_columns
from experiments.importers.guess import guess_columns
from experiments.importers.importing import import_log
from experiments.importers.readers import READERS, open_log

__all__ = ["READERS", "ColumnMap", "guess_columns", "import_log", "open_log", "parse_columns"]
