"""Exports: one pure function per format, which turns a calibration into text and a list of losses.

Imports from: `ident`, `ident.arm`, `ident.backlash`, `ident.calibration`, `ident.export.c`, `ident.fit.inertia`, `ident.laws`,
`ident.memory`, `ident.model`, `ident.model.driven`, `ident.model.files`, `ident.ripple`, `ident.temperature`.
"""
