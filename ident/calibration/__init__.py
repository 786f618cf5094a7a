"""The answer: the calibration as a file, as a function of the state of the arm, compared and validated."""
