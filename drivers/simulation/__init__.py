"""The simulated arm: MuJoCo physics, its drives, and the friction that is its truth.

Imports from: `drivers`, `ident`, `ident.arm`, `ident.model`, `ident.model.driven`, `ident.model.files`.
"""
