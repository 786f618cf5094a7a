"""Fleets: friction of many calibrations of one arm model at reference states, what differs, and
what is normal for a joint.

Imports from: `ident`, `ident.calibration`, `ident.log`, `ident.views`.
"""
