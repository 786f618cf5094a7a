"""Results as scripts and notebooks see them: short texts, data frames, pictures.

Imports from: `ident`, `ident.laws`.
"""
