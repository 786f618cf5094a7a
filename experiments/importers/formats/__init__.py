"""A module for each format of files, that opens them as tables: text, JSON, MATLAB, HDF5, NumPy, Parquet, torch.

Imports from: `experiments.importers`, `ident`.
"""
