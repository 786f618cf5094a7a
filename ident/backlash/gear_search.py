"""Search for the gear - play, stiffness, dry friction of the link, damping of the flanks - that explains the torque of a joint's motor.

A grid over the first three is the global search. Gauss-Newton steps with finite differences refine the best points of the grid.
The linear parameters of `ObservedTorque` are least squares at each gear. Intervals leave out blocks between reversals (CR3).
"""

from dataclasses import dataclass

import numpy as np

from stribeck.ident.arrays import Array
from stribeck.ident.backlash.least_squares import left_out_errors, solved
from stribeck.ident.backlash.observed import ObservedTorque
from stribeck.ident.backlash.play_data import PlayData
from stribeck.ident.backlash.two_bodies import Passage
from stribeck.ident.fit.choice.signed_ranks import excess_ranks
from stribeck.ident.fit.cluster_covariance import Intervals, cluster_covariance
from stribeck.ident.fit.group_sums import product_sums

_PLAYS = 12             # plays of the grid, besides none
_SWINGS = np.array([0.1, 0.33, 1.0])             # frequencies of link on flank in the grid, over the highest
_STIFFEST = 0.8         # highest such frequency over the cut-off of the motor's position
_SHARES = np.array([0.005, 0.03, 0.15, 0.4])      # link's friction over all friction, in the grid
_STARTS = 2             # plays of the grid that are refined
_ROUNDS = 6             # most Gauss-Newton steps
_DAMPED = np.array([1.0, 0.5, 0.2, 0.05])       # parts of a step that are tried
_ENOUGH = 3e-3          # relative decrease of the sum of squares that ends the refinement
_RATIO = 0.1, 0.02, 1.0 # damping ratio of the flanks in the grid, and its range
_SMALL = np.array([0.02, 0.05, 0.03, 0.2])      # steps of derivatives, relative; of friction: relative to all friction


@dataclass(frozen=True)
class Gear:
    """A gear that was fitted.

    Attributes
    ----------
    values : ndarray, shape (4,)
        Play [rad or m], stiffness [N·m/rad or N/m], dry friction of the link [N·m or N], damping ratio of the flanks.
    kind : int
        Kind of columns, see `ObservedTorque`.
    squares : float
        Sum of squared residuals.
    held_out : ndarray, shape (G,)
        Mean square error of each block, left out of the linear fit.
    """

    values: Array
    kind: int
    squares: float
    held_out: Array

    @property
    def rmse(self) -> float:
        """Root mean square error of left-out blocks [N·m or N]."""
        return float(np.sqrt(np.mean(self.held_out)))

    def ahead_of(self, other: "Gear") -> float:
        """Return by how many standard errors left-out blocks are predicted better than by another gear."""
        return excess_ranks(self.held_out, other.held_out)


