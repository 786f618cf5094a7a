"""Exports: one pure function a format, from a calibration to text and what the format cannot express.

Imports from: `ident`, `ident.arm`, `ident.calibration`, `ident.fit.inertia`, `ident.laws`, `ident.model`,
`ident.model.driven`, `ident.model.files`.
"""
