"""General motion of a recorded run: filtering, differentiation and reduction to points.

Imports from: `ident`, `ident.log`, `ident.model`.
"""
