"""The stages of `identify`: choose runs, reduce them, fit joint by joint, judge the
fits, make the calibration.

Imports from: `ident`, `ident.arm`, `ident.backlash`, `ident.calibration`, `ident.fit`,
`ident.fit.arm`, `ident.fit.inertia`, `ident.fit.joint`, `ident.laws`, `ident.log`,
`ident.log.health`, `ident.log.motion`, `ident.log.reduction`, `ident.memory`,
`ident.memory.states`, `ident.model`, `ident.ripple`, `ident.servo`, `ident.temperature`.
"""
