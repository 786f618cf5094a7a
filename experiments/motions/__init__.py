"""Motions of mechanisms as tables: reading, derivatives, simulation, writing.

Imports from: `ident`, `ident.calibration`, `ident.laws`, `ident.model`,
`ident.model.chains`, `ident.model.driven`.
"""
