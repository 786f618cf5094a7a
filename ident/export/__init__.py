"""Exports: one pure function a format, from a calibration to text and what the format cannot express."""
