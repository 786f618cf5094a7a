"""The open library: calibrations with their points and provenance, a folder each.

Imports from: `ident`, `ident.calibration`, `ident.log`.
"""
