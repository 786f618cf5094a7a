"""Recorded runs in formats of other software, values unchanged.

Imports from: `ident`, `ident.log`.
"""
