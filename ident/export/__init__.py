"""Exports: one pure function a format, from a calibration to text and what the target cannot express."""

from ident.export.formats import EXPORTS, Export, export

__all__ = ["EXPORTS", "Export", "export"]
