"""Exports: one pure function per format, which turns a calibration into text and a list of losses.

Imports from: `ident`, `ident.backlash`, `ident.calibration`, `ident.export.c`, `ident.export.descriptions`,
`ident.fit.inertia`, `ident.laws`, `ident.memory`, `ident.model`, `ident.model.driven`, `ident.servo`, `ident.temperature`.
"""
