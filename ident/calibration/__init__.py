"""The calibration of an arm: its file, friction as a function of the state, feed-forward, comparison and validation."""
