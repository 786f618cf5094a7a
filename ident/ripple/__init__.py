"""Ripple: torque that waves with the position of a joint, as harmonics of motor turn and
gear mesh, with intervals.

Imports from: `ident`, `ident.arm`, `ident.laws`, `ident.log`, `ident.log.motion`,
`ident.log.reduction`, `ident.model`.
"""
