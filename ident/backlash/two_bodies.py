r"""Motor and link with play between them: the torque that a link takes behind a
motor whose motion is known.

The gear has an elastic flank on either side of a gap b. With the motor's angle q, the link's angle
x, its inertia J, and its own torque g (gravity and other joints) and dry friction f,

.. math:: J \ddot x = T - g - f \operatorname{sgn} \dot x, \qquad
          T = K\,\bigl(e - \operatorname{clip}(e, \pm b/2)\bigr) + D \dot e \ \text{in contact}, \qquad e = q - x

A flank pushes but never pulls. The measured motion of the motor drives the link, so friction of the
motor does not matter here.

References
----------
Nordin and Gutman, Automatica 38 (2002) 1633, for dead zone and damping; Moreau's time
stepping for dry friction.
"""

from dataclasses import dataclass

import numpy as np

from stribeck.ident.arrays import Array

_PHASE = 0.35  # rad; largest phase of link and flank in a step
_MOST = 40  # most steps in a sample
_SETTLING = 0.4  # s; in which vibrations of a link decay


@dataclass(frozen=True)
class Drive:
    """Motion of a motor, and the link that it moves.

    Attributes
    ----------
    q : ndarray, shape (N,)
        Position of the motor, on the joint side [rad or m].
    dt : float
        Sampling period [s].
    inertia : ndarray, shape (N,)
        Inertia of the link about the joint [kg·m² or kg].
    load : ndarray, shape (N,)
        Torque that holds the link at this posture, with the effect of other joints,
        without `inertia` [N·m or N].
    slope : ndarray, shape (N,)
        Derivative of `load` by the position of the joint [N·m/rad or N/m].
    """

    q: Array
    dt: float
    inertia: Array
    load: Array
    slope: Array


@dataclass(frozen=True)
class Passage:
    """Links behind several flanks.

    Attributes
    ----------
    torque : ndarray, shape (N, C)
        Torque through the gear, mean of each sampling period [N·m or N].
    gap : ndarray, shape (N, C)
        Motor minus link [rad or m].
    touching : ndarray of int8, shape (N, C)
        Flank in contact: -1, 1, or 0 in the gap.
    """

    torque: Array
    gap: Array
    touching: np.ndarray


def follow(drive: Drive, play: Array, stiffness: Array, friction: Array, ratio: Array) -> Passage:
    """Return the motion of links behind gears, shape (C,) each: play, stiffness, link friction,
    damping ratio of the flanks.

    At the begin each link rests on the flank that its load presses. Pieces of the motion advance
    together. Each begins so early that the motor has crossed the whole hysteresis before the piece
    counts, which erases what was before.
    """
    count, gears = len(drive.q), len(play)
    # a link without friction rattles, and remembers how it began
    forgets = bool((friction > 0.0).all())
    pieces, lead = (
        _pieces(drive, float(np.max(play + 2.0 * friction / stiffness))) if forgets else (1, 0)
    )
    size = -(-count // pieces)
    begin = np.arange(pieces) * size - lead
    here = _Together(drive, play, stiffness, friction, ratio, begin)
    out = np.empty((3, size, pieces, gears))
    for k in range(1, lead + size):
        state = here.advance(begin + k)
        if k >= lead:
            out[:, k - lead] = state
    if not lead:
        out[:, 0] = here.first
    torque, gap, touching = out.swapaxes(1, 2).reshape(3, pieces * size, gears)[:, :count]
    return Passage(torque, gap, touching.astype(np.int8))


class _Together:
    """Links of several pieces behind several gears, shape (P, C); `at` are samples, those
    before the first one repeat it.
    """

    def __init__(
        self,
        drive: Drive,
        play: Array,
        stiffness: Array,
        friction: Array,
        ratio: Array,
        at: np.ndarray,
    ) -> None:
        self._drive, self._half, self._stiffness, self._friction = (
            drive,
            0.5 * play,
            stiffness,
            friction,
        )
        swing = float(np.sqrt(stiffness.max() / drive.inertia.min()))
        self._steps = int(np.clip(np.ceil(drive.dt * swing / _PHASE), 1, _MOST))
        self._h = drive.dt / self._steps
        self._damping = 2.0 * ratio * np.sqrt(stiffness * float(np.median(drive.inertia)))
        at = np.clip(at, 0, None)
        q, load = drive.q[at][:, None], drive.load[at][:, None]
        self._x = q - load / stiffness - self._half * np.sign(load)
        self._v = np.repeat(
            ((drive.q[at + 1] - drive.q[at]) / drive.dt)[:, None], len(play), axis=1
        )
        self.first = load + 0.0 * self._x, q - self._x, np.sign(load) + 0.0 * self._x

    def advance(self, to: np.ndarray) -> tuple[Array, Array, Array]:
        """Return torque, gap, and flank after one sampling period, which
        ends at the samples `to`.
        """
        drive, h, x, v = self._drive, self._h, self._x, self._v
        last, to = np.clip(to - 1, 0, len(drive.q) - 1), np.clip(to, 0, len(drive.q) - 1)
        motor, end = drive.q[last][:, None], drive.q[to][:, None]
        speed = (end - motor) / drive.dt
        load, slope, gain = (
            drive.load[to][:, None],
            drive.slope[to][:, None],
            (h / drive.inertia[to])[:, None],
        )
        loss, total, stride = gain * self._friction, np.zeros_like(x), speed * h
        e, over, force, change = np.empty((4, *x.shape))
        # in place: the arrays are large, and new memory costs more than the sums
        for _ in range(self._steps):
            np.subtract(motor, x, out=e)
            np.maximum(e, -self._half, out=over)
            np.minimum(over, self._half, out=over)
            np.subtract(e, over, out=over)
            np.multiply(self._stiffness, over, out=force)
            np.subtract(speed, v, out=change)
            change *= self._damping
            force += change
            # a flank only pushes
            flank = np.sign(over, out=over)
            force *= flank
            np.maximum(force, 0.0, out=force)
            force *= flank
            total += force
            force -= load
            e *= slope
            force += e
            force *= gain
            v += force
            np.maximum(v, -loss, out=change)
            np.minimum(change, loss, out=change)
            v -= change
            np.multiply(v, h, out=change)
            x += change
            motor = motor + stride
        return total / self._steps, end - x, flank


def _pieces(drive: Drive, reach: float) -> tuple[int, int]:
    """Return the number of pieces of a motion, and the samples by which each begins early."""
    count, settling = len(drive.q), round(_SETTLING / drive.dt)
    found, cost = (1, 0), float(count)
    for pieces in (4, 8, 16, 32, 64):
        ends = np.arange(1, pieces) * -(-count // pieces)
        lead = max(_crossed(drive.q[:end], reach) for end in ends if end < count) + settling
        if (now := -(-count // pieces) + lead) < cost:
            found, cost = (pieces, lead), now
    return found


def _crossed(q: Array, reach: float) -> int:
    """Return over how many of the last samples the motor covers `reach`; all
    samples if it never does.
    """
    back = q[::-1]
    far = np.maximum.accumulate(back) - np.minimum.accumulate(back) > reach
    return int(np.argmax(far)) if far.any() else len(q)
