"""Reports: HTML page, figures, tables, and text for results.

Imports from: `experiments.report.frame`, `experiments.report.pages`, `ident`, `ident.calibration`,
`ident.export`, `ident.fit`, `ident.fit.inertia`, `ident.fit.joint`, `ident.laws`, `ident.log`,
`ident.log.reduction`, `ident.memory`, `ident.memory.states`, `ident.model`, `ident.ripple`,
`ident.simulators`, `ident.views`.
"""
