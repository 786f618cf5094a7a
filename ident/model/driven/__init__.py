"""Mechanisms with friction: driving torques from motion, and motion from driving torques."""
