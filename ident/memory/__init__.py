"""Friction with memory: what happens at and after a reversal, before the joint
slides steadily (presliding).

Imports from: `ident`, `ident.fit`, `ident.fit.choice`, `ident.laws`, `ident.log`,
`ident.log.motion`, `ident.memory.states`, `ident.ripple`, `ident.views`.
"""
