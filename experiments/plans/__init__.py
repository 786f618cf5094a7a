"""Plans: what moves and how, as data, checked before anything moves.

Imports from: `drivers`, `drivers.wire`, `experiments`, `experiments.plans.clear`, `ident`, `ident.arm`, `ident.fit`,
`ident.laws`, `ident.log`, `ident.log.reduction`, `ident.model`, `ident.model.chains`.
"""
