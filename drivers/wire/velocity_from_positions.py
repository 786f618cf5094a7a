"""Velocity from positions, for drives whose own velocity field is too coarse."""

from collections import deque

# counts of position that the window must span: the velocity is then right within some percent
_COUNTS = 16
_SHORTEST = 0.025  # s, length of the window for a fast joint
_LONGEST = 0.25  # s, length of the window for a slow joint


class Slope:
    """Velocity as the slope of a line through the newest positions.

    The window reaches back until the joint was 16 counts away, at least 0.025 s and at most 0.25 s.
    The velocity lags by half the window; a joint at rest has velocity zero.

    Parameters
    ----------
    step : float
        Resolution of the position.
    """

    def __init__(self, step: float) -> None:
        self._way = _COUNTS * step
        self._points: deque[tuple[float, float]] = deque()

    def clear(self) -> None:
        """Forget all positions, for example after a pause."""
        self._points.clear()

    def add(self, t: float, q: float) -> float:
        """Add the newest position and return the velocity; 0 for the first position."""
        points = self._points
        points.append((t, q))
        while points[0][0] < t - _LONGEST:
            points.popleft()
        n, st, sq, stt, stq = 0, 0.0, 0.0, 0.0, 0.0
        for then, there in reversed(points):
            dt, dq = then - t, there - q
            n, st, sq, stt, stq = n + 1, st + dt, sq + dq, stt + dt * dt, stq + dt * dq
            if abs(dq) >= self._way and dt <= -_SHORTEST:
                break
        spread = n * stt - st * st
        return (n * stq - st * sq) / spread if spread > 0.0 else 0.0
