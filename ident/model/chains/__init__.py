"""Closed kinematic chains: loops of a mechanism that are closed by cut joints.

Imports from: `ident`, `ident.model`.
"""
