"""Readers that open log files as tables, one module for each format: text, JSON, MATLAB,
HDF5, NumPy, Parquet, torch.

Imports from: `experiments.importers`, `ident`.
"""
