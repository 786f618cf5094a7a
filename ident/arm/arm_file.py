"""The arm file: which model, which drive, which limits (every key: docs/names.md)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, PositiveFloat, model_validator
from pydantic.dataclasses import dataclass as checked

from stribeck.ident.arm.built_in import find
from stribeck.ident.arrays import Array
from stribeck.ident.errors import InputError, about_file, unknown_name
from stribeck.ident.model.files.mechanism_toml import is_mechanism
from stribeck.ident.model.files.stated_loops import LoopTable, StatedChain
from stribeck.ident.model.joint_parts import Bearing
from stribeck.ident.model.mechanism import Mechanism, PassiveJoints
from stribeck.ident.model.transmission import Transmission
from stribeck.ident.toml_tables import NAME, SCHEMA, as_name, key_of, parse_table, read_toml, upgrade

SHARED = "default"      # [joints.default]: keys of every joint that does not state its own
_ALONE = ("direction", "zero_offset")       # say how one drive is mounted; nothing else would notice a wrong one
_OF_A_KIND = ("position", "velocity", "acceleration", "torque", "following_error", "slowest", "gear_ratio")     # rad or m

_STRICT = ConfigDict(extra="forbid", allow_inf_nan=False)
Vector = tuple[float, float, float]
Name = Annotated[str, Field(pattern=NAME)]         # of an arm, and so of files
Limit = Annotated[float, Field(gt=0.0, le=1e9)]
Ratios = dict[str, float] | list[list[float]]        # of a motor by joints, or `matrix` of all
MATRIX = "matrix"       # key of [transmission] that states all ratios at once


@checked(frozen=True, config=_STRICT)
class Tool:
    """What is mounted on the last link and known: mass [kg] and centre of mass in the link's frame [m]."""

    mass: Annotated[float, Field(ge=0.0)] = 0.0
    com: Vector = (0.0, 0.0, 0.0)


@checked(frozen=True, config=_STRICT)
class Workspace:
    """Box that every joint origin stays in [m], the posture that is surely free of obstacles [rad or m], and how far a closed
    chain stays away from singular postures: the least part of home's reciprocal condition number, of which those have none.
    """

    box: tuple[tuple[float, float], tuple[float, float], tuple[float, float]] | None = None
    home: tuple[float, ...] | None = None
    singular_margin: Annotated[float, Field(gt=0.0, lt=1.0)] = 0.4


@checked(frozen=True, config=_STRICT)
class JointTable:
    """One moving joint. Units: rad (m if prismatic), s, N·m (N), °C; None is unknown."""

    position: tuple[float, float] | None = None
    velocity: Limit | None = None
    acceleration: Limit | None = None
    torque: Limit | None = None
    temperature: float | None = None
    following_error: PositiveFloat | None = None
    slowest: PositiveFloat | None = None
    direction: Literal[-1, 1] = 1
    zero_offset: float = 0.0
    gear_ratio: PositiveFloat | None = None
    torque_constant: PositiveFloat | None = None
    rotor_inertia: Annotated[float, Field(ge=0.0)] = 0.0
    stiffness: PositiveFloat | None = None
    stop: Literal["hold", "brake"] = "hold"
    bearing: Bearing | None = None
    drive: dict[str, Any] = field(default_factory=dict)

    @property
    def ratio(self) -> float:
        """Gear ratio, 1 where none is stated."""
        return 1.0 if self.gear_ratio is None else self.gear_ratio


@checked(frozen=True, config=_STRICT)
class PassiveTable:
    """Joints of a closed chain that have no drive and are alike; their friction is identified unless it is stated here."""

    joints: Annotated[tuple[str, ...], Field(min_length=1)]
    load: Literal["none", "torque", "bending", "radial", "axial", "normal"] = "radial"
    friction: dict[str, Annotated[float, Field(ge=0.0)]] | None = None

    def of(self, name: str) -> PassiveJoints:
        """As the model takes them."""
        return PassiveJoints(name, self.joints, self.load, self.friction or {}, self.friction is not None)


