"""Tables of the arm file, as the file has them (docs/names.md lists every key)."""

from dataclasses import field
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, PositiveFloat, model_validator
from pydantic.dataclasses import dataclass as checked

from stribeck.ident.model.files.stated_loops import LoopTable
from stribeck.ident.model.joint_parts import Bearing
from stribeck.ident.model.mechanism import PassiveJoints
from stribeck.ident.toml_tables import NAME

_STRICT = ConfigDict(extra="forbid", allow_inf_nan=False)
Vector = tuple[float, float, float]
# name of an arm, which is also part of file names
Name = Annotated[str, Field(pattern=NAME)]
Serial = Annotated[str, Field(max_length=100, pattern=r"^[^\x00-\x1f\x7f]*$")]
Limit = Annotated[float, Field(gt=0.0, le=1e9)]
# ratios of one motor by joint, or the `matrix` of all motors
Ratios = dict[str, float] | list[list[float]]
MATRIX = "matrix"  # key of [transmission] that states the ratios of all motors


@checked(frozen=True, config=_STRICT)
class Tool:
    """Known tool on the last link: mass [kg] and centre of mass in the link's frame [m]."""

    mass: Annotated[float, Field(ge=0.0)] = 0.0
    com: Vector = (0.0, 0.0, 0.0)


@checked(frozen=True, config=_STRICT)
class Workspace:
    """Workspace of the arm.

    Attributes
    ----------
    box : tuple of three pairs, optional
        Box that contains all joint origins at all times [m].
    home : tuple of float, optional
        Posture that is free of obstacles [rad or m].
    singular_margin : float
        Distance of a closed chain from singular postures: least reciprocal condition number, as a
        fraction of its value at home. The reciprocal condition number of a singular posture is 0.
    """

    box: tuple[tuple[float, float], tuple[float, float], tuple[float, float]] | None = None
    home: tuple[float, ...] | None = None
    singular_margin: Annotated[float, Field(gt=0.0, lt=1.0)] = 0.4


@checked(frozen=True, config=_STRICT)
class JointTable:
    """Keys of one moving joint. Units: rad (m if prismatic), s, N·m (N), °C; None means unknown."""

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
    ripple_orders: tuple[PositiveFloat, ...] = ()
    stop: Literal["hold", "brake"] = "hold"
    bearing: Bearing | None = None
    drive: dict[str, Any] = field(default_factory=dict)

    @property
    def ratio(self) -> float:
        """Gear ratio; 1 if the file states no ratio."""
        return 1.0 if self.gear_ratio is None else self.gear_ratio


@checked(frozen=True, config=_STRICT)
class PassiveTable:
    """Similar joints of a closed chain without drives; their friction is identified
    unless `friction` states it.
    """

    joints: Annotated[tuple[str, ...], Field(min_length=1)]
    load: Literal["none", "torque", "bending", "radial", "axial", "normal"] = "radial"
    friction: dict[str, Annotated[float, Field(ge=0.0)]] | None = None

    def of(self, name: str) -> PassiveJoints:
        """Return the table in the form that the model uses."""
        return PassiveJoints(
            name, self.joints, self.load, self.friction or {}, self.friction is not None
        )


class DriverTable(BaseModel):
    """Driver of the arm; all keys except kind and rate belong to the driver."""

    model_config = ConfigDict(extra="allow", frozen=True)
    kind: str = "simulated"
    rate: Annotated[float, Field(ge=0.1, le=1e6)] = 250.0


class ArmTable(BaseModel):
    model_config = _STRICT
    schema_version: int = Field(alias="schema")
    name: Name
    serial: Serial = ""
    model: str = Field(min_length=1, pattern=r"^[^\x00]*$")
    gravity: Vector = (0.0, 0.0, -9.81)
    torque_signal: Literal["motor current", "joint sensor", "commanded"] = "motor current"
    assumed: tuple[str, ...] = ()
    tool: Tool = Tool()
    workspace: Workspace = Workspace()
    driver: DriverTable = DriverTable()
    joints: dict[str, JointTable] = {}
    loops: tuple[LoopTable, ...] = ()
    passive: dict[Annotated[str, Field(pattern=NAME)], PassiveTable] = {}
    # checked below: pydantic's messages about unions are hard to read
    transmission: dict[str, Any] = {}
    simulation: dict[str, Any] = {}

    @model_validator(mode="after")
    def _ordered(self) -> "ArmTable":
        for name, joint in self.joints.items():
            if joint.position is not None and not joint.position[0] < joint.position[1]:
                raise ValueError(
                    f"joints.{name}.position: lower limit {joint.position[0]:g} "
                    f"is not below the upper limit {joint.position[1]:g}"
                )
        for key, stated in self.transmission.items():
            _check_ratios(key, stated)
        for axis, (low, high) in zip("xyz", self.workspace.box or (), strict=False):
            if not low < high:
                raise ValueError(
                    f"workspace.box: the {axis} range [{low:g}, {high:g}] is empty; the lower end "
                    "must come first"
                )
        return self


def _check_ratios(motor: str, stated: Any) -> None:
    """Refuse a motor without a table of finite ratios by joint, and a `MATRIX`
    without rows of finite ratios.
    """
    rows = [list(stated.values())] if isinstance(stated, dict) else stated
    numbers = isinstance(rows, list) and all(
        isinstance(row, list)
        and all(isinstance(one, int | float) and np.isfinite(one) for one in row)
        for row in rows
    )
    if not numbers or isinstance(stated, list) != (motor == MATRIX):
        needed = (
            "rows of finite numbers are needed, one row for each motor and one column for each "
            "joint"
            if motor == MATRIX
            else "a table of finite numbers by joint is needed, for example { j5 = 1.0 }"
        )
        raise ValueError(f"transmission.{motor} = {stated}: {needed}")
