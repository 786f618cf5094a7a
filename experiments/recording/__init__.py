"""Recording: an arm follows a plan into a run folder; a campaign is a folder of runs.

Imports from: `drivers`, `drivers.wire`, `experiments`, `experiments.plans`, `experiments.plans.clear`, `ident`,
`ident.arm`, `ident.fit.arm`, `ident.log`, `ident.model`.
"""