class DriverTable(BaseModel):
    """Which driver; the keys beyond kind and rate are the driver's own."""

    model_config = ConfigDict(extra="allow", frozen=True)
    kind: str = "simulated"
    rate: Annotated[float, Field(ge=0.1, le=1e6)] = 250.0


class _ArmTable(BaseModel):
    model_config = _STRICT
    schema_version: int = Field(alias="schema")
    name: Name
    model: str = Field(pattern=r"^[^\x00]+$")
    gravity: Vector = (0.0, 0.0, -9.81)
    torque_signal: Literal["motor current", "joint sensor", "commanded"] = "motor current"
    assumed: tuple[str, ...] = ()
    tool: Tool = Tool()
    workspace: Workspace = Workspace()
    driver: DriverTable = DriverTable()
    joints: dict[str, JointTable] = {}
    loops: tuple[LoopTable, ...] = ()
    passive: dict[Annotated[str, Field(pattern=NAME)], PassiveTable] = {}
    transmission: dict[str, Any] = {}           # checked below: of a union, faults have no plain words
    simulation: dict[str, Any] = {}

    @model_validator(mode="after")
    def _ordered(self) -> "_ArmTable":
        for name, joint in self.joints.items():
            if joint.position is not None and not joint.position[0] < joint.position[1]:
                raise ValueError(f"joints.{name}.position: lower limit {joint.position[0]:g} "
                                 f"is not below the upper {joint.position[1]:g}")
        for key, stated in self.transmission.items():
            _check_ratios(key, stated)
        for axis, (low, high) in zip("xyz", self.workspace.box or (), strict=False):
            if not low < high:
                raise ValueError(f"workspace.box: the {axis} range [{low:g}, {high:g}] is empty")
        return self


def _check_ratios(motor: str, stated: Any) -> None:
    """Refuse what is no table of finite ratios by joint, or under `MATRIX` no rows of them."""
    rows = [list(stated.values())] if isinstance(stated, dict) else stated
    numbers = isinstance(rows, list) and all(isinstance(row, list) and all(
        isinstance(one, int | float) and np.isfinite(one) for one in row) for row in rows)
    if not numbers or isinstance(stated, list) != (motor == MATRIX):
        needed = ("rows of finite numbers are needed, a row a motor and a column a joint" if motor == MATRIX else
                  "a table of finite numbers is needed, by joint, as in { j5 = 1.0 }")
        raise ValueError(f"transmission.{motor} = {stated}: {needed}")


