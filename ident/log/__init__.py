"""Recorded runs, read-only: strokes, breakaway torques and lowest speeds, and what they need.

Imports from: `ident`, `ident.arm`, `ident.laws`.
"""
