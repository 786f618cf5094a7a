"""States of a memory: the path of a joint, and laws of presliding along it, for whole
motions and sample by sample.

Imports from: `ident`, `ident.laws`.
"""
