"""Validation of the run record ``run.json``, and reading of the events of a run."""

import json
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    FiniteFloat,
    NonNegativeFloat,
    PositiveFloat,
    model_validator,
)

from stribeck.ident.arm.arm_tables import Serial
from stribeck.ident.errors import InputError


class _RecordedSegment(BaseModel):
    model_config = ConfigDict(extra="allow")
    id: int
    kind: str
    posture: int = 0
    joint: str | None = None
    target: list[FiniteFloat] | None = None
    reference: bool = False


class _RecordedPlan(BaseModel):
    model_config = ConfigDict(extra="allow")
    segments: list[_RecordedSegment]
    start: list[FiniteFloat] | None = None
    purpose: str = ""


class _RecordedDriver(BaseModel):
    model_config = ConfigDict(extra="allow")
    rate: PositiveFloat | None = None
    viscous_error: list[Annotated[NonNegativeFloat, Field(allow_inf_nan=False)]] | None = None


class _RecordedImport(BaseModel):
    model_config = ConfigDict(extra="allow")
    torque_signal: str


class RecordTable(BaseModel):
    """Parts of a run record that the fit uses."""

    model_config = ConfigDict(extra="allow")
    schema_version: int = Field(alias="schema")
    experiment: str
    names: list[str] = Field(min_length=1)
    arm_file: str
    arm_sha256: str
    start: datetime
    driver: _RecordedDriver = _RecordedDriver()
    plan: _RecordedPlan | None = None
    imported: _RecordedImport | None = Field(None, alias="import")
    seed: int | None = None
    serial: Serial = ""
    note: str = ""

    @model_validator(mode="after")
    def _places_of_all_joints(self) -> Self:
        if self.plan is not None:
            for word, place in (
                ("plan.start", self.plan.start),
                *(
                    (f"target of segment {segment.id}", segment.target)
                    for segment in self.plan.segments
                ),
            ):
                if place is not None and len(place) != len(self.names):
                    raise ValueError(
                        f"{word} has {len(place)} numbers for {len(self.names)} joints; "
                        "one for each joint is needed"
                    )
        return self


def read_json(path: Path) -> Any:
    """Return the content of a JSON file of a run as plain data."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not a JSON file: {error}") from error


def read_events(path: Path) -> tuple[dict[str, Any], ...]:
    """Return the events of a run, up to the first incomplete line (from a process
    that died while writing).
    """
    if not path.is_file():
        return ()
    events = []
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            event = json.loads(line)
        except json.JSONDecodeError:
            break
        if isinstance(event, dict):
            events.append(event)
    return tuple(events)
