"""Velocity from positions, for drives whose own velocity field is too coarse."""

from collections import deque

_COUNTS = 16            # of position that the window has to hold: the velocity is then right within some percent
_SHORTEST = 0.025       # s of the window, of a fast joint,
_LONGEST = 0.25         # and of a slow one


class Slope:
    """Slope of the line through the newest positions.

    The window reaches back until the joint was 16 counts away, at least 0.025 s and at most 0.25 s. The velocity lags by half of
    it; a joint at rest reads zero.

    Parameters
    ----------
    step : float
        Resolution of the position.
    """

    def __init__(self, step: float) -> None:
        self._way = _COUNTS * step
        self._points: deque[tuple[float, float]] = deque()

    def clear(self) -> None:
        """Forget what came before a pause."""
        self._points.clear()

    def add(self, t: float, q: float) -> float:
        """Velocity with this position as the newest; 0 where it is the first."""
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
