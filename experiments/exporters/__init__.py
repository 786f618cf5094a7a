"""Recorded runs in formats of other software, values unchanged."""

from experiments.exporters.runs import RUN_EXPORTS, export_run

__all__ = ["RUN_EXPORTS", "export_run"]
