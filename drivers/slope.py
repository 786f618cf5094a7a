"""Velocity from positions, for drives whose own velocity field is too coarse."""

from collections import deque

_COUNTS = 16        # of position that the window has to hold: the velocity is then right within some percent
_LONGEST = 0.25     # s of the window of a slow joint


class Slope:
    """Slope of the line through the newest positions.

    The window reaches back until the joint was 16 counts away, at most 0.25 s: it lags by half of that way, 8 counts, and a joint
    at rest reads zero.

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
            if n > 2 and abs(dq) >= self._way:
                break
        spread = n * stt - st * st
        return (n * stq - st * sq) / spread if spread > 0.0 else 0.0
