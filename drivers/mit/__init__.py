"""Damiao and CubeMars AK motors, which speak MIT frames.

Imports from: `drivers`, `drivers.wire`, `drivers.wire.polled`, `ident`, `ident.model`.
"""
