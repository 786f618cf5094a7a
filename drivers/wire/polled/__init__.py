"""Drives on a CAN bus that answer every frame: the thread that sends also reads.

Imports from: `drivers`, `drivers.wire`.
"""
