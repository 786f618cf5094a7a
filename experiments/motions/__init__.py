"""Motions of mechanisms as tables: reading, derivatives, simulation, writing.

Imports from: `ident`, `ident.calibration`, `ident.model`, `ident.model.chains`, `ident.model.driven`.
"""
