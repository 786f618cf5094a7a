"""Damiao and CubeMars AK motors, which use MIT frames.

Imports from: `drivers`, `drivers.wire`, `drivers.wire.polled`, `ident`, `ident.model`.
"""
