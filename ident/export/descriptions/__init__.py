"""Friction in robot descriptions: URDF, MJCF, SDF and USD.

Imports from: `ident`, `ident.arm`, `ident.calibration`, `ident.export`, `ident.laws`,
`ident.model`, `ident.model.files`, `ident.ripple`.
"""
