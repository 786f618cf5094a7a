"""Recorded runs in formats of other software, values unchanged."""
