"""Friction that depends on the temperature of the drive or gear: its Coulomb and viscous
parts change with temperature.

Imports from: `ident`, `ident.fit`, `ident.fit.choice`, `ident.laws`, `ident.memory`, `ident.views`.
"""
