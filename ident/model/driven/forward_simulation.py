r"""Motion of trees under driving torques, with friction and elastic joints (P0, Eq. 54; P3).

.. math:: M \ddot q = \tau_d - h - \tau_f(\dot q, N) - K q - D \dot q

A joint whose law jumps at zero velocity sticks there while what would move it is less than the jump (Coulomb's law,
without smoothing): its acceleration is zero and friction is what holds it. Steps end where a joint comes to rest or
breaks loose, so that within each the motion is smooth.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq

from stribeck.ident.arrays import Array
from stribeck.ident.errors import InputError, ModelError
from stribeck.ident.laws.law_table import law_named
from stribeck.ident.model.elastic_joints import spring_torque
from stribeck.ident.model.loads import JointLoads, joint_loads
from stribeck.ident.model.mechanism import Mechanism
from stribeck.ident.model.recursion import single

Torque = Callable[[float, Array, Array], ArrayLike]

_NEWTON = 20
_SHARES = 20            # steps in which friction is grown where Newton's method fails at once
_SETTLED = 1e-12        # relative change of accelerations in the last of Newton's steps
_STEP = 1e-4            # of a finite difference, relative; torques are linear in accelerations but for what loads add
_REST = 1e-300          # velocity at which a law shows its jump
_EVENTS = 20            # times that joints may stop and start within one step
_INSTANT = 1e-10        # how closely such a time is found, as a fraction of the step


def simulate(mechanism: Mechanism, torque: Torque, q: ArrayLike, dq: ArrayLike, t: ArrayLike) -> tuple[Array, Array]:
    """Motion of a tree under driving torques, with friction and elastic joints, by the classical Runge-Kutta method (Eq. 54).

    Joints that come to rest between two times stick or turn back there: the step is divided where they do.

    Parameters
    ----------
    mechanism : Mechanism
        A tree; friction and springs as it states. A law's static level is also what breaks a joint loose.
    torque : callable
        Driving torques of time, positions and velocities: ``torque(t, q, dq)``, shape (n,); the passive joints' are ignored.
    q, dq : array_like, shape (n,)
        Where and how fast it starts.
    t : array_like, shape (N,)
        Times, increasing; each step takes the motion from one to the next and has to resolve it, the fall of friction over
        the Stribeck velocity too [s].

    Returns
    -------
    q, dq : ndarray, shape (N, n)
        Positions and velocities at the times.

    Raises
    ------
    InputError
        If a shape does not fit, a value is not finite, times do not increase, or friction and loads find no balance.
    ModelError
        If the mechanism has closures, or spherical joints that rub.
    """
    times = np.asarray(t, dtype=float)
    if times.ndim != 1 or not np.isfinite(times).all() or (np.diff(times) <= 0.0).any():
        raise InputError(f"t has shape {times.shape}, finite times that increase are needed, (N,) [s]")
    state = np.concatenate((single("q", q, mechanism)[0], single("dq", dq, mechanism)[0]))
    motion, out = _Motion(mechanism, torque), np.empty((len(times), 2 * mechanism.n))
    for k, time in enumerate(times):
        state = motion.advanced(float(times[k - 1]), float(time), state) if k else state
        out[k] = state
    return out[:, :mechanism.n], out[:, mechanism.n:]


def acceleration(mechanism: Mechanism, q: ArrayLike, dq: ArrayLike, tau: ArrayLike) -> Array:
    """Acceleration of a tree under driving torques, one state, shape (n,): friction and its loads are found together.

    Parameters and errors as in `simulate`; `tau` has shape (n,) [N·m or N]. A joint whose velocity is exactly zero sticks
    if it can.
    """
    state = np.concatenate((single("q", q, mechanism)[0], single("dq", dq, mechanism)[0]))
    motion = _Motion(mechanism, lambda t, q, dq: tau)
    return motion.balance(0.0, state, motion.ways(0.0, state))[0]


class _Motion:
    """A tree under torques. The way of a joint is the sign of the velocity at which it rubs; 0 is stuck, if its law jumps."""

    def __init__(self, m: Mechanism, torque: Torque) -> None:
        for ball in m.balls:
            if ball.friction_arm:
                raise ModelError(f"{m.name}: friction of the universal or spherical joint {ball.name} is not simulated; a "
                                 "friction_arm of 0 leaves it out")
        for j, stated in m.friction.items():
            if stated.load == "normal" and m.bearings[j] is None:
                raise InputError(f"{m.name}: friction of joint {m.names[j]} goes with its normal load, which needs its bearing")
        self.m, self.torque = m, torque
        self.jumps: NDArray[np.bool_] = np.array([j in m.friction and bool(self._law(j, _REST, np.ones(1))[0] > 0.0)
                                                  for j in range(m.n)])

    def advanced(self, time: float, end: float, state: Array) -> Array:
        """State at the end of a step, which is divided where a joint stops or breaks loose."""
        began = time
        for _ in range(_EVENTS):
            way = self.ways(time, state)
            after = self._step(time, end - time, state, way)
            if not self.jumps.any() or self._reserve(end, after, way).min() >= 0.0:
                return after
            time, state = self._event(time, end, state, way)
        raise InputError(f"{self.m.name}: joints stop and start more than {_EVENTS} times between t = {began:g} and {end:g} s "
                         f"(by {time:g} s), as under a torque that jumps with position or velocity; take smaller steps, or make "
                         "the torque continuous")

    def ways(self, time: float, state: Array) -> Array:
        """Ways of all joints: those at rest stick, or slide to the side to which they are pressed beyond their level."""
        velocity = state[self.m.n:]
        way, resting = np.where(self.jumps, np.sign(velocity), 0.0), self.jumps & (velocity == 0.0)
        for _ in range(4 * self.m.n + 1):
            if not resting.any():
                return way
            ddq, held, level = self.balance(time, state, way)
            back, over = np.where(resting, way * ddq, 0.0), np.abs(held) - level
            if back.min(initial=0.0) < 0.0:
                way[np.argmin(back)] = 0.0
            elif over.max(initial=0.0) > 0.0:
                way[np.argmax(over)] = np.sign(held[np.argmax(over)])
            else:
                return way
        raise self._no_balance()

    def balance(self, time: float, state: Array, way: Array) -> tuple[Array, Array, Array]:
        """Accelerations by Newton's method; of stuck joints the torque that friction holds and its level, else 0; (n,) each."""
        q, dq = np.split(state, 2)
        driven = single("torque", self.torque(time, q, dq), self.m)[0]
        driven[list(self.m.passive)] = 0.0
        found = self._newton(q, dq, driven, way, np.zeros(self.m.n), 1.0)
        for share in () if found is not None else np.linspace(0.0, 1.0, _SHARES + 1):       # friction grown step by step
            found = self._newton(q, dq, driven, way, np.zeros(self.m.n) if found is None else found[0], share)
            if found is None:
                raise self._no_balance()
        assert found is not None
        ddq, rest, loads = found
        stuck = self.jumps & (way == 0.0)
        level = np.array([self._friction(j, _REST, loads)[0] if stuck[j] else 0.0 for j in range(self.m.n)])
        return ddq, np.where(stuck, rest, 0.0), level

    def _newton(self, q: Array, dq: Array, driven: Array, way: Array, ddq: Array,
                share: float) -> tuple[Array, Array, JointLoads] | None:
        """Accelerations under a share of friction, torques that are left over in stuck joints, and loads; None if none is found.

        A solution where friction outweighs inertia, so that more torque means less acceleration, is none either.
        """
        ddq, n = ddq.copy(), self.m.n
        free = np.flatnonzero(~self.jumps | (way != 0.0))
        for _ in range(_NEWTON):
            step = _STEP * max(1.0, np.abs(ddq).max())
            needed, loads = self._needed(q, dq, ddq + np.vstack((np.zeros(n), step * np.eye(n)[free])), way, share)
            rest, slope = driven - needed[0], (needed[1:, free] - needed[0, free]).T / step
            sign = np.linalg.slogdet(slope)[0]
            if not np.isfinite(slope).all() or sign == 0.0:
                return None
            change = np.linalg.solve(slope, rest[free])
            ddq[free] += change
            if np.abs(change).max(initial=0.0) <= _SETTLED * max(1.0, np.abs(ddq).max()):
                return (ddq, rest, loads) if sign > 0.0 else None
        return None

    def _needed(self, q: Array, dq: Array, ddq: Array, way: Array, share: float) -> tuple[Array, JointLoads]:
        """Torques for several accelerations (k, n), without what holds stuck joints, and the loads."""
        rows = np.ones((len(ddq), 1))
        loads = joint_loads(self.m, rows * q, rows * dq, ddq)
        tau = loads.tau + spring_torque(self.m, rows * q, rows * dq)
        for j in self.m.friction:
            if not self.jumps[j]:
                tau[:, j] += share * self._friction(j, dq[j], loads)
            elif way[j]:                            # goes on smoothly beyond a reversal, where the step will be cut off
                tau[:, j] += share * way[j] * self._friction(j, max(way[j] * dq[j], _REST), loads)
        return tau, loads

    def _friction(self, j: int, w: float, loads: JointLoads) -> Array:
        load = self.m.friction[j].load
        return self._law(j, w, loads.tau[:, j] if load == "none" else loads.get(load)[:, j])

    def _law(self, j: int, w: float, load: Array) -> Array:
        stated = self.m.friction[j]
        return law_named(stated.law).function(np.full(len(load), w), **stated.parameters,
                                              load=None if stated.load == "none" else load)

    def _step(self, time: float, h: float, state: Array, way: Array) -> Array:
        """State after h by the classical Runge-Kutta method."""
        def rate(time: float, state: Array) -> Array:
            return np.concatenate((state[self.m.n:], self.balance(time, state, way)[0]))

        k1 = rate(time, state)
        k2 = rate(time + h / 2.0, state + h / 2.0 * k1)
        k3 = rate(time + h / 2.0, state + h / 2.0 * k2)
        k4 = rate(time + h, state + h * k3)
        return np.asarray(state + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4))

    def _reserve(self, time: float, state: Array, way: Array) -> Array:
        """Negative for a joint that must have stopped (its speed) or broken loose (level less what is held) by now."""
        reserve = np.where(way != 0.0, way * state[self.m.n:], np.inf)
        if (self.jumps & (way == 0.0)).any():
            _, held, level = self.balance(time, state, way)
            reserve = np.where(self.jumps & (way == 0.0), level - np.abs(held), reserve)
        return reserve

    def _event(self, time: float, end: float, state: Array, way: Array) -> tuple[float, Array]:
        """When the first joint stops or breaks loose, and the state then."""
        def after(part: float) -> tuple[float, Array]:
            return time + part * (end - time), self._step(time, part * (end - time), state, way)

        def least(part: float) -> float:
            return float(self._reserve(*after(part), way).min())

        low, high = 0.5, 1.0
        while low > _INSTANT and least(low) <= 0.0:
            low, high = low / 2.0, low
        if low > _INSTANT:
            high = min(brentq(least, low, high, xtol=_INSTANT, rtol=_INSTANT) + 2.0 * _INSTANT, high)        # just beyond
        instant, state = after(high)
        velocity = state[self.m.n:]
        velocity[way * velocity < 0.0] = 0.0
        return instant, state

    def _no_balance(self) -> InputError:
        if not self.m.friction:
            return InputError(f"{self.m.name}: the mass matrix is singular; a link that can move by itself has neither mass nor "
                              "inertia about its joint")
        return InputError(f"{self.m.name}: friction and joint loads find no balance; the friction coefficients are too large for "
                          "a sliding joint")
