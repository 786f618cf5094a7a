"""Recorded runs and plans in formats of other software, values unchanged.

Imports from: `experiments`, `experiments.plans`, `ident`, `ident.arm`, `ident.calibration`, `ident.export`, `ident.log`.
"""