@dataclass(frozen=True)
class Limits:
    """What the supervisor enforces; nan is unknown.

    Attributes
    ----------
    position : ndarray, shape (n, 2)
        Lower and upper [rad or m].
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
        """Limits that motion needs and nobody stated: key to joints."""
        found = {key: [name for name, limit in zip(names, getattr(self, key), strict=True) if not np.isfinite(limit).all()]
                 for key in ("position", "velocity", "acceleration", "torque")}
        return {key: joints for key, joints in found.items() if joints}

    def missing(self, names: tuple[str, ...]) -> list[str]:
        """Those as keys of the arm file."""
        return [f"joints.{key_of(name)}.{key}" for key, joints in self.lacking(names).items() for name in joints]


@dataclass(frozen=True)
class ArmFile:
    """An arm as its file describes it; `assumed` says which of it nobody has stated.

    `joints` holds the tables that the file states, completed by ``[joints.default]``; `default` is that table, which holds
    for the other joints of the model.
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
    names_torque_signal: bool = True        # else it is the default
    default: JointTable = field(default_factory=JointTable)
    assumed: tuple[str, ...] = ()
    transmission: Mapping[str, Ratios] = field(default_factory=dict)
    loops: tuple[LoopTable, ...] = ()
    passive: Mapping[str, PassiveTable] = field(default_factory=dict)

    @property
    def stated_chain(self) -> StatedChain:
        """What it states of the closed chain that a URDF or MJCF may be: the joints that have tables are driven, and where there
        is a table for all, those with an actuator."""
        return StatedChain(tuple(self.joints), self.default != JointTable(), self.loops, str(self.path))

    def joint(self, name: str) -> JointTable:
        """Table of a joint; ``[joints.default]`` where the file has none of its own."""
        return self.joints.get(name, self.default)

    def with_joints_changed(self, change: Callable[[JointTable], JointTable]) -> "ArmFile":
        """The arm with a change to the table of every joint."""
        return replace(self, joints={name: change(table) for name, table in self.joints.items()}, default=change(self.default))

    def transmission_of(self, names: tuple[str, ...]) -> Transmission | None:
        """How motors move the joints of these names; None where each joint has its own.

        Raises
        ------
        InputError
            If ``[transmission]`` is no matrix of these joints, or motors do not tell where the joints are.
        """
        if not self.transmission:
            return None
        with about_file(f"{self.path}: [transmission]"):
            stated = self.transmission.get(MATRIX)
            if isinstance(stated, list):
                if len(self.transmission) > 1:
                    raise InputError(f"{MATRIX} states all ratios; take the other keys out")
                return Transmission.of_matrix(names, stated)
            return Transmission.of_pairs(names, {name: row for name, row in self.transmission.items() if isinstance(row, dict)})

    def rotor_inertia(self, names: tuple[str, ...]) -> Array:
        """Inertia that rotors add to that of the links, shape (n, n) [kg·m² or kg]; those count that the file states."""
        tables = [self.joint(name) for name in names]
        rotors = np.diag([table.rotor_inertia * table.ratio**2 for table in tables])
        coupled = self.transmission_of(names)
        return rotors if coupled is None else np.asarray(coupled.ratios.T @ rotors @ coupled.ratios)

    def limits(self, mechanism: Mechanism) -> Limits:
        """Limits in the mechanism's joint order; position defaults to the model's range, the rest to nan."""
        tables = [self.joint(name) for name in mechanism.names]

        def column(key: str, default: float = np.nan) -> Array:
            values = (getattr(table, key) for table in tables)
            return np.array([default if value is None else value for value in values], dtype=float)

        position = np.array([model if table.position is None else table.position
                             for table, model in zip(tables, mechanism.position, strict=True)], dtype=float)
        return Limits(position, column("velocity"), column("acceleration"), column("torque"),
                      column("temperature"), column("following_error", 0.05))

    def home(self, mechanism: Mechanism) -> Array:
        """Home posture, shape (n,); zero where the file states none."""
        home = self.workspace.home
        return np.zeros(mechanism.n) if home is None else np.array(home, dtype=float)


def load_arm(arm: str | Path, model_dir: Path | None = None) -> ArmFile:
    """Read an arm file; a bare URDF or MJCF is an arm of which nothing else is known.

    Parameters
    ----------
    arm : str or Path
        Arm file, URDF, MJCF, or the name of a built-in arm.
    model_dir : Path, optional
        Where the model lies under its own name; default is the place that the arm file states.

    Raises
    ------
    InputError
        One sentence: file, key, what was found, what is allowed.
    """
    path = find(arm)
    if path.suffix.lower() != ".toml":
        table = _ArmTable(schema=SCHEMA, name=as_name(path.stem), model=path.name)
    else:
        raw = read_toml(path)
        if is_mechanism(raw):
            raise InputError(f"{path}: this is a mechanism, not an arm file ([joints.NAME] tables and a model are needed); an "
                             "arm file beside it may state it as its model")
        table = parse_table(_ArmTable, _completed(upgrade(raw, path), path), path)
    model = (path.parent / table.model if model_dir is None else model_dir / Path(table.model).name).resolve()
    if not model.is_relative_to((path.parent if model_dir is None else model_dir).resolve()):
        raise InputError(f"{path}: model = {table.model!r} lies outside the arm file's folder; put the model beside the arm file")
    if not model.is_file():
        raise InputError(f"{path}: model = {table.model!r}: no such file beside the arm file")
    joints = dict(table.joints)
    default = joints.pop(SHARED, JointTable())
    return ArmFile(path.resolve(), table.name, model, table.gravity, table.torque_signal, table.tool, table.workspace,
                   table.driver, joints, table.simulation, "torque_signal" in table.model_fields_set, default, table.assumed,
                   table.transmission, table.loops, table.passive)


