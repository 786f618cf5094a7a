"""The calibration: law, load and parameters of every joint, as a file and as a function of the arm's state."""

import hashlib
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import tomlkit
from numpy.typing import ArrayLike
from pydantic import AfterValidator, BaseModel, ConfigDict, NonNegativeFloat, PositiveFloat, model_validator
from pydantic import Field as Key

from stribeck.ident.arm.arm_file import Name, Tool, Vector
from stribeck.ident.arm.load_mechanism import mechanism_of
from stribeck.ident.arrays import Array
from stribeck.ident.errors import InputError, command, unknown_name
from stribeck.ident.fit.arm.unknown_tool import MASS, UnknownTool
from stribeck.ident.fit.arm.unknown_tool import NAMES as TOOL
from stribeck.ident.fit.fit_result import needed_load, prediction_band
from stribeck.ident.fit.joint.directions import DIFFERENCES
from stribeck.ident.laws.friction import COMPONENTS, LAWS, components_of, law_named
from stribeck.ident.laws.parameter import Parameter
from stribeck.ident.log.breakaway import Breakaway
from stribeck.ident.model.loads import joint_loads
from stribeck.ident.model.mechanism import Bearing, Mechanism
from stribeck.ident.toml_tables import parse_table, read_toml, upgrade
from stribeck.ident.whole_files import write_whole

SCHEMA = 1
DIGITS = 6              # significant digits of numbers in the file
_FASTEST = 1e6          # rad/s or m/s; no joint goes faster


@dataclass(frozen=True)
class JointCalibration:
    """Friction of one joint.

    Attributes
    ----------
    law, load, directional : str
        Which law, which load it grows with ("none" without), and how directions differ.
    parameters : dict of str to Parameter
        Parameters of the law; those without value are not part of it.
    gravity : dict of str to Parameter
        Scale, offset and delay of the torque signal against the model's gravity; half the difference between the directions.
    bearing : Bearing, optional
        What the normal load was computed with.
    held_out_rmse : float
        Root mean square error over round trips left out of the fit, with all of their speed but at the ends [N·m].
    velocity_range, load_range, load_part, temperature_range : tuple of float
        What the data covered, a `load_range` for each of the load's components where they have coefficients of their own;
        `load_part` is the least, median and greatest share of the load in Coulomb friction [N·m].
    names, correlation : tuple of str, ndarray
        Parameters and the correlation of their estimates.
    factor : float
        Half width of a 95 % interval in standard errors.
    torque_scale : float, optional
        What the drive's torque was divided by; None leaves it as it is.
    breakaway : Breakaway, optional
        What holds the joint at rest, where that was measured; no part of the law.
    """

    law: str
    load: str
    parameters: Mapping[str, Parameter]
    gravity: Mapping[str, Parameter]
    bearing: Bearing | None
    held_out_rmse: float
    velocity_range: tuple[float, float]
    load_range: tuple[float, float] | Mapping[str, tuple[float, float]] | None
    load_part: tuple[float, float, float] | None
    temperature_range: tuple[float, float] | None
    names: tuple[str, ...]
    correlation: Array
    factor: float
    directional: str = "none"
    torque_scale: float | None = None
    breakaway: Breakaway | None = None

    @property
    def values(self) -> dict[str, float]:
        """Parameter values of the law."""
        return {name: p.value for name, p in self.parameters.items() if p.value is not None}

    @property
    def components(self) -> tuple[str, ...]:
        """Components of the load that have a coefficient each, where `load` is "components"."""
        return components_of(self.values)

    @property
    def load_ends(self) -> Array:
        """Least and greatest load that the data covered, shape (2,); (2, m) with a column for each of `components`."""
        ends = self.load_range
        return np.transpose([ends[name] for name in self.components]) if isinstance(ends, Mapping) else np.array(ends)

    @property
    def middle_load(self) -> Array:
        """Middle of the loads that the data covered, shape () or (m,) as for `load_ends`; zero where friction grows with none."""
        return self.load_ends.mean(axis=0) if self.load != "none" and self.load_range is not None else np.zeros(())

    def load_of(self, values: Callable[[str], Array]) -> Array | None:
        """The load that friction grows with, of the loads of each kind: (N,), a column for each of `components`, or None."""
        if self.components:
            return np.column_stack([values(part) for part in self.components])
        return None if self.load == "none" else values(self.load)

    def torque(self, velocity: ArrayLike, load: ArrayLike | None = None) -> Array:
        """Friction torque at velocities and loads, shape (N,) [N·m], the mean of both directions.

        Where `load` is "components", loads are columns, one for each of `components`.

        Raises
        ------
        InputError
            If the law needs a load and none is given.
        """
        return law_named(self.law).torque(velocity, self.values, needed_load(self.load, load))

    @property
    def difference(self) -> float:
        """Half the difference between the directions: of viscous friction, or of the load coefficient when driving; else 0."""
        return (self.gravity[DIFFERENCES[self.directional]].value or 0.0) if self.directional != "none" else 0.0

    def directional_torque(self, velocity: ArrayLike, load: ArrayLike | None, rigid: ArrayLike) -> Array:
        """What friction has beyond `torque` because directions differ, shape (N,) [N·m].

        Parameters
        ----------
        velocity, load : array_like, shape (N,)
            As for `torque`.
        rigid : array_like, shape (N,)
            Rigid-body torque of the drive, signed: motion against it is driven, motion with it drives.
        """
        w = np.asarray(velocity, dtype=float)
        if self.directional == "driving" and load is not None:
            return np.asarray(self.difference * np.asarray(load) * np.sign(rigid) * (w != 0.0))
        return self.difference * np.abs(w)

    def band(self, velocity: ArrayLike, load: ArrayLike | None = None) -> Array:
        """Half width of the 95 % band of `torque`, shape (N,) [N·m]."""
        error = np.array([self.parameters[name].std_error or 0.0 for name in self.names])
        covariance = self.correlation * np.outer(error, error)
        return prediction_band(self.law, self.values, self.names, covariance, velocity, needed_load(self.load, load), self.factor)

    def verdict(self) -> str:
        """The weakest verdict of the law's own parameters."""
        rank = ("identified", "weak", "at bound", "unidentifiable")
        return max((p.verdict for p in self.parameters.values() if p.value is not None), key=rank.index)


