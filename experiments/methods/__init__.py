"""Experiments by name; each makes a plan for an arm.

Imports from: `drivers`, `experiments`, `experiments.excitation`, `experiments.plans`,
`experiments.plans.clear`, `experiments.recording`, `ident`, `ident.arm`, `ident.fit`,
`ident.fit.arm`, `ident.fit.joint`, `ident.log`, `ident.model`.
"""
