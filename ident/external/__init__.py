"""External torque: a momentum observer with friction, the thresholds beyond which a push cannot be
friction, and their judge.

Imports from: `ident`, `ident.calibration`, `ident.fit`, `ident.laws`, `ident.log`, `ident.model`,
`ident.temperature`, `ident.views`.
"""
