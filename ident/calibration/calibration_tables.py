"""Tables of a calibration file: checks of keys and of combinations of
keys, and conversion to data.
"""

import math
from datetime import datetime
from typing import Annotated, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, NonNegativeFloat, PositiveFloat, model_validator
from pydantic import Field as Key

from stribeck.ident.arm.arm_tables import Name, Serial, Tool, Vector
from stribeck.ident.calibration.calibration_content import Model
from stribeck.ident.calibration.effect_tables import (
    BacklashTable,
    BreakawayTable,
    FreeMotionTable,
    MemoryTable,
    ServoTable,
    TemperatureTable,
    WaveTable,
)
from stribeck.ident.calibration.joint_calibration import JointCalibration
from stribeck.ident.calibration.parameter_table import STRICT, ParameterTable, Range, Speeds
from stribeck.ident.errors import InputError, unknown_name
from stribeck.ident.fit.arm.unknown_tool import MASS, TOOL_PARAMETERS, UnknownTool
from stribeck.ident.fit.fit_result import Candidate
from stribeck.ident.fit.inertia.identified_inertia import IdentifiedInertia, LinkBody
from stribeck.ident.fit.inertia.motor_friction import INERTIA, RubbingMotor
from stribeck.ident.fit.inertia.passive_friction import PassiveFriction, RubbingJoints
from stribeck.ident.fit.joint.directions import DIFFERENCES
from stribeck.ident.laws.law_table import is_law, law_named, law_names
from stribeck.ident.laws.load_components import components_of
from stribeck.ident.laws.parameter import Parameter
from stribeck.ident.laws.quantity import COMPONENTS
from stribeck.ident.model.files.stated_loops import LoopTable
from stribeck.ident.model.joint_parts import Bearing
from stribeck.ident.ripple.wave import Wave


class _UnknownToolTable(BaseModel):
    model_config = STRICT
    status: Literal["not sought", "none", "possible", "found", "used"] = "not sought"
    mass: ParameterTable | None = None
    moment_x: ParameterTable | None = None
    moment_y: ParameterTable | None = None
    moment_z: ParameterTable | None = None

    @model_validator(mode="after")
    def _complete(self) -> "_UnknownToolTable":
        found = self.unknown_tool().parameters
        for name in TOOL_PARAMETERS if self.status == "used" else ():
            value = found[name].value if name in found else None
            if value is None or (name == MASS and value <= 0.0):
                raise ValueError(
                    f'{name} = {value}: a tool with status "used" needs '
                    f"{'a positive mass' if name == MASS else 'this value'}"
                )
        return self

    def unknown_tool(self) -> UnknownTool:
        """The tool."""
        tables = {name: getattr(self, name) for name in TOOL_PARAMETERS}
        return UnknownTool(
            self.status,
            {name: Parameter(**vars(table)) for name, table in tables.items() if table is not None},
        )


class _LinkTable(BaseModel):
    model_config = STRICT
    mass: NonNegativeFloat
    com: Vector
    inertia: tuple[float, float, float, float, float, float]


class _InertiaTable(BaseModel):
    model_config = STRICT
    deviation: PositiveFloat
    constants: NonNegativeFloat = 0.0
    links: dict[str, _LinkTable]
    parameters: dict[str, ParameterTable]

    def inertia(self) -> IdentifiedInertia:
        """The links' inertia."""
        links = {name: LinkBody(**vars(link)) for name, link in self.links.items()}
        told = {name: Parameter(**vars(table)) for name, table in self.parameters.items()}
        return IdentifiedInertia(self.deviation, self.constants, links, told)


class _PassiveTable(BaseModel):
    model_config = STRICT
    joints: Annotated[tuple[str, ...], Key(min_length=1)]
    load: Literal["none", "torque", "bending", "radial", "axial", "normal"]
    friction: dict[str, NonNegativeFloat] = {}
    parameters: dict[str, ParameterTable] = {}

    def joints_of(self) -> RubbingJoints:
        """The joints."""
        return RubbingJoints(
            self.joints,
            self.load,
            {name: Parameter(**vars(table)) for name, table in self.parameters.items()},
            self.friction,
        )


