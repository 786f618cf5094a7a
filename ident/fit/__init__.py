"""The fit of a friction law to points: noise model, variable projection, choice of the law, intervals, information of a plan.

Imports from: `ident`, `ident.fit.choice`, `ident.fit.joint`, `ident.laws`.
"""
