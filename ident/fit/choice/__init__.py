"""The competition of laws and loads for the points of one joint.

Imports from: `ident`, `ident.fit`, `ident.laws`.
"""
