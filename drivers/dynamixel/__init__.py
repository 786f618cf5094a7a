"""Dynamixel X servos over Protocol 2.0.

Imports from: `drivers`, `drivers.wire`, `ident`.
"""
