"""The plan: a list of segments as data, and its file.

Each segment starts where the previous segment ended. A *move* brings all joints to a posture on a
straight line in joint space. A *stroke* moves one joint at constant speed. A *sweep* moves several
joints simultaneously, each at its own constant speed. A segment with ``mirror_of`` is the same
motion backwards as the segment it names. In a *swing* every joint oscillates between start and
target as a cosine, a given number of times. In a *wave* every joint follows its own Fourier series
and returns to its start. In a *ramp* the arm rests, then the torque of one joint grows until the
joint moves, and the joint returns to its start.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import tomlkit
from numpy.typing import ArrayLike
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
_PLACES = 9  # decimals of a position that a plan computes
_LISTS = ("lowered", "predicted", "segments")  # keys written with one entry per line


@dataclass(frozen=True)
class Harmonics:
    """Periodic motion of all joints: q_j(t) = start_j + sum over k of a_jk sin(2 pi k t / T) +
    b_jk (cos(2 pi k t / T) - 1).

    Attributes
    ----------
    period : float
        T [s].
    periods : int
        Number of periods.
    sines, cosines : tuple of tuple of float
        a and b, one row per joint [rad or m].
    """

    period: float
    periods: int
    sines: tuple[tuple[float, ...], ...]
    cosines: tuple[tuple[float, ...], ...]
    __pydantic_config__: ClassVar[dict[str, object]] = {"extra": "forbid", "allow_inf_nan": False}


@dataclass(frozen=True)
class Segment:
    """One segment of a plan.

    Attributes
    ----------
    id : int
        Number of the segment, stored with every sample.
    kind : str
        "move" (all joints), "stroke" (one joint at constant speed), "sweep" (several joints at
        constant speeds), "swing" (oscillation), "wave" (Fourier series) or "ramp" (growing torque).
    target : tuple of float
        Position of all joints at the end [rad or m].
    posture : int
        Number of the posture that the segment belongs to; 0 is home.
    joint : str, optional
        The joint of a stroke or ramp; in a sweep or swing, the joint that `speed` belongs to.
    speed : float, optional
        Unsigned speed of `joint`, in a swing its highest [rad/s or m/s]. Speeds of the other joints
        follow from their strokes.
    mirror_of : int, optional
        Number of the segment that this segment plays backwards.
    reference : bool
        Whether this is a reference stroke, which shows drift.
    swings : tuple of int, optional
        Number of passes of each joint between start and target in a swing; odd.
    rate, dwell : float, optional
        Signed rate of the torque of a ramp [N·m/s or N/s], and rest before the
        ramp, or after a move [s].
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
        """Whether the segment moves each joint, shape (n,)."""
        if self.wave is None:
            return np.asarray(np.abs(np.array(self.target) - start) > 0.0)
        return np.asarray(
            np.any(np.array(self.wave.sines), axis=1) | np.any(np.array(self.wave.cosines), axis=1)
        )

    def speeds(self, start: Array, names: tuple[str, ...]) -> Array:
        """Unsigned speeds of all joints, in a swing the highest speeds,
        shape (n,) [rad/s or m/s].
        """
        way = np.abs(np.array(self.target) - start) * np.array(self.swings or 1)
        return np.asarray((self.speed or 0.0) * way / way[names.index(str(self.joint))])


@dataclass(frozen=True)
class Plan:
    """Plan of a run: segments and their origin.

    Attributes
    ----------
    arm, arm_sha256 : str
        Name of the arm, and hash of its arm file and model.
    method : str
        Name of the method that made the plan.
    seed : int
        Seed of random choices.
    names : tuple of str
        Joints.
    start : tuple of float
        Posture before the first segment [rad or m].
    segments : tuple of Segment
        The segments in order.
    robot_time : float
        Predicted robot time [s].
    purpose : str
        Purpose of the run; a fit of a campaign uses runs with purpose "fit".
    predicted : tuple of ExpectedPrecision
        Expected precision of each joint's friction.
    lowered : tuple of LoweredSpeed
        Joints whose speed was lowered because faster strokes have no room.
    singular_margin : float, optional
        Smallest margin to a singular posture of a closed chain: 1 at home, 0 in a singular posture.
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
        """Iterate over segments with their start positions."""
        position = np.array(self.start)
        for segment in self.segments:
            yield position, segment
            position = np.array(segment.target)


def rounded(position: ArrayLike) -> Array:
    """Round positions or strokes to 1e-9 rad or m, far below the step of any encoder.

    Processors differ in the last bit of a power or a sum. Without rounding, one seed would give
    plans that differ by it, and so other events and another noise on the simulated arm.
    """
    return np.round(np.asarray(position, dtype=float), _PLACES)


def write_plan(plan: Plan, path: Path) -> None:
    """Write a plan as TOML, one segment or prediction per line."""
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
    """Convert a plan to plain data; unset values are left out."""
    table = asdict(plan)
    table["segments"] = [
        {
            key: _lists(value)
            for key, value in segment.items()
            if value is not None and value is not False
        }
        for segment in table["segments"]
    ]
    table["predicted"] = list(table["predicted"])
    for key in ("lowered", "singular_margin"):
        if not table[key]:
            del table[key]
    return {
        "schema": SCHEMA,
        **{key: list(value) if isinstance(value, tuple) else value for key, value in table.items()},
    }


def _lists(value: Any) -> Any:
    """Replace tuples by lists."""
    if isinstance(value, dict):
        return {key: _lists(part) for key, part in value.items()}
    return [_lists(part) for part in value] if isinstance(value, tuple) else value


def read_plan(path: Path) -> Plan:
    """Read a plan from its file.

    Raises
    ------
    InputError
        If the file is not a plan; the message names the key.
    """
    return plan_from_table(read_toml(path), path)


def plan_from_table(table: dict[str, Any], path: Path) -> Plan:
    """Make a plan from plain data; error messages name `path`."""
    parsed = parse_table(_PlanTable, upgrade(table, path, SCHEMA), path)
    for segment in parsed.segments:
        if len(segment.target) != len(parsed.names):
            raise PlanError(
                f"{path}: segment {segment.id}: target has {len(segment.target)} value(s), but "
                f"names lists {len(parsed.names)} joint(s); a value for each joint is needed"
            )
    if len(parsed.start) != len(parsed.names):
        raise PlanError(
            f"{path}: start has {len(parsed.start)} value(s), but names lists {len(parsed.names)} "
            "joint(s); a value for each joint is needed"
        )
    return Plan(
        parsed.arm,
        parsed.arm_sha256,
        parsed.method,
        parsed.seed,
        parsed.names,
        parsed.start,
        parsed.segments,
        parsed.robot_time,
        parsed.purpose,
        parsed.predicted,
        parsed.lowered,
        parsed.singular_margin,
    )


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
