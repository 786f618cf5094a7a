"""Tables of speed and torque, the form in which friction is published: which column is what, and rows paired to round trips.

Imports from: `experiments.importers`, `experiments.importers.formats`, `ident`, `ident.log`, `ident.log.reduction`.
"""
