"""The arm file, the built-in arms, and the mechanism that each of them describes.

Imports from: `ident`, `ident.model`, `ident.model.driven`, `ident.model.files`.
"""
