"""Console output: tables, sentences, progress, live pictures.

Imports from: `drivers`, `experiments.methods`, `experiments.plans`, `experiments.plans.clear`,
`experiments.recording`, `experiments.report`, `ident`, `ident.arm`, `ident.calibration`,
`ident.fit`, `ident.fit.choice`, `ident.log`, `ident.model`, `ident.simulators`.
"""
