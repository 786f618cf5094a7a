"""Lack of fit: whether residuals hold structure that the fitted law cannot be the cause of, where, how large, and what follows.

Imports from: `ident`, `ident.fit`, `ident.laws`.
"""
