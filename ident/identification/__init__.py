"""The stages of `identify`: runs chosen, reduced, fitted joint by joint, judged, written down as a calibration."""