class _ModelTable(BaseModel):
    model_config = STRICT
    file: str
    sha256: str
    gravity: Vector
    tool: Tool
    unknown_tool: _UnknownToolTable = _UnknownToolTable()
    inertia: _InertiaTable | None = None
    transmission: dict[str, dict[str, float]] = {}
    drives: tuple[str, ...] = ()
    loops: tuple[LoopTable, ...] = ()
    passive: dict[str, _PassiveTable] = {}

    def model(self) -> Model:
        """The model."""
        return Model(
            self.file,
            self.sha256,
            self.gravity,
            self.tool,
            self.unknown_tool.unknown_tool(),
            None if self.inertia is None else self.inertia.inertia(),
            self.transmission,
            self.drives,
            self.loops,
            PassiveFriction({name: table.joints_of() for name, table in self.passive.items()}),
        )


class _RunTable(BaseModel):
    model_config = STRICT
    path: str
    sha256: str
    tool: Tool | None = None
    continues: str | None = None
    purpose: str | None = None


class _CorrelationTable(BaseModel):
    model_config = STRICT
    names: tuple[str, ...]
    matrix: tuple[tuple[Annotated[float, Key(ge=-1.001, le=1.001)], ...], ...]


class _CandidateTable(BaseModel):
    model_config = STRICT
    law: str
    load: str
    held_out_rmse: NonNegativeFloat
    parameters: int
    dismissed: str = ""
    directional: str = "none"
    share: Annotated[float, Key(ge=0.0, le=1.0)] = 1.0
    place: str = "none"


class JointCalibrationTable(BaseModel):
    """Friction of one joint."""

    model_config = STRICT
    law: str
    load: Literal["none", "torque", "bending", "radial", "axial", "normal", "components"]
    directional: Literal["none", "viscous", "driving"]
    place: str = "none"
    bearing: Bearing | None = None
    held_out_rmse: float
    velocity_range: Speeds
    load_range: Range | dict[str, Range] | None = None
    load_part: tuple[float, float, float] | None = None
    temperature_range: Range | None = None
    factor: PositiveFloat = 1.96
    torque_scale: PositiveFloat | None = None
    stribeck_share: Annotated[float, Key(ge=0.0, le=1.0)] | None = None
    further_error: (
        Annotated[list[tuple[PositiveFloat, NonNegativeFloat]], Key(min_length=1)] | None
    ) = None
    candidates: list[_CandidateTable] = []
    parameters: dict[str, ParameterTable]
    gravity: dict[str, ParameterTable] = {}
    breakaway: BreakawayTable | None = None
    memory: MemoryTable | None = None
    ripple: list[WaveTable] = []
    temperature: TemperatureTable | None = None
    backlash: BacklashTable | None = None
    free_motion: FreeMotionTable | None = None
    servo: ServoTable | None = None
    correlation: _CorrelationTable

    def calibration(self, where: str) -> JointCalibration:
        """Return the joint, after checks of several keys together; `where` begins the messages."""
        if not is_law(self.law):
            raise InputError(f"{where}.law: {unknown_name('law', self.law, law_names())}")
        parameters = {name: Parameter(**vars(table)) for name, table in self.parameters.items()}
        components = components_of(parameters) if self.load == "components" else ()
        if self.load == "components" and not components:
            raise InputError(
                f'{where}.parameters: load = "components" needs a coulomb_coefficient_NAME for at '
                "least one of "
                f"{', '.join(COMPONENTS)}"
            )
        if (
            self.load_range is not None
            and tuple(name for name in COMPONENTS if name in self.load_range) != components
        ):
            raise InputError(
                f"{where}.load_range must have the loads of the parameters: "
                f"{', '.join(components) or self.load}"
            )
        own = law_named(self.law).parameters(self.load != "none", components)
        foreign = next(
            (
                name
                for name, found in parameters.items()
                if found.value is not None and name not in own
            ),
            None,
        )
        if foreign is not None:
            raise InputError(
                f"{where}.parameters: {unknown_name('parameter', foreign, own)}; these are the "
                f"parameters of the law {self.law} with load {self.load}"
            )
        for name in own:
            value = parameters[name].value if name in parameters else None
            if value is None:
                raise InputError(
                    f"{where}.parameters.{name} has no value; the law {self.law} with load "
                    f"{self.load} needs it"
                )
            if name in law_named(self.law).nonlinear and value <= 0.0:
                raise InputError(f"{where}.parameters.{name} = {value:g}; it must be positive")
        if self.load == "normal" and self.bearing is None:
            raise InputError(f'{where}.bearing is missing; load = "normal" needs it')
        if self.directional != "none":
            difference = self.gravity.get(DIFFERENCES[self.directional])
            if difference is None or difference.value is None:
                raise InputError(
                    f"{where}.gravity.{DIFFERENCES[self.directional]} has no value; directional = "
                    f'"{self.directional}" needs it'
                )
            if self.directional == "driving" and self.load in ("none", "components"):
                raise InputError(
                    f'{where}.load = "{self.load}": directional = "driving" needs a single load'
                )
        if self.further_error is not None and not np.all(
            np.diff([speed for speed, _ in self.further_error]) > 0.0
        ):
            raise InputError(f"{where}.further_error: speeds must be in ascending order")
        for name in self.correlation.names:
            if name not in parameters:
                raise InputError(
                    f"{where}.correlation.names: {unknown_name('parameter', name, parameters)}"
                )
        n = len(self.correlation.names)
        if [len(row) for row in self.correlation.matrix] != [n] * n:
            raise InputError(
                f"{where}.correlation.matrix has {len(self.correlation.matrix)} rows of "
                f"{[len(row) for row in self.correlation.matrix]} numbers; {n} rows of {n} "
                "numbers are needed"
            )
        gravity = {name: Parameter(**vars(table)) for name, table in self.gravity.items()}
        return JointCalibration(
            self.law,
            self.load,
            parameters,
            gravity,
            self.bearing,
            self.held_out_rmse,
            self.velocity_range,
            self.load_range,
            self.load_part,
            self.temperature_range,
            self.correlation.names,
            np.array(self.correlation.matrix).reshape(n, n),
            self.factor,
            self.directional,
            self.torque_scale,
            self.stribeck_share,
            None if self.further_error is None else np.array(self.further_error),
            tuple(Candidate(**vars(one)) for one in self.candidates),
            self.place,
            ripple=tuple(Wave(**vars(one)) for one in self.ripple),
            breakaway=None if self.breakaway is None else self.breakaway.breakaway(),
            memory=None if self.memory is None else self.memory.memory(f"{where}.memory"),
            temperature=(
                None
                if self.temperature is None
                else self.temperature.temperature(f"{where}.temperature")
            ),
            backlash=None if self.backlash is None else self.backlash.backlash(f"{where}.backlash"),
            servo=None if self.servo is None else self.servo.servo(f"{where}.servo"),
            free_motion=(
                None
                if self.free_motion is None
                else self.free_motion.free_motion(f"{where}.free_motion")
            ),
        )


