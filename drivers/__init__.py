"""Arms: whatever has joints that can be stepped, simulated, on a bus, or recorded.

Imports from: `drivers.simulation`, `drivers.wire`, `ident`, `ident.arm`, `ident.log`, `ident.model`, `ident.model.files`.
"""
