"""Ways that keep clear: of the workspace's box, of shapes that could touch, and of singular postures.

Imports from: `ident`, `ident.arm`, `ident.model`, `ident.model.files`.
"""
