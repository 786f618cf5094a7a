"""Selection of law and load for the points of one joint.

Imports from: `ident`, `ident.fit`, `ident.laws`.
"""
