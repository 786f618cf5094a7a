"""Calibrated friction inside simulators.

Imports from: `ident`, `ident.calibration`, `ident.memory`, `ident.ripple`.
"""
