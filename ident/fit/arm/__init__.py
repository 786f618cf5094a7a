"""Fits over all joints or all runs: unknown tool, deviation between runs, inertial parameters."""