def _completed(raw: dict[str, Any], path: Path) -> dict[str, Any]:
    """The file's table with ``[joints.default]`` in the table of each joint where that states nothing else; ``drive`` key by key.

    Raises
    ------
    InputError
        If a key of ``[joints.default]`` is impossible, or belongs to one joint.
    """
    joints = raw.get("joints")
    if not isinstance(joints, dict) or SHARED not in joints:
        return raw
    parse_table(_ArmTable, raw, path)           # so that a fault is named where it stands
    shared = joints[SHARED]
    if alone := [key for key in _ALONE if key in shared]:
        raise InputError(f"{path}: joints.{SHARED}.{alone[0]}: how a drive is mounted is stated joint by joint; write it into "
                         "[joints.NAME] of each joint that has it")
    return {**raw, "joints": {name: {**shared, **table, "drive": {**shared.get("drive", {}), **table.get("drive", {})}}
                              for name, table in joints.items()}}


def refuse_assumed(arm: ArmFile) -> None:
    """Refuse an arm for hardware whose limits are assumptions.

    Raises
    ------
    InputError
    """
    if arm.assumed:
        raise InputError(f"{arm.path}: limits in it are assumed, as its key `assumed` says; before hardware moves by them, check "
                         "every value and remove that key")


def check_against_model(arm: ArmFile, mechanism: Mechanism) -> None:
    """Refuse joints that the model lacks, keys that cannot hold for all of its joints, position limits outside the model's, and
    a home outside the limits.

    Raises
    ------
    InputError
    """
    for name in arm.joints:
        if name not in mechanism.names:
            raise InputError(f"{arm.path}: [joints.{name}]: {unknown_name('joint', name, mechanism.names)}")
    _check_default(arm, mechanism)
    for name, (low, high) in zip(mechanism.names, mechanism.position, strict=True):
        position = arm.joint(name).position
        if position is not None and (position[0] < low - 1e-9 or position[1] > high + 1e-9):
            key = (f"joints.{SHARED}.position = [{position[0]:g}, {position[1]:g}], which holds for {name},"
                   if position == arm.default.position else f"joints.{name}.position = [{position[0]:g}, {position[1]:g}]")
            raise InputError(f"{arm.path}: {key} reaches outside the model's [{low:g}, {high:g}]")
    home = arm.workspace.home
    if home is None:
        return
    if len(home) != mechanism.n:
        raise InputError(f"{arm.path}: workspace.home has {len(home)} values, the model has {mechanism.n} joints")
    for name, value, (low, high) in zip(mechanism.names, home, arm.limits(mechanism).position, strict=True):
        if not low <= value <= high:
            raise InputError(f"{arm.path}: workspace.home puts {name} at {value:g}, "
                             f"outside its limits [{low:g}, {high:g}]")


def _check_default(arm: ArmFile, mechanism: Mechanism) -> None:
    """Refuse ``[joints.default]`` where a joint has that name, or a key would be in rad for one joint and in m for another."""
    if arm.default == JointTable():
        return
    if SHARED in mechanism.names:
        raise InputError(f"{arm.path}: the model has a joint named {SHARED}, and [joints.{SHARED}] holds for every joint; give "
                         "that joint of the model another name")
    if mechanism.prismatic.any() and not mechanism.prismatic.all():
        for key in _OF_A_KIND:
            if getattr(arm.default, key) is not None:
                slide = mechanism.names[int(np.argmax(mechanism.prismatic))]
                raise InputError(f"{arm.path}: joints.{SHARED}.{key} would hold in rad for joints that turn and in m for "
                                 f"{slide}, which slides; state it joint by joint")
