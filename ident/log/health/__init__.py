"""Health checks of a recorded run: each finding names the joint, the time and
the consequence for the fit.

Imports from: `ident`, `ident.arm`, `ident.log`, `ident.log.reduction`, `ident.model`.
"""
