"""Collision checks of paths: workspace box, shapes of the model, and singular postures.

Imports from: `ident`, `ident.arm`, `ident.model`, `ident.model.files`.
"""
