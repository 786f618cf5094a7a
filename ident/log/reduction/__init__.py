"""Reduction of a recorded run to points: pairing of strokes to round trips, and position bins.

Imports from: `ident`, `ident.log`, `ident.model`.
"""
