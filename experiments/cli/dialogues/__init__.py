"""What `fit` and `import` ask and say about the columns of a file.

Imports from: `drivers`, `experiments`, `experiments.cli`, `experiments.cli.screen`,
`experiments.importers`, `experiments.importers.speed_torque`, `experiments.recording`, `ident`,
`ident.arm`, `ident.fit.joint`, `ident.log`, `ident.model`, `ident.servo`.
"""
