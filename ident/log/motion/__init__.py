"""General motion of a recorded run, filtered, differentiated and reduced to points.

Imports from: `ident`, `ident.log`, `ident.model`.
"""
