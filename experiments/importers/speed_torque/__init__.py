"""Published tables of speed and torque: the meaning of each column, and the
pairing of rows to round trips.

Imports from: `experiments.importers`, `experiments.importers.formats`, `ident`,
`ident.log`, `ident.log.reduction`.
"""
