"""The command line: a command parses, calls, prints.

Imports from: `drivers`, `experiments`, `experiments.cli.commands`, `experiments.cli.fleet`,
`experiments.cli.screen`, `experiments.plans`, `experiments.recording`, `ident`,
`ident.arm`, `ident.model`.
"""
