"""Design of the excitation: the periodic motion of all joints with the most information
about links and friction.

Imports from: `experiments`, `experiments.plans`, `experiments.plans.clear`, `ident`, `ident.fit`,
`ident.fit.arm`, `ident.fit.inertia`, `ident.log`, `ident.log.motion`, `ident.model`.
"""
