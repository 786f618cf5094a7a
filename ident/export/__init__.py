"""Exports: one pure function a format, from a calibration to text and what the target cannot express."""

from ident.export.formats import EXPORTS, export
from ident.export.plain import calibration_table
from ident.export.result import Export

__all__ = ["EXPORTS", "Export", "calibration_table", "export"]