@dataclass(frozen=True)
class Model:
    """Which rigid-body model the loads come from: file beside the calibration, its digest, gravity, tools known and unknown."""

    file: str
    sha256: str
    gravity: Vector
    tool: Tool
    unknown_tool: UnknownTool = field(default_factory=UnknownTool)


@dataclass(frozen=True)
class Calibration:
    """Friction of an arm. `folder` is where the model lies.

    Attributes
    ----------
    arm, method, torque_basis : str
        Which arm, how it was measured, and which torque the numbers are in: "drive" as it reports it, "gravity-corrected"
        divided by `torque_scale` of the joints that have one.
    created : datetime
        When it was fitted.
    runs : tuple of dict
        Runs it rests on: path, sha256, `tool` where it is not the model's, the run that it `continues`, its `purpose` where that
        is not to be fitted.
    model : Model
        Rigid-body model.
    fit : dict
        Options, seed and versions: enough to repeat every digit.
    joints : dict of str to JointCalibration
        Friction by joint.
    """

    arm: str
    created: datetime
    method: str
    torque_basis: str
    runs: tuple[dict[str, Any], ...]
    model: Model
    fit: dict[str, Any]
    joints: Mapping[str, JointCalibration]
    folder: Path = field(default=Path(), compare=False)

    @property
    def pass_count(self) -> int:
        """Runs that stand for themselves: neither the rest of another one nor of ramps."""
        return sum("continues" not in run and "purpose" not in run for run in self.runs)

    @classmethod
    def load(cls, path: str | Path) -> "Calibration":
        """Read a calibration file.

        Raises
        ------
        InputError
            If it is missing or malformed; names the key.
        """
        path = Path(path)
        folder, path = path, path / "calibration.toml" if path.is_dir() else path
        if (folder / "runs").is_dir() and not path.exists():
            raise InputError(f"{folder}: it holds runs, but no calibration yet; {command('fit', folder)} makes it")
        table = parse_table(_CalibrationTable, upgrade(read_toml(path), path, SCHEMA), path)
        joints = {name: joint.calibration(f"{path}: joints.{name}") for name, joint in table.joints.items()}
        return cls(table.arm, table.created, table.method, table.torque_basis,
                   tuple(run.model_dump(exclude_none=True) for run in table.runs), table.model.model(),
                   table.fit.model_dump(exclude_unset=True), joints, path.parent)

    def save(self, path: Path) -> None:
        """Write the calibration as TOML, one parameter a line."""
        write_whole(path, tomlkit.dumps(_document(self)))

    @cached_property
    def mechanism(self) -> Mechanism:
        """Rigid-body model with the bearings and tools that the calibration was made with.

        Raises
        ------
        InputError
            If the model beside the calibration is missing or was changed.
        """
        path = self.folder / Path(self.model.file).name
        if not path.is_file():
            raise InputError(f"{path}: the calibration's model is missing; keep it beside calibration.toml")
        if file_sha256(path) != self.model.sha256:
            raise InputError(f"{path}: not the model that the calibration was made with (its sha256 differs)")
        bearings = {name: joint.bearing for name, joint in self.joints.items()}
        mechanism = mechanism_of(path, self.arm, self.model.gravity,
                                 (self.model.tool, self.model.unknown_tool.tool), bearings)
        for name in self.joints:
            if name not in mechanism.names:
                raise InputError(f"{path}: {unknown_name('joint', name, mechanism.names)}; the calibration has it")
        return mechanism

    @property
    def names(self) -> tuple[str, ...]:
        """Joints of the arm, columns of `friction`."""
        return self.mechanism.names

    def friction(self, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike | None = None) -> Array:
        """Friction torque of every joint along a motion.

        Parameters
        ----------
        q, dq, ddq : array_like, shape (N, n)
            Joint motion, columns as `names`; accelerations default to zero.

        Returns
        -------
        ndarray, shape (N, n)
            Friction [N·m or N]; nan where a joint was not calibrated.
        """
        loads = joint_loads(self.mechanism, q, dq, ddq)
        dq = np.asarray(dq, dtype=float)
        out = np.full(dq.shape, np.nan)
        for column, name in enumerate(self.names):
            if name in self.joints:
                joint = self.joints[name]
                load = joint.load_of(lambda kind: loads.get(kind)[:, column])       # noqa: B023  # called at once
                out[:, column] = joint.torque(dq[:, column], load) + joint.directional_torque(dq[:, column], load,
                                                                                              loads.tau[:, column])
        return out


