"""Table of a parameter in a calibration file, and kinds of values that several tables share."""

from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, NonNegativeFloat, model_validator
from pydantic import Field as Key

_FASTEST = 1e6  # rad/s or m/s; no joint goes faster
STRICT = ConfigDict(extra="forbid", allow_inf_nan=False)


def _rising(pair: tuple[float, float]) -> tuple[float, float]:
    if not pair[0] <= pair[1]:
        raise ValueError(
            f"the lower end {pair[0]:g} is above the upper end {pair[1]:g}; exchange them"
        )
    return pair


Range = Annotated[tuple[float, float], AfterValidator(_rising)]
Speeds = Annotated[
    tuple[NonNegativeFloat, Annotated[float, Key(gt=0.0, le=_FASTEST)]], AfterValidator(_rising)
]


class ParameterTable(BaseModel):
    """Estimate of one parameter."""

    model_config = STRICT
    value: float | None = None
    std_error: NonNegativeFloat | None = None
    low: float | None = None
    high: float | None = None
    unit: str
    verdict: Literal["identified", "weak", "unidentifiable", "at bound"]
    note: str = ""
    repeat_deviation: NonNegativeFloat | None = None

    @model_validator(mode="after")
    def _inside(self) -> "ParameterTable":
        if self.value is not None and self.low is not None and self.high is not None:
            room = 1e-3 * (abs(self.low) + abs(self.high))  # digits are rounded
            if not self.low - room <= self.value <= self.high + room:
                raise ValueError(
                    f"the value {self.value:g} is outside its interval, {self.low:g} ... "
                    f"{self.high:g}"
                )
        return self
