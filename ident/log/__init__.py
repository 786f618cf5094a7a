"""Recorded runs, read-only, and what was measured in them: strokes, round trips, points of general motion."""
