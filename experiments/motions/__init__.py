"""Motions of mechanisms as tables: read, completed by their derivatives, simulated, written.

Imports from: `ident`, `ident.calibration`, `ident.laws`, `ident.model`, `ident.model.chains`, `ident.model.driven`.
"""
