"""Reader of the arm file, which names an arm's model, drives and limits
(docs/names.md lists every key).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from stribeck.ident.arm.arm_tables import (
    MATRIX,
    ArmTable,
    DriverTable,
    JointTable,
    PassiveTable,
    Ratios,
    Tool,
    Vector,
    Workspace,
)
from stribeck.ident.arm.built_in import find
from stribeck.ident.arrays import Array
from stribeck.ident.errors import InputError, about_file, unknown_name
from stribeck.ident.model.files.mechanism_toml import is_mechanism
from stribeck.ident.model.files.stated_loops import LoopTable, StatedChain
from stribeck.ident.model.mechanism import Mechanism
from stribeck.ident.model.transmission import Transmission
from stribeck.ident.toml_tables import SCHEMA, as_name, key_of, parse_table, read_toml, upgrade

# [joints.default]: keys that hold for every joint whose own table does not state them
SHARED = "default"
# how one drive is mounted; a shared wrong value would go unnoticed
_ALONE = ("direction", "zero_offset")
# unit: rad or m
_OF_A_KIND = (
    "position",
    "velocity",
    "acceleration",
    "torque",
    "following_error",
    "slowest",
    "gear_ratio",
)


@dataclass(frozen=True)
class Limits:
    """Limits that the supervisor enforces; nan means unknown.

    Attributes
    ----------
    position : ndarray, shape (n, 2)
        Lower and upper limit [rad or m].
    velocity, acceleration, torque, temperature, following_error : ndarray, shape (n,)
        Largest magnitudes [rad/s, rad/s², N·m, °C, rad].
    """

    position: Array
    velocity: Array
    acceleration: Array
    torque: Array
    temperature: Array
    following_error: Array

    def lacking(self, names: tuple[str, ...]) -> dict[str, list[str]]:
        """Return the limits that motion needs and no file states: joints of each missing key."""
        found = {
            key: [
                name
                for name, limit in zip(names, getattr(self, key), strict=True)
                if not np.isfinite(limit).all()
            ]
            for key in ("position", "velocity", "acceleration", "torque")
        }
        return {key: joints for key, joints in found.items() if joints}

    def missing(self, names: tuple[str, ...]) -> list[str]:
        """Return the lacking limits as keys of the arm file."""
        return [
            f"joints.{key_of(name)}.{key}"
            for key, joints in self.lacking(names).items()
            for name in joints
        ]


@dataclass(frozen=True)
class ArmFile:
    """An arm as its file describes it.

    `joints` holds the joint tables of the file, completed by ``[joints.default]``. `default` holds
    ``[joints.default]``, which is the table of all other joints of the model. `assumed` names the
    limits that are assumptions.
    """

    path: Path
    name: str
    model: Path
    gravity: Vector
    torque_signal: str
    tool: Tool
    workspace: Workspace
    driver: DriverTable
    joints: Mapping[str, JointTable]
    simulation: Mapping[str, Any]
    # False: the file does not state torque_signal, so the default holds
    names_torque_signal: bool = True
    default: JointTable = field(default_factory=JointTable)
    assumed: tuple[str, ...] = ()
    transmission: Mapping[str, Ratios] = field(default_factory=dict)
    loops: tuple[LoopTable, ...] = ()
    passive: Mapping[str, PassiveTable] = field(default_factory=dict)
    serial: str = ""

    @property
    def stated_chain(self) -> StatedChain:
        """Drives and loops that the file adds to a URDF or MJCF with closed chains.

        Joints with a table of their own have drives. With ``[joints.default]``, joints with an
        actuator have drives, too.
        """
        return StatedChain(
            tuple(self.joints), self.default != JointTable(), self.loops, str(self.path)
        )

    def joint(self, name: str) -> JointTable:
        """Return the table of a joint; ``[joints.default]`` if the
        joint has no table of its own.
        """
        return self.joints.get(name, self.default)

    def numbered(self, serial: str) -> "ArmFile":
        """Return the arm with a serial number, if one is given; an `InputError` says that
        its file states another one.
        """
        if self.serial and serial and serial != self.serial:
            raise InputError(
                f"--serial {serial}: {self.path} is the file of the arm with the serial number "
                f"{self.serial}; leave --serial out, or give the file of the other arm"
            )
        if len(serial) > 100 or not serial.isprintable():
            raise InputError(
                f"--serial {serial[:40]!r}: {len(serial)} characters; a serial number is one line "
                "of at most 100"
            )
        return replace(self, serial=serial or self.serial)

    def with_joints_changed(self, change: Callable[[JointTable], JointTable]) -> "ArmFile":
        """Return a copy of the arm in which `change` has been applied to
        the table of every joint.
        """
        return replace(
            self,
            joints={name: change(table) for name, table in self.joints.items()},
            default=change(self.default),
        )

    def transmission_of(self, names: tuple[str, ...]) -> Transmission | None:
        """Return the transmission between motors and the named joints; None if
        each joint has its own motor.

        Raises
        ------
        InputError
            If ``[transmission]`` does not fit these joints, or if motor positions do not
            determine joint positions.
        """
        if not self.transmission:
            return None
        with about_file(f"{self.path}: [transmission]"):
            stated = self.transmission.get(MATRIX)
            if isinstance(stated, list):
                if len(self.transmission) > 1:
                    raise InputError(
                        f"{MATRIX} states the ratios of all motors; remove the other keys"
                    )
                return Transmission.of_matrix(names, stated)
            return Transmission.of_pairs(
                names,
                {name: row for name, row in self.transmission.items() if isinstance(row, dict)},
            )

    def rotor_inertia(self, names: tuple[str, ...]) -> Array:
        """Inertia that the rotors of the arm file add to the inertia of the links,
        shape (n, n) [kg·m² or kg].
        """
        tables = [self.joint(name) for name in names]
        rotors = np.diag([table.rotor_inertia * table.ratio**2 for table in tables])
        coupled = self.transmission_of(names)
        return rotors if coupled is None else np.asarray(coupled.ratios.T @ rotors @ coupled.ratios)

    def limits(self, mechanism: Mechanism) -> Limits:
        """Return the limits in the mechanism's joint order.

        A missing position limit defaults to the range in the model, a missing following error to
        0.05, other limits to nan.
        """
        tables = [self.joint(name) for name in mechanism.names]

        def column(key: str, default: float = np.nan) -> Array:
            values = (getattr(table, key) for table in tables)
            return np.array([default if value is None else value for value in values], dtype=float)

        position = np.array(
            [
                model if table.position is None else table.position
                for table, model in zip(tables, mechanism.position, strict=True)
            ],
            dtype=float,
        )
        return Limits(
            position,
            column("velocity"),
            column("acceleration"),
            column("torque"),
            column("temperature"),
            column("following_error", 0.05),
        )

    def home(self, mechanism: Mechanism) -> Array:
        """Return the home posture, shape (n,); zero if the file states no home."""
        home = self.workspace.home
        return np.zeros(mechanism.n) if home is None else np.array(home, dtype=float)


def load_arm(arm: str | Path, model_dir: Path | None = None) -> ArmFile:
    """Read an arm file; a bare URDF or MJCF gives an arm without further data.

    Parameters
    ----------
    arm : str or Path
        Arm file, URDF, MJCF, or the name of a built-in arm.
    model_dir : Path, optional
        Folder of the model file; default is the place that the arm file states.

    Raises
    ------
    InputError
        If the file has a fault; one sentence names file, key, found value and allowed values.
    """
    path = find(arm)
    if path.suffix.lower() != ".toml":
        table = ArmTable(schema=SCHEMA, name=as_name(path.stem), model=path.name)
    else:
        raw = read_toml(path)
        if is_mechanism(raw):
            raise InputError(
                f"{path}: this is a mechanism file, not an arm file; write an arm file beside it, "
                "with this file as `model` and with [joints.NAME] tables"
            )
        table = parse_table(ArmTable, _completed(upgrade(raw, path), path), path)
    model = (
        path.parent / table.model if model_dir is None else model_dir / Path(table.model).name
    ).resolve()
    if not model.is_relative_to((path.parent if model_dir is None else model_dir).resolve()):
        raise InputError(
            f"{path}: model = {table.model!r} lies outside the arm file's folder; put the model "
            "beside the arm file"
        )
    if not model.is_file():
        raise InputError(
            f"{path}: model = {table.model!r}: there is no such file beside the arm file"
        )
    joints = dict(table.joints)
    default = joints.pop(SHARED, JointTable())
    return ArmFile(
        path.resolve(),
        table.name,
        model,
        table.gravity,
        table.torque_signal,
        table.tool,
        table.workspace,
        table.driver,
        joints,
        table.simulation,
        "torque_signal" in table.model_fields_set,
        default,
        table.assumed,
        table.transmission,
        table.loops,
        table.passive,
        table.serial,
    )


def _completed(raw: dict[str, Any], path: Path) -> dict[str, Any]:
    """Return the file's table with each joint's missing keys taken from ``[joints.default]``;
    ``drive`` is merged key by key.

    Raises
    ------
    InputError
        If a key of ``[joints.default]`` is invalid, or must be stated for each joint separately.
    """
    joints = raw.get("joints")
    if not isinstance(joints, dict) or SHARED not in joints:
        return raw
    # before merging, so that messages name the table with the fault
    parse_table(ArmTable, raw, path)
    shared = joints[SHARED]
    if alone := [key for key in _ALONE if key in shared]:
        raise InputError(
            f"{path}: joints.{SHARED}.{alone[0]}: this key tells how one drive is mounted and "
            "cannot be shared; write it into [joints.NAME] of each joint that needs it"
        )
    return {
        **raw,
        "joints": {
            name: {
                **shared,
                **table,
                "drive": {**shared.get("drive", {}), **table.get("drive", {})},
            }
            for name, table in joints.items()
        },
    }


def refuse_assumed(arm: ArmFile) -> None:
    """Refuse hardware motion with an arm file whose limits are assumptions.

    Raises
    ------
    InputError
        If the arm file has the key ``assumed``.
    """
    if arm.assumed:
        raise InputError(
            f"{arm.path}: its key `assumed` says that limits are assumptions; before hardware "
            "moves, check every limit and remove this key"
        )


def check_against_model(arm: ArmFile, mechanism: Mechanism) -> None:
    """Refuse an arm file that contradicts its model.

    Raises
    ------
    InputError
        If the model lacks a joint, a key of ``[joints.default]`` cannot hold for all joints,
        position limits exceed the model's range, or home violates the limits.
    """
    for name in arm.joints:
        if name not in mechanism.names:
            raise InputError(
                f"{arm.path}: [joints.{name}]: {unknown_name('joint', name, mechanism.names)}"
            )
    _check_default(arm, mechanism)
    for name, (low, high) in zip(mechanism.names, mechanism.position, strict=True):
        position = arm.joint(name).position
        if position is not None and (position[0] < low - 1e-9 or position[1] > high + 1e-9):
            key = (
                f"joints.{SHARED}.position = [{position[0]:g}, {position[1]:g}], which also holds "
                f"for {name},"
                if position == arm.default.position
                else f"joints.{name}.position = [{position[0]:g}, {position[1]:g}]"
            )
            raise InputError(
                f"{arm.path}: {key} exceeds the model's range [{low:g}, {high:g}]; narrow it"
            )
    home = arm.workspace.home
    if home is None:
        return
    if len(home) != mechanism.n:
        raise InputError(
            f"{arm.path}: workspace.home has {len(home)} values, the model has {mechanism.n} "
            "joints; one value for each joint is needed"
        )
    for name, value, (low, high) in zip(
        mechanism.names, home, arm.limits(mechanism).position, strict=True
    ):
        if not low <= value <= high:
            raise InputError(
                f"{arm.path}: workspace.home puts {name} at {value:g}, "
                f"outside its limits [{low:g}, {high:g}]"
            )


def _check_default(arm: ArmFile, mechanism: Mechanism) -> None:
    """Refuse ``[joints.default]`` if a joint has this name, or if the unit of a
    key differs between joints.
    """
    if arm.default == JointTable():
        return
    if SHARED in mechanism.names:
        raise InputError(
            f"{arm.path}: the model has a joint named {SHARED}, but [joints.{SHARED}] is the table "
            "for all joints; rename this joint in the model"
        )
    if mechanism.prismatic.any() and not mechanism.prismatic.all():
        for key in _OF_A_KIND:
            if getattr(arm.default, key) is not None:
                slide = mechanism.names[int(np.argmax(mechanism.prismatic))]
                raise InputError(
                    f"{arm.path}: joints.{SHARED}.{key} has one unit for revolute joints and "
                    "another for the "
                    f"prismatic joint {slide}; state this key in [joints.NAME] of each joint"
                )
