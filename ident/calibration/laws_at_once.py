"""Friction laws of several joints at one sample, joints with the same law in one call.

For a single sample, the batch code spends most of its time on NumPy's overhead.
"""

import inspect
from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from stribeck.ident.arrays import Array
from stribeck.ident.calibration.joint_calibration import JointCalibration
from stribeck.ident.laws.law_table import law_named
from stribeck.ident.model.loads import LOAD_PARTS, load_weights
from stribeck.ident.ripple.wave import FRICTION, Wave


class LawsAtOnce:
    """Friction of joints from their velocities and the parts of their loads.

    Parameters
    ----------
    joints : sequence of JointCalibration or None
        The n joints; None for a joint without calibration.
    prismatic : ndarray of bool, shape (n,)
        Which joints slide.

    Attributes
    ----------
    loaded : bool
        Whether friction of a joint depends on loads or on the sign of the drive's torque.
    offset : ndarray, shape (n,)
        Torque offsets.
    """

    def __init__(
        self, joints: Sequence[JointCalibration | None], prismatic: NDArray[np.bool_]
    ) -> None:
        self._weights = np.column_stack(
            [
                load_weights(
                    joint.load if joint else "none", joint.bearing if joint else None, bool(slides)
                )
                for joint, slides in zip(joints, prismatic, strict=True)
            ]
        )
        self._level_weights = _component_level_weights(joints, self._weights.shape)
        self._groups = _group_by_law(joints)
        self._unknown = np.array([np.nan if joint is None else 0.0 for joint in joints])
        self._viscous, self._driving = (
            np.array(
                [
                    joint.difference if joint is not None and joint.directional == kind else 0.0
                    for joint in joints
                ]
            )
            for kind in ("viscous", "driving")
        )
        self.offset = np.array([0.0 if joint is None else joint.offset for joint in joints])
        self.loaded = bool(self._weights.any() or self._level_weights or self._driving.any())
        self._same_both_ways = not (self._viscous.any() or self._driving.any())

    def load(self, parts: Array) -> Array:
        """Return the load of each joint, shape (n,), from the `LOAD_PARTS`, shape (5, n);
        zero for load components.
        """
        return np.asarray(np.einsum("ij,ij->j", self._weights, parts))

    def torque(self, w: Array, parts: Array, rigid: Array) -> Array:
        """Return the friction of each joint, shape (n,) [N·m or N]; nan without
        calibration or with an unknown load.

        Parameters
        ----------
        w, rigid : ndarray, shape (n,)
            Velocities, and rigid-body torques of the drives, whose sign tells
            driving from back-driving.
        parts : ndarray, shape (5, n)
            `LOAD_PARTS`, not negative.
        """
        load, friction = self.load(parts), self._unknown.copy()
        levels = {
            name: np.einsum("ij,ij->j", weights, parts)
            for name, weights in self._level_weights.items()
        }
        for columns, law in self._groups:
            raised = {
                name: law.keywords[name] + level[columns]
                for name, level in levels.items()
                if name in law.keywords
            }
            friction[columns] = law(w[columns], load=load[columns], **raised)
        if self._same_both_ways:
            return friction
        return np.asarray(
            friction
            + self._viscous * np.abs(w)
            + self._driving * load * np.sign(rigid) * (w != 0.0)
        )


class Waves:
    """Ripple of all joints, wave by wave."""

    def __init__(self, columns: list[int], waves: list[Wave]) -> None:
        self._columns = np.array(columns)
        self._order, self._amplitude, self._phase = np.array(
            [(one.order, one.amplitude, one.phase) for one in waves]
        ).T
        self._odd = np.array([one.kind == FRICTION for one in waves])

    @classmethod
    def of(
        cls, joints: Sequence[JointCalibration | None], kinds: Sequence[str] | None = None
    ) -> "Waves | None":
        """Return the waves of all joints, or those of some kinds; None without any."""
        waves = [
            (k, wave)
            for k, joint in enumerate(joints)
            if joint is not None
            for wave in joint.ripple
            if kinds is None or wave.kind in kinds
        ]
        return cls([k for k, _ in waves], [wave for _, wave in waves]) if waves else None

    def __call__(self, q: Array, w: Array) -> Array:
        """Return the ripple of every joint at one sample, shape (n,) [N·m or N]."""
        sine = self._amplitude * np.sin(self._order * q[self._columns] + self._phase)
        return np.asarray(
            np.bincount(
                self._columns, np.where(self._odd, np.sign(w[self._columns]), 1.0) * sine, len(q)
            ),
            dtype=np.float64,
        )


def _group_by_law(
    joints: Sequence[JointCalibration | None],
) -> list[tuple[NDArray[np.int_], partial[Array]]]:
    """Return, for each law, the columns of its joints, and the law with an
    array for every parameter.
    """
    groups: list[tuple[NDArray[np.int_], partial[Array]]] = []
    for name in dict.fromkeys(joint.law for joint in joints if joint is not None):
        law = law_named(name).function
        members = {
            k: joint for k, joint in enumerate(joints) if joint is not None and joint.law == name
        }
        values: dict[str, list[float]] = {}
        for joint in members.values():
            signature = inspect.signature(law)
            bound = signature.bind(
                0.0,
                **{
                    key: value for key, value in joint.values.items() if key in signature.parameters
                },
            )
            bound.apply_defaults()
            # the first argument is speed, the last is load
            for parameter, value in list(bound.arguments.items())[1:-1]:
                values.setdefault(parameter, []).append(value)
        groups.append(
            (
                np.array(list(members)),
                partial(law, **{key: np.array(value) for key, value in values.items()}),
            )
        )
    return groups


def _component_level_weights(
    joints: Sequence[JointCalibration | None], shape: tuple[int, ...]
) -> dict[str, Array]:
    """Return the coefficients with which `LOAD_PARTS` raise each level, for load
    components: level -> (5, n).
    """
    levels: dict[str, Array] = {}
    for column, joint in enumerate(joints):
        if joint is None:
            continue
        for name in law_named(joint.law).with_load:
            for part in joint.components:
                level = levels.setdefault(name.removesuffix("_coefficient"), np.zeros(shape))
                level[LOAD_PARTS.index(part), column] = joint.values[f"{name}_{part}"]
    return levels
