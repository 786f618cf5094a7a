"""Plots that commands write beside their results: torques of a validation, and simulated motion.

Imports from: `experiments.report`, `ident`, `ident.calibration`, `ident.external`,
`ident.identification`, `ident.model`, `ident.simulators`, `ident.views`.
"""
