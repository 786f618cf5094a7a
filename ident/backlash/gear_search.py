"""Search for the gear - play, stiffness, dry friction of the link, damping of the flanks - that explains the torque of a joint's motor.

A grid over the first three is the global search. Gauss-Newton steps with finite differences refine the best points of the grid.
The columns of the motor are least squares at each gear. Intervals leave out blocks between reversals (CR3).
"""

from dataclasses import dataclass, replace

import numpy as np

from stribeck.ident.arrays import Array
from stribeck.ident.backlash.least_squares import left_out_errors, solved
from stribeck.ident.backlash.motor_columns import KINDS, motor_columns, of_kind
from stribeck.ident.backlash.play_data import PlayData
from stribeck.ident.backlash.two_bodies import Passage
from stribeck.ident.fit.choice.signed_ranks import excess_ranks
from stribeck.ident.fit.cluster_covariance import Intervals, cluster_covariance
from stribeck.ident.fit.group_sums import product_sums

_PLAYS = 12             # plays of the grid, besides none
_SWINGS = np.array([0.1, 0.33, 1.0])             # frequencies of link on flank in the grid, over the highest
_STIFFEST = 0.8         # highest such frequency over the cut-off of the motor's position
_SHARES = np.array([0.005, 0.03, 0.15, 0.4])      # link's friction over all friction, in the grid
_STARTS = 3             # gears of the grid that are refined
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
        Presliding of the motor, see `of_kind`.
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
        load = data.load + data.filtered(data.inertia) * data.motion[1]
        self._fixed = np.column_stack((load[data.used], motor_columns(data)))
        self._gram = self._fixed.T @ self._fixed
        self.stiffest = float(np.median(data.inertia)) * (2.0 * np.pi * _STIFFEST * data.fast) ** 2

    def search(self) -> tuple[Gear, Gear]:
        """Return the best gear with play, and the best gear without."""
        data = self.data
        shortest = min(max(2.0 * data.resolution, 1e-4 * data.span), 0.1 * data.longest)
        plays = np.append(0.0, np.geomspace(shortest, data.longest, _PLAYS))
        stiff = self.stiffest * _SWINGS**2 if self._known is None else np.array([self._known])
        grid = np.array([(b, K, share * self._coulomb, _RATIO[0]) for b in plays for K in stiff for share in _SHARES])
        least = self._errors(grid)[0].min(axis=1)
        near = [int(min(np.flatnonzero(grid[:, 0] == b), key=lambda k: float(least[k]))) for b in plays]
        chosen = sorted(near[1:], key=lambda k: float(least[k]))[:_STARTS]
        loose = min((self._refined(grid[k]) for k in chosen), key=lambda one: one.squares)
        closed = np.flatnonzero(grid[:, 0] == 0.0)
        tight = [self._refined(grid[k]) for k in closed[np.argsort(least[closed])[:_STARTS]]]
        return loose, min(tight, key=lambda one: one.squares)

    def held_out(self, gear: Gear) -> Array:
        """Return the mean square error of each block, left out of the linear fit, shape (G,)."""
        rows = np.column_stack((self._fixed[:, of_kind(gear.kind, 1)], self._fixed[:, 0], self._targets(gear.values[None])))
        order = np.argsort(self.data.blocks, kind="stable")
        return left_out_errors(product_sums(rows[order], self.data.blocks[order]), np.bincount(self.data.blocks))

    def intervals(self, gear: Gear) -> tuple[Intervals, tuple[int, ...]]:
        """Return the covariance of the gear's parameters, and which of the four they are."""
        free, columns, residual = self._linear(gear.values, gear.kind)
        return cluster_covariance(columns, residual, self.data.blocks), free

    def passage(self, gear: Gear) -> Passage:
        """Return the link behind a gear."""
        return self.data.follow(*gear.values[:, None])

    def _targets(self, gears: Array) -> Array:
        """Return the torque that the motor does not pass to the link, shape (M, C)."""
        used = self.data.used
        return np.asarray(self.data.torque[used][:, None] - self.data.filtered(self.data.follow(*gears.T).torque)[used])

    def _errors(self, gears: Array) -> tuple[Array, Array]:
        """Return the sum of squares of each gear and kind, shape (C, KINDS), and the targets of the gears."""
        targets = self._targets(gears)
        products, squares = self._fixed.T @ targets, np.sum(targets**2, axis=0)
        errors = np.empty((len(gears), KINDS))
        for kind in range(KINDS):
            keep = [0, *of_kind(kind, 1)]
            scale = np.sqrt(np.maximum(np.diag(self._gram)[keep], 1e-300))
            A, y = self._gram[np.ix_(keep, keep)] / np.outer(scale, scale), products[keep] / scale[:, None]
            beta = np.linalg.solve(A + 1e-9 * np.eye(len(A)), y)
            errors[:, kind] = squares - np.sum(beta * (2.0 * y - A @ beta), axis=0)
        return errors, targets

    def _refined(self, start: Array) -> Gear:
        """Return the gear of the least sum of squares near a start."""
        gear, before = start, np.inf
        errors = self._errors(gear[None])[0][0]
        for _ in range(_ROUNDS):
            if not errors.min() < (1.0 - _ENOUGH) * before:
                break
            before = float(errors.min())
            free, columns, residual = self._linear(gear, int(np.argmin(errors)))
            size = np.sqrt(np.mean(columns**2, axis=0)) + 1e-300
            step = np.linalg.lstsq(columns / size, residual, rcond=1e-10)[0] / size
            tried = np.tile(gear, (len(_DAMPED) + 1, 1))
            for k, change in zip(free, step, strict=False):
                tried[1:, k] = self._within(k, gear, change * _DAMPED)
            every = self._errors(tried)[0]
            best = int(np.argmin(every.min(axis=1)))
            gear, errors = tried[best], every[best]
        found = Gear(gear, int(np.argmin(errors)), float(errors.min()), np.empty(0))
        return replace(found, held_out=self.held_out(found))

    def _within(self, k: int, gear: Array, change: Array) -> Array:
        """Return changed values of a parameter within its range; play and stiffness change at most by a factor of 2."""
        if k == 2:
            return np.asarray(np.clip(gear[2] + change, _SHARES[0] * self._coulomb, self._coulomb))
        value = gear[k] * np.exp(np.clip(change / gear[k], -np.log(2.0), np.log(2.0)))
        return np.asarray(np.minimum(value, self.stiffest) if k == 1 else np.clip(value, *_RATIO[1:]) if k == 3 else value)

    def _linear(self, gear: Array, kind: int) -> tuple[tuple[int, ...], Array, Array]:
        """Return the free parameters of a gear, the columns of these and of the linear parameters, and the residual."""
        step = _SMALL * np.array([gear[0], gear[1], max(self._coulomb, 1e-9), gear[3]])
        free = tuple(k for k in range(4) if step[k] > 0.0 and not (k == 1 and self._known is not None))
        moved = np.array([gear, *(gear + sign * step[k] * np.eye(4)[k] for k in free for sign in (1.0, -1.0))])
        moved[:, 2] = np.maximum(moved[:, 2], 0.5 * _SHARES[0] * self._coulomb)
        targets = self._targets(moved)
        fixed = self._fixed[:, [0, *of_kind(kind, 1)]]
        slopes = [(targets[:, 2 + 2 * i] - targets[:, 1 + 2 * i]) / (moved[1 + 2 * i, k] - moved[2 + 2 * i, k])
                  for i, k in enumerate(free)]
        rows = np.column_stack((fixed, targets[:, 0]))
        return free, np.column_stack((*slopes, fixed)), targets[:, 0] - fixed @ solved(rows.T @ rows)[1]


def crossings(passage: Passage, used: np.ndarray) -> np.ndarray:
    """Return the number of samples of each crossing from one flank to the other, shape (X,)."""
    flank = passage.touching[:, 0]
    at = np.flatnonzero(flank)
    turns = np.flatnonzero(flank[at][1:] != flank[at][:-1])
    return np.asarray([at[k + 1] - at[k] for k in turns if used[at[k + 1]]], dtype=int)