class GearSearch:
    """Fits of gears to the samples of a joint.

    Parameters
    ----------
    data : PlayData
    coulomb : float
        Dry friction of motor and link together [N·m or N].
    stiffness : float, optional
        Known stiffness between motor and link [N·m/rad or N/m].
    """

    def __init__(self, data: PlayData, coulomb: float, stiffness: float | None = None) -> None:
        self.data, self._coulomb, self._known = data, coulomb, stiffness
        self._seen = ObservedTorque(data)
        self._order = np.argsort(self._seen.blocks, kind="stable")
        self._groups = self._seen.blocks[self._order]
        self._counts = np.bincount(self._groups).astype(float)
        self.stiffest = float(np.median(data.inertia)) * (2.0 * np.pi * _STIFFEST * data.fast) ** 2

    def search(self) -> tuple[Gear, Gear]:
        """Return the best gear with play, and the best gear without."""
        data = self.data
        shortest = min(max(2.0 * data.resolution, 1e-4 * data.span), 0.1 * data.longest)
        plays = np.append(0.0, np.geomspace(shortest, data.longest, _PLAYS))
        stiff = self.stiffest * _SWINGS**2 if self._known is None else np.array([self._known])
        grid = np.array([(b, K, share * self._coulomb, _RATIO[0]) for b in plays for K in stiff for share in _SHARES])
        least = self._fits(grid)[0].min(axis=1)
        near = [int(min(np.flatnonzero(grid[:, 0] == b), key=lambda k: float(least[k]))) for b in plays]
        chosen = sorted(near[1:], key=lambda k: float(least[k]))[:_STARTS]
        return min((self._refined(grid[k]) for k in chosen), key=lambda one: one.squares), self._refined(grid[near[0]])

    def intervals(self, gear: Gear) -> tuple[Intervals, tuple[int, ...]]:
        """Return the covariance of the gear's parameters, and which of the four they are."""
        free, columns, residual = self._linear(gear.values, gear.kind)
        return cluster_covariance(columns, residual, self._seen.blocks), free

    def passage(self, gear: Gear) -> Passage:
        """Return the link behind a gear."""
        return self.data.follow(*gear.values[:, None])

    def _fits(self, gears: Array) -> tuple[Array, list[list[Array]]]:
        """Return the sum of squares of each gear and kind, shape (C, H), and the products of each block."""
        sums = [[product_sums(one[self._order], self._groups) for one in own] for own in self._seen.rows(
            self.data.follow(*gears.T))]
        return np.array([[solved(one.sum(axis=0))[0] for one in own] for own in sums]), sums

    def _refined(self, start: Array) -> Gear:
        """Return the gear of the least sum of squares near a start."""
        gear, before = start, np.inf
        errors, sums = self._fits(gear[None])
        for _ in range(_ROUNDS):
            kind = int(np.argmin(errors[0]))
            if not errors[0, kind] < (1.0 - _ENOUGH) * before:
                break
            before = float(errors[0, kind])
            free, columns, residual = self._linear(gear, kind)
            size = np.sqrt(np.mean(columns**2, axis=0)) + 1e-300
            step = np.linalg.lstsq(columns / size, residual, rcond=1e-10)[0] / size
            tried = np.tile(gear, (len(_DAMPED) + 1, 1))
            for k, change in zip(free, step, strict=False):
                tried[1:, k] = self._within(k, gear, change * _DAMPED)
            every, products = self._fits(tried)
            best = int(np.argmin(every.min(axis=1)))
            gear, errors, sums = tried[best], every[best:best + 1], products[best:best + 1]
        kind = int(np.argmin(errors[0]))
        return Gear(gear, kind, float(errors[0, kind]), left_out_errors(sums[0][kind], self._counts))

    def _within(self, k: int, gear: Array, change: Array) -> Array:
        """Return changed values of a parameter within its range; play and stiffness change at most by a factor of 2."""
        if k == 2:
            return np.asarray(np.clip(gear[2] + change, 0.0, self._coulomb))
        value = gear[k] * np.exp(np.clip(change / gear[k], -np.log(2.0), np.log(2.0)))
        return np.asarray(np.minimum(value, self.stiffest) if k == 1 else np.clip(value, *_RATIO[1:]) if k == 3 else value)

    def _linear(self, gear: Array, kind: int) -> tuple[tuple[int, ...], Array, Array]:
        """Return the free parameters of a gear, the columns of these and of the linear parameters, and the residual."""
        step = _SMALL * np.array([gear[0], gear[1], max(self._coulomb, 1e-9), gear[3]])
        free = tuple(k for k in range(4) if step[k] > 0.0 and not (k == 1 and self._known is not None))
        moved = np.array([gear, *(gear + sign * step[k] * np.eye(4)[k] for k in free for sign in (1.0, -1.0))])
        moved[:, 2] = np.maximum(moved[:, 2], 0.0)
        rows = [own[kind] for own in self._seen.rows(self.data.follow(*moved.T))]
        beta = np.append(-solved(rows[0].T @ rows[0])[1], 1.0)
        slopes = [((rows[2 + 2 * i] - rows[1 + 2 * i]) @ beta) / (moved[1 + 2 * i, k] - moved[2 + 2 * i, k])
                  for i, k in enumerate(free)]
        return free, np.column_stack((*slopes, rows[0][:, :-1])), rows[0] @ beta


def crossings(passage: Passage, used: np.ndarray) -> np.ndarray:
    """Return the number of samples of each crossing from one flank to the other, shape (X,)."""
    flank = passage.touching[:, 0]
    at = np.flatnonzero(flank)
    turns = np.flatnonzero(flank[at][1:] != flank[at][:-1])
    return np.asarray([at[k + 1] - at[k] for k in turns if used[at[k + 1]]], dtype=int)
