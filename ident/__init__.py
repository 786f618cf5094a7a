"""The model of the arm and the estimators of its friction: arrays in, arrays out; no hardware, no clock, no console."""
