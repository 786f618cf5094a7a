"""What pages show interactively: points and figures of joints, comparisons, fleets and validations.

Imports from: `experiments.report`, `experiments.report.frame`, `ident`, `ident.laws`, `ident.views`.
"""
