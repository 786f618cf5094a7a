"""What pages show interactively: points and figures of joints, comparisons, fleets and validations.

Imports from: `experiments.report`, `experiments.report.fleets`, `experiments.report.frame`,
`ident`, `ident.calibration`, `ident.external`, `ident.fleet`, `ident.laws`, `ident.log`,
`ident.simulators`, `ident.views`.
"""
