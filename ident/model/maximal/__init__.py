"""Maximal coordinates (P1): every body with its own position and quaternion, joints as constraints."""
