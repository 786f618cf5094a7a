"""The plan: segments as data, and the file they are kept in.

A plan is a chain of straight segments in joint space; each starts where the one before it ended. A *move*
brings all joints to a posture; a *stroke* moves one joint at a constant speed, a *sweep* several joints at once,
each at a constant speed of its own. The segment that retraces another says so with ``mirror_of``. In a *swing* every
joint goes to and fro between start and target, as a cosine, as often as it is told to. In a *wave* every joint follows a Fourier
series of its own and comes back to where it started. In a *ramp* the arm rests, then the torque of one joint grows until it
moves, and the joint is brought back.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import tomlkit
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from stribeck.experiments.errors import PlanError
from stribeck.experiments.plans.lowered_speed import LoweredSpeed
from stribeck.ident.arrays import Array
from stribeck.ident.errors import unknown_name
from stribeck.ident.fit.information import ExpectedPrecision
from stribeck.ident.log.run import FIT, PURPOSES
from stribeck.ident.toml_tables import parse_table, read_toml, upgrade
from stribeck.ident.whole_files import write_whole

SCHEMA = 1
_LISTS = ("lowered", "predicted", "segments")      # one entry a line


@dataclass(frozen=True)
class Harmonics:
    """Periodic motion of all joints: q_j(t) = start_j + sum over k of a_jk sin(2 pi k t / T) + b_jk (cos(2 pi k t / T) - 1).

    Attributes
    ----------
    period : float
        T [s].
    periods : int
        How many follow each other.
    sines, cosines : tuple of tuple of float
        a and b, a row a joint [rad or m].
    """

    period: float
    periods: int
    sines: tuple[tuple[float, ...], ...]
    cosines: tuple[tuple[float, ...], ...]
    __pydantic_config__: ClassVar[dict[str, object]] = {"extra": "forbid", "allow_inf_nan": False}


@dataclass(frozen=True)
class Segment:
    """One straight piece of a plan.

    Attributes
    ----------
    id : int
        Its number, which the samples carry.
    kind : str
        "move" (all joints), "stroke" (one joint at constant speed), "sweep" (several at once), "swing" (to and fro),
        "wave" (periodic) or "ramp" (of torque).
    target : tuple of float
        Where all joints are at its end [rad or m].
    posture : int
        Number of the posture it belongs to; 0 is home.
    joint : str, optional
        The joint that a stroke or ramp moves, or whose speed is given of a sweep.
    speed : float, optional
        The joint's speed, of a swing its highest, unsigned [rad/s or m/s]. The others' follows from their ways.
    mirror_of : int, optional
        The segment that this one retraces.
    reference : bool
        Whether it is the reference stroke that shows drift.
    swings : tuple of int, optional
        How often each joint passes between start and target in a swing; odd.
    rate, dwell : float, optional
        How fast the torque of a ramp grows, signed [N·m/s or N/s], after how long a rest [s].
    wave : Harmonics, optional
        The motion of a wave.
    """

    id: int
    kind: Literal["move", "stroke", "sweep", "swing", "wave", "ramp"]
    target: tuple[float, ...]
    posture: int
    joint: str | None = None
    speed: float | None = None
    mirror_of: int | None = None
    reference: bool = False
    swings: tuple[int, ...] | None = None
    rate: float | None = None
    dwell: float | None = None
    wave: Harmonics | None = None
    __pydantic_config__: ClassVar[dict[str, object]] = {"extra": "forbid", "allow_inf_nan": False}

    def moving(self, start: Array) -> Array:
        """Which joints it moves, shape (n,)."""
        if self.wave is None:
            return np.asarray(np.abs(np.array(self.target) - start) > 0.0)
        return np.asarray(np.any(np.array(self.wave.sines), axis=1) | np.any(np.array(self.wave.cosines), axis=1))

    def speeds(self, start: Array, names: tuple[str, ...]) -> Array:
        """Speeds of all joints from `start`, constant or of a swing the highest, unsigned, shape (n,) [rad/s or m/s]."""
        way = np.abs(np.array(self.target) - start) * np.array(self.swings or 1)
        return np.asarray((self.speed or 0.0) * way / way[names.index(str(self.joint))])


@dataclass(frozen=True)
class Plan:
    """What will move: see the module.

    `start` is the posture before the first segment, `purpose` what the run is for (a fit of a campaign takes the runs whose
    purpose is "fit"), `predicted` what it will tell, `lowered` which joints go slower than their limits allow, for want of room,
    `singular_margin` how near it comes to a singular posture of a closed chain: 1 at home, 0 there.
    """

    arm: str
    arm_sha256: str
    method: str
    seed: int
    names: tuple[str, ...]
    start: tuple[float, ...]
    segments: tuple[Segment, ...]
    robot_time: float = 0.0
    purpose: str = FIT
    predicted: tuple[ExpectedPrecision, ...] = ()
    lowered: tuple[LoweredSpeed, ...] = ()
    singular_margin: float | None = None

    def legs(self) -> Iterator[tuple[Array, Segment]]:
        """Every segment with the position at which it starts."""
        position = np.array(self.start)
        for segment in self.segments:
            yield position, segment
            position = np.array(segment.target)


def write_plan(plan: Plan, path: Path) -> None:
    """Write a plan as TOML, one segment or prediction a line."""
    head = tomlkit.document()
    table = plan_table(plan)
    for key, value in table.items():
        if key not in _LISTS:
            head[key] = value
    lines = [tomlkit.dumps(head)]
    for key in _LISTS:
        if key not in table:
            continue
        lines.append(f"{key} = [")
        for entry in table[key]:
            line = tomlkit.inline_table()
            line.update(entry)
            lines.append(f"  {line.as_string()},")
        lines.append("]")
    write_whole(path, "\n".join([*lines, ""]))


def plan_table(plan: Plan) -> dict[str, Any]:
    """The plan as plain data, with what is not set left out."""
    table = asdict(plan)
    table["segments"] = [{key: _lists(value) for key, value in segment.items()
                          if value is not None and value is not False} for segment in table["segments"]]
    table["predicted"] = list(table["predicted"])
    for key in ("lowered", "singular_margin"):
        if not table[key]:
            del table[key]
    return {"schema": SCHEMA, **{key: list(value) if isinstance(value, tuple) else value for key, value in table.items()}}


def _lists(value: Any) -> Any:
    """A value with lists in place of tuples."""
    if isinstance(value, dict):
        return {key: _lists(part) for key, part in value.items()}
    return [_lists(part) for part in value] if isinstance(value, tuple) else value


def read_plan(path: Path) -> Plan:
    """Plan from its file.

    Raises
    ------
    InputError
        If it is no plan; names the key.
    """
    return plan_from_table(read_toml(path), path)


def plan_from_table(table: dict[str, Any], path: Path) -> Plan:
    """Plan from plain data; `path` is what messages name."""
    parsed = parse_table(_PlanTable, upgrade(table, path, SCHEMA), path)
    for segment in parsed.segments:
        if len(segment.target) != len(parsed.names):
            raise PlanError(f"{path}: segment {segment.id} has {len(segment.target)} targets for {len(parsed.names)} joints")
    if len(parsed.start) != len(parsed.names):
        raise PlanError(f"{path}: start has {len(parsed.start)} values for {len(parsed.names)} joints")
    return Plan(parsed.arm, parsed.arm_sha256, parsed.method, parsed.seed, parsed.names, parsed.start, parsed.segments,
                parsed.robot_time, parsed.purpose, parsed.predicted, parsed.lowered, parsed.singular_margin)


def _known_purpose(purpose: str) -> str:
    if purpose not in PURPOSES:
        raise unknown_name("purpose", purpose, PURPOSES)
    return purpose


class _PlanTable(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)
    schema_version: int = Field(alias="schema")
    arm: str
    arm_sha256: str
    method: str
    seed: int
    names: tuple[str, ...]
    start: tuple[float, ...]
    segments: tuple[Segment, ...]
    robot_time: float = 0.0
    purpose: Annotated[str, AfterValidator(_known_purpose)] = FIT
    predicted: tuple[ExpectedPrecision, ...] = ()
    lowered: tuple[LoweredSpeed, ...] = ()
    singular_margin: float | None = None
