"""Friction of servos that report positions only: the motion that their commands cause, simulated
joint by joint, is fitted.

Imports from: `ident`, `ident.laws`, `ident.log`, `ident.log.motion`, `ident.model`.
"""
