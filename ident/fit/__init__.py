"""The fit of a friction law to points: noise model, variable projection, choice of the law, intervals, lack of fit, plans' worth.

Imports from: `ident`, `ident.fit.choice`, `ident.fit.joint`, `ident.fit.residuals`, `ident.laws`, `ident.views`.
"""
