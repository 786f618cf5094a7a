"""Search for the gear - play, stiffness, dry friction of the link, damping of the flanks - that
explains the torque of a motor.

A grid over the first three, on slow signals, is the global search. Gauss-Newton steps with finite
differences refine its best points. The columns of the motor are least squares at each gear.
Intervals leave out blocks between reversals (CR3).
"""

from collections.abc import Iterator
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

_PLAYS = 20  # plays of the grid, besides none
# frequencies of link on flank in the grid, over the highest
_SWINGS = np.array([0.12, 0.25, 0.5, 1.0])
_STIFFEST = 0.5  # highest such frequency over the cut-off of the motor's position
_SHARES = np.array([0.01, 0.1, 0.2, 0.35])  # link's friction over all friction, in the grid
# gears of the grid that are refined, and of these most of the same play
_STARTS, _OF_PLAY = 8, 2
_FINALISTS = 4  # gears of each slow signal that are refined on all signals
_CLOSED = 2  # those without play
_SLOW = 4.0, 8.0  # Hz; cut-offs of the slow signals
_ROUNDS = 10  # most Gauss-Newton steps
_DAMPED = np.array([1.0, 0.5, 0.2, 0.05])  # parts of a step that are tried
_ENOUGH = 3e-3  # relative decrease of the sum of squares that ends the refinement
_RATIO = 0.1, 0.02, 1.0  # damping ratio of the flanks in the grid, and its range
# steps of derivatives, relative; of friction: relative to all friction
_SMALL = np.array([0.02, 0.05, 0.03, 0.2])


