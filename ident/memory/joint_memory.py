"""Memory of one joint's friction, as a calibration holds it."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import copysign
from typing import Any

import numpy as np

from stribeck.ident.arrays import Array, library_of
from stribeck.ident.laws.law import Law
from stribeck.ident.laws.parameter import Parameter
from stribeck.ident.memory.memory_data import STILL
from stribeck.ident.memory.states.memories import Drive, Memory, memory_named
from stribeck.ident.memory.states.path import Path
from stribeck.ident.memory.states.stepping import advanced, dry_friction, state_count

_NEAR = 1e-6  # of the presliding distance: least displacement for a slope


@dataclass(frozen=True)
class JointMemory:
    """Presliding of one joint: its dry friction follows the path instead of
    the sign of the velocity.

    Attributes
    ----------
    name : str
        Name of the memory, see `memories`.
    parameters : dict of str to Parameter
        Parameters of the memory.
    distance : float
        Distance over which friction reverses [rad or m].
    held_out_rmse, static_rmse : float
        Root mean square error of left-out blocks of the motion, with this memory and
        without memory [N·m or N].
    distances : tuple of float
        Slip distances of the elements of maxwell-slip; empty for other memories.
    """

    name: str
    parameters: Mapping[str, Parameter]
    distance: float
    held_out_rmse: float
    static_rmse: float
    distances: tuple[float, ...] = ()

    @cached_property
    def memory(self) -> Memory:
        """The law of presliding."""
        return memory_named(self.name, self.distances)

    @cached_property
    def values(self) -> dict[str, float]:
        """Values of the parameters."""
        return {
            name: entry.value for name, entry in self.parameters.items() if entry.value is not None
        }

    def dry(self, path: Path, velocity: Array, level: Array) -> Array:
        """Return the dry friction along a path, shape (M,); `level` is that of
        steady sliding, positive.
        """
        none = np.zeros((0, len(level)))
        return self.memory.answer(
            Drive(path, velocity, np.maximum(level, 1e-12), none), self.values
        )[0]


class MemoryState:
    """States of one joint's memory, advanced sample by sample.

    Parameters
    ----------
    of : JointMemory
    """

    def __init__(self, of: JointMemory) -> None:
        self._of, self._position, self._level = of, float("nan"), float("nan")
        self._states: list[float] = [0.0] * state_count(of.memory)

    def follow(self, position: float, velocity: float, level: float) -> float:
        """Move to a position, and return the dry friction there [N·m or N].

        Parameters
        ----------
        position, velocity : float
            [rad or m, and per s]; at the first call the states are zero.
        level : float
            Dry level of friction in steady sliding at this speed and load, positive [N·m or N].
        """
        own, level = self._of, max(level, 1e-12)
        step, along = 0.0, level
        if self._position == self._position:  # not nan, as before the first call
            step, along = position - self._position, 0.5 * (level + self._level)
        self._position, self._level = position, level
        self._states = advanced(own.memory, own.values, self._states, step, along)
        return dry_friction(own.memory, own.values, self._states, velocity, level)

    def ahead(
        self, position: float, velocity: float, level: float, dt: float
    ) -> tuple[float, float]:
        """Move to a position, and return what an implicit integrator needs for the next step.

        Parameters
        ----------
        position, velocity, level : float
            As for `follow`.
        dt : float
            Length of the step [s].

        Returns
        -------
        friction : float
            Dry friction at the position, at rest [N·m or N].
        slope : float
            Its growth over the step per velocity, not negative [N·m·s/rad or N·s/m].
        """
        here = self.follow(position, 0.0, level)
        least = _NEAR * self._of.distance / dt
        rate = copysign(max(abs(velocity), least), velocity)
        after = advanced(self._of.memory, self._of.values, self._states, rate * dt, self._level)
        there = dry_friction(self._of.memory, self._of.values, after, rate, self._level)
        return here, max(0.0, (there - here) / rate)


def dry_level(law: Law, values: Mapping[str, Any], velocity: Array, load: Array | None) -> Array:
    """Return the dry level of a law in steady sliding at velocities and loads, shape
    (N,), positive [N·m or N].
    """
    without = {name: 0.0 if name.startswith("viscous") else value for name, value in values.items()}
    xp = library_of(velocity)
    return law.torque(xp.clip(xp.abs(velocity), STILL, None), without, load)
