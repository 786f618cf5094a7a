r"""Two equations of a joint whose link is measured: motor minus link on each flank,
and the torque of the motor.

With the deflection e = q - x, the known torque of the link :math:`L = J \ddot x + g`, its dry
friction f and its direction s,

.. math:: e = d_0 + \tfrac b2 \operatorname{sgn} T + c T - t_d \dot e \quad\text{where the link slides,}\quad T = L + s f

.. math:: \tau = T + \delta L + \dots \quad\text{with the columns of the motor, see } motor\_columns

While the link rests, T is the torque of its flank, :math:`\operatorname{clip}((e - d_0 \mp b/2 +
t_d \dot e)/c,\ L \pm f)`, and zero in the gap; t_d is damping over stiffness of the flanks. If only
friction presses the flanks, the first equation has the sum b/2 + c f. The second tells both apart:
the torque is constant while the motor crosses the gap, and rises during wind-up. Presliding of the
motor competes in the second.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.ndimage import binary_dilation

from stribeck.ident.arrays import Array, Groups
from stribeck.ident.backlash.motor_columns import motor_columns, of_kind
from stribeck.ident.backlash.play_data import PlayData
from stribeck.ident.errors import FitError
from stribeck.ident.fit.group_sums import product_sums

# parameters of a gear: d_0, b, c, f, t_d
OFFSET, WIDTH, COMPLIANCE, FRICTION, DAMPING = range(5)
_SLIDES = 0.03  # part of the fast speeds from which the link slides
# largest speed between motor and link over that of the link, where a flank is in contact
_TOGETHER = 0.15
_BLUR = 0.6  # periods of the cut-off that are left out beside other samples
_UNSURE = 0.05  # torque over the dry friction up to which the flank is not sure
_LEAST = 50  # fewest samples in contact


@dataclass(frozen=True)
class Scales:
    """What residuals are divided by: torque [N·m or N], positions [rad or m], and weights of
    the samples of positions.
    """

    torque: float
    position: float
    weights: Array


class LinkRows:
    """Samples of both equations.

    Parameters
    ----------
    data : PlayData
        With the position of the link.
    coulomb : float
        Dry friction of motor and link together [N·m or N].

    Attributes
    ----------
    deflection, direction, load, closing : ndarray, shape (P,)
        Motor minus link, direction of the link, its torque without friction, and speed of the
        deflection, where it slides.

    Raises
    ------
    FitError
        If the link hardly slides.
    """

    def __init__(self, data: PlayData, coulomb: float) -> None:
        self.data, self.coulomb = data, coulomb
        used = data.used
        rate, acceleration = data.link_motion
        dq, _ = data.motion
        self._load, self._direction = data.load + data.inertia * acceleration, np.sign(rate)
        self._slides = np.abs(rate) > _SLIDES * float(np.quantile(np.abs(dq[used]), 0.9))
        together = self._slides & (np.abs(dq - rate) < _TOGETHER * np.abs(rate))
        blur = 2 * round(_BLUR / data.cutoff / data.dt) + 1
        self._contact = used & ~binary_dilation(~together, np.ones(blur, dtype=bool))
        if self._contact.sum() < _LEAST:
            raise FitError(
                "the link hardly slides: motor and link move together in fewer than "
                f"{_LEAST} samples; record larger or faster round trips"
            )
        self._fast = data.fast_difference
        self._closing = np.gradient(self._fast, data.dt)
        self._fixed = np.column_stack((self._load[used], motor_columns(data)))
        self._gram = self._fixed.T @ self._fixed
        self._torque = data.torque[used]
        here = self._contact
        self.deflection, self.direction, self.load = (
            data.difference[here],
            self._direction[here],
            self._load[here],
        )
        self.closing = (dq - rate)[here]

    @cached_property
    def blocks(self) -> Groups:
        """Block of each row, torque first."""
        of_all = np.zeros(len(self._load), dtype=int)
        of_all[self.data.used] = self.data.blocks
        return np.concatenate([self.data.blocks, of_all[self._contact]])

    def transmitted(self, gear: Array) -> Array:
        """Return the torque of the link behind a gear, and its derivatives by the
        parameters, filtered, shape (M, 6).
        """
        offset, play, compliance, friction, damping = gear
        over = self._fast - offset
        over -= np.clip(over, -0.5 * play, 0.5 * play)
        touching, side = over != 0.0, np.sign(over)
        flank = side * np.maximum(side * (over + damping * self._closing), 0.0) / compliance
        low, high = self._load - friction, self._load + friction
        rests = touching & ~self._slides
        held = rests & (flank > low) & (flank < high) & (flank != 0.0)
        out = np.zeros((len(over), 6))
        out[:, 0] = np.where(
            touching,
            np.where(
                self._slides, self._load + friction * self._direction, np.clip(flank, low, high)
            ),
            0.0,
        )
        out[held, 1 + OFFSET] = -1.0 / compliance
        out[held, 1 + WIDTH] = -0.5 * side[held] / compliance
        out[held, 1 + COMPLIANCE] = -flank[held] / compliance
        out[held, 1 + DAMPING] = self._closing[held] / compliance
        out[:, 1 + FRICTION] = (
            np.where(touching & self._slides, self._direction, 0.0)
            + (rests & (flank >= high))
            - 1.0 * (rests & (flank <= low))
        )
        return self.data.filtered(out)

    def on_flank(self, gear: Array) -> tuple[Array, Array]:
        """Return the deflection in contact behind a gear, shape (P,), and its
        derivatives, shape (P, 5).
        """
        offset, play, compliance, friction, damping = gear
        torque = self.load + friction * self.direction
        side = np.clip(torque / (_UNSURE * self.coulomb), -1.0, 1.0)
        slopes = np.column_stack(
            (np.ones(len(side)), 0.5 * side, torque, compliance * self.direction, -self.closing)
        )
        return offset + 0.5 * play * side + compliance * torque - damping * self.closing, slopes

    def products(self, gear: Array, scales: Scales) -> Array:
        """Return the products of all columns: five slopes, fixed columns,
        target; shape (p + 1, p + 1).
        """
        moving, position = self._moving(gear, scales)
        fixed = self._fixed / scales.torque
        size = 5 + fixed.shape[1] + 1
        own = np.r_[0:5, size - 1]  # moving columns of the torque among all
        total = np.zeros((size, size))
        total[np.ix_(own, own)] = moving.T @ moving
        cross = moving.T @ fixed
        total[own, 5:-1] = cross
        total[5:-1, own] = cross.T
        total[5:-1, 5:-1] = self._gram / scales.torque**2
        own = np.r_[0:5, size - 1]
        total[np.ix_(own, own)] += position.T @ position
        return total

    def block_products(self, gear: Array, scales: Scales) -> Array:
        """Return `products` of each block, shape (G, p + 1, p + 1)."""
        moving, position = self._moving(gear, scales)
        many, size = len(moving), 5 + self._fixed.shape[1] + 1
        rows = np.zeros((many + len(position), size))
        rows[:many, np.r_[0:5, size - 1]], rows[:many, 5:-1] = moving, self._fixed / scales.torque
        rows[many:, np.r_[0:5, -1]] = position
        order = np.argsort(self.blocks, kind="stable")
        return product_sums(rows[order], self.blocks[order])

    def residuals(
        self, gear: Array, coefficients: Array, columns: list[int]
    ) -> tuple[Array, Array]:
        """Return the residuals of torque and of positions, unscaled, with
        coefficients of some of the columns.
        """
        moving, position = self._moving(gear, Scales(1.0, 1.0, np.ones(len(self.deflection))))
        whole = np.zeros(5 + self._fixed.shape[1])
        whole[columns] = coefficients
        torque = moving[:, -1] - self._fixed @ whole[5:]
        return torque, position[:, -1]

    def _moving(self, gear: Array, scales: Scales) -> tuple[Array, Array]:
        """Return columns that depend on the gear: torque, shape (M, 6): slopes, target;
        positions: slopes, target.
        """
        told = self.transmitted(gear)
        used = self.data.used
        torque = np.column_stack((told[used, 1:], self._torque - told[used, 0])) / scales.torque
        predicted, slopes = self.on_flank(gear)
        position = np.column_stack((slopes, self.deflection - predicted))
        return torque, position * (scales.weights / scales.position)[:, None]


def columns_of(kind: int) -> list[int]:
    """Return the linear columns of a kind of presliding, among those of `LinkRows.products`."""
    return [5, *of_kind(kind, 6)]
