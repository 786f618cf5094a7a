"""Round trips of a recorded run, paired, cut into bins of position and reduced to points.

Imports from: `ident`, `ident.log`, `ident.model`.
"""
