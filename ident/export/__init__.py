"""Exports: one pure function per format, which turns a calibration into text, or a
folder, and a list of losses.

Imports from: `ident`, `ident.backlash`, `ident.calibration`, `ident.export.c`,
`ident.export.descriptions`, `ident.export.ros2`, `ident.fit.inertia`, `ident.laws`, `ident.memory`,
`ident.model`, `ident.model.driven`, `ident.ripple`, `ident.servo`, `ident.temperature`.
"""
