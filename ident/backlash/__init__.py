"""Play and wind-up between motor and link.

Imports from: `ident`, `ident.fit`, `ident.fit.choice`, `ident.laws`, `ident.log`,
`ident.log.motion`, `ident.memory`, `ident.memory.states`, `ident.views`.
"""
