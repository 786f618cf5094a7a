"""CiA 402 drives over CANopen.

Imports from: `drivers`, `drivers.wire`, `ident`.
"""
