"""Motion of a mechanism under given torques, and torques and loads of a
given motion, from tables.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.interpolate import BPoly

from stribeck.experiments.motions.motion_table import MotionTable
from stribeck.ident.arrays import Array
from stribeck.ident.errors import InputError
from stribeck.ident.model.chains.closed_chain import close_loops, swinging_joints
from stribeck.ident.model.driven.driving_torques import (
    Driving,
    closed_driving_torque,
    driving_torque,
)
from stribeck.ident.model.driven.forward_simulation import (
    TOLERANCE,
    acting,
    forward_motion,
    prescribed_motion,
)
from stribeck.ident.model.driven.stick_slip_integration import ForwardMotion
from stribeck.ident.model.energy import mechanical_energy
from stribeck.ident.model.loads import LOADS
from stribeck.ident.model.mechanism import Mechanism


@dataclass(frozen=True)
class NeededTorque:
    """Driving torques along a motion.

    Attributes
    ----------
    t : ndarray, shape (N,)
        Times [s].
    q, dq, ddq : ndarray, shape (N, n)
        Positions, velocities and accelerations of all joints [rad or m, and per s, s²].
    driving : Driving
        Torques, friction and loads.
    swinging : tuple of int
        Indices of joints that swing freely.
    swung : ForwardMotion or None
        Simulated motion, if joints swing freely.
    """

    t: Array
    q: Array
    dq: Array
    ddq: Array
    driving: Driving
    swinging: tuple[int, ...] = ()
    swung: ForwardMotion | None = None


def torque_for(
    mechanism: Mechanism, table: MotionTable, tolerance: float = TOLERANCE
) -> NeededTorque:
    """Driving torques, friction included, of a motion of the driven joints.

    If the driven joints do not determine the motion, elastic and hanging joints swing
    freely; they start at rest in equilibrium. A table with columns of all swinging joints
    is used without simulation.

    Raises
    ------
    InputError
        If a column is missing, or a posture is out of reach.
    """
    swinging = swinging_joints(mechanism)
    lacking = [
        mechanism.names[j] for j in swinging if ("q", mechanism.names[j]) not in table.columns
    ]
    if lacking:
        if len(lacking) < len(swinging):
            raise InputError(
                f"{table.path}: columns q.{', q.'.join(lacking)} are missing, but other passive "
                "joints have a column; give q of all passive joints, or of none to let them swing"
            )
        motion = prescribed_motion(
            mechanism, _through(mechanism, table), table.t, tolerance=tolerance
        )
        return NeededTorque(
            table.t, motion.q, motion.dq, motion.ddq, acting(mechanism, motion), swinging, motion
        )
    known = tuple(sorted((*mechanism.active, *swinging)))
    given = table.motion(mechanism, known)
    if mechanism.closures:
        closed = close_loops(mechanism, *given, known)
        return NeededTorque(
            table.t, closed.q, closed.dq, closed.ddq, closed_driving_torque(mechanism, closed)
        )
    return NeededTorque(table.t, *given, driving_torque(mechanism, *given))


def _through(m: Mechanism, table: MotionTable) -> Callable[[Array], Array]:
    """Motion of the drives through the rows of a table, with polynomials of
    degree five between rows.
    """
    given = np.stack(table.motion(m, m.active), axis=1)
    if len(given) < 2:
        raise InputError(
            f"{table.path}: one row, but {m.name} has passive joints, which swing between rows; "
            "give two or more"
        )
    way = BPoly.from_derivatives(table.t, given)
    rates = way.derivative(1), way.derivative(2)
    return lambda t: np.stack((way(t), rates[0](t), rates[1](t)))


def motion_under(
    mechanism: Mechanism, table: MotionTable, q: Array | None, dq: Array | None, tolerance: float
) -> ForwardMotion:
    """Motion under the torques of a table, interpolated linearly between its rows.

    Parameters
    ----------
    mechanism : Mechanism
        The mechanism.
    table : MotionTable
        Table with torques of the driven joints.
    q, dq : ndarray, shape (k,), optional
        Positions and velocities of the driven joints at the first time; default: the
        table's first row, or zero if it has no such columns. Elastic and hanging joints
        start at rest in equilibrium.
    tolerance : float
        Tolerance of `forward_motion`.
    """
    active = list(mechanism.active)
    tau = table.get("tau", mechanism, mechanism.active)
    position, velocity = (
        _first(mechanism, table, signal) if given is None else given
        for signal, given in (("q", q), ("dq", dq))
    )

    def torque(t: float, q: Array, dq: Array) -> Array:
        row = min(
            max(int(np.searchsorted(table.t, t, side="right")) - 1, 0), max(len(table.t) - 2, 0)
        )
        part = (t - table.t[row]) / (table.t[row + 1] - table.t[row]) if len(table.t) > 1 else 0.0
        out = np.zeros(mechanism.n)
        out[active] = tau[row] + part * (tau[min(row + 1, len(tau) - 1)] - tau[row])
        return out

    return forward_motion(mechanism, torque, position, velocity, table.t, table.t, tolerance)


def energy_error(mechanism: Mechanism, motion: ForwardMotion) -> float:
    """Largest error of the energy balance over the largest work or kinetic energy."""
    energy = mechanical_energy(mechanism, motion.q, motion.dq)
    kinetic = energy - mechanical_energy(mechanism, motion.q, np.zeros_like(motion.dq))
    spent = motion.driven - motion.rubbed - motion.damped
    size = max(
        float(np.abs([kinetic, motion.driven, motion.rubbed, motion.damped]).max(initial=0.0)),
        1e-300,
    )
    return float(np.abs(energy - energy[0] - spent).max(initial=0.0)) / size


def motion_columns(
    mechanism: Mechanism, q: Array, dq: Array, ddq: Array, tau: Array
) -> dict[str, Array]:
    """Columns of a motion of all joints, with the torques of the driven joints."""
    found = {
        f"{signal}.{name}": values[:, j]
        for signal, values in (("q", q), ("dq", dq), ("ddq", ddq))
        for j, name in enumerate(mechanism.names)
    }
    return found | {f"tau.{mechanism.names[j]}": tau[:, j] for j in mechanism.active}


def load_columns(mechanism: Mechanism, driving: Driving) -> dict[str, Array]:
    """Columns ``LOAD.NAME`` of all known loads."""
    found = {
        f"{load}.{name}": driving.loads.get(load)[:, j]
        for load in LOADS
        for j, name in enumerate(mechanism.names)
    }
    return {name: values for name, values in found.items() if np.isfinite(values).any()}


def _first(m: Mechanism, table: MotionTable, signal: str) -> Array:
    """First row of a signal of the driven joints; zero for a joint without column."""
    return np.array([table.columns.get((signal, m.names[j]), np.zeros(1))[0] for j in m.active])
