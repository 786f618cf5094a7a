"""Derivatives of torques and loads of all joints by the unknowns y that they share, along a log."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from stribeck.ident.arrays import Array
from stribeck.ident.fit.inertia.joint_information import Friction
from stribeck.ident.fit.inertia.shared import Shared
from stribeck.ident.log.motion.filtered_motion import Log
from stribeck.ident.log.motion.motion_points import Motion
from stribeck.ident.model.mechanism import Mechanism

# step in periods of the bandwidth, and maximum number, of samples with derivatives of loads
_EVERY, _MOST = 0.4, 6000
_BLOCK = 8192  # samples whose regressor is held in memory together


def slopes_of(
    log: Log, mechanism: Mechanism, shared: Shared, motions: Mapping[str, Motion]
) -> dict[str, Array]:
    """Derivative of each joint's torque by y at its points, shape (N, k)."""
    seen = {name: motion.seen.tocsc() for name, motion in motions.items()}
    out = {name: np.zeros((len(motion.points), shared.count)) for name, motion in motions.items()}
    first = {
        name: np.cumsum([0, *(rows.stop - rows.start for _, rows in motion.cuts)])
        for name, motion in motions.items()
    }
    for k, part in enumerate(log.stretches):
        for start in range(0, len(part.t), _BLOCK):
            stop = min(start + _BLOCK, len(part.t))
            q, dq, ddq = (values[start:stop] for values in part.links)
            slopes = shared.slopes(
                mechanism, q, dq, ddq, (part.dq[start:stop], part.ddq[start:stop])
            )
            for name, motion in motions.items():
                j = mechanism.names.index(name)
                for begin, (stretch, rows) in zip(first[name], motion.cuts, strict=False):
                    low, high = max(start, rows.start), min(stop, rows.stop)
                    if stretch == k and low < high:
                        own = slice(begin + low - rows.start, begin + high - rows.start)
                        out[name] += seen[name][:, own] @ slopes[low - start : high - start, j]
    return {name: shared.of_unknowns(values) for name, values in out.items()}


@dataclass(frozen=True)
class LoadSlopes:
    """Derivatives by y of all joints' loads, at every `step`-th sample of each stretch of a log.

    Attributes
    ----------
    step : int
        Distance in samples.
    first : ndarray of int, shape (stretches,)
        Row of the first sample of each stretch.
    slopes : dict of str to ndarray, shape (S, n, k)
        Derivatives, by load.
    """

    step: int
    first: np.ndarray
    slopes: Mapping[str, Array]

    @classmethod
    def of(cls, log: Log, mechanism: Mechanism, shared: Shared) -> "LoadSlopes":
        """Compute the derivatives about a model."""
        step = max(
            1,
            round(_EVERY / (log.bandwidth * log.dt)),
            sum(len(part.t) for part in log.stretches) // _MOST,
        )
        parts = [
            [values[::step] for values in of_all]
            for of_all in zip(*(part.links for part in log.stretches), strict=True)
        ]
        slopes = shared.load_slopes(mechanism, *map(np.concatenate, parts))
        return cls(step, np.cumsum([0, *(len(part) for part in parts[0][:-1])]), slopes)

    def friction(self, motion: Motion, joint: int, friction: Friction) -> Array:
        """Derivative of a joint's friction by y through the load that it grows with, at
        its points, shape (N, k).
        """
        sample = np.concatenate([np.arange(rows.start, rows.stop) for _, rows in motion.cuts])[
            motion.points
        ]
        stretch = np.repeat(
            [k for k, _ in motion.cuts], [rows.stop - rows.start for _, rows in motion.cuts]
        )[motion.points]
        growth = motion.view(friction.growth(motion.speed, motion.loads[friction.load]))
        load_slope = self.slopes[friction.load][self.first[stretch] + sample // self.step, joint]
        return np.asarray(growth[:, None] * load_slope)
