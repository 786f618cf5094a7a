"""Calibrated friction inside simulators.

Imports from: `ident`, `ident.calibration`, `ident.export`, `ident.memory`, `ident.ripple`.
"""
