"""The simulated arm: MuJoCo physics, its drives, and its true friction.

Imports from: `drivers`, `ident`, `ident.arm`, `ident.model`,
`ident.model.driven`, `ident.model.files`.
"""
