"""Damiao and CubeMars AK motors, which speak MIT frames."""
