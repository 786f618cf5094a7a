"""Generation of arm files from models.

Imports from: `experiments.recording`, `ident`, `ident.arm`, `ident.export.descriptions`,
`ident.log`, `ident.model`, `ident.model.chains`, `ident.model.files`.
"""
