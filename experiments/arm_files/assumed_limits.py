"""Assumed values for missing limits of a simulated arm, with a sentence for each assumption."""

from collections import defaultdict

import numpy as np

from stribeck.ident.arm.arm_file import Limits
from stribeck.ident.arrays import Array
from stribeck.ident.model.chains.posture_following import SINGULAR
from stribeck.ident.model.dynamics import inverse_dynamics
from stribeck.ident.model.mechanism import Mechanism

_RANGE = (np.pi, 0.5)  # rad and m to both sides of zero, without stated limits,
_OF_REACH = 0.9  # part of a drive's reach in a closed chain, if smaller
_VELOCITY = (1.0, 0.25)  # rad/s and m/s
_TO_SPEED = 0.5  # s to reach full speed,
# part of a joint's range that it covers in this time, if it cannot reach full speed
_PART = 0.25
# torque limit over the torque for gravity and acceleration; the rest is for friction
_SPARE = 2.0
_LEAST_TORQUE = 10.0  # N·m or N
_POSTURES = 200  # random postures for the largest gravity torque


def assumed_limits(mechanism: Mechanism, stated: Limits, source: str) -> tuple[Limits, list[str]]:
    """Return limits with assumed values for nan and infinity in `stated`, and one
    sentence for each assumed value.

    Parameters
    ----------
    mechanism : Mechanism
        The model.
    stated : Limits
        Stated limits, in the joint order of the model; finite limits are kept.
    source : str
        Name of the source without these limits, for the sentences, for example "the model".

    Returns
    -------
    limits : Limits
        Finite positions, velocities, accelerations and torques.
    said : list of str
        One sentence for each assumed value.
    """
    names, kind = mechanism.names, mechanism.prismatic.astype(int).tolist()
    units, said = (
        [mechanism.position_unit(j) for j in range(mechanism.n)],
        defaultdict[str, list[str]](list),
    )
    position, velocity, acceleration, torque = (
        getattr(stated, key).copy() for key in ("position", "velocity", "acceleration", "torque")
    )
    reach = (
        np.full((mechanism.n, 2), [-np.inf, np.inf])
        if mechanism.chain is None
        else mechanism.chain.reach(mechanism)
    )
    for j in np.flatnonzero(~np.isfinite(position).all(axis=1)).tolist():
        way, (low, high) = min(_RANGE[kind[j]], *(_OF_REACH * np.abs(reach[j]))), position[j]
        begin = low if np.isfinite(low) else high - 2.0 * way if np.isfinite(high) else -way
        position[j] = np.round((begin, begin + 2.0 * way), 4)
        said[f"position from {position[j, 0]:.4g} to {position[j, 1]:.4g} {units[j]}"].append(
            names[j]
        )
    for j in np.flatnonzero(np.isnan(velocity)).tolist():
        velocity[j] = _VELOCITY[kind[j]]
        said[f"velocity {velocity[j]:g} {units[j]}/s"].append(names[j])
    for j in np.flatnonzero(np.isnan(acceleration)).tolist():
        usual, most = (
            velocity[j] / _TO_SPEED,
            2.0 * _PART * float(np.ptp(position[j])) / _TO_SPEED**2,
        )
        acceleration[j] = float(f"{min(usual, most):.4g}")
        what = "to full speed in" if usual <= most else f"through {_PART:g} of the range in"
        said[f"acceleration {what} {_TO_SPEED:g} s"].append(names[j])
    asked = _asked(mechanism, position, acceleration)
    for j in np.flatnonzero(np.isnan(torque)).tolist():
        torque[j] = float(f"{max(_LEAST_TORQUE, _SPARE * asked[j]):.2g}")
        said[f"torque {torque[j]:g} {mechanism.unit(j)}"].append(names[j])
    every = len(names) if len(names) > 1 else 0
    return (
        Limits(
            position, velocity, acceleration, torque, stated.temperature, stated.following_error
        ),
        [
            f"{what}: {'every joint' if len(joints) == every else ', '.join(joints)}, because "
            f"{source} states none"
            for what, joints in said.items()
        ],
    )


def _asked(mechanism: Mechanism, position: Array, acceleration: Array) -> Array:
    """Largest torque of each joint for gravity and acceleration over random
    postures, shape (n,) [N·m or N].
    """
    rng = np.random.default_rng(0)
    q = rng.uniform(position[:, 0], position[:, 1], (_POSTURES, mechanism.n))
    signs = rng.choice([-1.0, 1.0], q.shape)
    if mechanism.chain is not None:  # postures out of reach do not count
        q[~(mechanism.chain.condition(q, q) < SINGULAR)] = 0.0
    return np.asarray(
        np.abs(inverse_dynamics(mechanism, q, np.zeros_like(q), signs * acceleration)).max(axis=0)
    )
