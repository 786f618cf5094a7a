"""Calibration of an arm: file, friction as a function of the state, feed-forward,
comparison and validation.

Imports from: `ident`, `ident.arm`, `ident.backlash`, `ident.fit`, `ident.fit.arm`,
`ident.fit.inertia`, `ident.fit.joint`, `ident.fit.residuals`, `ident.laws`, `ident.log`,
`ident.log.motion`, `ident.memory`, `ident.memory.states`, `ident.model`, `ident.model.driven`,
`ident.model.files`, `ident.ripple`, `ident.servo`, `ident.temperature`, `ident.views`.
"""
