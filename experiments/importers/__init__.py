"""Foreign logs to run folders: a reader for each format, a column map with units, and checks before anything is written."""
