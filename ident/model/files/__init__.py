"""Model files, read to a mechanism: URDF and MJCF through MuJoCo, and mechanism TOML.

Imports from: `ident`, `ident.laws`, `ident.model`, `ident.model.chains`.
"""
