"""Reader of the mechanism file: a tree with loops in natural coordinates
(docs/names.md lists every key).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from pydantic import BaseModel, ConfigDict, Field, model_validator

from stribeck.ident.arrays import Array
from stribeck.ident.errors import InputError, unknown_name
from stribeck.ident.laws.law_table import is_law, law_named, law_names
from stribeck.ident.model.files.link_inertia import second_moment
from stribeck.ident.model.files.stated_loops import LoopTable, Name, Vector
from stribeck.ident.model.joint_parts import Ball, Bearing, Closure, JointFriction, Spring
from stribeck.ident.model.mechanism import Mechanism
from stribeck.ident.toml_tables import parse_table, upgrade

_STRICT = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)
_PARALLEL = 1e-6  # axes count as parallel if the sine of their angle is below this value
# rounding error that is allowed in an inertia, as a fraction of its largest element
_ROUNDED = 1e-6
_X, _Y, _Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
# single axes of a joint with several axes
_COMPOSITE: dict[str, tuple[tuple[str, str, Vector], ...]] = {
    "universal": (("1", "revolute", _X), ("2", "revolute", _Y)),
    "spherical": (("1", "revolute", _X), ("2", "revolute", _Y), ("3", "revolute", _Z)),
    "planar": (("x", "prismatic", _X), ("y", "prismatic", _Y), ("angle", "revolute", _Z)),
    "free": (
        ("x", "prismatic", _X),
        ("y", "prismatic", _Y),
        ("z", "prismatic", _Z),
        ("yaw", "revolute", _Z),
        ("pitch", "revolute", _Y),
        ("roll", "revolute", _X),
    ),
}
_AXES = {
    "universal": "the two axes may not be parallel",
    "spherical": "the three axes may not lie in one plane",
    "planar": "needed: two sliding axes that are not parallel, then a rotation axis normal to both",
    "free": "the three sliding axes may not lie in one plane, and neither may the three rotation "
    "axes",
}


class _FrictionTable(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True)
    law: str
    load: Literal["none", "torque", "bending", "radial", "axial", "normal"] = "none"


class _JointTable(BaseModel):
    model_config = _STRICT
    name: Name
    parent: str
    type: Literal["revolute", "prismatic", "universal", "spherical", "planar", "free"]
    axis: Vector | None = None
    axes: tuple[Vector, ...] | None = None
    origin: Vector
    mass: Annotated[float, Field(ge=0.0)]
    com: Vector | None = None
    inertia: tuple[float, float, float, float, float, float] | None = None
    position: tuple[float, float] | None = None
    bearing: Bearing | None = None
    passive: bool = False
    spring: Spring | None = None
    friction: _FrictionTable | None = None
    friction_arm: Annotated[float, Field(ge=0.0)] | None = None

    @model_validator(mode="after")
    def _values_fit(self) -> "_JointTable":
        if self.position is not None and not self.position[0] < self.position[1]:
            raise ValueError(
                f"joints.{self.name}.position = {list(self.position)}: the lower limit must come "
                "first and be below the upper limit"
            )
        if (
            self.passive is False
            and "passive" in self.model_fields_set
            and (self.spring or self.type in _COMPOSITE)
        ):
            raise ValueError(
                f"joints.{self.name}.passive = false: a joint with "
                f"{'a spring' if self.spring else 'several axes'} is always passive"
            )
        if self.inertia is not None:
            # a principal moment of a body is at most the sum of the other two; a rotor without mass
            # has only an axial moment
            J = _matrix(self.inertia)
            least = float((np.linalg.eigvalsh(J) if self.mass == 0.0 else second_moment(J)[0])[0])
            if least < -_ROUNDED * np.abs(J).max():
                raise ValueError(
                    f"joints.{self.name}.inertia = {list(self.inertia)}: no rigid body has this "
                    "inertia; principal "
                    "moments must be positive, and each at most the sum of the other two"
                )
        return self

    @model_validator(mode="after")
    def _axes_fit(self) -> "_JointTable":
        parts = _COMPOSITE.get(self.type)
        for key in ("com", "inertia") if self.mass > 0.0 else ():
            if getattr(self, key) is None:
                raise ValueError(
                    f"joints.{self.name}.{key} is missing; a link with mass needs this key"
                )
        if parts is None and self.axis is None:
            raise ValueError(f"joints.{self.name}.axis is missing; this key is required")
        for key in (
            ("axes", "friction_arm")
            if parts is None
            else ("axis", "position", "bearing", "spring", "friction")
        ):
            if getattr(self, key) is not None:
                raise ValueError(
                    f"joints.{self.name}.{key}: a {self.type} joint does not have this key; "
                    "remove it"
                )
        if self.axes is not None and parts is not None and len(self.axes) != len(parts):
            raise ValueError(
                f"joints.{self.name}.axes: found {len(self.axes)} axes, a {self.type} joint has "
                f"{len(parts)}"
            )
        if (
            self.axes is not None
            and all(map(any, self.axes))
            and not _possible(self.type, self.axes)
        ):
            raise ValueError(
                f"joints.{self.name}.axes = {[list(axis) for axis in self.axes]}: "
                f"{_AXES[self.type]}"
            )
        if self.type in ("planar", "free") and self.friction_arm is not None:
            raise ValueError(
                f"joints.{self.name}.friction_arm: a {self.type} joint has no friction; remove "
                "this key"
            )
        return self


class _LoopTable(LoopTable):
    friction_arm: Annotated[float, Field(ge=0.0)] = 0.0


class _MechanismTable(BaseModel):
    model_config = _STRICT
    schema_version: int = Field(alias="schema")
    name: Name
    gravity: Vector = (0.0, 0.0, -9.81)
    sharing: Literal["unknown", "equal"] = "unknown"
    joints: Annotated[tuple[_JointTable, ...], Field(min_length=1)]
    loops: tuple[_LoopTable, ...] = ()


@dataclass(frozen=True)
class _Axis:
    """One axis of a joint; the last axis of a joint carries the joint's link."""

    table: _JointTable
    name: str
    parent: int
    prismatic: bool
    axis: Vector
    first: bool
    last: bool


