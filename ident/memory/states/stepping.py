"""States of a memory, sample by sample, for controllers and simulations.

Each function advances the states by one step of the path; `memories` has the
same laws for whole motions.
"""

from collections.abc import Mapping
from math import copysign, exp

from stribeck.ident.memory.states.memories import (
    DAHL,
    DAMPING,
    DISTANCE,
    EXPONENT,
    LUGRE,
    MAXWELL_SLIP,
    SECOND_DISTANCE,
    SHARE,
    STIFFNESS,
    TWO_STATES,
    Memory,
)

# least distance of Dahl's state from its limit, which it reaches only after an infinite distance
_LEAST = 1e-12


def state_count(memory: Memory) -> int:
    """Return the number of states of a memory."""
    return len(memory.distances) or (2 if memory.name == TWO_STATES.name else 1)


def advanced(
    memory: Memory, values: Mapping[str, float], states: list[float], step: float, level: float
) -> list[float]:
    """Return the states after a displacement.

    Parameters
    ----------
    memory : Memory
    values : mapping of str to float
        Parameters of the memory.
    states : list of float
        States before; zero at first.
    step : float
        Displacement [rad or m].
    level : float
        Dry level of friction along the step, positive [N·m or N].
    """
    if step == 0.0:
        return states
    s, length = copysign(1.0, step), abs(step)
    if memory.name == MAXWELL_SLIP:
        return [
            min(1.0, max(-1.0, z + step / far))
            for z, far in zip(states, memory.distances, strict=True)
        ]
    if memory.name == LUGRE.name:
        return [s * level + (states[0] - s * level) * exp(-values[STIFFNESS.name] * length / level)]
    if memory.name == DAHL.name:
        power = 1.0 - values[EXPONENT.name]
        if abs(power) > 1e-6:
            base = (
                max(1.0 - s * states[0], _LEAST) ** power - power * length / values[DISTANCE.name]
            )
            return [s * (1.0 - (base ** (1.0 / power) if base > 0.0 else 0.0))]
    distances = (DISTANCE, SECOND_DISTANCE) if memory.name == TWO_STATES.name else (DISTANCE,)
    return [
        s + (z - s) * exp(-length / values[key.name])
        for z, key in zip(states, distances, strict=True)
    ]


def dry_friction(
    memory: Memory, values: Mapping[str, float], states: list[float], velocity: float, level: float
) -> float:
    """Return the dry friction of the states [N·m or N]; parameters as in `advanced`,
    `velocity` in rad/s or m/s.
    """
    if memory.name == MAXWELL_SLIP:
        shares = [values[name] for name in memory.parameters]
        return level * sum(
            share * z for share, z in zip((*shares, 1.0 - sum(shares)), states, strict=True)
        )
    if memory.name == LUGRE.name:
        return states[0] + values[DAMPING.name] * (velocity - abs(velocity) * states[0] / level)
    if memory.name == TWO_STATES.name:
        return level * (values[SHARE.name] * states[0] + (1.0 - values[SHARE.name]) * states[1])
    return level * states[0]
