"""Fit of the gear of a joint whose link is measured: starts, Gauss-Newton steps, and intervals.

All that is linear is least squares at each gear. Positions tell the width of the hysteresis at
once; starts share it between play and wind-up.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from stribeck.ident.arrays import Array
from stribeck.ident.backlash.least_squares import left_out_errors, solved
from stribeck.ident.backlash.link_rows import (
    COMPLIANCE,
    DAMPING,
    FRICTION,
    OFFSET,
    WIDTH,
    LinkRows,
    Scales,
    columns_of,
)
from stribeck.ident.backlash.motor_columns import KINDS
from stribeck.ident.fit.cluster_covariance import Intervals, left_out

_WOUND = 0.02, 0.1, 0.3, 0.6  # shares of wind-up in the hysteresis, in the starts
_RUBS = 0.05, 0.2, 0.5  # shares of the link in all dry friction, in the starts
_CLOSED = 1e-9  # a gap that is none [rad or m]
_DAMPING = 1e-4, 0.1  # least damping over stiffness in the starts, and greatest [s]
_STARTS, _ROUNDS = 3, 15
_DAMPED = 1.0, 0.4, 0.1, 0.02  # parts of a step that are tried
_ENOUGH = 1e-3  # relative decrease of the sum of squares that ends the steps
_OUTLIER = 4.0  # robust deviations of a position that is left out
# relative increase of the sum of squares up to which another presliding is plausible
_PLAUSIBLE = 0.03
_ALL, _NO_PLAY = (
    (OFFSET, WIDTH, COMPLIANCE, FRICTION, DAMPING),
    (OFFSET, COMPLIANCE, FRICTION, DAMPING),
)


@dataclass(frozen=True)
class LinkGear:
    """A fitted gear.

    Attributes
    ----------
    values : ndarray, shape (5,)
        Offset [rad or m], play [rad or m], compliance [rad/(N·m) or m/N], dry friction of the link
        [N·m or N], damping over stiffness of the flanks [s].
    kind : int
        Presliding of the motor, see `columns_of`.
    squares : float
        Sum of squared residuals over their scales.
    """

    values: Array
    kind: int
    squares: float


class LinkFit:
    """Gears with and without play, fitted to the same samples.

    Parameters
    ----------
    rows : LinkRows
    stiffness : float, optional
        Known stiffness between motor and link [N·m/rad or N/m].

    Attributes
    ----------
    loose, tight : LinkGear
        Best gear with play and without.
    """

    def __init__(self, rows: LinkRows, stiffness: float | None = None) -> None:
        self._rows, self._known = rows, stiffness
        starts, closed = list(self._starts(True)), list(self._starts(False))
        self._scales = self._first_scales([*starts, *closed])
        loose = self._best(starts, _ALL)
        self._scales = self._scales_of(loose)
        self.loose = self._refined(loose.values, _ALL)
        gear = self.loose.values.copy()
        gear[COMPLIANCE] += 0.5 * gear[WIDTH] / max(gear[FRICTION], _RUBS[0] * rows.coulomb)
        gear[WIDTH] = _CLOSED
        self.tight = self._best([*closed, gear if stiffness is None else closed[0]], _NO_PLAY)

    def held_out(self, gear: LinkGear) -> Array:
        """Return the mean square error of each block, left out of the linear fit, shape (G,)."""
        keep = [*columns_of(gear.kind), -1]
        sums = self._rows.block_products(gear.values, self._scales)[:, keep][:, :, keep]
        return left_out_errors(sums, np.bincount(self._rows.blocks))

    def intervals(self) -> tuple[Intervals, tuple[int, ...]]:
        """Return the covariance of the free parameters of the gear with play (CR3 over
        blocks), and which they are.
        """
        free = self._free(_ALL)
        keep = [*free, *columns_of(self.loose.kind), -1]
        sums = self._rows.block_products(self.loose.values, self._scales)[:, keep][:, :, keep]
        beta = solved(sums.sum(axis=0))[1]
        # the gear is at its optimum; linear columns have their coefficients
        beta[: len(free)] = 0.0
        shift = np.eye(len(keep))
        shift[:-1, -1] = -beta
        return left_out(shift.T @ sums @ shift), free

    def spread(self) -> Array:
        """Return the largest change of each parameter under other plausible presliding
        of the motor, shape (5,).
        """
        gears = [
            self._refined(self.loose.values, _ALL, kind)
            for kind in range(KINDS)
            if kind != self.loose.kind
        ]
        near = [
            np.abs(one.values - self.loose.values)
            for one in gears
            if one.squares < (1.0 + _PLAUSIBLE) * self.loose.squares
        ]
        return np.max([np.zeros(5), *near], axis=0)

    def _starts(self, loose: bool) -> Iterator[Array]:
        """Yield gears that explain the width of the hysteresis; without play,
        wind-up alone explains it.
        """
        rows = self._rows
        columns = np.column_stack(
            (np.ones(len(rows.load)), rows.direction, rows.load, rows.closing)
        )
        size = np.sqrt(np.mean(columns**2, axis=0)) + 1e-300
        middle, half, slope, closing = (
            np.linalg.lstsq(columns / size, rows.deflection, rcond=1e-9)[0] / size
        )
        damping = float(np.clip(-closing, *_DAMPING))
        low, high = np.quantile(rows.deflection, (0.05, 0.95))
        width = max(2.0 * abs(half), 2.0 * rows.data.step, 1e-6 * rows.data.span)
        for centre, whole in (
            (middle, width),
            (0.5 * (low + high), max(width, 0.9 * (high - low))),
        ):
            for friction in (share * rows.coulomb for share in _RUBS):
                for wound in _WOUND if loose else (1.0,):
                    compliance = (
                        0.5 * wound * whole / friction if self._known is None else 1.0 / self._known
                    )
                    yield np.array(
                        [centre, max((1.0 - wound) * whole, _CLOSED), compliance, friction, damping]
                    )
                if slope > 0.0 and self._known is None:
                    play = max(whole - 2.0 * slope * friction, 0.1 * whole) if loose else _CLOSED
                    yield np.array([centre, play, slope, friction, damping])

    def _free(self, free: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(k for k in free if k != COMPLIANCE or self._known is None)

    def _best(self, starts: Sequence[Array], free: tuple[int, ...]) -> LinkGear:
        """Return the best gear from the most promising starts."""
        chosen = sorted(starts, key=lambda gear: self._valued(gear)[0].squares)[:_STARTS]
        return min((self._refined(gear, free) for gear in chosen), key=lambda one: one.squares)

    def _valued(self, gear: Array, kind: int | None = None) -> tuple[LinkGear, Array]:
        """Return a gear with its sum of squares, and the products of its columns; of the best
        presliding unless one is given.
        """
        products = self._rows.products(gear, self._scales)
        kinds = range(KINDS) if kind is None else (kind,)
        errors = [
            solved(products[np.ix_(keep, keep)])[0]
            for keep in ([*columns_of(k), -1] for k in kinds)
        ]
        return LinkGear(gear, kinds[int(np.argmin(errors))], min(errors)), products

    def _refined(self, start: Array, free: tuple[int, ...], kind: int | None = None) -> LinkGear:
        """Return the gear of the least sum of squares near a start."""
        best, products = self._valued(start, kind)
        free = self._free(free)
        for _ in range(_ROUNDS):
            keep = [*free, *columns_of(best.kind), -1]
            step = np.zeros(5)
            step[list(free)] = solved(products[np.ix_(keep, keep)])[1][: len(free)]
            before = best
            for part in _DAMPED:
                tried, told = self._valued(self._within(before.values, part * step), kind)
                if tried.squares < before.squares:
                    best, products = tried, told
                    break
            if best.squares > (1.0 - _ENOUGH) * before.squares:
                break
        return best

    def _within(self, gear: Array, step: Array) -> Array:
        """Return a changed gear; all but the offset stay positive and change
        by a factor of 3 at most.
        """
        changed, rubs = gear + step, self._rows.coulomb
        limits = (
            np.maximum(gear / 3.0, 0.0),
            3.0 * gear + np.array([0.0, 0.0, 0.0, 0.02 * rubs, 0.0]),
        )
        changed[1:] = np.clip(changed, *limits)[1:]
        changed[FRICTION], changed[DAMPING] = (
            min(changed[FRICTION], 1.2 * rubs),
            min(changed[DAMPING], _DAMPING[1]),
        )
        return np.asarray(changed)

    def _first_scales(self, starts: Sequence[Array]) -> Scales:
        """Return the least residuals among the starts."""
        self._scales = Scales(1.0, 1.0, np.ones(len(self._rows.deflection)))
        found = [self._residuals(gear, KINDS // 2) for gear in starts]
        return Scales(
            max(min(float(np.std(torque)) for torque, _ in found), 1e-12),
            max(min(float(np.sqrt(np.mean(position**2))) for _, position in found), self._finest),
            self._scales.weights,
        )

    def _scales_of(self, gear: LinkGear) -> Scales:
        """Return the residuals of a gear; positions in the gap, where motor and link
        drift together, get no weight.
        """
        torque, position = self._residuals(gear.values, gear.kind)
        deviation = max(1.48 * float(np.median(np.abs(position))), self._finest)
        weights = (np.abs(position) < _OUTLIER * deviation).astype(float)
        kept = float(np.sqrt(np.mean(position[weights > 0.0] ** 2)))
        return Scales(max(float(np.std(torque)), 1e-12), max(kept, self._finest), weights)

    def _residuals(self, gear: Array, kind: int) -> tuple[Array, Array]:
        columns = columns_of(kind)
        products = self._rows.products(gear, self._scales)
        keep = [*columns, -1]
        return self._rows.residuals(gear, solved(products[np.ix_(keep, keep)])[1], columns)

    @property
    def _finest(self) -> float:
        """Least residual of positions that counts [rad or m]."""
        return max(self._rows.data.step / np.sqrt(12.0), 1e-9 * self._rows.data.span)
