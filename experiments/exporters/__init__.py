"""Export of recorded runs and plans to formats of other software, with unchanged values.

Imports from: `experiments`, `experiments.plans`, `ident`, `ident.arm`, `ident.calibration`,
`ident.export`, `ident.log`.
"""
