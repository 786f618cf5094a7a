"""Detects from positions whether a joint that is being held stands still;
velocities are too noisy for that.
"""

import math

# rad (slides: a tenth in m), or two position steps, within which a joint at rest stays
_SWAY = 0.0005
# s for which the joint must stay there: a swinging joint is at rest for moments
_STILL = 0.1
# rad instead of _SWAY, and s after the order to hold when it begins: some loops creep
_CREEP, _PATIENT = 0.002, 0.5


class Standstill:
    """Observes the position of a joint. All times are on the caller's clock [s].

    Parameters
    ----------
    small : float
        Factor from thresholds in rad to the joint's own unit.
    """

    def __init__(self, small: float) -> None:
        self._small = small
        self._held_since = math.inf  # time of the order to hold
        # times of the last position, and of the last one that showed motion
        self._seen = self._moved = 0.0
        self._place = math.nan  # position at the time `_moved`

    def lead(self) -> None:
        """The joint follows set-points from now on."""
        self._held_since = math.inf

    def hold(self, t: float) -> None:
        """The joint is held from now on, or from an earlier call on."""
        self._held_since = min(self._held_since, t)

    def forget(self, t: float) -> None:
        """Forget the positions before a pause that ends now."""
        self._place, self._seen, self._moved = math.nan, t, t

    def see(self, t: float, q: float, step: float) -> None:
        """Take the position of the joint at time t; `step` is the resolution of positions."""
        self._seen = t
        sway = self._small * (_CREEP if t - self._held_since > _PATIENT else _SWAY)
        if not abs(q - self._place) <= max(sway, 2.0 * step):
            self._place, self._moved = q, t

    @property
    def reached(self) -> bool:
        """Whether the joint has stayed in its place for long enough."""
        return self._seen - self._moved > _STILL
