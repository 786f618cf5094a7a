"""The commands, a module for each group.

Imports from: `drivers`, `drivers.emulators`, `drivers.wire`, `experiments`,
`experiments.arm_files`, `experiments.cli`, `experiments.cli.dialogues`, `experiments.cli.screen`,
`experiments.excitation`, `experiments.exporters`, `experiments.fleet`, `experiments.importers`,
`experiments.library`, `experiments.methods`, `experiments.motions`, `experiments.plans`,
`experiments.recording`, `experiments.report`, `experiments.report.fleets`,
`experiments.report.pages`, `experiments.report.plots`, `ident`, `ident.arm`, `ident.calibration`,
`ident.export`, `ident.external`, `ident.fit.joint`, `ident.fleet`, `ident.log`, `ident.log.health`,
`ident.model`, `ident.model.driven`, `ident.model.files`, `ident.servo`, `ident.simulators`.
"""
