r"""Motion of trees and closed chains under driving torques, with friction and elastic joints
(P0, Eqs. 54, 56; P2; P3).

.. math:: M \ddot q + h + K q + D \dot q + \tau_f(\dot q, N) = \tau_d + G^T \lambda, \qquad g(q) = 0

A joint whose friction law jumps at zero velocity sticks at rest while the applied torque is less
than the jump (Coulomb's law without smoothing). A joint that sticks has zero acceleration, and
static friction balances the applied torque. Integration steps end where a joint comes to rest or
breaks loose, so the motion is smooth within each step. Spherical and universal joints of the tree
also stick if rigid-body mechanics determines their static friction (`ball_sticking`). Otherwise,
and in cut joints, their friction decreases with the speed below 1e-6 rad/s, and a load that static
friction could hold creeps.

`prescribed_motion` takes the motion of the drives as given: the torques of the drives are unknowns,
and the other joints swing.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from stribeck.ident.arrays import Array
from stribeck.ident.errors import InputError
from stribeck.ident.model.chains.closed_chain import ClosedLoads, branch_of, telling_joints
from stribeck.ident.model.chains.internal_forces import InternalForces
from stribeck.ident.model.chains.local_coordinates import LocalCoordinates, Prescribed
from stribeck.ident.model.chains.rest import set_off
from stribeck.ident.model.driven.driving_torques import Driving
from stribeck.ident.model.driven.motion_equations import MotionEquations, Torque
from stribeck.ident.model.driven.stick_slip_integration import ForwardMotion, Simulation
from stribeck.ident.model.driven.sticking import ways
from stribeck.ident.model.dynamics import kinematics
from stribeck.ident.model.mechanism import Mechanism
from stribeck.ident.model.recursion import single

TOLERANCE = 1e-8  # error of a step, in rad or characteristic lengths, and per second


def simulate(
    mechanism: Mechanism,
    torque: Torque,
    q: ArrayLike,
    dq: ArrayLike,
    t: ArrayLike,
    corners: ArrayLike = (),
    tolerance: float = TOLERANCE,
) -> tuple[Array, Array]:
    """Return positions and velocities of `forward_motion`, shape (N, n) each."""
    motion = forward_motion(mechanism, torque, q, dq, t, corners, tolerance)
    return motion.q, motion.dq


def forward_motion(
    mechanism: Mechanism,
    torque: Torque,
    q: ArrayLike,
    dq: ArrayLike,
    t: ArrayLike,
    corners: ArrayLike = (),
    tolerance: float = TOLERANCE,
) -> ForwardMotion:
    """Simulate a mechanism under driving torques, with friction, elastic joints and
    closed loops (Eqs. 54, 56).

    The integrator is a collocation method of order 13 (`radau`) in local coordinates of the
    closures (`local_coordinates`). Loops stay closed to rounding error in motions of any length,
    and springs may have any stiffness. Steps are as long as the tolerance allows.

    Parameters
    ----------
    mechanism : Mechanism
        A tree or closed chain with its friction and springs. The static level of a law is
        also the break-away torque.
    torque : callable
        Driving torques ``torque(t, q, dq)``, shape (n,); torques of passive joints are ignored.
    q, dq : array_like, shape (n,) or (k,)
        Initial positions and velocities of all n joints, or of the k driven joints only. With k
        values, the loops are closed, and elastic joints and hanging joints of a tree start in
        balance, at rest (`rest.set_off`).
    t : array_like, shape (N,)
        Increasing times [s].
    corners : array_like, shape (m,), optional
        Times at which the torque has corners or jumps; a step ends at each of these times.
    tolerance : float
        Greatest error of a step [rad or characteristic lengths, and per second].

    Raises
    ------
    PostureError
        If the motion reaches a posture from which the closures do not determine the motion.
    InputError
        If a shape does not fit, a value is not finite, times do not increase, friction
        and loads find no balance, or rigid-body mechanics does not determine how
        joints that stick share a load.
    """
    simulation = Simulation(MotionEquations(mechanism, torque), t, corners, tolerance)
    return simulation.run(*_closed(mechanism, q, dq))


def prescribed_motion(
    mechanism: Mechanism,
    drives: Callable[[Array], ArrayLike],
    t: ArrayLike,
    q: ArrayLike | None = None,
    dq: ArrayLike | None = None,
    corners: ArrayLike = (),
    tolerance: float = TOLERANCE,
) -> ForwardMotion:
    """Compute the motion of all joints and the driving torques for a given motion of the
    drives (inverse dynamics).

    Elastic joints and hanging joints of a tree, which the drives do not determine, move
    freely (rheonomic constraints).

    Parameters
    ----------
    mechanism : Mechanism
        A tree or closed chain with its friction and springs.
    drives : callable
        Positions, velocities and accelerations of the k driven joints at times (N,):
        ``drives(t)``, shape (3, N, k).
    t : array_like, shape (N,)
        Increasing times [s].
    q, dq : array_like, shape (n,), optional
        Initial positions and velocities of all joints. By default, joints that the drives do not
        determine start in balance, at rest (`rest.set_off`).
    corners, tolerance
        As in `forward_motion`.

    Raises
    ------
    PostureError, InputError
        As in `forward_motion`.
    """
    led = Prescribed(mechanism.active, lambda times: np.asarray(drives(times), dtype=float))
    nothing = np.zeros(mechanism.n)
    simulation = Simulation(
        MotionEquations(mechanism, lambda t, q, dq: nothing, led), t, corners, tolerance
    )
    first = led.motion(np.append(simulation.times, 0.0)[:1])
    if first.shape != (3, 1, len(led.joints)) or not np.isfinite(first).all():
        raise InputError(
            f"drives(t) at one time has shape {first.shape}, finite numbers of shape (3, 1, "
            f"{len(led.joints)}) are needed: positions, velocities, accelerations of "
            f"{', '.join(mechanism.names[j] for j in led.joints)}"
        )
    position, velocity = first[:2, 0]
    return simulation.run(
        *(
            set_off(mechanism, position, velocity)
            if q is None or dq is None
            else _closed(mechanism, q, dq)
        )
    )


def acting(mechanism: Mechanism, motion: ForwardMotion) -> Driving:
    """Return torques, friction, loads and cut-joint forces along a motion."""
    if not mechanism.closures:
        return Driving(motion.tau, motion.friction, motion.loads)
    loops = branch_of(mechanism, telling_joints(mechanism)).at(motion.q)
    internal = InternalForces.of(loops, kinematics(mechanism, motion.q, motion.dq))
    told = internal.hide(motion.loads, motion.force, motion.moment)
    return Driving(
        motion.tau, motion.friction, told[0], ClosedLoads(motion.tau, *told, loops.condition)
    )


def acceleration(mechanism: Mechanism, q: ArrayLike, dq: ArrayLike, tau: ArrayLike) -> Array:
    """Compute the acceleration of one state under driving torques, shape (n,); friction and
    loads are solved together.

    Parameters and errors as in `forward_motion`; `tau` has shape (n,) [N·m or N]. A joint whose
    velocity is exactly zero sticks if it can.
    """
    equations = MotionEquations(mechanism, lambda t, q, dq: tau)
    q, dq = _closed(mechanism, q, dq)
    return np.asarray(ways(equations, 0.0, q, dq, dq == 0.0)[1].ddq[0])


def _closed(m: Mechanism, q: ArrayLike, dq: ArrayLike) -> tuple[Array, Array]:
    """Return a state of all joints that closes the loops."""
    position, velocity = (np.asarray(value, dtype=float) for value in (q, dq))
    if position.shape == velocity.shape == (len(m.active),) != (m.n,):
        return set_off(m, position, velocity)
    position, velocity = single("q", q, m)[0], single("dq", dq, m)[0]
    if not m.closures:
        return position, velocity
    place = LocalCoordinates(m, position, np.zeros(m.n, dtype=bool))
    posture, B, _ = place.place(np.zeros((1, place.k)), np.zeros((1, place.r)))
    closing = place.unit * (B[0] @ place.rates(velocity))
    for name, given, closed in (("q", position, posture[0]), ("dq", velocity, closing)):
        off = np.abs(given - closed) / place.unit
        if off.max() > 1e-6 * max(1.0, float(np.abs(given).max())):
            raise InputError(
                f"{m.name}: {name} does not close the loops: joint {m.names[int(np.argmax(off))]} "
                f"differs by {off.max():.2g} from a state that closes them; give only the driven "
                "joints, or a state from close_loops"
            )
    return posture[0], closing
