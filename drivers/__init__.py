"""Arms behind one interface: simulated arms, drives on a bus, and recordings.

Imports from: `drivers.simulation`, `drivers.wire`, `ident`, `ident.arm`, `ident.log`,
`ident.model`, `ident.model.files`.
"""