def file_sha256(path: Path) -> str:
    """Digest of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _document(calibration: Calibration) -> tomlkit.TOMLDocument:
    document = tomlkit.document()
    document["schema"] = SCHEMA
    for key in ("arm", "created", "method", "torque_basis"):
        document[key] = getattr(calibration, key)
    runs = tomlkit.array()
    for run in calibration.runs:
        runs.add_line(_inline(run))
    runs.add_line(indent="")
    document["runs"] = runs
    model = calibration.model
    document["model"] = {"file": model.file, "sha256": model.sha256, "gravity": list(model.gravity)}
    document["model"]["tool"] = _inline({"mass": model.tool.mass, "com": list(model.tool.com)})
    document["model"]["unknown_tool"] = {"status": model.unknown_tool.status, **_parameters(model.unknown_tool.parameters)}
    document["fit"] = _rounded(calibration.fit)
    joints = tomlkit.table(is_super_table=True)
    for name, joint in calibration.joints.items():
        joints[name] = _joint_table(joint)
    document["joints"] = joints
    return document


def _joint_table(joint: JointCalibration) -> Any:
    table = tomlkit.table()
    for key in ("law", "load", "directional"):
        table[key] = getattr(joint, key)
    if joint.bearing is not None:
        table["bearing"] = _inline(vars(joint.bearing))
    for key in ("held_out_rmse", "velocity_range", "load_range", "load_part", "temperature_range", "factor", "torque_scale"):
        value = getattr(joint, key)
        if value is not None:
            table[key] = _inline(value) if isinstance(value, Mapping) else _rounded(value)
    for group in ("parameters", "gravity"):
        inner = tomlkit.table()
        inner.update(_parameters(getattr(joint, group)))
        table[group] = inner
    if joint.breakaway is not None:
        found = tomlkit.table()
        found.update(_parameters({"torque": joint.breakaway.torque}))
        for key in ("range", "rate", "dwell", "pairs"):
            found[key] = _rounded(getattr(joint.breakaway, key))
        table["breakaway"] = found
    correlation = tomlkit.table()
    correlation["names"] = list(joint.names)
    correlation["matrix"] = _rounded(joint.correlation.tolist())
    table["correlation"] = correlation
    return table


def _parameters(parameters: Mapping[str, Parameter]) -> dict[str, Any]:
    """One parameter a line, without what it does not have."""
    return {name: _inline({key: value for key, value in vars(parameter).items() if value not in (None, "")})
            for name, parameter in parameters.items()}


def _inline(values: Mapping[str, Any]) -> Any:
    table = tomlkit.inline_table()
    table.update(_rounded(dict(values)))
    return table


def _rounded(value: Any) -> Any:
    """Numbers to the digits that the file keeps."""
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_rounded(item) for item in value]
    return value


_STRICT = ConfigDict(extra="forbid", allow_inf_nan=False)


def _rising(pair: tuple[float, float]) -> tuple[float, float]:
    if not pair[0] <= pair[1]:
        raise ValueError(f"the lower end {pair[0]:g} is above the upper {pair[1]:g}")
    return pair


_Range = Annotated[tuple[float, float], AfterValidator(_rising)]
_Speeds = Annotated[tuple[NonNegativeFloat, Annotated[float, Key(gt=0.0, le=_FASTEST)]], AfterValidator(_rising)]


class _ParameterTable(BaseModel):
    model_config = _STRICT
    value: float | None = None
    std_error: NonNegativeFloat | None = None
    low: float | None = None
    high: float | None = None
    unit: str
    verdict: Literal["identified", "weak", "unidentifiable", "at bound"]
    note: str = ""
    repeat_deviation: NonNegativeFloat | None = None

    @model_validator(mode="after")
    def _inside(self) -> "_ParameterTable":
        if self.value is not None and self.low is not None and self.high is not None:
            room = 1e-3 * (abs(self.low) + abs(self.high))                  # digits are rounded
            if not self.low - room <= self.value <= self.high + room:
                raise ValueError(f"the value {self.value:g} is not in its interval, {self.low:g} ... {self.high:g}")
        return self


class _UnknownToolTable(BaseModel):
    model_config = _STRICT
    status: Literal["not sought", "none", "possible", "found", "used"] = "not sought"
    mass: _ParameterTable | None = None
    moment_x: _ParameterTable | None = None
    moment_y: _ParameterTable | None = None
    moment_z: _ParameterTable | None = None

    @model_validator(mode="after")
    def _complete(self) -> "_UnknownToolTable":
        found = self.unknown_tool().parameters
        for name in TOOL if self.status == "used" else ():
            value = found[name].value if name in found else None
            if value is None or (name == MASS and value <= 0.0):
                raise ValueError(f"{name} = {value}: a tool that is used needs {'a positive mass' if name == MASS else 'it'}")
        return self

    def unknown_tool(self) -> UnknownTool:
        """The tool."""
        tables = {name: getattr(self, name) for name in TOOL}
        return UnknownTool(self.status, {name: Parameter(**vars(table)) for name, table in tables.items() if table is not None})


class _ModelTable(BaseModel):
    model_config = _STRICT
    file: str
    sha256: str
    gravity: Vector
    tool: Tool
    unknown_tool: _UnknownToolTable = _UnknownToolTable()

    def model(self) -> Model:
        """The model."""
        return Model(self.file, self.sha256, self.gravity, self.tool, self.unknown_tool.unknown_tool())


class _RunTable(BaseModel):
    model_config = _STRICT
    path: str
    sha256: str
    tool: Tool | None = None
    continues: str | None = None
    purpose: str | None = None


class _BreakawayTable(BaseModel):
    model_config = _STRICT
    torque: _ParameterTable
    range: _Range
    rate: PositiveFloat
    dwell: _Range
    pairs: int


class _CorrelationTable(BaseModel):
    model_config = _STRICT
    names: tuple[str, ...]
    matrix: tuple[tuple[Annotated[float, Key(ge=-1.001, le=1.001)], ...], ...]


class _JointTable(BaseModel):
    model_config = _STRICT
    law: str
    load: Literal["none", "torque", "bending", "radial", "axial", "normal", "components"]
    directional: Literal["none", "viscous", "driving"]
    bearing: Bearing | None = None
    held_out_rmse: float
    velocity_range: _Speeds
    load_range: _Range | dict[str, _Range] | None = None
    load_part: tuple[float, float, float] | None = None
    temperature_range: _Range | None = None
    factor: PositiveFloat = 1.96
    torque_scale: PositiveFloat | None = None
    parameters: dict[str, _ParameterTable]
    gravity: dict[str, _ParameterTable] = {}
    breakaway: _BreakawayTable | None = None
    correlation: _CorrelationTable

    def calibration(self, where: str) -> JointCalibration:
        """The joint, after checks that concern several keys; `where` begins their messages."""
        if self.law not in LAWS:
            raise InputError(f"{where}.law: {unknown_name('law', self.law, LAWS)}")
        parameters = {name: Parameter(**vars(table)) for name, table in self.parameters.items()}
        components = components_of(parameters) if self.load == "components" else ()
        if self.load == "components" and not components:
            raise InputError(f"{where}.parameters: load = \"components\" needs a coulomb_coefficient_ of {', '.join(COMPONENTS)}")
        if self.load_range is not None and tuple(name for name in COMPONENTS if name in self.load_range) != components:
            raise InputError(f"{where}.load_range has not the loads of the parameters: {', '.join(components) or self.load}")
        own = LAWS[self.law].parameters(self.load != "none", components)
        foreign = next((name for name, found in parameters.items() if found.value is not None and name not in own), None)
        if foreign is not None:
            raise InputError(f"{where}.parameters: {unknown_name('parameter', foreign, own)}; the law {self.law} with load "
                             f"{self.load} has no other")
        for name in own:
            value = parameters[name].value if name in parameters else None
            if value is None:
                raise InputError(f"{where}.parameters.{name} has no value; the law {self.law} with load {self.load} needs it")
            if name == "stribeck_velocity" and value <= 0.0:
                raise InputError(f"{where}.parameters.{name} = {value:g}; it must be positive")
        if self.load == "normal" and self.bearing is None:
            raise InputError(f"{where}.bearing is missing; load = \"normal\" needs it")
        if self.directional != "none":
            difference = self.gravity.get(DIFFERENCES[self.directional])
            if difference is None or difference.value is None:
                raise InputError(f"{where}.gravity.{DIFFERENCES[self.directional]} has no value; directional = "
                                 f"\"{self.directional}\" needs it")
            if self.directional == "driving" and self.load in ("none", "components"):
                raise InputError(f"{where}.load = \"{self.load}\": directional = \"driving\" needs a single load")
        for name in self.correlation.names:
            if name not in parameters:
                raise InputError(f"{where}.correlation.names: {unknown_name('parameter', name, parameters)}")
        n = len(self.correlation.names)
        if [len(row) for row in self.correlation.matrix] != [n] * n:
            raise InputError(f"{where}.correlation.matrix has {len(self.correlation.matrix)} rows of "
                             f"{[len(row) for row in self.correlation.matrix]} numbers, {n} of {n} are needed")
        return JointCalibration(self.law, self.load, parameters,
                                {name: Parameter(**vars(table)) for name, table in self.gravity.items()}, self.bearing,
                                self.held_out_rmse, self.velocity_range, self.load_range, self.load_part,
                                self.temperature_range, self.correlation.names,
                                np.array(self.correlation.matrix).reshape(len(self.correlation.names), -1), self.factor,
                                self.directional, self.torque_scale, None if self.breakaway is None else Breakaway(
                                    **{**vars(self.breakaway), "torque": Parameter(**vars(self.breakaway.torque))}))


class _FitTable(BaseModel):
    """What is needed to repeat the fit; other entries are for people."""

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
                raise ValueError(f"{name} = {value} is no number")
        return self


class _CalibrationTable(BaseModel):
    model_config = _STRICT
    schema_version: int = Key(alias="schema")
    arm: Name
    created: datetime
    method: str
    torque_basis: Literal["drive", "gravity-corrected"]
    runs: list[_RunTable]
    model: _ModelTable
    fit: _FitTable
    joints: dict[str, _JointTable]