def is_mechanism(table: Mapping[str, Any]) -> bool:
    """Return True for a mechanism file, which lists its joints; an arm file has a
    table for each joint name.
    """
    return isinstance(table.get("joints"), list)


def mechanism_from_table(
    table: dict[str, Any], path: Path, gravity: ArrayLike | None = None
) -> Mechanism:
    """Return the mechanism of a parsed mechanism file.

    A joint with several axes becomes a chain of revolute and prismatic joints with massless links
    between them: ``hip`` of type universal becomes ``hip.1`` and ``hip.2``. Joints with ``hip`` as
    parent become children of the last joint of this chain.

    Raises
    ------
    InputError
        If the file has a fault; one sentence names file, joint and key.
    """
    spec = parse_table(_MechanismTable, upgrade(table, path), path)
    axes, links = _axes(spec.joints, path)
    closures = tuple(
        _closure(loop, k, spec.joints, links, path) for k, loop in enumerate(spec.loops)
    )
    for k, closure in enumerate(closures):
        if closure.name in [other.name for other in closures[:k]]:
            raise InputError(
                f"{path}: loops[{k}] is named {closure.name!r} like another loop; give each loop "
                "a name of its own"
            )
    carried = [axis.table if axis.last else None for axis in axes]
    inertia = np.array(
        [_matrix((joint.inertia if joint else None) or (0.0,) * 6) for joint in carried]
    )
    return Mechanism(
        spec.name,
        tuple(axis.name for axis in axes),
        tuple(axis.parent for axis in axes),
        np.array([axis.prismatic for axis in axes]),
        np.array([_unit(axis.axis, axis.name, path) for axis in axes]),
        np.array([axis.table.origin if axis.first else (0.0,) * 3 for axis in axes]),
        np.array([0.0 if joint is None else joint.mass for joint in carried]),
        np.array([(joint.com if joint else None) or (0.0,) * 3 for joint in carried]),
        inertia,
        np.asarray(spec.gravity if gravity is None else gravity, dtype=float),
        np.array([axis.table.position or (-np.inf, np.inf) for axis in axes]),
        tuple(axis.table.bearing for axis in axes),
        closures,
        tuple(
            k
            for k, axis in enumerate(axes)
            if axis.table.passive or axis.table.type in _COMPOSITE or axis.table.spring
        ),
        {k: axis.table.spring for k, axis in enumerate(axes) if axis.table.spring},
        {k: _friction(axis.table, path) for k, axis in enumerate(axes) if axis.table.friction},
        balls=tuple(
            Ball(
                joint.name,
                tuple(k for k, axis in enumerate(axes) if axis.table is joint),
                joint.friction_arm or 0.0,
            )
            for joint in spec.joints
            if joint.type in ("universal", "spherical")
        ),
        sharing=spec.sharing,
    )


