r"""Motion of trees under driving torques, with friction and elastic joints (P0, Eq. 54; P3).

.. math:: M \ddot q = \tau_d - h - \tau_f(\dot q, N) - K q - D \dot q
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from ident.driving import SETTLED, TURNS, joint_friction
from ident.dynamics import forward_dynamics
from ident.elastic import spring_torque
from ident.errors import InputError
from ident.loads import joint_loads
from ident.mechanism import Array, Mechanism
from ident.sweep import single

Torque = Callable[[float, Array, Array], ArrayLike]


def simulate(mechanism: Mechanism, torque: Torque, q: ArrayLike, dq: ArrayLike, t: ArrayLike) -> tuple[Array, Array]:
    """Motion of a tree under driving torques, with friction and elastic joints, by the classical Runge-Kutta method (Eq. 54).

    Parameters
    ----------
    mechanism : Mechanism
        A tree; friction and springs as it states.
    torque : callable
        Driving torques of time, positions and velocities: ``torque(t, q, dq)``, shape (n,); the passive joints' are ignored.
    q, dq : array_like, shape (n,)
        Where and how fast it starts.
    t : array_like, shape (N,)
        Times; each step takes the motion from one to the next [s].

    Returns
    -------
    q, dq : ndarray, shape (N, n)
        Positions and velocities at the times.
    """
    times = np.asarray(t, dtype=float)
    state = np.concatenate((single("q", q, mechanism)[0], single("dq", dq, mechanism)[0]))
    passive, n = list(mechanism.passive), mechanism.n

    def rate(time: float, state: Array) -> Array:
        tau = np.array(torque(time, state[:n], state[n:]), dtype=float)
        tau[passive] = 0.0
        return np.concatenate((state[n:], acceleration(mechanism, state[:n], state[n:], tau)))

    out = np.empty((len(times), 2 * n))
    out[0] = state
    for k, h in enumerate(np.diff(times)):
        time = times[k]
        k1 = rate(time, state)
        k2 = rate(time + h / 2.0, state + h / 2.0 * k1)
        k3 = rate(time + h / 2.0, state + h / 2.0 * k2)
        k4 = rate(time + h, state + h * k3)
        state = state + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
        out[k + 1] = state
    return out[:, :n], out[:, n:]


def acceleration(mechanism: Mechanism, q: ArrayLike, dq: ArrayLike, tau: ArrayLike) -> Array:
    """Acceleration of a tree under driving torques, one state, shape (n,): friction and its loads are found together.

    Raises
    ------
    InputError
        If friction and loads find no balance.
    """
    q, dq, tau = (single(name, value, mechanism) for name, value in (("q", q), ("dq", dq), ("tau", tau)))
    driven = tau - np.array([[spring_torque(mechanism, j, q[0, j], dq[0, j]) for j in range(mechanism.n)]])
    ddq = forward_dynamics(mechanism, q, dq, driven)
    if not mechanism.friction:
        return np.asarray(ddq[0])
    for _ in range(TURNS):
        before = ddq
        friction = joint_friction(mechanism, dq, joint_loads(mechanism, q, dq, ddq))
        ddq = forward_dynamics(mechanism, q, dq, driven - friction)
        if np.abs(ddq - before).max() <= SETTLED * max(1.0, np.abs(ddq).max()):
            return np.asarray(ddq[0])
    raise InputError(f"{mechanism.name}: friction and joint loads find no balance in {TURNS} turns; the friction coefficients "
                     "are too large for a sliding joint")
