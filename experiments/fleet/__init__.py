"""Thousands of recordings: found below folders, fitted or validated by Dask,
kept as one Parquet dataset.

Imports from: `experiments`, `ident`, `ident.calibration`, `ident.fit.joint`, `ident.fleet`,
`ident.laws`, `ident.log`.
"""
