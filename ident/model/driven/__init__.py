"""Mechanisms with friction in their joints: driving torques from motion, and
motion from driving torques.

Imports from: `ident`, `ident.laws`, `ident.model`, `ident.model.chains`.
"""
