"""Lack of fit: tests whether residuals vary beyond noise, with which variable, how much,
and the effect on intervals.

Imports from: `ident`, `ident.fit`, `ident.laws`.
"""
