"""Experiments: plans, motion, recording, import of logs, reports and the command line.

Imports from: `drivers`, `experiments.arm_files`, `experiments.exporters`,
`experiments.importers.speed_torque`, `experiments.methods`, `experiments.plans`,
`experiments.recording`, `experiments.report`, `experiments.report.plots`, `ident`, `ident.arm`,
`ident.calibration`, `ident.export`, `ident.external`, `ident.fit.arm`, `ident.fit.joint`,
`ident.identification`, `ident.laws`, `ident.log`, `ident.log.reduction`, `ident.simulators`.
"""
