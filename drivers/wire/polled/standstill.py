"""Whether a joint that is to be held stands still, by its positions: velocities are noisy."""

import math

_SWAY = 0.0005          # rad, of slides a tenth in m, within which a joint at rest stays, or two steps of its position,
_STILL = 0.1            # s for which it has to: one that swings is at rest for moments
_CREEP, _PATIENT = 0.002, 0.5       # rad that it may go meanwhile, s after it was to be held: some velocity loops creep, or hunt


class Standstill:
    """Watches where a joint is. Times are those of the caller's clock [s].

    Parameters
    ----------
    small : float
        What thresholds in rad count in the joint's own unit.
    """

    def __init__(self, small: float) -> None:
        self._small = small
        self._held_since = math.inf         # when it was told to be held
        self._seen = self._moved = 0.0      # when the joint was seen last, and when it was last seen moving,
        self._place = math.nan              # and where

    def lead(self) -> None:
        """The joint is not to be held any more."""
        self._held_since = math.inf

    def hold(self, t: float) -> None:
        """The joint is to be held from now on, or was before."""
        self._held_since = min(self._held_since, t)

    def forget(self, t: float) -> None:
        """What was seen before a pause that ends now tells nothing."""
        self._place, self._seen, self._moved = math.nan, t, t

    def see(self, t: float, q: float, step: float) -> None:
        """Position of the joint, and the step in which it is counted."""
        self._seen = t
        sway = self._small * (_CREEP if t - self._held_since > _PATIENT else _SWAY)
        if not abs(q - self._place) <= max(sway, 2.0 * step):
            self._place, self._moved = q, t

    @property
    def reached(self) -> bool:
        """Whether the joint has stayed at its place for long enough."""
        return self._seen - self._moved > _STILL
