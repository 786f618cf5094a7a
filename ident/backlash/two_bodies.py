r"""Motor and link with play between them: the torque that a link takes behind a motor whose motion is known.

The gear has an elastic flank on either side of a gap b. With the motor's angle q, the link's angle x, its inertia J, and its own
torque g (gravity and other joints) and dry friction f,

.. math:: J \ddot x = T - g - f \operatorname{sgn} \dot x, \qquad
          T = K\,\bigl(e - \operatorname{clip}(e, \pm b/2)\bigr) + D \dot e \ \text{in contact}, \qquad e = q - x

A flank pushes but never pulls. The measured motion of the motor drives the link, so friction of the motor does not matter here.

References
----------
Nordin and Gutman, Automatica 38 (2002) 1633, for dead zone and damping; Moreau's time stepping for dry friction.
"""

from dataclasses import dataclass

import numpy as np

from stribeck.ident.arrays import Array

_PHASE = 0.35           # rad; largest phase of link and flank in a step
_MOST = 40              # most steps in a sample


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
        Torque that holds the link at this posture, with the effect of other joints, without `inertia` [N·m or N].
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
    """Return the motion of links behind gears, shape (C,) each: play, stiffness, link friction, damping ratio of the flanks.

    At the begin each link rests on the flank that its load presses.
    """
    q, dt, half = drive.q, drive.dt, 0.5 * play
    swing = float(np.sqrt(stiffness.max() / drive.inertia.min()))
    steps = int(np.clip(np.ceil(dt * swing / _PHASE), 1, _MOST))
    h = dt / steps
    inverse = h / drive.inertia
    damping = 2.0 * ratio * np.sqrt(stiffness * float(np.median(drive.inertia)))
    x = q[0] - drive.load[0] / stiffness - half * np.sign(drive.load[0])
    v = np.full(len(play), (q[1] - q[0]) / dt)
    torque, gap = np.empty((len(q), len(play))), np.empty((len(q), len(play)))
    touching = np.zeros((len(q), len(play)), dtype=np.int8)
    torque[0], gap[0] = drive.load[0], q[0] - x
    motor = float(q[0])
    for k in range(1, len(q)):
        speed = (q[k] - q[k - 1]) / dt
        load, slope, gain = drive.load[k], drive.slope[k], inverse[k]
        loss, total, stride = gain * friction, np.zeros(len(play)), speed * h
        for _ in range(steps):
            motor += stride
            e = motor - x
            over = e - np.minimum(np.maximum(e, -half), half)
            force = stiffness * over + damping * (speed - v)
            force = np.where(over > 0.0, np.maximum(force, 0.0), np.where(over < 0.0, np.minimum(force, 0.0), 0.0))
            free = v + gain * (force - load + slope * e)
            v = free - np.minimum(np.maximum(free, -loss), loss)
            x = x + h * v
            total = total + force
        motor = float(q[k])
        torque[k], gap[k], touching[k] = total / steps, motor - x, np.sign(over)
    return Passage(torque, gap, touching)
