"""Postures at rest: springs and gravity balance at joints without a drive, loops are closed,
drives hold their positions.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stribeck.ident.arrays import Array
from stribeck.ident.errors import InputError
from stribeck.ident.model.chains.closed_chain import (
    branch_of,
    close_loops,
    closed_rates,
    swinging_joints,
    telling_joints,
)
from stribeck.ident.model.chains.local_coordinates import LocalCoordinates
from stribeck.ident.model.chains.posture_following import PostureError
from stribeck.ident.model.dynamics import inverse_dynamics
from stribeck.ident.model.elastic_joints import spring_torque
from stribeck.ident.model.mechanism import Mechanism
from stribeck.ident.model.recursion import single

_STEP = 1e-5  # step of finite differences [rad]
_NOTHING = 1e-6  # stiffness that counts as zero, as a fraction of weight times reach
# a posture is stable if the least eigenvalue of its scaled stiffness is greater
_SOFT = 1e-4
_FAR = 0.5  # largest move of a coordinate in a step [rad]
_NEWTON = 100  # steps of Newton's method
# largest last change [rad]; the second value if rounding prevents a smaller change
_SETTLED, _ROUNDED = 1e-12, 1e-7
_HALVES = 12  # how often a step is halved if the loops do not close
_TINY = 1e-300
_NAMED = 6  # number of joints that an error names


def equilibrium(mechanism: Mechanism, q: ArrayLike) -> Array:
    r"""Find the stable posture at rest of the joints without a drive, shape (n,); the drives stay
    at their positions in `q`.

    In this posture springs and gravity balance and loops are closed. In local coordinates y of the
    posture (`local_coordinates`),

    .. math:: B^T (g(q) + K q) = 0, \qquad H = \frac{\partial}{\partial y} B^T (g(q) + K q) > 0,

    where H > 0 means that the balance is stable. Friction is neglected.

    Parameters
    ----------
    mechanism : Mechanism
        A tree or closed chain.
    q : array_like, shape (n,) or, of a closed chain, (k,)
        Positions of the drives, and start positions of the other joints for the search [rad or m].
        A closed chain also accepts positions of the k driven joints only; the search then starts
        from closed loops with all springs at zero.

    Raises
    ------
    InputError
        If no balance is found near `q`, or if the balance is unstable or indifferent. The message
        names the joint that moves most in the unstable direction.
    PostureError
        If the loops cannot be closed.
    """
    held = np.zeros(mechanism.n, dtype=bool)
    held[list(mechanism.active)] = True
    posture = _start(mechanism, q, held)
    if held.all():
        return posture
    reach = (
        float(
            np.linalg.norm(mechanism.origin, axis=1).sum()
            + np.linalg.norm(mechanism.com, axis=1).max()
        )
        or 1.0
    )
    weight = mechanism.tree.mass.sum() * np.linalg.norm(mechanism.gravity) * reach
    before = np.inf
    for _ in range(_NEWTON):
        place = LocalCoordinates(mechanism, posture, held)
        place.refuse_singular()
        if not place.k:
            return posture
        values, ways, lacking = _stiffness(place, _NOTHING * weight + _TINY)
        # in directions of negative stiffness the step goes towards lower energy, not to the maximum
        change = ways @ (lacking / np.maximum(np.abs(values), _SOFT))
        moved = float(np.abs(change).max())
        if moved < _SETTLED or before <= moved < _ROUNDED:
            break
        posture, before = _moved(place, np.clip(change, -_FAR, _FAR)), moved
    else:
        swinging = [mechanism.names[j] for j in swinging_joints(mechanism)]
        more = f" and {len(swinging) - _NAMED} more" if len(swinging) > _NAMED else ""
        raise InputError(
            f"{mechanism.name}: no posture at rest found near q; the passive joints "
            f"{', '.join(swinging[:_NAMED])}{more} are too soft for their load"
        )
    if values[0] <= _SOFT:
        worst = mechanism.names[int(np.argmax(np.abs(place.T @ ways[:, 0])))]
        raise InputError(
            f"{mechanism.name}: at rest joint {worst} "
            f"{'would tip over' if values[0] < -_SOFT else 'has nothing that holds it'}: its "
            "springs are too soft for the load; start from a posture in which the joint's load "
            "hangs down, or use stiffer springs"
        )
    return posture


def set_off(mechanism: Mechanism, q: ArrayLike, dq: ArrayLike) -> tuple[Array, Array]:
    """Return the initial state of all joints for positions and velocities (k,) of the drives.

    The posture is that of `equilibrium`; springs do not move yet. Errors as in `equilibrium`.
    """
    speed = np.zeros(mechanism.n)
    speed[list(mechanism.active)] = dq
    if not mechanism.closures:
        posture = np.zeros(mechanism.n)
        posture[list(mechanism.active)] = q
        return equilibrium(mechanism, posture), speed
    posture, known = equilibrium(mechanism, q), telling_joints(mechanism)
    rates = closed_rates(
        branch_of(mechanism, known), posture[None], speed[None, known], np.zeros((1, len(known)))
    )
    return posture, rates.dq[0]


def _start(m: Mechanism, q: ArrayLike, held: NDArray[np.bool_]) -> Array:
    """Return the posture with closed loops from which the search for the balance starts."""
    wanted = np.asarray(q, dtype=float)
    if not m.closures:
        return np.array(single("q", q, m)[0])
    if wanted.shape != (len(m.active),) or len(m.active) == m.n:
        place = LocalCoordinates(m, single("q", q, m)[0], held)
        return np.asarray(place.place(np.zeros((1, place.k)), np.zeros((1, place.r)))[0][0])
    known = telling_joints(m)
    at = np.zeros((1, len(known)))
    at[0, [known.index(j) for j in m.active]] = wanted
    return np.asarray(close_loops(m, at, known=known).q[0])


def _stiffness(place: LocalCoordinates, least: float) -> tuple[Array, Array, Array]:
    """Return scaled stiffnesses in uncoupled directions, these directions, and the unbalanced
    torque in each direction.

    Each stiffness is divided by the stiffness scale of its coordinates. The
    coordinates are principal directions of the springs, so rounding errors of stiff
    springs do not hide soft springs.
    """
    m, k = place.mechanism, place.k
    stiffness = np.array([m.springs[j].stiffness if j in m.springs else 0.0 for j in range(m.n)])
    own, turned = np.linalg.eigh((place.T.T * (stiffness * place.unit**2)) @ place.T)
    y = np.zeros((2 * k + 1, k))
    y[1::2], y[2::2] = _STEP * turned.T, -_STEP * turned.T
    q, B, _ = place.place(y, np.zeros((len(y), place.r)))
    gravity = inverse_dynamics(replace(m, closures=()), q)
    torque = gravity + spring_torque(m, q, np.zeros_like(q))
    pull = np.einsum("nik,ni->nk", B, torque * place.unit) @ turned
    H = (pull[1::2] - pull[2::2]) / (2.0 * _STEP)
    size = np.sqrt(np.maximum(np.maximum(np.abs(np.diag(H)), own), least))
    values, ways = np.linalg.eigh((H + H.T) / 2.0 / size[:, None] / size)
    return values, turned @ (ways / size[:, None]), ways.T @ (pull[0] / size)


def _moved(place: LocalCoordinates, change: Array) -> Array:
    """Return the closed posture one step away; the step is halved until the loops close."""
    for part in 0.5 ** np.arange(_HALVES):
        try:
            return np.asarray(place.place(-part * change[None], np.zeros((1, place.r)))[0][0])
        except PostureError as error:
            refusal = error
    raise refusal
