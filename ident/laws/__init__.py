"""Friction laws, with everything that is known about each, and estimated parameters with interval and verdict.

Imports from: `ident`.
"""
