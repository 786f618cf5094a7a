"""Readers of model files: URDF and MJCF through MuJoCo, and mechanism TOML;
each gives a `Mechanism`.

Imports from: `ident`, `ident.laws`, `ident.model`, `ident.model.chains`.
"""
