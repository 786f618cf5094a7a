"""The commands for thousands of recordings.

Imports from: `experiments.cli`, `experiments.cli.commands`, `experiments.cli.screen`,
`experiments.fleet`, `ident`, `ident.fit.joint`.
"""
