"""Lack of fit: whether residuals show what noise cannot be the cause of, over which variable, how large, and what follows.

Imports from: `ident`, `ident.fit`, `ident.laws`.
"""
