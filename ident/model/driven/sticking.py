"""Decide which joints at rest stick and which slide, and in which direction (Coulomb's law)."""

import numpy as np
from numpy.typing import NDArray

from stribeck.ident.arrays import Array
from stribeck.ident.model.chains.local_coordinates import LocalCoordinates
from stribeck.ident.model.driven.ball_sticking import CREEPS, TURNS, beyond
from stribeck.ident.model.driven.motion_equations import Forces, MotionEquations

# excess of held torque that counts as zero, relative to the break-away torque plus 1 N or N·m
SLACK = 1e-9
_TURNED = 1e-9  # acceleration that counts as zero, relative to the greatest
_GAINED = 1e-6  # component of a unit vector of joint velocities that counts as zero


def ways(
    equations: MotionEquations, t: float, q: Array, dq: Array, resting: NDArray[np.bool_]
) -> tuple[Array, Forces]:
    """Return the sliding directions of all joints (see `rubbing`), and the forces.

    A joint at rest slides in the direction of its held torque if this torque exceeds the break-away
    torque; otherwise it sticks.

    Parameters
    ----------
    equations : MotionEquations
    t : float
        Time [s].
    q, dq : ndarray, shape (n,)
        State.
    resting : ndarray of bool, shape (n,)
        Mask of the joints at rest.
    """
    m, jumps, sticking = equations.m, equations.rubbing.jumps, equations.rubbing.sticking
    resting = sticking & resting
    way = np.where(jumps & ~resting, np.sign(dq), 0.0)
    balls = {k: list(m.balls[k].joints) for k in equations.rubbing.balls}
    for joints in balls.values():
        way[joints] = 0.0 if resting[joints].all() else TURNS
    for _ in range(4 * m.n + 1):
        place = equations.about(q, sticking & (way == 0.0))
        stopped = tuple(k for k, joints in balls.items() if way[joints[0]] == 0.0)
        if place.shared and stopped:
            for k in stopped:
                way[balls[k]] = CREEPS
            continue
        if place.shared:
            return _together(equations, t, q, dq, way, place)
        _, forces = equations.balance(place, way, t, dq)
        stuck = jumps & (way == 0.0)
        held, level = (
            np.where(stuck, forces.lacking[0], 0.0),
            equations.rubbing.level(forces.loads)[0],
        )
        ddq = forces.ddq[0]
        back = np.where(jumps & resting & (way != 0.0), way * ddq, 0.0)
        over = np.where(resting & stuck, np.abs(held) - level - SLACK * (1.0 + level), 0.0)
        loose = beyond(m, stopped, forces)[0] - SLACK if stopped else np.zeros(0)
        if back.min(initial=0.0) < -_TURNED * max(1.0, float(np.abs(ddq).max(initial=0.0))):
            way[np.argmin(back)] = 0.0
        elif over.max(initial=0.0) > 0.0:
            way[np.argmax(over)] = np.sign(held[np.argmax(over)])
        elif loose.max(initial=0.0) > 0.0:
            way[balls[stopped[int(np.argmax(loose))]]] = TURNS
        else:
            return way, forces
    raise equations.no_balance(t)


def _together(
    equations: MotionEquations, t: float, q: Array, dq: Array, way: Array, stuck: LocalCoordinates
) -> tuple[Array, Forces]:
    """As `ways`, for joints at rest whose static friction rigid-body mechanics does
    not determine individually.

    Several joints can block one motion of the mechanism together, for example all joints of a crank
    mechanism that reverses. They break loose together, each at its break-away torque, if the
    mechanism then moves. Joints at a dead point that the mechanism passes turn back.
    """
    free = equations.about(q, np.zeros(equations.m.n, dtype=bool))
    moving, held_back = free.T[:, : free.k], stuck.T[:, : stuck.k]
    U, S, _ = np.linalg.svd(moving - held_back @ (held_back.T @ moving), full_matrices=False)
    held = int((S > _GAINED).sum())
    trials = (
        [sense * np.sign(U[:, 0]) * (np.abs(U[:, 0]) > _GAINED) for sense in (1.0, -1.0)]
        if held == 1
        else []
    )
    if not held:
        turning = np.where(stuck.still, 1.0, way)
        trials = [
            sense * np.sign(equations.balance(free, turning, t, dq)[1].ddq[0])
            for sense in (1.0, -1.0)
        ]
    for trial in trials:
        sliding = np.where(stuck.still, trial, way)
        place = equations.about(q, equations.rubbing.sticking & (sliding == 0.0))
        if not place.shared:
            forces = equations.balance(place, sliding, t, dq)[1]
            moved = sliding * forces.ddq[0] / equations.unit
            if (moved[stuck.still & (sliding != 0.0)] > _TURNED).all():
                return sliding, forces
    raise equations.shared(stuck)
