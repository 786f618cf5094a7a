"""Recorded runs (read-only): loading, strokes, breakaway torques and lowest speeds.

Imports from: `ident`, `ident.arm`, `ident.laws`.
"""
