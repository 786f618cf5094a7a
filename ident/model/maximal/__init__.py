"""Maximal coordinates: every body has a position and a quaternion of its own, and
joints are constraints (P1).

Imports from: `ident`, `ident.model`.
"""
