"""Fits that take all joints or all runs together: unknown tool, deviation between runs, inertial parameters."""
