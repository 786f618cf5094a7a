"""The report: one self-contained HTML page about a calibration."""

from experiments.report.page import write_report

__all__ = ["write_report"]
