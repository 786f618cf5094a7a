"""Options of a campaign; stored with its runs, so that the campaign can be
resumed with the same options.
"""

from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from pydantic import (
    BaseModel,
    ConfigDict,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
)

from stribeck.experiments.methods.registry import DEFAULT
from stribeck.ident.errors import InputError
from stribeck.ident.fit.joint.options import Options
from stribeck.ident.log.campaign_folder import records
from stribeck.ident.log.run_record import read_json
from stribeck.ident.toml_tables import parse_table


@dataclass(frozen=True)
class CampaignOptions:
    """Options of measurement and fit.

    Attributes
    ----------
    joints : tuple of str, optional
        Joints to measure; default all.
    seed : int
        Seed of plan and simulated noise.
    fit : Options
        Options of the fit.
    method : str
        A name in `METHODS`.
    repeats : int
        Number of runs of the plan; several runs show the deviation between runs. The k-th run has
        seed + k of simulated noise.
    warm_up : float
        Longest warm-up before each run until friction settles [s].
    search : bool
        Whether to search the lowest speed that each velocity loop holds,
        and plan no stroke below it.
    breakaway : bool
        Whether to measure breakaway torque after the last run; needs a torque mode.
    serial, note : str
        Serial number of the arm, if its file does not state it, and the operator's note; stored
        with runs and calibration.
    target, budget : float, optional
        Precision at which to stop, see `Refinement`, and robot time for all motion [s]; default:
        one plan, run `repeats` times.
    """

    joints: tuple[str, ...] | None = None
    seed: int = 0
    fit: Options = field(default_factory=Options)
    method: str = DEFAULT
    repeats: int = 1
    warm_up: float = 0.0
    search: bool = False
    breakaway: bool = False
    serial: str = ""
    note: str = ""
    target: float | None = None
    budget: float | None = None

    @property
    def refining(self) -> bool:
        """Whether each plan depends on the runs before it."""
        return bool(self.target or self.budget)

    def table(self) -> dict[str, Any]:
        """Plain data for the records of runs."""
        return {"options" if name == "fit" else name: value for name, value in asdict(self).items()}


def begun_with(folder: Path) -> dict[str, Any]:
    """Options of a campaign from its records, with those of the fit, in the names and
    units of `CampaignOptions`.

    Empty if no record has options.
    """
    for path in records(folder):
        with suppress(InputError):  # a record cut off while it was written
            record = read_json(path)
            if isinstance(record, dict) and "options" in record:
                break
    else:
        return {}
    begun = dict(parse_table(_Begun, record["options"], path))
    of_fit: Options = begun.pop("options")
    return begun | vars(of_fit)


class _Begun(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)
    joints: tuple[str, ...] | None
    seed: NonNegativeInt
    options: Options
    method: str
    repeats: PositiveInt
    warm_up: NonNegativeFloat
    search: bool
    breakaway: bool
    serial: str = ""
    note: str = ""
    target: PositiveFloat | None
    budget: PositiveFloat | None
