"""Export to a C header: friction, loads, memory, temperature, backlash, ripple, and the
observer of external torque.

Imports from: `ident`, `ident.calibration`, `ident.export`, `ident.external`, `ident.laws`,
`ident.memory`, `ident.memory.states`, `ident.model`, `ident.ripple`, `ident.temperature`.
"""
