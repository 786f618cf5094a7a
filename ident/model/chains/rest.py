"""Postures at rest: springs and weights of the joints without a drive in balance, loops closed, drives held."""

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stribeck.ident.arrays import Array
from stribeck.ident.errors import InputError
from stribeck.ident.model.chains.closed_chain import branch_of, close_loops, closed_rates, swinging_joints, telling_joints
from stribeck.ident.model.chains.local_coordinates import LocalCoordinates
from stribeck.ident.model.chains.posture_following import PostureError
from stribeck.ident.model.dynamics import inverse_dynamics
from stribeck.ident.model.elastic_joints import spring_torque
from stribeck.ident.model.mechanism import Mechanism
from stribeck.ident.model.recursion import single

_STEP = 1e-5            # of a finite difference [rad]
_NOTHING = 1e-6         # stiffness of a joint that counts as none, as a fraction of weight times reach
_SOFT = 1e-4            # least eigenvalue of the scaled stiffness of a posture that is stable
_FAR = 0.5              # how far a coordinate moves in a step towards the balance [rad]
_NEWTON = 100
_SETTLED, _ROUNDED = 1e-12, 1e-7        # last change [rad]; the same where rounding keeps changes from becoming smaller
_HALVES = 12
_TINY = 1e-300
_NAMED = 6              # joints that an error names


def equilibrium(mechanism: Mechanism, q: ArrayLike) -> Array:
    r"""Posture at rest in which joints without a drive stay by themselves, shape (n,); the drives stay where `q` puts them.

    Springs and gravity are in balance there and loops are closed: in local coordinates y of the posture (`local_coordinates`)

    .. math:: B^T (g(q) + K q) = 0, \qquad H = \frac{\partial}{\partial y} B^T (g(q) + K q) > 0,

    so that the balance is stable. Friction is left out.

    Parameters
    ----------
    mechanism : Mechanism
        A tree or closed chain.
    q : array_like, shape (n,) or, of a closed chain, (k,)
        Where the drives stand and from where the other joints move to their balance [rad or m]; of a closed chain also the k
        driven joints alone: then the loops are closed with all springs at zero, and the balance is sought from there.

    Raises
    ------
    InputError
        If there is no balance near `q`, or it is unstable or indifferent: names the joint that gives way most.
    PostureError
        If the loops cannot be closed.
    """
    held = np.zeros(mechanism.n, dtype=bool)
    held[list(mechanism.active)] = True
    posture = _start(mechanism, q, held)
    if held.all():
        return posture
    reach = float(np.linalg.norm(mechanism.origin, axis=1).sum() + np.linalg.norm(mechanism.com, axis=1).max()) or 1.0
    weight = mechanism.tree.mass.sum() * np.linalg.norm(mechanism.gravity) * reach
    before = np.inf
    for _ in range(_NEWTON):
        place = LocalCoordinates(mechanism, posture, held)
        place.refuse_singular()
        if not place.k:
            return posture
        values, ways, lacking = _stiffness(place, _NOTHING * weight + _TINY)
        # along what gives way the step goes downhill, not to the summit
        change = ways @ (lacking / np.maximum(np.abs(values), _SOFT))
        moved = float(np.abs(change).max())
        if moved < _SETTLED or before <= moved < _ROUNDED:
            break
        posture, before = _moved(place, np.clip(change, -_FAR, _FAR)), moved
    else:
        swinging = [mechanism.names[j] for j in swinging_joints(mechanism)]
        more = f" and {len(swinging) - _NAMED} more" if len(swinging) > _NAMED else ""
        raise InputError(f"{mechanism.name}: no posture at rest found near q; the passive joints "
                         f"{', '.join(swinging[:_NAMED])}{more} are too soft for their load")
    if values[0] <= _SOFT:
        worst = mechanism.names[int(np.argmax(np.abs(place.T @ ways[:, 0])))]
        raise InputError(f"{mechanism.name}: at rest joint {worst} "
                         f"{'would tip over' if values[0] < -_SOFT else 'has nothing that holds it'}: its springs are too soft "
                         "for the load; start from a posture in which the joint's load hangs down, or use stiffer springs")
    return posture


def set_off(mechanism: Mechanism, q: ArrayLike, dq: ArrayLike) -> tuple[Array, Array]:
    """State of all joints when the drives have positions and velocities (k,): balance of `equilibrium`, springs not yet moving.

    Errors as of `equilibrium`.
    """
    speed = np.zeros(mechanism.n)
    speed[list(mechanism.active)] = dq
    if not mechanism.closures:
        posture = np.zeros(mechanism.n)
        posture[list(mechanism.active)] = q
        return equilibrium(mechanism, posture), speed
    posture, known = equilibrium(mechanism, q), telling_joints(mechanism)
    rates = closed_rates(branch_of(mechanism, known), posture[None], speed[None, known], np.zeros((1, len(known))))
    return posture, rates.dq[0]


def _start(m: Mechanism, q: ArrayLike, held: NDArray[np.bool_]) -> Array:
    """Posture from which the balance is sought, loops closed."""
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
    """Stiffness along ways that do not couple, over what coordinates have by themselves; the ways; what each lacks for balance.

    Coordinates are the principal ways of the springs, so that stiff ones do not hide soft ones.
    """
    m, k = place.mechanism, place.k
    springs = np.array([m.springs[j].stiffness if j in m.springs else 0.0 for j in range(m.n)]) * place.unit**2
    own, turned = np.linalg.eigh((place.T.T * springs) @ place.T)
    y = np.zeros((2 * k + 1, k))
    y[1::2], y[2::2] = _STEP * turned.T, -_STEP * turned.T
    q, B, _ = place.place(y, np.zeros((len(y), place.r)))
    torque = (inverse_dynamics(replace(m, closures=()), q) + spring_torque(m, q, np.zeros_like(q))) * place.unit
    pull = np.einsum("nik,ni->nk", B, torque) @ turned
    H = (pull[1::2] - pull[2::2]) / (2.0 * _STEP)
    size = np.sqrt(np.maximum(np.maximum(np.abs(np.diag(H)), own), least))
    values, ways = np.linalg.eigh((H + H.T) / 2.0 / size[:, None] / size)
    return values, turned @ (ways / size[:, None]), ways.T @ (pull[0] / size)


def _moved(place: LocalCoordinates, change: Array) -> Array:
    """The closed posture a step away, which is shortened where its loops would not close."""
    for part in 0.5 ** np.arange(_HALVES):
        try:
            return np.asarray(place.place(-part * change[None], np.zeros((1, place.r)))[0][0])
        except PostureError as error:
            refusal = error
    raise refusal
