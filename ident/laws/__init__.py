"""Friction laws with their properties, and estimated parameters with interval and verdict.

Imports from: `ident`.
"""