class MotorTable(BaseModel):
    """Friction of a motor that moves several joints."""

    model_config = STRICT
    law: str
    velocity_range: Speeds
    parameters: dict[str, ParameterTable]

    def motor(self, where: str) -> RubbingMotor:
        """Return the motor, after checks of several keys together; `where` begins the messages."""
        if not is_law(self.law):
            raise InputError(f"{where}.law: {unknown_name('law', self.law, law_names())}")
        own = (*law_named(self.law).parameters(False), INERTIA)
        for name in self.parameters:
            if name not in own:
                raise InputError(
                    f"{where}.parameters: {unknown_name('parameter', name, own)}, for the law "
                    f"{self.law}"
                )
        for name in law_named(self.law).parameters(False):
            if name not in self.parameters or self.parameters[name].value is None:
                raise InputError(
                    f"{where}.parameters.{name} has no value; a motor with the law {self.law} "
                    "needs it"
                )
        return RubbingMotor(
            self.law,
            {name: Parameter(**vars(table)) for name, table in self.parameters.items()},
            self.velocity_range,
        )


class _FitTable(BaseModel):
    """Options that are needed to repeat the fit; other entries are for information."""

    model_config = ConfigDict(extra="allow", allow_inf_nan=False)
    law: str | None = None
    load: str | None = None
    motion: str | None = None
    directional: str | None = None
    drift: str | None = None

    @model_validator(mode="after")
    def _finite(self) -> "_FitTable":
        for name, value in (self.model_extra or {}).items():
            if isinstance(value, float) and not math.isfinite(value):
                raise ValueError(
                    f"{name} = {value} is not a finite number; a finite number is needed"
                )
        return self


class CalibrationTable(BaseModel):
    """The whole file."""

    model_config = STRICT
    schema_version: int = Key(alias="schema")
    arm: Name
    serial: Serial = ""
    note: str = ""
    created: datetime
    method: str
    torque_basis: Literal["drive", "gravity-corrected"]
    runs: list[_RunTable]
    model: _ModelTable
    fit: _FitTable
    joints: dict[str, JointCalibrationTable]
    motors: dict[str, MotorTable] = {}
