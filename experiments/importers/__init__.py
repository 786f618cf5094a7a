"""Import of foreign logs into run folders: one reader for each format, a column map with units,
and checks before writing.

Imports from: `drivers`, `experiments`, `experiments.importers.formats`,
`experiments.importers.ros`, `experiments.recording`, `ident`, `ident.arm`, `ident.fit`,
`ident.fit.joint`, `ident.laws`, `ident.log`, `ident.log.health`, `ident.log.motion`,
`ident.log.reduction`, `ident.model`, `ident.servo`.
"""
