"""ODrive axes over CAN Simple.

Imports from: `drivers.wire`, `drivers.wire.polled`.
"""
