"""Fit of one joint: friction law, gravity check, difference between the directions, and advice.

Imports from: `ident`, `ident.fit`, `ident.fit.choice`, `ident.fit.residuals`, `ident.laws`,
`ident.log`, `ident.log.health`, `ident.log.motion`, `ident.log.reduction`, `ident.model`.
"""
