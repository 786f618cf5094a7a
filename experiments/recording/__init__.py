"""Recording: drive an arm along a plan and write a run folder; a campaign is a folder of runs.

Imports from: `drivers`, `drivers.wire`, `experiments`, `experiments.plans`,
`experiments.plans.clear`, `ident`, `ident.arm`, `ident.fit.arm`, `ident.log`, `ident.model`.
"""
