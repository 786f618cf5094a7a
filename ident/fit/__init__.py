"""Fit of a friction law to points: noise model, variable projection, choice of the law,
intervals, and expected precision.

Imports from: `ident`, `ident.fit.choice`, `ident.fit.joint`, `ident.fit.residuals`,
`ident.laws`, `ident.views`.
"""
