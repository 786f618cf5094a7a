"""Fleets in words, as tables and as plain data.

Imports from: `experiments.report`, `ident`, `ident.fleet`.
"""
