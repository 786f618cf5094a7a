"""Identification of the links' inertia from the torques of all joints, together with friction.

Imports from: `ident`, `ident.fit`, `ident.fit.joint`, `ident.fit.residuals`, `ident.laws`,
`ident.log.motion`, `ident.log.reduction`, `ident.model`, `ident.model.driven`.
"""
