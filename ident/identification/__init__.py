"""The stages of `identify`: runs chosen, reduced, fitted joint by joint, judged, written down as a calibration.

Imports from: `ident`, `ident.arm`, `ident.calibration`, `ident.fit`, `ident.fit.arm`, `ident.fit.inertia`, `ident.fit.joint`,
`ident.laws`, `ident.log`, `ident.log.health`, `ident.log.motion`, `ident.log.reduction`, `ident.model`.
"""
