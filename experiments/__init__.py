"""Experiments: plans, motion, recording, foreign logs, reports and the command line.

Imports from: `experiments.methods`, `experiments.plans`, `experiments.recording`, `experiments.report`, `ident`, `ident.arm`,
`ident.calibration`, `ident.export`, `ident.fit.joint`, `ident.log`.
"""
