"""Periodic motion of all joints that tells most of links and friction: its design, and what it will tell.

Imports from: `experiments`, `experiments.plans`, `experiments.plans.clear`, `ident`, `ident.fit`, `ident.fit.arm`,
`ident.fit.inertia`, `ident.log`, `ident.log.motion`, `ident.model`.
"""
