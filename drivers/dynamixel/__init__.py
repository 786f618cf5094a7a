"""Dynamixel X servos over Protocol 2.0."""
