"""Experiments: plans, motion, recording, foreign logs, reports and the command line."""
