r"""Friction of joints in motion: sliding direction, jump of the law at zero
velocity, and break-away torque.

The variable `way` is the sliding direction of a joint: the sign of the velocity in its friction
law. A joint sticks if its way is 0 and its law jumps at zero velocity (Coulomb's law).
"""

import numpy as np
from numpy.typing import NDArray

from stribeck.ident.arrays import Array
from stribeck.ident.errors import InputError
from stribeck.ident.laws.law_table import law_named
from stribeck.ident.model.loads import JointLoads
from stribeck.ident.model.mechanism import Mechanism

_REST = 1e-300  # velocity at which a law is evaluated to find its jump
_NO_JUMP = 1e-200  # N or N·m; viscous friction at velocity _REST is smaller
# weights of f(0), f(w), ... f(4 w) that continue a law to f(-w)
_ONWARDS = np.array([5.0, -10.0, 10.0, -5.0, 1.0])


class Rubbing:
    """Friction laws of a mechanism's joints. Joints with prescribed motion never stick: their
    drives overcome friction.

    Attributes
    ----------
    jumps : ndarray of bool, shape (n,)
        Joints of one axis that can stick.
    balls : tuple of int
        Spherical and universal joints of the tree that can stick, as
        indices into `Mechanism.balls`.
    sticking : ndarray of bool, shape (n,)
        Joints of `jumps` and joints of `balls`.
    loaded : tuple of int
        Joints whose friction depends on a load.

    Raises
    ------
    InputError
        If friction depends on a normal load and the bearing is unknown.
    """

    def __init__(self, m: Mechanism, prescribed: tuple[int, ...] = ()) -> None:
        for j, stated in m.friction.items():
            if stated.load == "normal" and m.bearings[j] is None:
                raise InputError(
                    f"{m.name}: friction of joint {m.names[j]} depends on its normal load, which "
                    "needs its bearing; state the bearing in the mechanism's file"
                )
        self.m = m
        self.loaded = tuple(j for j, stated in m.friction.items() if stated.load != "none")
        self.jumps: NDArray[np.bool_] = np.array(
            [
                j in m.friction
                and j not in prescribed
                and bool(self._law(j, np.array([_REST]), np.ones(1))[0] > _NO_JUMP)
                for j in range(m.n)
            ]
        )
        self.balls = tuple(
            k
            for k, ball in enumerate(m.balls)
            if ball.friction_arm and not {*ball.joints} & {*prescribed}
        )
        self.sticking = self.jumps.copy()
        self.sticking[[j for k in self.balls for j in m.balls[k].joints]] = True

    def friction(self, dq: Array, way: Array, loads: JointLoads) -> Array:
        """Compute friction of all joints that do not stick, shape (N, n) [N·m or N].

        A step that passes a reversal is shortened later. Until then the law continues
        smoothly beyond the reversal (its fifth difference is zero); otherwise the error
        estimate would reject the step.
        """
        out = np.zeros_like(dq)
        for j in self.m.friction:
            if not self.jumps[j]:
                out[:, j] = self._law(j, dq[:, j], self._load(j, loads))
            elif way[j]:
                out[:, j] = way[j] * self._one_way(j, way[j] * dq[:, j], self._load(j, loads))
        return out

    def _one_way(self, j: int, w: Array, load: Array) -> Array:
        """Return the law at positive speeds, and its extrapolation to negative speeds."""
        friction = self._law(j, np.maximum(w, _REST), load)
        beyond = np.flatnonzero(w < 0.0)
        if len(beyond):
            speeds = np.maximum(np.arange(len(_ONWARDS)) * -w[beyond, None], _REST)
            onwards = self._law(j, speeds.ravel(), np.repeat(load[beyond], len(_ONWARDS)))
            friction[beyond] = onwards.reshape(speeds.shape) @ _ONWARDS
        return friction

    def level(self, loads: JointLoads) -> Array:
        """Return the break-away torque of joints that can stick, shape (N,
        n); zero for other joints.
        """
        out = np.zeros_like(loads.tau)
        for j in map(int, np.flatnonzero(self.jumps)):
            out[:, j] = self._law(j, np.full(len(out), _REST), self._load(j, loads))
        return out

    def _load(self, j: int, loads: JointLoads) -> Array:
        load = self.m.friction[j].load
        return loads.tau[:, j] if load == "none" else loads.get(load)[:, j]

    def _law(self, j: int, w: Array, load: Array) -> Array:
        stated = self.m.friction[j]
        return law_named(stated.law).function(
            w, **stated.parameters, load=None if stated.load == "none" else load
        )