def _axes(joints: Sequence[_JointTable], path: Path) -> tuple[list[_Axis], dict[str, int]]:
    """Axes of all joints, and the last axis of each joint by name."""
    axes: list[_Axis] = []
    links = {"ground": -1}
    for joint in joints:
        if joint.name in links:
            raise InputError(
                f"{path}: the name {joint.name!r} is taken already; every joint needs a name of "
                "its own, other than 'ground'"
            )
        if joint.parent not in links:
            raise InputError(
                f"{path}: parent {joint.parent!r} of joint {joint.name!r} is neither 'ground' "
                f"nor a joint above it ({', '.join(list(links)[1:]) or 'none'}); name one of these"
            )
        parts = _COMPOSITE.get(joint.type, (("", joint.type, joint.axis or _Z),))
        directions = joint.axes or tuple(axis for *_, axis in parts)
        for k, ((suffix, kind, _), direction) in enumerate(zip(parts, directions, strict=True)):
            parent = links[joint.parent] if k == 0 else len(axes) - 1
            axes.append(
                _Axis(
                    joint,
                    f"{joint.name}.{suffix}" if suffix else joint.name,
                    parent,
                    kind == "prismatic",
                    direction,
                    k == 0,
                    k == len(parts) - 1,
                )
            )
        links[joint.name] = len(axes) - 1
    names = [axis.name for axis in axes]
    for k, name in enumerate(names):
        if name in names[:k]:
            raise InputError(
                f"{path}: two axes are named {name!r}: one of joint {axes[k].table.name!r} and one "
                f"of joint {axes[names.index(name)].table.name!r}; rename one of these joints"
            )
    return axes, links


def _closure(
    loop: _LoopTable,
    number: int,
    joints: Sequence[_JointTable],
    links: Mapping[str, int],
    path: Path,
) -> Closure:
    for end in (loop.a, loop.b):
        if end.link not in links:
            raise InputError(f"{path}: loops[{number}]: {unknown_name('link', end.link, links)}")
    if fault := loop.fault():
        raise InputError(f"{path}: loops[{number}]{fault}")
    if loop.friction_arm and loop.type != "spherical":
        raise InputError(
            f"{path}: loops[{number}].friction_arm: only spherical closures have this key; found a "
            f"{loop.type} closure"
        )
    axis = loop.axis
    if axis is None and loop.type == "pin":
        axis = next(
            (joint.axis for end in (loop.a, loop.b) for joint in joints if joint.name == end.link),
            None,
        )
        if axis is None:
            raise InputError(f"{path}: loops[{number}].axis is missing; a pin needs an axis")
    return Closure(
        loop.called,
        loop.type,
        (links[loop.a.link], links[loop.b.link]),
        np.array([loop.a.point, loop.b.point]),
        _unit(axis or _Z, loop.called, path),
        loop.friction_arm,
    )


def _friction(joint: _JointTable, path: Path) -> JointFriction:
    assert joint.friction is not None
    stated = joint.friction
    law = law_named(stated.law) if is_law(stated.law) else None
    if law is None:
        raise InputError(
            f"{path}: joints.{joint.name}.friction: {unknown_name('law', stated.law, law_names())}"
        )
    parameters = dict(stated.model_extra or {})
    valid = (*law.parameters(stated.load != "none"), "stribeck_exponent")
    for name, value in parameters.items():
        if name not in valid:
            raise InputError(
                f"{path}: joints.{joint.name}.friction: {unknown_name('parameter', name, valid)}"
            )
        if (
            not isinstance(value, int | float)
            or isinstance(value, bool)
            or not np.isfinite(value)
            or value < 0.0
        ):
            raise InputError(
                f"{path}: joints.{joint.name}.friction.{name} = {value!r}: needed is a number of "
                "at least 0"
            )
    if stated.load == "normal" and joint.bearing is None:
        raise InputError(f'{path}: joints.{joint.name}.friction: load = "normal" needs a bearing')
    missing = [name for name in law.nonlinear if name not in parameters]
    if missing:
        raise InputError(
            f"{path}: joints.{joint.name}.friction.{missing[0]} is missing; this key is required"
        )
    zero = dict.fromkeys(law.parameters(stated.load != "none"), 0.0)
    return JointFriction(stated.law, stated.load, {**zero, **parameters})


def _unit(axis: Vector, name: str, path: Path) -> Array:
    length = float(np.linalg.norm(axis))
    if length == 0.0:
        raise InputError(f"{path}: axis of joint {name!r} has length 0; a direction is needed")
    return np.array(axis) / length


def _possible(kind: str, axes: Sequence[Vector]) -> bool:
    """Return True if the axes of a joint give all degrees of freedom of its type."""
    e = np.array(axes) / np.linalg.norm(axes, axis=1, keepdims=True)
    slides = sum(part == "prismatic" for _, part, _ in _COMPOSITE[kind])
    independent = all(
        np.linalg.matrix_rank(part, tol=_PARALLEL) == len(part)
        for part in (e[:slides], e[slides:])
        if len(part)
    )
    return independent and (kind != "planar" or float(np.abs(e[:2] @ e[2]).max()) < _PARALLEL)


def _matrix(inertia: tuple[float, float, float, float, float, float]) -> Array:
    xx, yy, zz, xy, xz, yz = inertia
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
