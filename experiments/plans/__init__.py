"""Plans: motion as data, checked before the arm moves.

Imports from: `drivers`, `drivers.wire`, `experiments`, `experiments.plans.clear`,
`ident`, `ident.arm`, `ident.fit`, `ident.laws`, `ident.log`, `ident.log.reduction`,
`ident.model`, `ident.model.chains`.
"""
