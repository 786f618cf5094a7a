"""Experiments by name: each makes a plan from an arm."""
