"""Calibrated friction inside simulators.

Imports from: `ident`, `ident.calibration`, `ident.export.descriptions`, `ident.log`,
`ident.log.motion`, `ident.memory`, `ident.model`, `ident.model.files`, `ident.ripple`,
`ident.servo`, `ident.temperature`, `ident.views`.
"""
