"""The model of the arm and the estimators of its friction: arrays in, arrays out; no
hardware, no clock, no console.

Imports from: `ident.calibration`, `ident.external`, `ident.fit.joint`, `ident.identification`,
`ident.log`, `ident.model`.
"""
