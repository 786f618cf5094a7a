"""Emulators: the simulated arm behind the protocols of real drives, each at the other end of a real bus.

Imports from: `drivers`, `drivers.simulation`, `ident`, `ident.arm`.
"""