@dataclass(frozen=True)
class Gear:
    """A gear that was fitted.

    Attributes
    ----------
    values : ndarray, shape (4,)
        Play [rad or m], stiffness [N·m/rad or N/m], dry friction of the link [N·m or N],
        damping ratio of the flanks.
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
        """Return by how many standard errors left-out blocks are predicted
        better than by another gear.
        """
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
        """Return the best gear with play, and the best gear without.

        Starts are found on slow signals, which change less abruptly with the gear, but lose
        more samples beside rests. All look at the same links behind the gears of a grid.
        """
        loose, tight = [], []
        slower = [
            GearSearch(replace(self.data, highest=cutoff), self._coulomb, self._known)
            for cutoff in _SLOW
        ]
        grid = self._grid(min(slow.data.resolution for slow in slower))
        passed = self.data.follow(*grid.T).torque
        for slow in slower:
            starts, closed = slow._starts(grid, passed)
            gears, errors = slow._descended(starts)
            loose.append(gears[np.argsort(errors.min(axis=1))[:_FINALISTS]])
            tight.append(closed)
        return self._best(np.concatenate(loose)), self._best(np.concatenate(tight))

    def _grid(self, resolution: float) -> Array:
        """Return gears with plays from twice the resolution on, and without play, shape (C, 4)."""
        data = self.data
        shortest = min(max(2.0 * resolution, 1e-4 * data.span), 0.1 * data.longest)
        plays = np.append(0.0, np.geomspace(shortest, data.longest, _PLAYS))
        stiff = self.stiffest * _SWINGS**2 if self._known is None else np.array([self._known])
        return np.array(
            [
                (b, K, share * self._coulomb, _RATIO[0])
                for b in plays
                for K in stiff
                for share in _SHARES
            ]
        )

    def _starts(self, grid: Array, passed: Array) -> tuple[Array, Array]:
        """Return the most promising gears of a grid, with play and without, shape (S, 4) each;
        `passed` is the torque through each gear, shape (N, C).
        """
        best = np.argsort(self._errors(self._remaining(passed)).min(axis=1))
        closed = grid[best, 0] == 0.0
        return grid[_apart(grid, best[~closed])], grid[best[closed][:_CLOSED]]

    def held_out(self, gear: Gear) -> Array:
        """Return the mean square error of each block, left out of the linear fit, shape (G,)."""
        rows = np.column_stack(
            (
                self._fixed[:, of_kind(gear.kind, 1)],
                self._fixed[:, 0],
                self._targets(gear.values[None]),
            )
        )
        order = np.argsort(self.data.blocks, kind="stable")
        return left_out_errors(
            product_sums(rows[order], self.data.blocks[order]), np.bincount(self.data.blocks)
        )

    def intervals(self, gear: Gear) -> tuple[Intervals, tuple[int, ...]]:
        """Return the covariance of the gear's parameters, and which of the four they are."""
        free, columns, residual = next(self._linear(gear.values[None], np.array([gear.kind])))
        return cluster_covariance(columns, residual, self.data.blocks), free

    def passage(self, gear: Gear) -> Passage:
        """Return the link behind a gear."""
        return self.data.follow(*gear.values[:, None])

    def _targets(self, gears: Array) -> Array:
        """Return the torque that the motor does not pass to the link, shape (M, C)."""
        return self._remaining(self.data.follow(*gears.T).torque)

    def _remaining(self, passed: Array) -> Array:
        """Return the torque of the motor without that through gears, shapes (N, C), (M, C)."""
        used = self.data.used
        return np.asarray(self.data.torque[used][:, None] - self.data.filtered(passed)[used])

    def _errors(self, targets: Array) -> Array:
        """Return the sum of squares of each gear and kind, shape (C, KINDS)."""
        products, squares = self._fixed.T @ targets, np.sum(targets**2, axis=0)
        errors = np.empty((targets.shape[1], KINDS))
        for kind in range(KINDS):
            keep = [0, *of_kind(kind, 1)]
            scale = np.sqrt(np.maximum(np.diag(self._gram)[keep], 1e-300))
            A, y = (
                self._gram[np.ix_(keep, keep)] / np.outer(scale, scale),
                products[keep] / scale[:, None],
            )
            beta = np.linalg.solve(A + 1e-9 * np.eye(len(A)), y)
            errors[:, kind] = squares - np.sum(beta * (2.0 * y - A @ beta), axis=0)
        return errors

    def _best(self, starts: Array) -> Gear:
        """Return the gear of the least sum of squares near starts, shape (S, 4)."""
        gears, errors = self._descended(starts)
        n, kind = np.unravel_index(int(np.argmin(errors)), errors.shape)
        found = Gear(gears[n], int(kind), float(errors[n, kind]), np.empty(0))
        return replace(found, held_out=self.held_out(found))

    def _descended(self, starts: Array) -> tuple[Array, Array]:
        """Return gears of the least sums of squares near starts, which are refined side by side,
        and these sums of each kind.
        """
        gears, before = starts.copy(), np.full(len(starts), np.inf)
        errors = self._errors(self._targets(gears))
        for _ in range(_ROUNDS):
            going = np.flatnonzero(errors.min(axis=1) < (1.0 - _ENOUGH) * before)
            if not len(going):
                break
            before[going] = errors[going].min(axis=1)
            tried = np.repeat(gears[going], len(_DAMPED), axis=0).reshape(
                len(going), len(_DAMPED), 4
            )
            kinds = np.argmin(errors[going], axis=1)
            for own, (free, columns, residual) in zip(
                tried, self._linear(gears[going], kinds), strict=True
            ):
                rows = np.column_stack((columns, residual))
                for k, change in zip(free, solved(rows.T @ rows)[1], strict=False):
                    own[:, k] = self._within(k, own[0], change * _DAMPED)
            every = self._errors(self._targets(tried.reshape(-1, 4))).reshape(
                len(going), len(_DAMPED), KINDS
            )
            for n, at in enumerate(going):
                part = int(np.argmin(every[n].min(axis=1)))
                if every[n, part].min() < before[at]:
                    gears[at], errors[at] = tried[n, part], every[n, part]
        return gears, errors

    def _within(self, k: int, gear: Array, change: Array) -> Array:
        """Return changed values of a parameter within its range; play and stiffness change
        at most by a factor of 2.
        """
        if k == 2:
            return np.asarray(np.clip(gear[2] + change, _SHARES[0] * self._coulomb, self._coulomb))
        value = gear[k] * np.exp(np.clip(change / gear[k], -np.log(2.0), np.log(2.0)))
        return np.asarray(
            np.minimum(value, self.stiffest)
            if k == 1
            else np.clip(value, *_RATIO[1:])
            if k == 3
            else value
        )

    def _linear(
        self, gears: Array, kinds: np.ndarray
    ) -> Iterator[tuple[tuple[int, ...], Array, Array]]:
        """Yield the free parameters of each gear, the columns of these and of the linear
        parameters, and the residual.
        """
        moves = []
        for gear in gears:
            step = _SMALL * np.array([gear[0], gear[1], max(self._coulomb, 1e-9), gear[3]])
            moves.append(
                [
                    gear,
                    *(
                        gear + sign * step[k] * np.eye(4)[k]
                        for k in range(4)
                        for sign in (1.0, -1.0)
                    ),
                ]
            )
        moved = np.array(moves)
        moved[:, :, 2] = np.maximum(moved[:, :, 2], 0.5 * _SHARES[0] * self._coulomb)
        told = self._targets(moved.reshape(-1, 4)).reshape(-1, *moved.shape[:2])
        for n, (own, kind) in enumerate(zip(moved, kinds, strict=True)):
            free = tuple(
                k for k in range(4) if own[0, k] > 0.0 and not (k == 1 and self._known is not None)
            )
            slopes = [
                (told[:, n, 2 + 2 * k] - told[:, n, 1 + 2 * k])
                / (own[1 + 2 * k, k] - own[2 + 2 * k, k])
                for k in free
            ]
            fixed = self._fixed[:, [0, *of_kind(int(kind), 1)]]
            rows = np.column_stack((fixed, told[:, n, 0]))
            yield (
                free,
                np.column_stack((*slopes, fixed)),
                told[:, n, 0] - fixed @ solved(rows.T @ rows)[1],
            )


def _apart(grid: Array, ordered: np.ndarray) -> list[int]:
    """Return starts in the given order, at most two of each play."""
    chosen: list[int] = []
    for k in ordered.tolist():
        if sum(grid[one, 0] == grid[k, 0] for one in chosen) < _OF_PLAY and len(chosen) < _STARTS:
            chosen.append(k)
    return chosen


def crossings(passage: Passage, used: np.ndarray) -> np.ndarray:
    """Return the number of samples of each crossing from one flank to the other, shape (X,)."""
    flank = passage.touching[:, 0]
    at = np.flatnonzero(flank)
    turns = np.flatnonzero(flank[at][1:] != flank[at][:-1])
    return np.asarray([at[k + 1] - at[k] for k in turns if used[at[k + 1]]], dtype=int)
