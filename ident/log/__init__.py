"""Recorded runs, read-only, and their reduction to measurements: strokes, round trips, breakaway and lowest speeds.

Imports from: `ident`, `ident.arm`, `ident.laws`, `ident.model`.
"""
