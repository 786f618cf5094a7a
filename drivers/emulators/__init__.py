"""Emulators: the simulated arm behind the protocols of real drives, connected
through a real bus or line.

Imports from: `drivers`, `drivers.simulation`, `drivers.wire`, `ident`, `ident.arm`.
"""
