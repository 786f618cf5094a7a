"""Limits of a simulated arm that nobody stated, each with a sentence that says what is assumed."""

from collections import defaultdict

import numpy as np

from stribeck.ident.arm.arm_file import Limits
from stribeck.ident.arrays import Array
from stribeck.ident.model.chains.posture_following import SINGULAR
from stribeck.ident.model.dynamics import inverse_dynamics
from stribeck.ident.model.mechanism import Mechanism

_RANGE = (np.pi, 0.5)           # rad and m either way from zero, where no limits are stated,
_OF_REACH = 0.9                 # part of what loops let a drive go, where that is less
_VELOCITY = (1.0, 0.25)         # rad/s and m/s, where no velocity is
_TO_SPEED = 0.5                 # s to full speed,
_PART = 0.25                    # of a joint's range, through which it gets in that time where its speed is out of reach
_SPARE = 2.0                    # times what gravity and acceleration ask: friction needs some, too
_LEAST_TORQUE = 10.0            # N·m or N
_POSTURES = 200                 # random ones in which gravity is looked at


def assumed_limits(mechanism: Mechanism, stated: Limits, source: str) -> tuple[Limits, list[str]]:
    """Limits where `stated` has nan or infinity, and what was assumed for which joints, one sentence a value.

    Parameters
    ----------
    mechanism : Mechanism
        The model.
    stated : Limits
        In its joint order; what is stated stays.
    source : str
        What states none of them, as "the model".

    Returns
    -------
    limits : Limits
        Finite positions, velocities, accelerations and torques.
    said : list of str
    """
    names, kind = mechanism.names, mechanism.prismatic.astype(int).tolist()
    units, said = [mechanism.position_unit(j) for j in range(mechanism.n)], defaultdict[str, list[str]](list)
    position, velocity, acceleration, torque = (
        getattr(stated, key).copy() for key in ("position", "velocity", "acceleration", "torque"))
    reach = np.full((mechanism.n, 2), [-np.inf, np.inf]) if mechanism.chain is None else mechanism.chain.reach(mechanism)
    for j in np.flatnonzero(~np.isfinite(position).all(axis=1)).tolist():
        way, (low, high) = min(_RANGE[kind[j]], *(_OF_REACH * np.abs(reach[j]))), position[j]
        begin = low if np.isfinite(low) else high - 2.0 * way if np.isfinite(high) else -way
        position[j] = np.round((begin, begin + 2.0 * way), 4)
        said[f"position from {position[j, 0]:.4g} to {position[j, 1]:.4g} {units[j]}"].append(names[j])
    for j in np.flatnonzero(np.isnan(velocity)).tolist():
        velocity[j] = _VELOCITY[kind[j]]
        said[f"velocity {velocity[j]:g} {units[j]}/s"].append(names[j])
    for j in np.flatnonzero(np.isnan(acceleration)).tolist():
        usual, most = velocity[j] / _TO_SPEED, 2.0 * _PART * float(np.ptp(position[j])) / _TO_SPEED**2
        acceleration[j] = float(f"{min(usual, most):.4g}")
        what = "to full speed after" if usual <= most else f"through {_PART:g} of the range in"
        said[f"acceleration {what} {_TO_SPEED:g} s"].append(names[j])
    asked = _asked(mechanism, position, acceleration)
    for j in np.flatnonzero(np.isnan(torque)).tolist():
        torque[j] = float(f"{max(_LEAST_TORQUE, _SPARE * asked[j]):.2g}")
        said[f"torque {torque[j]:g} {mechanism.unit(j)}"].append(names[j])
    every = len(names) if len(names) > 1 else 0
    return (Limits(position, velocity, acceleration, torque, stated.temperature, stated.following_error),
            [f"{what}: {'every joint' if len(joints) == every else ', '.join(joints)}, as {source} states none"
             for what, joints in said.items()])


def _asked(mechanism: Mechanism, position: Array, acceleration: Array) -> Array:
    """The greatest torque that gravity and acceleration ask of each joint, shape (n,)."""
    rng = np.random.default_rng(0)
    q = rng.uniform(position[:, 0], position[:, 1], (_POSTURES, mechanism.n))
    signs = rng.choice([-1.0, 1.0], q.shape)
    if mechanism.chain is not None:         # out of reach nothing is asked
        q[~(mechanism.chain.condition(q, q) < SINGULAR)] = 0.0
    return np.asarray(np.abs(inverse_dynamics(mechanism, q, np.zeros_like(q), signs * acceleration)).max(axis=0))
