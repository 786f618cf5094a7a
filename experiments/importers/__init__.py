"""Foreign logs to run folders: a table of readers, a column map with units, and checks before anything is written."""

from experiments.importers.columns import ColumnMap, parse_columns
from experiments.importers.log import READERS, import_log, read_table

__all__ = ["READERS", "ColumnMap", "import_log", "parse_columns", "read_table"]
