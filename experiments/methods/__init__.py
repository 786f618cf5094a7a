"""Experiments by name: each makes a plan from an arm.

Imports from: `drivers`, `experiments`, `experiments.plans`, `experiments.recording`, `ident`, `ident.arm`, `ident.fit`,
`ident.fit.joint`, `ident.log`, `ident.model`.
"""
