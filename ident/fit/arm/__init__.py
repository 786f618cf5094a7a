"""Fits over all joints or all runs: unknown tool, deviation between runs, inertial parameters,
expected information of a motion.

Imports from: `ident`, `ident.arm`, `ident.fit`, `ident.fit.inertia`, `ident.fit.joint`,
`ident.laws`, `ident.log`, `ident.log.reduction`, `ident.model`, `ident.model.maximal`.
"""
