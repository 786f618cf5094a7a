"""Experiments: plans, motion, recording, and the main job."""
